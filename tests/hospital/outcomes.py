"""What crawls and runs over files say of chunks, whatever they come from."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

Reports = Mapping[str, Mapping[str, Any]]
"""The field `dedup` of each item that went out, by URL."""
GIVEN = ("added", "kept")


def reports_of(items: Iterable[Mapping[str, Any]]) -> Reports:
    return {item["url"]: item["dedup"] for item in items}


def given(reports: Reports) -> Counter[str]:
    """Return by how many pages each text is given, by its hash."""
    pages = ({chunk["hash"] for chunk in report["chunks"] if chunk["state"] in GIVEN} for report in reports.values())
    return Counter(key for hashes in pages for key in hashes)


def known(reports: Reports) -> set[str]:
    """Return the hashes of all texts of pages that went out, but for those in other languages."""
    chunks = (chunk for report in reports.values() for chunk in report["chunks"])
    return {chunk["hash"] for chunk in chunks if chunk.get("layer") != "language"}


def ids(reports: Reports) -> dict[str, list[tuple[str, str]]]:
    """Return each page's chunks as pairs of text and id."""
    return {url: [(chunk["hash"], chunk["id"]) for chunk in report["chunks"]] for url, report in reports.items()}

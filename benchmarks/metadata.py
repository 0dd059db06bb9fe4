"""Are title, date and author found where no page declares them; beside trafilatura and htmldate?

Truth is what pages declare as JSON-LD and OpenGraph; both are taken out before any method sees a page. On listings,
which have no date and author of their own, any value is counted as wrong.
"""

import argparse
import importlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.corpus import _decode as decode
from benchmarks.single_pages import is_right
from scrapy_dedup.core.blocks import Page, parse_page
from scrapy_dedup.core.metadata import metadata_of

FIELDS = ("title", "date", "author")
Values = dict[str, str | None]

_JSON_LD = re.compile(r"<script[^>]*ld\+json[^>]*>.*?</script>", re.DOTALL | re.IGNORECASE)
_GRAPH = re.compile(r"<meta[^>]*(?:property|name)\s*=\s*[\"']?(?:og|article|twitter):[^>]*>", re.IGNORECASE)
_LISTINGS = frozenset(["listing", "collection"])


def stripped(html: str) -> str:
    """Return a page without JSON-LD and OpenGraph."""
    return _GRAPH.sub("", _JSON_LD.sub("", html))


def declared(html: str, url: str) -> Values:
    """Return what a page says about itself there."""
    page = parse_page(html)
    if not isinstance(page, Page):
        return {}
    found = metadata_of(page, url)
    return {
        field: getattr(found, field)
        for field in FIELDS
        if re.match(r"json-ld|og:|article:|twitter:", found.sources.get(field, ""))
    }


def ours(html: str, url: str) -> Values:
    page = parse_page(html)
    found = metadata_of(page, url) if isinstance(page, Page) else None
    return {field: getattr(found, field, None) for field in FIELDS}


def trafilatura(html: str, url: str) -> Values:
    found = importlib.import_module("trafilatura").extract_metadata(html, default_url=url)
    return {field: getattr(found, field, None) for field in FIELDS}


def htmldate(html: str, url: str) -> Values:
    find_date = importlib.import_module("htmldate").find_date
    try:
        return {"date": find_date(html, url=url, original_date=True)}
    except (ValueError, TypeError):
        return {"date": None}


_METHODS: dict[str, Callable[[str, str], Values]] = {"ours": ours, "trafilatura": trafilatura, "htmldate": htmldate}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("single", type=Path, help="folder of sets, each with pages.jsonl")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for folder in sorted(path.parent for path in args.single.glob("*/pages.jsonl")):
        for line in (folder / "pages.jsonl").open():
            judge(json.loads(line), folder, counts)
    figures: dict[str, Any] = {}
    for name, found in sorted(counts.items()):
        figures[name] = {key: found[key] for key in ("pages", "right", "wrong", "empty")}
        pages = max(1, found["pages"])
        print(f"{name:36}{found['pages']:6} pages", end="")
        print("".join(f"  {key} {found[key] / pages:.3f}" for key in ("right", "wrong", "empty")))
    results.write(args.json, figures)


def judge(row: dict[str, Any], folder: Path, counts: defaultdict[str, Counter[str]]) -> None:
    """Count what each method makes of one page."""
    html = decode((folder / row["html_file"]).read_bytes())
    true, bare = declared(html, row["url"]), stripped(html)
    is_listing = row.get("page_type") in _LISTINGS
    for name, method in _METHODS.items():
        found = method(bare, row["url"])
        for field in FIELDS:
            if field not in found:
                continue
            value = found[field]
            if true.get(field) and not is_listing:
                kind = "right" if value and is_right(field, value, true[field] or "") else "wrong" if value else "empty"
                counts[f"{field}: {name}"].update(["pages", kind])
            elif is_listing and field != "title" and not row.get("publish_date" if field == "date" else field):
                counts[f"{field} of listings: {name}"].update(["pages", "wrong" if value else "empty"])


if __name__ == "__main__":
    main()

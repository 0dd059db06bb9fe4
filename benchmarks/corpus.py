"""Folders of real sites: manifest.json (domain, pages as file and url, `gold` selectors) beside the HTML files."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_CHARSET = re.compile(rb"<meta[^>]+charset=[\"']?\s*([\w-]+)", re.IGNORECASE)


def sites(corpus: Path) -> Iterator[tuple[dict[str, Any], Path]]:
    """Return (manifest, folder) of each site, by name.

    Raises:
        SystemExit: there is none.
    """
    manifests = sorted(corpus.glob("*/manifest.json"))
    if not manifests:
        raise SystemExit(f"{corpus}: no */manifest.json there; the argument is a folder of sites")
    for manifest in manifests:
        yield json.loads(manifest.read_text()), manifest.parent


def pages(manifest: dict[str, Any], folder: Path) -> Iterator[tuple[str, str]]:
    """Return (url, html) of each page of a site, in the manifest's order."""
    for page in manifest["pages"]:
        yield page["url"], decode((folder / page["file"]).read_bytes())


def decode(body: bytes) -> str:
    body = body.removeprefix(b"\xef\xbb\xbf")
    try:
        return body.decode()
    except UnicodeDecodeError:
        named = _CHARSET.search(body[:4096])
        try:
            return body.decode(named[1].decode("ascii", "replace") if named else "cp1252", "replace")
        except LookupError:
            return body.decode("utf-8", "replace")

"""Where pages for an index come from, besides a running crawl: feeds, and the store."""

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from scrapy_dedup.adapters.documents import (
    DEFAULT_READING,
    AdapterError,
    Entry,
    Left,
    LeftReason,
    Reading,
    RemovedPage,
    page_id,
    page_text,
    plain,
)
from scrapy_dedup.core.urls import normalize_url
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.texts import StoredText, Texts
from scrapy_dedup.store.writer import ProjectStore

# Longer than any page that a crawl cleans; a file without line ends must not be read whole.
_LONGEST_LINE = 256_000_000


def feed_items(path: str | Path) -> Iterator[dict[str, Any]]:
    """Iterate over the items of a JSON lines feed; its name may end in .gz.

    Raises:
        AdapterError: a line is no JSON object, or the file is damaged; the items before that were given.
    """
    path = Path(path)
    number = 0
    try:
        for number, line in _lines(path):
            if line.strip():
                yield _item(line, path, number)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise AdapterError(
            f"feed {path}, after line {number}: not as gzip writes it ({error}). Export it anew, or unpack what can be"
            " read of it and name that file."
        ) from error


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with cast("BinaryIO", gzip.open(path) if path.suffix == ".gz" else path.open("rb")) as opened:
        yield from enumerate(iter(lambda: opened.readline(_LONGEST_LINE), b""), start=1)


def _item(line: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        item = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise AdapterError(
            f"feed {path}, line {number}: no JSON ({error}). Export it as JSON lines (.jsonl), or delete the line if a"
            " killed crawl left it unfinished."
        ) from error
    if not isinstance(item, dict):
        kind = type(item).__name__
        raise AdapterError(f"feed {path}, line {number}: {kind}, no item. Export it as JSON lines (.jsonl).")
    return item


def stored_pages(store: Store, project: ProjectStore, reading: Reading = DEFAULT_READING) -> Iterator[Entry | Left]:
    """Iterate over all pages of a project, to fill an index without a crawl; pages that are gone come as removed.

    Raises:
        StoreError: the store failed.
    """
    with store.session(read_only=True) as session:
        for stored in Texts(session, project.id).iterate():
            yield _entry(stored, project.name, reading)


def _entry(stored: StoredText, project: str, reading: Reading) -> Entry | Left:
    identity = page_id(project, stored.page_key.hex())
    source = plain(normalize_url(stored.url, reading.rules))
    visit: dict[str, Any] = {
        "url": stored.url,
        # Not "run": pages of several runs are one state, to be taken over in one go.
        "last_run": str(stored.run_id) if stored.run_id else None,
        "verdict": stored.verdict,
        "last_seen_at": stored.last_seen_at.isoformat(),
    }
    if stored.document_key not in (None, stored.page_key):
        return Left(LeftReason.ALIAS)
    if stored.gone_at is not None:
        return RemovedPage(identity, source, visit)
    if stored.cleaned_content is None or stored.fetched_at is None:
        return Left(LeftReason.NO_TEXT)
    visit["fetched_at"] = stored.fetched_at.isoformat()
    return page_text(identity, source, stored.domain, stored.cleaned_content, {"title": stored.title}, visit)

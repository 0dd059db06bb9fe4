"""What an index takes of a page: indexes embed a document again when text or metadata differ, so visits are beside."""

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from itemadapter import ItemAdapter
from msgspec import Struct

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.pages.fingerprints import content_hash
from scrapy_dedup.core.urls.normal_form import extract_domain, normalize_url, page_key
from scrapy_dedup.service.packed_files import DAMAGED, lines_of, most_line_bytes, read_json, regular_file, unpacking
from scrapy_dedup.service.policies import url_rules
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.pages.texts import Texts
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore

# Drawn once. Another would give every page another id, and every index would be made anew.
NAMESPACE: Final = uuid.UUID("8f0a5a39-5f0d-4e0c-9d3b-6f6f4d0e7c51")
DEFAULTS: Final = Settings()
PAGE_ID: Final = "page_id"
# Node parsers refuse metadata that are longer than a chunk, and what a page says of itself is hostile text.
_LONGEST_VALUE: Final = 300


class AdapterError(DedupError):
    """Items, a feed or an index cannot be used as they are; the message says what to change."""


class IndexedPage(Struct, frozen=True):
    """A page under an id that stands for project and page; without text, its documents are to be deleted."""

    id: str
    source: str
    text: str
    metadata: dict[str, str | int | float]
    visit: dict[str, Any]


def read(item: Any, settings: Settings) -> IndexedPage | str:
    """Return what an index is to know of an item of any kind; else why it is left: `no_item`, `no_url`, `no_text`."""
    if not ItemAdapter.is_item(item):
        return "no_item"
    # The crawl's rules, so that all of its spellings of a URL have one source.
    fields, rules = ItemAdapter(item), url_rules(settings)
    report = fields.get("dedup")
    report = report if isinstance(report, Mapping) else {}
    url = report.get("url") or fields.get(settings.url_field)
    if not isinstance(url, str) or not url.strip():
        return "no_url"
    text = "" if report.get("verdict") == "removed" else fields.get("cleaned_content")
    if not isinstance(text, str):
        return "no_text"
    text, source = _plain(text).strip(), _plain(normalize_url(url, rules))
    # Of a page that names another as its canonical, `page_key` is that one's. Here each has its own id: a tombstone
    # is of the page that was visited, and must not take the documents of the others along.
    key = None if "canonical" in report else report.get("page_key")
    project = _plain(report.get("project") or settings.project)
    identity = str(uuid.uuid5(NAMESPACE, f"{project}\0{key or page_key(url, rules).hex()}"))
    metadata = {name: _flat(fields[name]) for name in ("title", "date", "author") if fields.get(name)}
    metadata |= {PAGE_ID: identity, "source": source, "domain": report.get("domain") or extract_domain(url) or ""}
    visit = {name: value for name, value in report.items() if name not in {"project", "page_key", "domain"}}
    # No metadata: they go with every part of a page, and a part that did not change must not be embedded again.
    return IndexedPage(
        identity, source, text, metadata, {"url": url, **visit, "content_hash": content_hash(text).hex()}
    )


def pages_in(items: Iterable[Any], settings: Settings) -> Iterator[IndexedPage]:
    """Iterate over the pages among items."""
    return (page for item in items if isinstance(page := read(item, settings), IndexedPage))


def removed_sources(items: Iterable[Any], settings: Settings = DEFAULTS) -> list[str]:
    """Return `source` of the pages among items that are removed or have no text any more, in order."""
    return [page.source for page in pages_in(items, settings) if not page.text]


def feed_items(path: str | Path) -> Iterator[Any]:
    """Iterate over the items of a JSON lines feed, packed by gzip or zstd or not.

    Raises:
        AdapterError: a line is no JSON, or the file is damaged; the items before that were given.
        FileRefusedError: it is no regular file.
    """
    number = 0
    with regular_file(path) as file:
        try:
            for number, line in enumerate(lines_of(unpacking(file), most_line_bytes(DEFAULTS)), start=1):  # noqa: B007
                if line is None or line.strip():
                    yield read_json(line or b"")
        except (*DAMAGED, ValueError, RecursionError) as error:
            way_out = "Export it anew as JSON lines, or delete what a killed crawl left unfinished."
            raise AdapterError(f"feed {path}, near line {number}: damaged or no JSON ({error}). {way_out}") from error


def stored_items(store: Store, project: ProjectStore) -> Iterator[dict[str, Any]]:
    """Iterate over the pages of a project as items, aliases left out; a StoreError says that the store failed."""
    with store.session(read_only=True) as session:
        for page in Texts(session, project.id).iterate():
            if page.document_key in (None, page.page_key):
                named = {
                    "project": project.name,
                    "page_key": page.page_key.hex(),
                    "domain": page.domain,
                    "url": page.url,
                }
                times = {"last_seen_at": page.last_seen_at, "fetched_at": page.fetched_at}
                # Not "run": pages of several runs are one state, to be taken over in one go.
                state = {"last_run": page.run_id, "verdict": page.verdict if page.gone_at is None else "removed"}
                report = named | {name: value and str(value) for name, value in (state | times).items()}
                yield {"title": page.title, "cleaned_content": page.cleaned_content, "dedup": report}


def _flat(value: Any) -> str | int | float:
    if isinstance(value, int | float):
        return value
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str).strip('"')
    return _plain(text).strip()[:_LONGEST_VALUE]


def _plain(text: str) -> str:
    """Return a text that any index can store: PostgreSQL refuses NUL, and UTF-8 lone surrogates."""
    return text.replace("\0", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")

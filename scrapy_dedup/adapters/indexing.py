"""How an index is kept in step: by the feeds of crawls, or by a crawl itself, which acknowledges what is stored."""

import json
import logging
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol, Self

from itemadapter import ItemAdapter
from msgspec import Struct
from scrapy.crawler import Crawler
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import DeferredLock

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.pages.fingerprints import content_hash
from scrapy_dedup.core.urls.normal_form import extract_domain, normalize_url, page_key
from scrapy_dedup.service.packed_files import DAMAGED, lines_of, most_line_bytes, read_json, regular_file, unpacking
from scrapy_dedup.service.policies import url_rules
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.pages.reads import iterate_texts
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


def stored_items(project: ProjectStore) -> Iterator[dict[str, Any]]:
    """Iterate over the pages of a project as items, aliases left out; a StoreError says that the store failed."""
    with project.session(read_only=True) as session:
        for page in iterate_texts(session, project.id):
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


logger = logging.getLogger(__name__)

Counts = Counter[str]
"""Documents (LangChain: parts of pages) that were `added`, `skipped` or `deleted`; items that were `left/<why>`."""
_Batch = list[tuple[Any, IndexedPage | str]]

_PAGES_AT_ONCE: Final = 100
# Of a batch that failed, one page may be what the index cannot take. After so many failures in a row it is the index,
# and each further try may cost a timeout.
_MOST_FAILURES: Final = 3


class Index(Protocol):
    """What `langchain.VectorIndex` and `llamaindex.IngestionIndex` are; after an exception any part may be done."""

    def begin(self) -> None:
        """Let the pages that are written next be those of another crawl."""

    def write(self, pages: Sequence[IndexedPage]) -> Counts:
        """Store pages that are not there yet, delete older versions and pages without text; twice equals once."""
        ...


def sync(items: Iterable[Any], index: Index, settings: Settings = DEFAULTS) -> Counts:
    """Bring an index to the state that items describe, those of a crawl together, embedding nothing twice.

    Whatever the libraries raise ends it; called again with the same items, what was done is not done again.
    """
    counts: Counts = Counter()

    def pages() -> Iterable[IndexedPage]:
        for item in items:
            if isinstance(found := read(item, settings), IndexedPage):
                yield found
            else:
                counts[f"left/{found}"] += 1

    for _, crawl in groupby(pages(), key=lambda page: page.visit.get("run")):
        index.begin()
        while batch := list(islice(crawl, _PAGES_AT_ONCE)):
            counts.update(index.write(batch))
    return counts


class IndexPipeline:
    """Scrapy pipeline that fills an index, behind all others; a subclass has `acknowledge` and `connect`."""

    batch_items: ClassVar[int] = 50
    """Items that are written together; after a kill so many come again."""
    acknowledge: ClassVar[Callable[..., None] | None] = None
    """`scrapy_dedup.acknowledge`."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler, self._settings = crawler, Settings.read(crawler.settings)
        if self._settings.ack != "manual" or type(self).acknowledge is None:
            raise AdapterError(
                f"{type(self).__name__}: needs DEDUP_ACK='manual', not {self._settings.ack!r}, and in its class"
                " acknowledge = scrapy_dedup.acknowledge, or pages that the index refused count as seen"
            )
        self._waiting: _Batch = []
        # Whoever comes while a batch is written waits: an index that is slower than the crawl slows it down.
        self._turn = DeferredLock()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return it; an AdapterError says why pages could not be acknowledged."""
        return cls(crawler)

    def connect(self) -> Index:
        """Return the index; asked once, when the spider opens."""
        raise NotImplementedError(f"{type(self).__name__}.connect: return a VectorIndex or an IngestionIndex")

    def save(self) -> None:
        """Write to disk what lives in memory; asked in a thread before a batch is acknowledged, unless it raises."""

    def open_spider(self) -> None:
        """Connect; what that raises stops the crawl."""
        self._index = self.connect()
        self._index.begin()

    async def process_item(self, item: Any) -> Any:
        """Return the item; with every fiftieth, the batch is written first."""
        await self._take([(item, read(item, self._settings))], self.batch_items)
        return item

    async def close_spider(self) -> None:
        """Write what is left."""
        await self._take([], 1)

    async def _take(self, more: _Batch, full: int) -> None:
        await maybe_deferred_to_future(self._turn.acquire())
        try:
            self._waiting += more
            if len(self._waiting) >= full:
                batch, self._waiting = self._waiting, []
                done, counts = await run_in_thread(self._write, batch)
                for name, number in counts.items():
                    self.crawler.stats.inc_value(f"dedup/index/{name}", number)
                if done and (acknowledge := type(self).acknowledge):
                    acknowledge(self.crawler, *done)
        finally:
            self._turn.release()

    def _write(self, batch: _Batch) -> tuple[list[Any], Counts]:
        """Return the items that are safe, and what to count."""
        pages: dict[str, _Batch] = {}
        for item, found in batch:
            pages.setdefault(found if isinstance(found, str) else found.id, []).append((item, found))
        try:
            counts = self._index.write([found for _, found in batch if isinstance(found, IndexedPage)])
            self.save()
        except Exception:
            if len(pages) == 1:
                logger.exception("%d items could not be indexed, and come again: they are not acknowledged", len(batch))
                return [], Counter(failed=len(batch))
        else:
            return [item for item, _ in batch], counts + Counter(
                f"left/{why}" for _, why in batch if isinstance(why, str)
            )
        done: list[Any] = []
        counts, in_a_row = Counter(), 0
        for page in pages.values():
            safe, told = self._write(page) if in_a_row < _MOST_FAILURES else ([], Counter(failed=len(page)))
            in_a_row = 0 if safe else in_a_row + 1
            done += safe
            counts += told
        return done, counts

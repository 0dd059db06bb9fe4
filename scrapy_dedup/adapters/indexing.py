"""How an index is kept in step: by the feeds of crawls, or by a crawl itself, which acknowledges what is stored."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby, islice
from typing import Any, ClassVar, Final, Protocol, Self

from scrapy.crawler import Crawler
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import DeferredLock

from scrapy_dedup.adapters.pages import DEFAULTS, AdapterError, IndexedPage, read
from scrapy_dedup.settings import Settings

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

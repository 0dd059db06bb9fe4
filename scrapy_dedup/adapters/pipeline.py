"""The Scrapy side of an index: items are written in batches, and acknowledged once they are there."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Self

from scrapy.crawler import Crawler
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import DeferredLock

from scrapy_dedup.adapters.documents import AdapterError, Entry, Left, Outcome, Reading, read
from scrapy_dedup.adapters.steps import Index
from scrapy_dedup.settings import Settings

logger = logging.getLogger(__name__)

# Of a batch that failed, pages are tried one by one: one of them may be what the index cannot take. After so many
# failures in a row it is the index, and each further try may cost a timeout.
_MOST_FAILURES: Final = 3

Waiting = tuple[Any, Entry | Left]


@dataclass(slots=True)
class _Written:
    """What became of a batch."""

    done: list[Any] = field(default_factory=list)
    failed: list[Any] = field(default_factory=list)
    outcome: Outcome = field(default_factory=Outcome)
    error: Exception | None = None


class IndexPipeline:
    """Base of the pipelines that fill an index. Put it behind all others: it takes items as they are then."""

    batch_items: ClassVar[int] = 50
    """Items that are written together; after a kill so many come again."""
    acknowledge: ClassVar[Callable[..., None] | None] = None
    """`scrapy_dedup.acknowledge`; takes the crawler and items."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        settings = Settings.read(crawler.settings)
        self._check(settings)
        self._reading = Reading.of(settings)
        self._index: Index | None = None
        self._waiting: list[Waiting] = []
        # Whoever comes while a batch is written waits: an index that is slower than the crawl slows it down.
        self._turn = DeferredLock()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make it from the crawler.

        Raises:
            AdapterError: pages could not be acknowledged.
        """
        return cls(crawler)

    def _check(self, settings: Settings) -> None:
        name = type(self).__name__
        if settings.ack != "manual":
            raise AdapterError(
                f"DEDUP_ACK={settings.ack!r}: {name} needs 'manual', or pages that the index refused count as seen"
            )
        if type(self).acknowledge is None:
            raise AdapterError(f"{name}: add to the class: acknowledge = scrapy_dedup.acknowledge")

    def connect(self) -> Index:
        """Return the index for this crawl; asked once, when the spider opens."""
        raise NotImplementedError(f"{type(self).__name__}.connect: return an Index")

    def save(self) -> None:
        """Make durable what was written, where the index itself does not; asked after each batch, in a thread.

        An exception means that the batch is not acknowledged.
        """

    def open_spider(self) -> None:
        """Connect; what that raises stops the crawl."""
        self._index = self.connect()

    async def process_item(self, item: Any) -> Any:
        """Return the item; with every fiftieth, the batch is written first."""
        await maybe_deferred_to_future(self._turn.acquire())
        try:
            self._waiting.append((item, read(item, self._reading)))
            if len(self._waiting) >= self.batch_items:
                await self._flush()
        finally:
            self._turn.release()
        return item

    async def close_spider(self) -> None:
        """Write what is left."""
        await maybe_deferred_to_future(self._turn.acquire())
        try:
            await self._flush()
        finally:
            self._turn.release()

    async def _flush(self) -> None:
        batch, self._waiting = self._waiting, []
        if batch:
            written = await run_in_thread(self._write, batch)
            self._count(written)
            acknowledge = type(self).acknowledge
            if written.done and acknowledge is not None:
                acknowledge(self.crawler, *written.done)

    def _write(self, batch: list[Waiting]) -> _Written:
        written = self._attempt(batch)
        by_page: dict[str, list[Waiting]] = {}
        if written.failed:
            for item, entry in batch:
                by_page.setdefault("" if isinstance(entry, Left) else entry.id, []).append((item, entry))
        return self._page_by_page(list(by_page.values())) if len(by_page) > 1 else written

    def _page_by_page(self, pages: list[list[Waiting]]) -> _Written:
        written, in_a_row = _Written(), 0
        for page in pages:
            one = self._attempt(page) if in_a_row < _MOST_FAILURES else _Written(failed=[item for item, _ in page])
            in_a_row = in_a_row + 1 if one.failed else 0
            written.done += one.done
            written.failed += one.failed
            written.outcome += one.outcome
            written.error = written.error or one.error
        return written

    def _attempt(self, batch: list[Waiting]) -> _Written:
        assert self._index is not None
        items = [item for item, _ in batch]
        try:
            outcome = self._index.write([entry for _, entry in batch if not isinstance(entry, Left)])
            self.save()
        except Exception as error:  # noqa: BLE001 - of any library; whatever it is, the pages come again
            return _Written(failed=items, error=error)
        for _, entry in batch:
            if isinstance(entry, Left):
                outcome.left[entry.reason] += 1
        return _Written(done=items, outcome=outcome)

    def _count(self, written: _Written) -> None:
        outcome = written.outcome
        counts = {"added": outcome.added, "skipped": outcome.skipped, "deleted": outcome.deleted}
        counts |= {"failed": len(written.failed)} | {f"left/{why}": number for why, number in outcome.left.items()}
        for name, number in counts.items():
            if number:
                self.crawler.stats.inc_value(f"dedup/index/{name}", number)
        if written.failed:
            logger.error(
                "%d items could not be indexed; their pages are not acknowledged and come again in the next crawl",
                len(written.failed),
                exc_info=written.error,
            )

"""The end of a complete run: pages that it did not find, and the tombstones of those that are removed."""

import logging
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from typing import Any

from scrapy import Request, signals
from scrapy.core.scheduler import Scheduler
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider
from scrapy.http import Response
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import Deferred

from scrapy_dedup.plugin.domains import Sites
from scrapy_dedup.plugin.engine_state import EngineState, only_known_listen
from scrapy_dedup.plugin.write_behind import WriteBehind
from scrapy_dedup.service.crawl.crawl import Crawl
from scrapy_dedup.service.recrawl import (
    Departed,
    PagesMet,
    bare_tombstone,
    find_departed,
    incomplete_domains,
    removal_records,
    seen_by_all,
    tombstone,
)
from scrapy_dedup.store.engine.errors import StoreError
from scrapy_dedup.store.records.records import GoneRecord, Record
from scrapy_dedup.store.records.stored import MissedPage

logger = logging.getLogger(__name__)


class RemovedPages:
    """Tombstones leave while the spider is idle for the last time: later, pipelines and feeds are closed."""

    def __init__(
        self,
        crawler: Crawler,
        crawl: Crawl,
        sites: Sites,
        writer: WriteBehind,
        met: PagesMet,
        refused: AbstractSet[str],
    ) -> None:
        """Begin; *met* and *refused* grow as pages come: those received, and domains of which some were not asked for.

        Of such a domain nothing is missed.
        """
        self._crawler = crawler
        self._crawl = crawl
        self._settings = crawl.settings
        self._count = crawl.count
        self._sites = sites
        self._writer = writer
        self._met = met
        self._refused = refused
        self._looking: Deferred[None] | None = None
        self._told = False
        self._announced: dict[str, MissedPage] = {}
        """Pages whose tombstones are under way, by the hexadecimal key."""
        self._forgotten: set[str] = set()
        """Those of which nothing else is known any more."""

    def watch(self) -> None:
        """Begin to wait for the end."""
        if not (self._settings.emit_removed and "unchanged" in self._settings.acting):
            return
        if self._shared:
            logger.warning(
                "No tombstones: only the last of the workers of DEDUP_SHARED_JOB=%s knows what is missing, when its"
                " feeds are closed. `scrapy dedup changes` lists removed pages",
                self._settings.shared_job,
            )
        else:
            connect: Callable[..., None] = self._crawler.signals.connect
            connect(self._idle, signals.spider_idle)

    def _idle(self) -> None:
        if self._looking is not None or not self.ends_when_idle():
            return
        self._looking = deferred_from_coro(self._announce())
        raise DontCloseSpider

    def ends_when_idle(self) -> bool:
        """Say whether an idle spider has nothing more to come: others may feed it, or its queue may be shared."""
        scheduler = EngineState(self._crawler).scheduler()
        if type(scheduler) is Scheduler and only_known_listen(self._crawler, signals.spider_idle):
            return True
        if not self._told:
            self._told = True
            logger.warning(
                "No tombstones: something else listens to spider_idle, or the queue is shared, so that nobody knows"
                " when the crawl is complete. `scrapy dedup changes` lists removed pages"
            )
        return False

    async def _announce(self) -> None:
        # Which pages failed is read from the store.
        await self._writer.catch_up()
        departed = await run_in_thread(self._find)
        self._forgotten = await run_in_thread(self._find_forgotten)
        self._announced = {page.page_key.hex(): page for page in departed.removed}
        engine = self._crawler.engine
        if engine is not None:
            # Without a request the engine would look again only after some seconds.
            engine.crawl(Request("data:,", callback=self._tombstones, dont_filter=True, meta={"dedup": False}))

    def _tombstones(self, response: Response) -> Iterator[dict[str, Any]]:  # noqa: ARG002 (Scrapy's signature)
        crawl = self._crawl
        for page in self._announced.values():
            self._count("removed/tombstones", 1)
            yield tombstone(page, crawl.store.name, str(crawl.run.id), self._settings.url_field)
        for key in sorted(self._forgotten):
            self._count("removed/tombstones", 1)
            yield bare_tombstone(key, crawl.store.name, str(crawl.run.id))

    def records_of(self, item: dict[str, Any]) -> list[Record]:
        """Return what is written once a tombstone is safe."""
        key = str(item["dedup"].get("page_key"))
        if key in self._forgotten:
            return [GoneRecord(bytes.fromhex(key), datetime.now(UTC))]
        page = self._announced.get(key)
        return removal_records([page], datetime.now(UTC)) if page is not None else []

    @property
    def _shared(self) -> bool:
        return self._crawl.run.worker is not None

    def incomplete(self) -> list[str]:
        """Return the domains of which this crawl did not see all that there is to see, for the other workers."""
        # Something that was seen could not be written, or was to be seen, and is not known any more.
        lost = self._writer.has_given_up or bool(self._crawler.stats.get_value("dedup/queue/given_up"))
        return incomplete_domains(self._sites.incomplete() | self._refused, rows_lost=lost)

    def _complete(self) -> list[str]:
        most_failures = self._settings.removed_max_failures
        if self._shared:
            return seen_by_all(self._crawl.store, self._crawl.run.id, most_failures)
        return [domain for domain in self._sites.complete(most_failures) if domain not in self._refused]

    def _find(self) -> Departed:
        try:
            domains = self._complete()
            return find_departed(self._crawl.store, self._crawl.run.id, domains, self._met, self._settings)
        except StoreError as error:
            self._count("store/errors", 1)
            logger.warning("Which pages are missing cannot be found out; this run does not count for them: %s", error)
            return Departed()

    def _find_forgotten(self) -> set[str]:
        try:
            return {key.hex() for key in self._crawl.store.forgotten() if key not in self._met}
        except StoreError:
            self._count("store/errors", 1)
            return set()

    def persist(self) -> None:
        """Write which pages a finished run did not find; blocks, for the end of a run."""
        departed = self._find()
        for domain, due, pages in departed.too_many:
            logger.warning(
                '%d of %d pages of %s were missed by %d complete runs, more than DEDUP_REMOVED["max_share"]=%g allows:'
                " none is removed. If they are gone, crawl once with a larger share",
                due,
                pages,
                domain,
                self._settings.removed_after,
                self._settings.removed_max_share,
            )
            self._count("removed/held_back", due)
        if not departed.missed or not self._crawl.store.count_missed(self._crawl.run.id, departed.missed):
            return
        self._count("removed/missed", len(departed.missed))
        if self._looking is None:
            self._crawl.store.write(removal_records(departed.removed, datetime.now(UTC)))
            self._count("removed/pages", len(departed.removed))

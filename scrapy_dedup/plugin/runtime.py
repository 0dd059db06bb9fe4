"""What the components of one crawl share: settings, the run, the parking lot, and the writer behind them."""

import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from itemadapter import ItemAdapter
from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from scrapy.utils.asyncio import create_looping_call, run_in_thread
from scrapy.utils.project import data_path

from scrapy_dedup.core.blocks import Page
from scrapy_dedup.core.canonical import Alias, Own, OwnReason, redirect_aliases
from scrapy_dedup.core.urls import extract_domain, page_key
from scrapy_dedup.plugin.engine_state import EngineState
from scrapy_dedup.plugin.items import url_of
from scrapy_dedup.plugin.overrides import settings_of
from scrapy_dedup.plugin.parking import ParkingLot, Release
from scrapy_dedup.plugin.visits import Visit, Visits
from scrapy_dedup.plugin.write_behind import WRITE_SECONDS, WriteBehind
from scrapy_dedup.service.crawl import Crawl, Draft
from scrapy_dedup.service.learning import Learner
from scrapy_dedup.service.policies import canonical_policy, keep_policy, parse_limits, url_rules
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.errors import StoreError
from scrapy_dedup.store.store import Store

logger = logging.getLogger(__name__)

TICK_SECONDS = 0.1

_runtimes: WeakKeyDictionary[Crawler, "Runtime"] = WeakKeyDictionary()


class Runtime:
    """One for each crawler: the first component that asks opens it, the end of the engine closes it."""

    def __init__(self, crawler: Crawler, settings: Settings) -> None:
        self.crawler = crawler
        self.settings = settings
        self.rules = url_rules(settings)
        self.limits = parse_limits(settings)
        self.canonical_policy = canonical_policy(settings)
        self.visits = Visits(settings, self.rules)
        self.store = Store.open(database_url(settings), timeout=settings.database_timeout)
        self.crawl = self._begin_run()
        self.lot = ParkingLot(settings.batch_pages, settings.max_parked_bytes, settings.max_wait, self._released)
        self.writer = WriteBehind(self.crawl, settings.write_every, self.count)
        self.loose: dict[bytes, Draft] = {}
        """Drafts of items whose response is not known, by page key, until the items have left the pipelines."""
        self._engine = EngineState(crawler)
        self._loops: list[Any] = []
        self._reason = "shutdown"
        self._connect()

    @classmethod
    def of(cls, crawler: Crawler) -> "Runtime":
        """Return the crawler's runtime.

        Raises:
            NotConfigured: the plugin is switched off.
            SettingError: a setting is wrong.
            StoreError: the store cannot be used.
        """
        known = _runtimes.get(crawler)
        if known is None:
            settings = settings_of(crawler)
            if not settings.enabled:
                raise NotConfigured("DEDUP_ENABLED is off")
            known = _runtimes[crawler] = cls(crawler, settings)
        return known

    def _begin_run(self) -> Crawl:
        name = self.settings.project or self.crawler.settings["BOT_NAME"]
        project = self.store.project(name, keep_policy(self.settings))
        spider = self.crawler.spider.name if self.crawler.spider else self.crawler.spidercls.name
        jobdir = self.crawler.settings["JOBDIR"] or None
        run = project.begin_run(spider=spider, jobdir=jobdir, started_at=datetime.now(UTC))
        crawl = Crawl(project, run, self.settings, self.count)
        if run.resumed:
            crawl.take_over()
        if run.killed:
            logger.warning("The last crawl in this JOBDIR was killed: pages are fetched again, finished ones dropped")
        return crawl

    def _connect(self) -> None:
        connect: Callable[..., None] = self.crawler.signals.connect
        connect(self._opened, signals.spider_opened)
        connect(self._item_done, signals.item_scraped)
        connect(self._item_done, signals.item_dropped)
        connect(self._item_failed, signals.item_error)
        connect(self._request_dropped, signals.request_dropped)
        connect(self._spider_closed, signals.spider_closed)
        connect(self._engine_stopped, signals.engine_stopped)

    def count(self, what: str, n: int = 1) -> None:
        """Add to the stat `dedup/<what>`."""
        self.crawler.stats.inc_value(f"dedup/{what}", n)

    def _opened(self) -> None:
        for call, interval_seconds in ((self._tick, TICK_SECONDS), (self.writer.begin, WRITE_SECONDS)):
            loop = create_looping_call(call)
            loop.start(interval_seconds, now=False)
            self._loops.append(loop)

    # Parking.

    def _tick(self) -> None:
        if len(self.lot):
            state = self._engine
            self.lot.tick(time.monotonic(), closing=state.closing(), pressure=state.pressed(), quiet=state.quiet())

    def _released(self, learner: Learner, why: Release, pages: int) -> None:
        self.count(f"release/{why}", pages)
        self.crawl.learn(learner)

    # When a page is done.

    def _item_done(self, item: Any, response: Response | None) -> None:
        visit = self.visits.of_response(response) if response is not None else None
        if visit is not None:
            self.visits.left(item, visit)
            self.settle(visit)
        elif self.loose and (draft := self._loose_draft(item)) is not None:
            self.crawl.complete(draft, datetime.now(UTC))
            self.writer.if_due()

    def _item_failed(self, item: Any, response: Response | None, failure: Any) -> None:
        visit = self.visits.of_response(response) if response is not None else None
        if visit is not None:
            visit.failed = True
            self.visits.left(item, visit)
            drafts = visit.drafts
        else:
            draft = self._loose_draft(item)
            drafts = [draft] if draft is not None else []
        for draft in drafts:
            self.crawl.fail(draft, f"{failure.type.__name__}: {failure.value}"[:500], datetime.now(UTC))
        drafts.clear()

    def _loose_draft(self, item: Any) -> Draft | None:
        url = url_of(ItemAdapter(item), self.settings)
        return self.loose.pop(page_key(url, self.rules), None) if url else None

    def settle(self, visit: Visit) -> None:
        """Write down that a page is done, when its callback has ended and all of its items have left."""
        if visit.items or visit.failed or (visit.from_spider and not visit.callback_ended):
            return
        at = datetime.now(UTC)
        for draft in visit.drafts:
            self.crawl.complete(draft, at)
        visit.drafts.clear()
        self.writer.if_due()

    # Addresses.

    def alias_of(self, visit: Visit | None, draft: Draft) -> Alias | Own:
        """Return what a page's canonical link is worth, judged once for a response."""
        if draft.page is None:
            return Own(OwnReason.NONE)
        if visit is None or visit.alias is None:
            alias = self.judge_alias(draft.url, draft.page_key, draft.domain, draft.page)
            if visit is not None:
                visit.alias = alias
            return alias
        return visit.alias

    def judge_alias(self, url: str, key: bytes, domain: str, page: Page) -> Alias | Own:
        """Judge a page's canonical link, and count it among what the domain's pages declare."""
        alias = self.crawl.aliases.judge(url, key, domain, page, self.canonical_policy, self.rules)
        if isinstance(alias, Own) and alias.reason not in (OwnReason.NONE, OwnReason.SELF):
            self.count(f"canonical/refused_{alias.reason}")
        return alias

    def note_redirects(self, urls: tuple[str, ...], final_url: str) -> None:
        """Note the addresses that led to a page."""
        if not urls or not self.settings.canonical_enabled:
            return
        final_key = page_key(final_url, self.rules)
        for alias in redirect_aliases(urls, final_url, self.rules):
            domain = extract_domain(alias.url, self.settings.domain_scope) or ""
            self.crawl.note_alias(alias, domain, final_key, "redirect", datetime.now(UTC))
            self.count("canonical/redirects")

    def _request_dropped(self, request: Request) -> None:
        """Count what the duplicate filter drops; a redirect's target that it drops is never seen again."""
        self.count("url/dropped")
        if "redirect_urls" in request.meta:
            self.note_redirects(tuple(request.meta["redirect_urls"]), request.url)

    # The end.

    def _spider_closed(self, reason: str) -> None:
        self._reason = reason
        self.lot.release_all()
        self.crawl.finish(complete=reason == "finished")

    async def _engine_stopped(self) -> None:
        for loop in self._loops:
            if loop.running:
                loop.stop()
        try:
            await self.writer.end()
            await run_in_thread(self._end_run)
        except StoreError as error:
            logger.warning("The end of the run could not be written: %s", error)
        finally:
            self.store.close()

    def _end_run(self) -> None:
        finished = self._reason == "finished"
        stats = self.crawler.stats.get_stats()
        self.crawl.store.end_run(
            self.crawl.run.id,
            status="finished" if finished else "stopped",
            reason=self._reason,
            stats={name: value for name, value in stats.items() if isinstance(value, int | float | str)},
            finished_at=datetime.now(UTC),
        )


def database_url(settings: Settings) -> str:
    """Return where the store is."""
    return settings.database_url or f"sqlite:///{Path(data_path('')) / 'dedup.db'}"

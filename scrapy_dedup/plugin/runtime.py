"""What the components of one crawl share: settings, the run, the parking lot, and the writer behind them."""

import ctypes
import gc
import logging
import os
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Final
from weakref import WeakKeyDictionary, ref

from msgspec import to_builtins
from scrapy import Request, signals
from scrapy.commands import ScrapyCommand
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.reactor import is_reactor_installed
from twisted.internet.defer import Deferred

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.pages.fingerprints import parts_hash
from scrapy_dedup.core.runs import STAT
from scrapy_dedup.core.urls.canonical import Alias, Own, OwnReason, redirect_aliases
from scrapy_dedup.core.urls.normal_form import extract_domain, page_key
from scrapy_dedup.core.urls.seen import Latest
from scrapy_dedup.plugin.acknowledgement import Acknowledgement, Delivery
from scrapy_dedup.plugin.domains import DomainGuard, DomainRegistry, Sites
from scrapy_dedup.plugin.engine_state import EngineState
from scrapy_dedup.plugin.overrides import only_shows, settings_of, told
from scrapy_dedup.plugin.recrawl.removed import RemovedPages
from scrapy_dedup.plugin.recrawl.reuse import Reuse
from scrapy_dedup.plugin.requests import Ways, redirected_from
from scrapy_dedup.plugin.run_state import REPORT_SECONDS, RunState, begin_run, check_queue, database_url
from scrapy_dedup.plugin.visits import Resilience, Visit, Visits
from scrapy_dedup.plugin.waiting import (
    Aside,
    CrawlEndedError,
    ItemsFirst,
    Loops,
    ParkingLot,
    Release,
    Together,
    Turn,
    parking_bounds,
    pause,
)
from scrapy_dedup.plugin.write_behind import ROWS_AT_ONCE, WRITE_SECONDS, WriteBehind, tell_of_full_disk
from scrapy_dedup.service.crawl.crawl import Crawl, counting, load, recall_late
from scrapy_dedup.service.crawl.drafts import Draft
from scrapy_dedup.service.crawl.start_check import check_settings
from scrapy_dedup.service.duplicates.page_facts import declaration_of
from scrapy_dedup.service.learning import Learner
from scrapy_dedup.service.policies import canonical_policy, crawl_rules, parse_limits, repeat_policy
from scrapy_dedup.service.recrawl import FetchPlan, PagesMet
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.engine.errors import AwayStoreError, BusyStoreError, StoreError
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.workers import Lost, PageClaim

if TYPE_CHECKING:
    from scrapy_dedup.plugin.teacher.teaching import Teaching

TICK_SECONDS = 0.1
_REST_SECONDS = 1.0
# The duplicate filter and the HTTP cache ask for one fingerprint each; what they have in flight is less than this.
_REDIRECTS_REMEMBERED = 1_000
# Of some 100 bytes each. A page that moved, and whose old address is forgotten by then, counts as new.
_MOST_DEPARTED = 50_000

# Kept on the crawler: in a weak table of the module a value that knows its crawler would keep it for ever.
_RUNTIME: Final = "_scrapy_dedup_runtime"
_HEARING: Final = "_scrapy_dedup_hearing"

logger = logging.getLogger(__name__)

_RELEASED_AT_ONCE: Final = 5_000
_PAUSE_SECONDS: Final = 1.0
# Claims that come in this time are one transaction; a page that waits for it keeps no other from being fetched.
_CLAIM_SECONDS: Final = 0.05
# For so long the second of two interrupts waits, and looks so often whether it need not.
_LAST_SECONDS: Final = 5.0
_LOOK_SECONDS: Final = 0.02
# EX_IOERR of sysexits.h.
LOST_ROWS_EXIT_CODE: Final = 74
# M_ARENA_MAX of glibc's malloc.h.
_ARENA_MAX: Final = -8


def _give_memory_back() -> None:
    """Return to the system what ended crawls have left in this process.

    Each is one large cycle, and the collector may not come by before several have ended. What it frees lies between
    what is in use, and glibc keeps it unless it is told otherwise: 50 MB in 100 crawls of 60 pages.
    """
    gc.collect()
    # Other C libraries do not know it; on Windows there is no library of that name.
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def share_heap(environment: Mapping[str, str]) -> bool:
    """Let all threads of this process take memory from one heap; say whether that could be done.

    glibc gives each thread its own, and what one lets go of the others cannot use: 22 MB in a crawl of 500 domains. One
    thread at a time runs Python, so hardly any waits for another. Who has chosen a number of heaps gets that.
    """
    if not {"MALLOC_ARENA_MAX", "GLIBC_TUNABLES"}.isdisjoint(environment):
        return False
    try:
        return bool(ctypes.CDLL(None).mallopt(_ARENA_MAX, 1))
    except (AttributeError, OSError, TypeError):
        # As where memory is given back.
        return False


class Runtime:
    """One for each crawler: the first component that asks opens it, the end of the engine closes it."""

    memos: object = None
    """Of costly functions, once somebody asked; `plugin.memo` knows what they are."""
    resilience: Resilience | None = None
    """What watches over the way through the sites, where that is switched on."""
    _finishing: Deferred[None] | None = None
    """Fires when all is learned that there was to learn."""
    _arrived = 0
    """How many pages came."""
    _ended = False
    _stopped = False
    """All is written, and the store closed."""
    _others_ended: ClassVar = False
    """Crawls of this process ended since the last one began."""

    def __init__(self, crawler: Crawler, settings: Settings) -> None:
        self.crawler = crawler
        self.count = counting(crawler.stats.inc_value)  # type: ignore[arg-type]  # seconds are counted, too
        """Adds to the stat `dedup/<what>`."""
        check_settings(settings)
        check_queue(settings, crawler.settings)
        self.settings = settings
        self.rules = crawl_rules(settings)
        self.limits = parse_limits(settings)
        self.canonical_policy = canonical_policy(settings)
        self.visits = Visits(settings, self.rules)
        self.ways = Ways(crawler.settings)
        self.store = Store.open(database_url(settings), timeout=settings.database_timeout)
        self.crawl = begin_run(crawler, self.store, settings, self.rules, self.count)
        self.guard = DomainGuard(self.crawl, self.rules) if settings.domain_enabled else None
        self.registry = DomainRegistry(self.crawl)
        batch_pages, max_wait = parking_bounds(settings, crawler.settings)
        self.lot = ParkingLot(batch_pages, settings.max_parked_bytes, max_wait, self._released)
        self.items_first = ItemsFirst(crawler, self.lot)
        self.writer = WriteBehind(self.crawl, partial(tell_of_full_disk, crawler, settings))
        self.claims = Together[PageClaim, Lost](self._claim, _CLAIM_SECONDS)
        self.delivery = Delivery(crawler, follows_feeds=settings.ack == "auto", count=self.count)
        self.sites = Sites(self.crawl.store, repeat_policy(settings), self.count)
        self.aside = Aside(crawler.settings)
        self.unmet = Unmet(self.crawl, self.aside)
        self.resting = Resting(self.crawl, self.aside, self.lot, self.writer)
        self.met = PagesMet()
        refused = self.guard.refused if self.guard is not None else frozenset[str]()
        self.removed_pages = RemovedPages(crawler, self.crawl, self.sites, self.writer, self.met, refused)
        self.state = RunState(crawler, self.crawl, self.removed_pages.incomplete)
        self.reuse = Reuse(crawler, self.crawl)
        self.done = Acknowledgement(
            self.crawl,
            self.visits,
            self.writer,
            self.delivery,
            self.rules,
            self.reuse,
            self.registry,
            self.removed_pages,
            self.giver_of,
        )
        self.departed: Latest[bytes, None] = Latest(_MOST_DEPARTED)
        """Pages that answered in this run that they are gone, or redirected."""
        self.plans: WeakKeyDictionary[Request, FetchPlan] = WeakKeyDictionary()
        """What is done about the requests that are under way."""
        self.teaching = self._teaching()
        self.fingerprints = _is_our_fingerprinter(crawler.settings["REQUEST_FINGERPRINTER_CLASS"])
        """The duplicate filter compares our keys; else the downloader middleware does."""
        self.at_end: Callable[[], Awaitable[int]] = _nothing_left
        """Called when all that could be written is."""
        self._engine = EngineState(crawler)
        self._noted: Latest[tuple[bytes, bytes], None] = Latest(_REDIRECTS_REMEMBERED)
        """Redirects that were noted last."""
        self._loops = Loops()
        self._connect()

    @classmethod
    def of(cls, crawler: Crawler) -> "Runtime":
        """Return the crawler's runtime.

        Raises:
            NotConfigured: the plugin is switched off.
            SettingError: a setting is wrong.
            StoreError: the store cannot be used.
        """
        known = cls.of_open(crawler)
        if known is None:
            settings = settings_of(crawler)
            if not settings.enabled:
                raise NotConfigured("DEDUP_ENABLED is off")
            if only_shows():
                raise NotConfigured("a command that shows what a spider does leaves no trace")
            if cls._others_ended:
                cls._others_ended = False
                _give_memory_back()
            with told():
                share_heap(os.environ)
                known = cls(crawler, settings)
            setattr(crawler, _RUNTIME, known)
        return known

    @classmethod
    def of_open(cls, crawler: Crawler) -> "Runtime | None":
        """Return the crawler's runtime if a component has opened one."""
        known: Runtime | None = getattr(crawler, _RUNTIME, None)
        return known

    async def _claim(self, claims: list[PageClaim]) -> list[Lost]:
        return await run_in_thread(self.crawl.store.claim, claims)

    def _teaching(self) -> "Teaching | None":
        """Return what has pages shown; None where no browser is to show any."""
        if self.settings.teacher == "off":
            return None
        from scrapy_dedup.plugin.teacher.teaching import Teaching  # noqa: PLC0415 (few crawls have a teacher)

        return Teaching(self.crawler, self.crawl, self.ways, self.aside)

    def _connect(self) -> None:
        connect: Callable[..., None] = self.crawler.signals.connect
        connect(self._opened, signals.spider_opened)
        connect(self.done.item_scraped, signals.item_scraped)
        connect(self.done.item_dropped, signals.item_dropped)
        connect(self.done.item_failed, signals.item_error)
        if not self.fingerprints:
            connect(self._request_dropped, signals.request_dropped)
        connect(self._spider_closed, signals.spider_closed)
        connect(self._engine_stopped, signals.engine_stopped)

    def _opened(self) -> None:
        self.state.opened()
        self.removed_pages.watch()
        if self.teaching is not None:
            self.teaching.watch()
        every = self._loops.every
        every(TICK_SECONDS, self._tick)
        every(WRITE_SECONDS, self.writer.begin)
        every(REPORT_SECONDS, self.unmet.look)
        every(_REST_SECONDS, self.resting.look)
        if self.guard is not None:
            self.guard.watch()
        if is_reactor_installed():
            # Some of Scrapy's modes have none, and fail where it is imported.
            from twisted.internet import reactor  # noqa: PLC0415

            first = partial(_end_first, ref(self))
            reactor.addSystemEventTrigger("before", "shutdown", first)  # type: ignore[arg-type]  # no self in zope's

    def begin_visit(self, request: Request, response: Response, settings: Settings | None) -> Visit | None:
        """Note a response; None where its URL has no domain."""
        self.delivery.look()
        self._arrived += 1
        visit = self.visits.begin(request, response, settings)
        if visit is not None:
            self.ways.note(request)
            self.registry.met(visit.domain)
            self.done.leases.begin(visit)
        return visit

    def giver_of(self, callback: str) -> bytes:
        """Return what stands for a callback of the crawl's spider."""
        spider = self.crawler.spider
        return parts_hash((spider.name if spider is not None else "").encode(), callback.encode())

    # Parking.

    def _tick(self) -> None:
        self.done.settle_gone()
        if self.teaching is not None:
            self.teaching.begin()
        if not self._ended and self.writer.takes_more:
            self.crawl.rows += islice(self.delivery.released(), ROWS_AT_ONCE)
        self._engine.make_room(self.lot.size_bytes)
        self.items_first.tell_of_waiting()
        if len(self.lot):
            at, state = time.monotonic(), self._engine
            quiet = state.quiet(self._arrived)
            self.lot.tick(at, closing=state.closing(), pressure=state.pressed(self.lot.size_bytes), quiet=quiet)

    def _released(self, learner: Learner, why: Release, pages: Collection[bytes], go_on: Callable[[], None]) -> None:
        self.count(f"release/{why}", len(pages))
        if why is Release.JUDGED:
            # Whoever judged has the turn, and nothing else is to be learned of them.
            go_on()
            return
        # The turn is taken now: what comes meanwhile is cut by what is learned, behind the pages that waited.
        deferred_from_coro(self._learn(learner, self.aside.turn(learner.domain), pages, go_on))

    async def _learn(self, learner: Learner, turn: Turn, pages: Collection[bytes], go_on: Callable[[], None]) -> None:
        async with turn:
            try:
                if not learner.known and self.crawl.run.worker is not None:
                    await self._ask_what_others_learned(learner.domain)
                await self.aside.result(self.crawl.let_go(learner, pages))
            except Exception:
                logger.exception("%s could not be learned; its pages go out all the same", learner.domain)
            go_on()

    async def _ask_what_others_learned(self, domain: str) -> None:
        """Take what other workers of the run know of a domain by now, where it is more than these pages tell."""
        try:
            recall_late(self.crawl, domain, await run_in_thread(load, self.crawl.store, domain))
        except DedupError:
            self.count("store/errors")

    # Addresses.

    def alias_of(self, visit: Visit | None, draft: Draft) -> Alias | Own:
        """Return what a page's canonical link is worth, judged once for a response."""
        if draft.page is None:
            return Own(OwnReason.NONE)
        if visit is not None and visit.alias is not None:
            return visit.alias
        said = declaration_of(draft.url, draft.page)
        aliases, policy = self.crawl.aliases, self.canonical_policy
        alias = aliases.judge_declaration(said, draft.page_key, draft.domain, policy, self.rules)
        if isinstance(alias, Own) and alias.reason not in (OwnReason.NONE, OwnReason.SELF):
            self.count(f"canonical/refused_{alias.reason}")
        if visit is not None:
            visit.alias = alias
        return alias

    def note_redirects(self, urls: tuple[str, ...], final_url: str) -> None:
        """Note the addresses that led to a page."""
        for url in urls:
            self.met.redirected.put(page_key(url, self.rules), 0)
        if not urls or "canonical" not in self.settings.acting:
            return
        final_key = page_key(final_url, self.rules)
        for alias in redirect_aliases(urls, final_url, self.rules):
            if (alias.page_key, final_key) in self._noted:
                continue
            self._noted[alias.page_key, final_key] = None
            domain = extract_domain(alias.url, self.settings.domain_scope) or ""
            self.departed[alias.page_key] = None
            self.crawl.note_redirect(alias, domain, final_key, datetime.now(UTC))
            self.count("canonical/redirects")

    def _request_dropped(self, request: Request) -> None:
        """Note the redirect whose target the duplicate filter drops: nobody sees it again."""
        self.note_redirects(redirected_from(request), request.url)

    # The end.

    async def _spider_closed(self, reason: str) -> None:
        self.state.reason = reason
        self._ended = Runtime._others_ended = True
        self._finishing = Deferred()
        # Counted once: a signal for each of a crawl's many repeated links would cost more than all else here.
        if filtered := self.crawler.stats.get_value("dupefilter/filtered", 0):
            self.count("url/dropped", filtered)
        self.lot.release_all()
        self.done.settle_all()
        try:
            for learner in list(self.crawl.learners.values()):
                await self._finish(learner, complete=reason == "finished")
            if reason == "finished":
                self.crawl.finish_small()
        finally:
            self.aside.end()
            self._finishing.callback(None)

    async def _finish(self, learner: Learner, *, complete: bool) -> None:
        async with self.aside.turn(learner.domain):
            try:
                await self.aside.result(self.crawl.finish(learner, complete=complete))
            except Exception:
                logger.exception("%s could not be learned at the end", learner.domain)

    async def _tell_of_drops(self) -> None:
        """Say where a layer left out so much that somebody should look."""
        pages_of = {domain: self.sites.of(domain).fetches for domain in self.crawl.drops.domains()}
        if pages_of:
            # The last pages' addresses may not be written yet.
            await self.writer.catch_up()
        alarms = await run_in_thread(self.crawl.drops.alarms, pages_of, self._url_of)
        for alarm in alarms:
            self.count(f"{alarm.layer}/alarms")
            pairs = "\n".join(f"{url} for {keeper}" for url, keeper in alarm.pairs)
            logger.warning(
                "%s: the layer %s left out %d of %d pages. Look at some of them;"
                ' DEDUP_LAYERS = {"%s": False} keeps all:\n%s',
                alarm.domain, alarm.layer, alarm.dropped, alarm.pages, alarm.layer, pairs,
            )  # fmt: skip
        if alarms:
            self.crawler.stats.set_value(STAT, to_builtins(alarms))

    def _url_of(self, key: bytes) -> str:
        try:
            stored = self.crawl.store.page(key)
        except StoreError:
            stored = None
        document = stored.document if stored is not None else None
        return document.url if document is not None else key.hex()

    async def end_first(self) -> None:
        """Hold up the second of two interrupts for a while: Scrapy saves its queue, and we what was given, at the end.

        Without us the crawl may have ended before the second one came.
        """
        until = time.monotonic() + _LAST_SECONDS
        ends = self._finishing is not None or self._engine.closing()
        while ends and not self._stopped and time.monotonic() < until:
            await pause(_LOOK_SECONDS)

    async def _engine_stopped(self) -> None:
        self._loops.stop()
        if self._finishing is not None:
            # Who interrupts a crawl twice does not wait for a spider that closes.
            await maybe_deferred_to_future(self._finishing)
        if self.teaching is not None:
            await self.teaching.end()
        await self._tell_of_drops()
        try:
            await self._end_run()
        finally:
            await self.at_end()
            self.store.close()
            self._stopped = True
            if self.writer.has_given_up:
                self._tell_of_loss()

    def _tell_of_loss(self) -> None:
        """Say that the store does not know all that the crawl emitted, for a person and for a program."""
        # `scrapy` exits with its command's exit code, which is the class's unless something else went wrong.
        ScrapyCommand.exitcode = ScrapyCommand.exitcode or LOST_ROWS_EXIT_CODE
        logger.error(
            "%s rows are not in the store: this crawl ends with exit code %d. Its items were emitted; the next crawl"
            " emits their pages again, except those that are then as the store knows them. Let it run once without"
            " DEDUP_UNCHANGED=skip, so that who reads a delta feed misses nothing.",
            self.crawler.stats.get_value("dedup/store/rows_given_up") or "Some",
            LOST_ROWS_EXIT_CODE,
        )

    async def _end_run(self) -> None:
        """Write everything that waits and how the run ended; what cannot be written is told."""
        try:
            # Of the whole crawl, perhaps, so in parts.
            while some := list(islice(self.delivery.released(), _RELEASED_AT_ONCE)):
                self.crawl.rows += some
                await self.writer.catch_up()
            self.delivery.end()
            self.done.end()
            if self.guard is not None:
                await self.guard.end()
            await self.writer.end()
            await run_in_thread(self.reuse.end)
            # Up to here the run is told how it stands: a worker that writes for long is not a dead one.
            await self.state.stop()
            left = await self.at_end()
            await self._leave_run(complete=not left)
        except StoreError as error:
            logger.warning("The end of the run could not be written: %s", error)
        finally:
            await self.state.stop()

    async def _leave_run(self, *, complete: bool) -> None:
        """Leave the run; a server that is away, or busy, is waited for, as long as a worker may be silent."""
        until = time.monotonic() + self.crawl.settings.shared_lease.total_seconds()
        while True:
            try:
                return await run_in_thread(partial(self._write_end, complete=complete))
            except (AwayStoreError, BusyStoreError):
                # Where rows are lost it was waited for.
                if self.writer.has_given_up or time.monotonic() > until:
                    raise
            await run_in_thread(time.sleep, _PAUSE_SECONDS)

    def _write_end(self, *, complete: bool) -> None:
        """End the run, unless other workers go on with it; a second time changes nothing."""
        ending = self.state.leave()
        # What could not be noted would count as missing.
        if ending.is_last and ending.status == "finished" and complete and not self.writer.has_given_up:
            self.removed_pages.persist()
        self.registry.settle()
        if ending.is_last:
            self.state.end(ending.status)
        if ending.is_last and ending.status == "finished":
            self.crawl.store.forget_claims(self.crawl.run.id)


def _end_first(known: "ref[Runtime]") -> "Deferred[None] | None":
    """Return what the reactor waits for before it stops; it never forgets whom it asks."""
    runtime = known()
    return deferred_from_coro(runtime.end_first()) if runtime is not None else None


def acknowledge(crawler: Crawler, *items: Any) -> None:
    """Say that items are safe where DEDUP_ACK is `manual`: their pages count as seen once all their items are.

    Items that are never acknowledged come again in the next crawl.
    """
    runtime = Runtime.of_open(crawler)
    hear = runtime.done.said if runtime is not None else getattr(crawler, _HEARING, None)
    if hear is not None:
        for item in items:
            hear(item)


def on_acknowledged(crawler: Crawler, hear: Callable[[Any], None]) -> None:
    """Tell the user's words to somebody else, in a run that has no runtime."""
    setattr(crawler, _HEARING, hear)


async def _nothing_left() -> int:
    return 0


def _is_our_fingerprinter(given: Any) -> bool:
    """Say so without an import: our fingerprinter imports this module."""
    path = given if isinstance(given, str) else f"{given.__module__}.{given.__qualname__}"
    return path in ("scrapy_dedup.Fingerprinter", "scrapy_dedup.plugin.dupefilter.Fingerprinter")


class Unmet:
    """What is known of them, and what people decided about them, holds from when the store is back."""

    def __init__(self, crawl: Crawl, aside: Aside) -> None:
        self._crawl = crawl
        self._aside = aside
        self._domains: dict[str, None] = {}

    def note(self, domain: str) -> None:
        """Note a domain that nobody could ask about."""
        if not self._domains:
            logger.warning("The store does not answer: domains that are new to this crawl are learned anew till then")
        self._domains[domain] = None

    async def look(self) -> None:
        """Ask again about those of which nobody could be asked."""
        try:
            for domain in list(self._domains):
                stored = await run_in_thread(load, self._crawl.store, domain)
                async with self._aside.turn(domain):
                    recall_late(self._crawl, domain, stored)
                self._domains.pop(domain, None)
        except AwayStoreError:
            # It says so at once.
            return
        except DedupError as error:
            self._crawl.count("store/errors", 1)
            logger.warning("What is known of %d domains cannot be read: %s", len(self._domains), error)
            self._domains.clear()


class Resting:
    """Lets domains go where a crawl holds more of them than it may, once what they know is written."""

    def __init__(self, crawl: Crawl, aside: Aside, lot: ParkingLot, writer: WriteBehind) -> None:
        self._crawl = crawl
        self._aside = aside
        self._lot = lot
        self._writer = writer

    def _is_free(self, learner: Learner) -> bool:
        return not (self._aside.is_busy(learner.domain) or self._lot.holds(learner)) and learner.may_rest

    async def look(self) -> None:
        """Let go whom nobody needs now, unless the store cannot take it."""
        rest = [] if self._writer.fails else self._crawl.to_rest()
        times_met = {learner: learner.times_met for learner in rest if self._is_free(learner)}
        if not times_met:
            return
        try:
            for learner in times_met:
                async with self._aside.turn(learner.domain):
                    await self._aside.result(self._crawl.finish(learner, complete=False))
            await self._writer.catch_up()
            # Who is met meanwhile stays; and what is not written, the store would not give back.
            for learner, times in times_met.items():
                if self._is_free(learner) and learner.times_met == times and not self._writer.fails:
                    self._crawl.rest(learner)
                    self._crawl.count("domains/rested", 1)
        except CrawlEndedError:
            return
        except Exception:
            logger.exception("What is known of some domains stays in memory because of a defect in scrapy_dedup")

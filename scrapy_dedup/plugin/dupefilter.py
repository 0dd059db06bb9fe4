"""Which requests are one: the fingerprint of a page's URL, and the duplicate filters that go by it.

Most links of a page are in every other page's menu, too. A duplicate filter drops their requests at the end of a way
through middlewares, signals and scheduler that costs more than all layers of this package together. Of URLs that do not
fit into memory it says at once what it knows, and the store the rest.
"""

import logging
from collections.abc import Callable, Collection, Container, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, Final, Self, cast

from scrapy import Request, signals
from scrapy.core.scheduler import Scheduler
from scrapy.crawler import Crawler
from scrapy.dupefilters import BaseDupeFilter, RFPDupeFilter
from scrapy.http import Response
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.misc import build_from_crawler, load_object
from scrapy.utils.request import RequestFingerprinter, RequestFingerprinterProtocol, fingerprint
from twisted.internet.defer import Deferred

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.urls.normal_form import UrlRules, normalize_url, without_trackers
from scrapy_dedup.core.urls.seen import Filter, Latest, Layers, key_of
from scrapy_dedup.plugin.engine_state import EngineState, only_known_listen
from scrapy_dedup.plugin.overrides import settings_of, told, with_request
from scrapy_dedup.plugin.recrawl.reuse import Links
from scrapy_dedup.plugin.requests import is_known_component, redirected_from
from scrapy_dedup.plugin.run_state import database_url, job_of
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.plugin.waiting import Loops
from scrapy_dedup.service.policies import learns_parameters, url_rules
from scrapy_dedup.store.engine.errors import StoreError
from scrapy_dedup.store.seen_urls import SeenTable, scope_name

FALSE_POSITIVES: Final = 0.001
# Menus of many sites; 200 bytes each.
_RECENT: Final = 5_000
# What waits while the store is away: 90 bytes each. What finds no room may come again, and is never dropped.
_MOST_WAITING: Final = 100_000


def make_filter(urls: int) -> Filter:
    """Return an empty filter for so many URLs, 1.8 bytes each.

    Raises:
        DedupError: rbloom is not installed.
    """
    try:
        from rbloom import Bloom  # noqa: PLC0415 (an extra)
    except ImportError as error:
        raise DedupError(
            "DUPEFILTER_CLASS='scrapy_dedup.StoreDupeFilter' needs rbloom: run pip install 'scrapy_dedup[seen]'"
        ) from error
    return Bloom(urls, FALSE_POSITIVES)


class SeenUrls:
    """The keys of one queue's URLs.

    A key is new unless memory or the store says exactly that it was noted: a filter's "perhaps" drops nothing, nor does
    a store that cannot be asked. `take`, `written` and `failed` belong to the thread that asks; what `take` gave may be
    written by another.
    """

    def __init__(
        self,
        table: SeenTable,
        capacity: int,
        *,
        filters: Callable[[int], Filter] = make_filter,
        most_waiting: int = _MOST_WAITING,
    ) -> None:
        """Begin with nothing known; `load` reads what the table holds.

        Args:
            table: of the queue.
            capacity: URLs to make room for at first.
            filters: makes an empty filter for so many URLs.
            most_waiting: how many may wait to be written.
        """
        self._table = table
        self._capacity = capacity
        self._most_waiting = most_waiting
        self._filters = filters
        self._layers = Layers(filters, capacity)
        self._recent: Latest[bytes, None] = Latest(_RECENT)
        self._waiting: set[bytes] = set()
        self._writing: set[bytes] = set()
        self.asks = True
        """Whether the store is asked; not after an error, until a write has come through."""
        self.lookups = 0
        self.false_positives = 0
        self.not_asked = 0
        """Keys that the filter had perhaps, while the store was away."""
        self.unwritten = 0
        """Keys that found no room while the store was away; they may come again."""

    def __len__(self) -> int:
        """Return how many keys were noted, but for those that a filter took for known."""
        return self._layers.size

    def __contains__(self, key: bytes) -> bool:
        """Say whether a key was noted, exactly."""
        return self._is_held(key) or (key in self._layers and self._is_stored(key))

    def meet(self, key: bytes) -> bool:
        """Say whether a key was noted, exactly, and note it."""
        if self._is_held(key):
            return True
        if key not in self._layers:
            self._layers.add(key)
        elif self._is_stored(key):
            return True
        if len(self._waiting) < self._most_waiting:
            self._waiting.add(key)
        else:
            self.unwritten += 1
            self._recent[key] = None
        return False

    def load(self, told: Callable[[int, int], None]) -> int:
        """Read what the table holds; return how many keys that are.

        *told* is called after each part with the number of keys so far, and of all.

        Raises:
            StoreError: the store failed.
        """
        known = self._table.count()
        # Sized by what is known, so that it begins as one layer again, with room for some more.
        layers = Layers(self._filters, max(self._capacity, known + known // 4))
        for keys in self._table.scan():
            layers.update(keys)
            told(layers.size, known)
        self._layers = layers
        return layers.size

    # Writing.

    @property
    def waiting(self) -> int:
        """How many keys wait to be written."""
        return len(self._waiting)

    def take(self) -> Collection[bytes]:
        """Return what is to be written next; it is known here until `written` or `failed`."""
        self._writing, self._waiting = self._waiting, set()
        return self._writing

    def written(self) -> None:
        """Let go of what was taken: the store has it."""
        self._writing = set()
        self.asks = True

    def failed(self) -> None:
        """Take back what could not be written, as far as there is room."""
        room = max(0, self._most_waiting - len(self._waiting))
        back = sorted(self._writing)
        self._waiting.update(back[:room])
        self.unwritten += len(back[room:])
        self._writing = set()

    def _is_held(self, key: bytes) -> bool:
        return self._recent.meet(key) or key in self._waiting or key in self._writing

    def _is_stored(self, key: bytes) -> bool:
        if not self.asks:
            self.not_asked += 1
            return False
        try:
            stored = self._table.holds(key)
        except StoreError:
            self.asks = False
            self.not_asked += 1
            return False
        self.lookups += 1
        if stored:
            self._recent[key] = None
        else:
            self.false_positives += 1
        return stored


# Links repeat from page to page; a fingerprint costs some 60 µs, its memory some 250 bytes.
_REMEMBERED = 20_000


class Fingerprinter:
    """The former fingerprinter, given the URL without tracking parameters.

    What else the normal form of a page key unites is left to the former one: a bare crawl tells it apart, too.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._settings = settings_of(crawler)
        self._enabled = self._settings.enabled and "url" in self._settings.acting
        self._own_rules = url_rules(self._settings)
        self._learns = learns_parameters(self._settings)
        former = load_object(self._settings.fallback_request_fingerprinter_class)
        self._former: RequestFingerprinterProtocol = build_from_crawler(former, crawler)
        # Only Scrapy's own is known to look at method, URL and body alone.
        self.is_of_urls_alone = type(self._former) is RequestFingerprinter
        self._of_url = lru_cache(_REMEMBERED)(
            lambda url: self._former.fingerprint(Request(request_url(url, self._own_rules)))
        )

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make it from the crawler's settings."""
        return cls(crawler)

    def fingerprint(self, request: Request) -> bytes:
        """Return the former fingerprinter's answer for the page that the request means."""
        meta = request.meta
        if "redirect_urls" in meta and (runtime := Runtime.of_open(self._crawler)) is not None:
            # The duplicate filter asks here before it may drop the target, which nobody would see again.
            runtime.note_redirects(redirected_from(request), request.url)
        if request.method not in ("GET", "HEAD") or not self._is_on(request):
            return self._former.fingerprint(request)
        if self.is_of_urls_alone and request.method == "GET" and not request.body and not meta.get("verbatim_url"):
            return self._of_link(request.url)
        url = request_url(request.url, self._rules())
        return self._former.fingerprint(request if url == request.url else request.replace(url=url))

    def fingerprint_link(self, url: str) -> bytes:
        """Return the fingerprint of a request that has nothing but a URL, without making one."""
        return self._of_link(url) if self._enabled and self.is_of_urls_alone else self.fingerprint(Request(url))

    def _of_link(self, url: str) -> bytes:
        ignored = self._rules().ignored
        return self._of_url(url if ignored is None else ignored.without(url))

    def _rules(self) -> UrlRules:
        """Return what holds for the crawl: parameters that it learns are left out of its fingerprints, too."""
        runtime = Runtime.of_open(self._crawler) if self._learns else None
        return runtime.rules if runtime is not None else self._own_rules

    def _is_on(self, request: Request) -> bool:
        settings = self._settings
        if settings.enabled and "dedup" in request.meta:
            override = with_request(settings, request)
            return override is not None and "url" in override.acting
        return self._enabled


def request_url(url: str, rules: UrlRules) -> str:
    """Return the URL by which a request is a repeat of another: without what is known to say nothing of the page."""
    if rules.trailing_slash or rules.index_page:
        # Asked for by name.
        return normalize_url(url, rules)
    url = url if rules.ignored is None else rules.ignored.without(url)
    return without_trackers(url) if rules.tracking_parameters else url


logger = logging.getLogger(__name__)

WRITE_SECONDS: Final = 1.0
_WRITE_URLS: Final = 5_000
_TOLD_EVERY: Final = 1_000_000


class StoreDupeFilter(RFPDupeFilter):
    """Scrapy's filter with its memory in the store: 2 bytes a URL here, 40 there.

    What it knows belongs to one queue: a JOBDIR's, or this process's own, which ends with it.
    """

    def __init__(self, crawler: Crawler, *, debug: bool, fingerprinter: RequestFingerprinterProtocol) -> None:
        super().__init__(None, debug, fingerprinter=fingerprinter)
        self._crawler = crawler
        self._is_hash = is_hash(fingerprinter)
        self._table: SeenTable | None = None
        self._lasts = False
        self._loops = Loops()
        self._warned = False
        self.seen: SeenUrls | None = None
        """What it knows; None before it is open."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> BaseDupeFilter:  # type: ignore[override]
        """Make it from the crawler; Scrapy's own where DEDUP_ENABLED is off.

        Raises:
            DedupError: rbloom is not installed.
        """
        if not settings_of(crawler).enabled:
            return RFPDupeFilter.from_crawler(crawler)
        with told():
            make_filter(1)
        debug = crawler.settings.getbool("DUPEFILTER_DEBUG")
        return cls(crawler, debug=debug, fingerprinter=crawler.request_fingerprinter)

    def open(self) -> Deferred[None]:
        """Read what the queue had seen; the crawl waits for it."""
        runtime = Runtime.of(self._crawler)
        settings = runtime.settings
        job = job_of(self._crawler.settings)
        self._lasts = job is not None
        with told():
            self._table = SeenTable.open(
                runtime.crawl.store,
                database_url(settings),
                scope_name(job=job, run=runtime.crawl.run.id),
                timeout=settings.database_timeout,
            )
            self.seen = SeenUrls(self._table, settings.seen_capacity)
        return deferred_from_coro(self._load(self.seen))

    async def _load(self, seen: SeenUrls) -> None:
        known = await run_in_thread(seen.load, _tell_of)
        if known:
            logger.info("%d URLs were seen before in this JOBDIR", known)
        self._loops.every(WRITE_SECONDS, self._write)

    def request_seen(self, request: Request) -> bool:
        """Say whether the request was seen before, and note it."""
        seen = self.seen
        assert seen is not None
        if seen.meet(self.key_of(request)):
            return True
        if seen.waiting >= _WRITE_URLS:
            self._loops.begin(self._write)
        return False

    def key_of(self, request: Request) -> bytes:
        """Return the key by which a request is known."""
        return key_of(self.fingerprinter.fingerprint(request), is_hash=self._is_hash)

    def close(self, reason: str) -> Deferred[None]:  # type: ignore[override]  # noqa: ARG002 (Scrapy's signature)
        """Write what waits; what no later crawl can use is removed."""
        return deferred_from_coro(self._end())

    # Writing.

    async def _write(self) -> None:
        """Write what waits; while the store is away, see whether it is back."""
        table, seen = self._table, self.seen
        if table is None or seen is None or not (seen.waiting or not seen.asks):
            return
        try:
            await run_in_thread(table.add, seen.take())
        except StoreError as error:
            seen.failed()
            self._count("errors", 1)
            if not self._warned:
                logger.warning("URLs seen cannot be noted; the crawl goes on, some may come twice: %s", error)
                self._warned = True
        except BaseException:
            seen.failed()
            raise
        else:
            seen.written()

    async def _end(self) -> None:
        table, seen = self._table, self.seen
        if table is None or seen is None:
            return
        await self._loops.end()
        try:
            if not self._lasts:
                await run_in_thread(table.drop)
            elif seen.waiting:
                await self._write()
        except StoreError as error:
            logger.warning("URLs seen in this crawl could not be removed; `scrapy dedup store gc` does it: %s", error)
        finally:
            self._tell(seen)
            await run_in_thread(table.close)

    def _tell(self, seen: SeenUrls) -> None:
        self._count("urls", len(seen))
        self._count("lookups", seen.lookups)
        self._count("false_positives", seen.false_positives)
        self._count("not_asked", seen.not_asked)
        unwritten = seen.unwritten + (seen.waiting if self._lasts else 0)
        self._count("unwritten", unwritten)
        if unwritten:
            logger.error("%d URLs seen could not be noted; they may come again", unwritten)

    def _count(self, what: str, n: int) -> None:
        if n:
            self._crawler.stats.inc_value(f"dedup/seen/{what}", n)


def key_of_page(url: str, rules: UrlRules) -> bytes:
    """Return the key by which a plain request for a page is known, where Scrapy's own fingerprints are in use."""
    return key_of(fingerprint(Request(request_url(url, rules))), is_hash=True)


def is_hash(fingerprinter: RequestFingerprinterProtocol) -> bool:
    """Say whether fingerprints are known to be hashes: Scrapy's, or ours over Scrapy's."""
    return type(fingerprinter) is RequestFingerprinter or getattr(fingerprinter, "is_of_urls_alone", False)


def _tell_of(read: int, known: int) -> None:
    if read // _TOLD_EVERY != (read - 1) // _TOLD_EVERY or read % _TOLD_EVERY == 0:
        logger.info("URLs seen: %d of %d read", read, known)


# The queue of several workers and its filter: to import them takes Redis.
_SHARED = ("scrapy_redis.scheduler.Scheduler", "scrapy_dedup.plugin.workers.queue.LeasedDupeFilter")


class RepeatedLinks:
    """Asks the duplicate filter, Scrapy's or ours, what it would say; silent where anybody could tell the difference.

    That is: with another duplicate filter, scheduler or fingerprinter than are known here, with DUPEFILTER_DEBUG or
    DEPTH_STATS_VERBOSE, with a receiver of `request_dropped` or `request_scheduled`, and with a spider middleware that
    is not Scrapy's own, which may make another request of this one.
    """

    def __init__(self, crawler: Crawler, *, makes_all: bool = False) -> None:
        self._crawler = crawler
        self._makes_all = makes_all
        self._fingerprinter = crawler.request_fingerprinter
        self._seen: SeenUrls | set[Any] | Container[bytes] | None = None
        self._key_of: Callable[[bytes], Any] = bytes  # makes the filter's key of a fingerprint
        self._looked = False
        # Scrapy ends deeper ones before the duplicate filter sees them.
        self._deepest = crawler.settings.getint("DEPTH_LIMIT")

    def holds(self, request: Request, response: Response) -> bool:
        """Say whether the duplicate filter would drop a request of a response's callback now."""
        if request.dont_filter or "depth_reset" in request.meta:
            return False
        seen = self._asked(response)
        return seen is not None and self._key_of(self._fingerprinter.fingerprint(request)) in seen

    def left_of(self, output: Sequence[Any], response: Response) -> Iterator[Any]:
        """Yield what a callback yielded once, less links that the duplicate filter would drop now: most of a page's."""
        ours = self._fingerprinter if isinstance(self._fingerprinter, Fingerprinter) else None
        seen = None if self._makes_all else self._asked(response)
        dropped = 0
        try:
            for one in output:
                if not isinstance(one, Links):
                    yield one
                    continue
                for url in one.urls:
                    if ours and seen and self._key_of(ours.fingerprint_link(url)) in seen:
                        dropped += 1
                    else:
                        yield Request(url, callback=one.callback, errback=one.errback)
        finally:
            self.count(dropped, response)

    def _asked(self, response: Response) -> SeenUrls | set[Any] | Container[bytes] | None:
        """Return what the filter knows; None where that is not known, or a response's requests do not come as far."""
        if self._deepest and response.meta.get("depth", 0) >= self._deepest:
            return None
        if not self._looked:
            self._look()
        return self._seen

    def count(self, dropped: int, response: Response) -> None:
        """Count them as the duplicate filter does, and before it who counts depths."""
        if not dropped:
            return
        self._crawler.stats.inc_value("dupefilter/filtered", dropped)
        if "depth" in response.meta:
            self._crawler.stats.max_value("request_depth_max", response.meta["depth"] + 1)

    def _look(self) -> None:
        """Find the filter's memory: Scrapy's is a set of bytes since 2.19, of hexadecimal text before."""
        self._looked = True
        if self._crawler.settings.getbool("DEPTH_STATS_VERBOSE"):
            return
        engine = EngineState(self._crawler)
        scheduler, duplicates = engine.scheduler(), engine.duplicate_filter()
        is_shared = tuple(f"{type(one).__module__}.{type(one).__name__}" for one in (scheduler, duplicates)) == _SHARED
        if not is_shared:
            if type(scheduler) is not Scheduler or not isinstance(duplicates, RFPDupeFilter) or duplicates.debug:
                return
            if type(duplicates) not in (RFPDupeFilter, StoreDupeFilter):
                return
        # A fingerprint must stay what it is when later middlewares set headers.
        is_alone = only_known_listen(self._crawler, signals.request_dropped, signals.request_scheduled)
        if not is_alone or self._somebody_comes_after() or not is_hash(self._fingerprinter):
            return
        if is_shared:
            self._seen = cast("Container[bytes]", duplicates)
            return
        if isinstance(duplicates, StoreDupeFilter):
            self._seen, self._key_of = duplicates.seen, partial(key_of, is_hash=True)
            return
        attributes = vars(duplicates)
        seen = attributes.get("_fingerprints", attributes.get("fingerprints"))
        if isinstance(seen, set):
            self._seen = seen
            if "_fingerprints" not in attributes:
                self._key_of = bytes.hex

    def _somebody_comes_after(self) -> bool:
        manager = getattr(getattr(self._crawler.engine, "scraper", None), "spidermw", None)
        middlewares = getattr(manager, "middlewares", None)
        return middlewares is None or not all(map(is_known_component, middlewares))

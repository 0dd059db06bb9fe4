"""What a crawl did since its last new page: counted by signals, so that nobody has to tell it."""

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import chain
from typing import Any
from weakref import WeakSet

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import Response, TextResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.httpobj import urlparse_cached

from scrapy_dedup.core.blocks import Page
from scrapy_dedup.core.stalls import REFUSALS, HostFigures, SeenTexts, challenge_of
from scrapy_dedup.core.url_shapes import shape_of
from scrapy_dedup.core.verdicts import Kind
from scrapy_dedup.plugin.engine_state import EngineState
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.plugin.visits import is_html

logger = logging.getLogger(__name__)

PROBE = "dedup_stall_probe"
"""In the meta of a request that asks whether there is a network."""
_EXCEPTIONS = "downloader/exception_type_count/"
_LAYERS = ("exact", "neardup", "canonical", "title", "soft_404")
# A broad crawl meets any number of them within a stall; only the largest are told.
_MOST_HOSTS = 1_000
_MOST_SHAPES = 1_000
_MOST_URLS = 20_000
_SHAPE_CHARS = 200


@dataclass(slots=True)
class Window:
    """Counts since the last new page, or since the last time that the crawl was judged."""

    statuses: Counter[int] = field(default_factory=Counter)
    sent: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    challenges: Counter[str] = field(default_factory=Counter)
    challenged_pages: int = 0
    refusing: frozenset[int] = REFUSALS
    known: int = 0
    bred: int = 0
    shapes: Counter[str] = field(default_factory=Counter)
    urls: set[bytes] = field(default_factory=set)
    """Of pages that brought nothing new."""

    @property
    def hosts(self) -> dict[str, HostFigures]:
        """Return the figures of each host."""
        names = sorted(self.sent.keys() | self.answers.keys() | self.failures.keys())
        return {name: HostFigures(self.sent[name], self.answers[name], self.failures[name]) for name in names}


class StallWatch:
    """Hears what the crawl does, and says when a page was new."""

    def __init__(self, crawler: Crawler, runtime: Runtime, on_news: Callable[[], None]) -> None:
        self._crawler = crawler
        self._runtime = runtime
        self._on_news = on_news
        self._seen = SeenTexts()
        self._without_news: WeakSet[Response] = WeakSet()
        self._answered: WeakSet[Request] = WeakSet()
        self._failed = False
        self._before: dict[str, int] = {}
        self.window = Window()

    def connect(self) -> None:
        """Begin to count."""
        connect: Callable[..., None] = self._crawler.signals.connect
        connect(self._sent, signals.request_reached_downloader)
        connect(self._downloaded, signals.response_downloaded)
        connect(self._left, signals.request_left_downloader)
        connect(self._received, signals.response_received)
        connect(self._scraped, signals.item_scraped)
        self.begin()

    def begin(self) -> None:
        """Begin a new window."""
        self.begin_counts()
        self.remember_stats()

    def begin_counts(self) -> None:
        """Begin a new window but for the stats, of which there are too many to look at them for each page."""
        urls = self.window.urls
        # A trap stays one from one window to the next.
        self.window = Window(urls=urls if len(urls) < _MOST_URLS else set())

    def remember_stats(self) -> None:
        """Let what Scrapy has counted so far belong to the time before."""
        self._before = self._stats()

    def failures(self) -> dict[str, int]:
        """Return the requests without an answer, by kind, as Scrapy's statistics tell them."""
        kinds = {name.removeprefix(_EXCEPTIONS): count for name, count in self._new(_EXCEPTIONS).items()}
        # Requests that a middleware refuses are not sent.
        return {name.rpartition(".")[2]: count for name, count in kinds.items() if not name.endswith("IgnoreRequest")}

    def dropped(self) -> dict[str, int]:
        """Return the items that were duplicates, by layer."""
        new = self._new("dedup/")
        return {layer: count for layer in _LAYERS if (count := new.get(f"dedup/{layer}/dropped", 0))}

    def held_back(self) -> int:
        """Return how many requests were not sent, for their URLs are those of a trap."""
        return self._new("dedup/traps/").get("dedup/traps/dropped", 0)

    def _stats(self) -> dict[str, int]:
        stats = self._crawler.stats.get_stats() if self._crawler.stats is not None else {}
        wanted = (_EXCEPTIONS, "dedup/")
        return {name: value for name, value in stats.items() if name.startswith(wanted) and isinstance(value, int)}

    def _new(self, prefix: str) -> dict[str, int]:
        before = self._before
        grown = {name: value - before.get(name, 0) for name, value in self._stats().items() if name.startswith(prefix)}
        return {name: count for name, count in grown.items() if count > 0}

    # What the network does.

    def _sent(self, request: Request) -> None:
        if _counts(request):
            self._count(self.window.sent, request)

    def _downloaded(self, response: Response, request: Request) -> None:
        if _counts(request):
            self._answered.add(request)
            self.window.statuses[response.status] += 1
            self._count(self.window.answers, request)

    def _left(self, request: Request) -> None:
        if _counts(request) and request not in self._answered:
            self._count(self.window.failures, request)

    def _count(self, counts: Counter[str], request: Request) -> None:
        host = urlparse_cached(request).netloc
        counts[host if host in self.window.sent or len(self.window.sent) < _MOST_HOSTS else "others"] += 1

    # What pages bring.

    def _received(self, response: Response, request: Request) -> None:
        if not _counts(request):
            return
        try:
            self._look(response, request)
        except Exception:
            # A defect of ours must not look like a stall.
            self._on_news()
            if not self._failed:
                logger.exception("A page counts as new because of a defect in scrapy_dedup")
            self._failed = True

    def _look(self, response: Response, request: Request) -> None:
        page = isinstance(response, TextResponse) and is_html(response)
        if request.callback is NO_CALLBACK:
            # Files and pictures are what somebody waits for; robots.txt and probes are not.
            if not page and response.status < 400 and self._seen.is_new_key(_digest(response.body)):
                self._on_news()
            return
        challenge = challenge_of(response.status, _headers(response), response.text) if page else None
        if challenge is not None:
            self.window.challenges[challenge] += 1
            # Of those that are asked again, only the last answer comes here.
            if response.status < 400:
                self.window.challenged_pages += 1
            else:
                self.window.refusing |= {response.status}
            self._without_news.add(response)
        elif response.status < 400 and self._is_news(response, page=page):
            self._on_news()
        else:
            self._without_news.add(response)
            if response.status not in REFUSALS and response.status < 500:
                self._note_known(response, request)

    def _is_news(self, response: Response, *, page: bool) -> bool:
        """Say whether a response brings what this crawl has not met.

        What an earlier crawl has stored is news for this one, once: it works through its pages.
        """
        visit = self._runtime.visits.of_response(response)
        if visit is not None and self._runtime.met.get(visit.page_key) is Kind.UNCHANGED:
            return self._seen.is_new_key(visit.page_key)
        if not page or visit is None:
            return bool(response.body) and self._seen.is_new_key(_digest(response.body))
        parsed = visit.page(self._runtime.limits)
        if not isinstance(parsed, Page):
            return self._seen.is_new_key(_digest(response.body))
        return self._seen.is_news(chain((parsed.title or "",), (block.text for block in parsed.blocks)))

    def _note_known(self, response: Response, request: Request) -> None:
        window = self.window
        window.known += 1
        key = _digest(response.url.encode())
        if key in window.urls:
            return
        if len(window.urls) < _MOST_URLS:
            window.urls.add(key)
        referer = request.headers.get("Referer")
        window.bred += referer is not None and _digest(referer) in window.urls
        shape = _shape(response.url)
        if shape in window.shapes or len(window.shapes) < _MOST_SHAPES:
            window.shapes[shape] += 1

    def _scraped(self, item: Any, response: Response | None) -> None:  # noqa: ARG002 (the signal's arguments)
        if response is None or response not in self._without_news:
            self._on_news()


def _counts(request: Request) -> bool:
    return PROBE not in request.meta and urlparse_cached(request).scheme in ("http", "https", "ftp", "s3")


def _shape(url: str) -> str:
    """Return what is equal for URLs of one kind, in words."""
    shape = shape_of(url)
    if shape is None:
        return url.partition("?")[0][:_SHAPE_CHARS]
    return f"{shape.host}{shape.path}{'?' + '&'.join(shape.names) if shape.names else ''}"[:_SHAPE_CHARS]


def _digest(value: bytes) -> bytes:
    return blake2b(value, digest_size=16).digest()


def _headers(response: Response) -> dict[str, str]:
    names = ("cf-mitigated", "x-amzn-waf-action", "x-datadome", "x-px-captcha")
    found = ((name, response.headers.get(name)) for name in names)
    return {name: value.decode("latin-1").lower() for name, value in found if value is not None}


class EngineFigures(EngineState):
    """Counts where `EngineState` says yes or no."""

    def paused(self) -> bool:
        """Say whether somebody has stopped the engine for a while."""
        return bool(getattr(self._engine(), "paused", False))

    def waiting(self) -> int | None:
        """Return how many requests the scheduler holds; None where it cannot say."""
        scheduler = getattr(self._slot(), "scheduler", None)
        if scheduler is None:
            return None
        try:
            return len(scheduler)
        except Exception:  # noqa: BLE001 - any scheduler, which may ask a server that fails
            return None if self._has_pending(scheduler) else 0

    def downloading(self) -> int:
        """Return how many requests the downloader has."""
        return len(getattr(getattr(self._engine(), "downloader", None), "active", None) or ())

    def in_work(self) -> int:
        """Return how many responses are in callbacks and pipelines."""
        slot = getattr(getattr(self._engine(), "scraper", None), "slot", None)
        return len(getattr(slot, "queue", None) or ()) + len(getattr(slot, "active", None) or ())

    def slots(self) -> dict[str, Any]:
        """Return the downloader's slots by name; each has a `delay` in seconds."""
        found = getattr(getattr(self._engine(), "downloader", None), "slots", None)
        return dict(found) if found else {}

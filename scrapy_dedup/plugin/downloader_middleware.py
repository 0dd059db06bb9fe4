"""Responses become visits here; repeated requests end here where the duplicate filter does not know them as such.

Next to the downloader pages are asked for only if they changed, and what is held stands for a 304: above all other
middlewares, so that each of them sees what it sees without the plugin, a page.
"""

import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Self
from weakref import WeakKeyDictionary

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.dupefilters import BaseDupeFilter
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Headers, Response
from scrapy.http.request import NO_CALLBACK
from scrapy.responsetypes import responsetypes

from scrapy_dedup.core.pages.fingerprints import parts_hash
from scrapy_dedup.core.recrawl.plan import GONE, Revalidate, Skip
from scrapy_dedup.core.urls.normal_form import extract_domain
from scrapy_dedup.core.urls.seen import KeyTable
from scrapy_dedup.plugin.domains import RefusedDomain
from scrapy_dedup.plugin.dupefilter import request_url
from scrapy_dedup.plugin.engine_state import EngineState
from scrapy_dedup.plugin.overrides import META_KEY, is_left_alone, with_request
from scrapy_dedup.plugin.recrawl.reuse import RUNNING
from scrapy_dedup.plugin.requests import redirected_from
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.plugin.unchanged import Unchanged, validators_of
from scrapy_dedup.plugin.visits import LeadsNowhere
from scrapy_dedup.service.recrawl import FetchPlan, wire_key
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import ResponseRecord, ValidatedRecord

if TYPE_CHECKING:
    from scrapy_dedup.plugin.teacher.teaching import Rendering

logger = logging.getLogger(__name__)


class _Repeated(IgnoreRequest):
    """The page was asked for in this run."""


class DedupDownloaderMiddleware:
    """The beginning of every visit, and the `url` layer where our fingerprinter is not in use.

    A repeat is what the project's own duplicate filter takes for one after the tracking parameters are removed.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._runtime = Runtime.of(crawler)
        self._recrawl = Unchanged(self._runtime)
        self._rendering = _rendering(self._runtime)
        self._failures: set[type[Exception]] = set()
        self._requested = KeyTable("B")
        """Fingerprints of all requests, where the layer is in the shadow."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make it from the crawler; raises NotConfigured where the plugin is off."""
        return cls(crawler)

    async def process_request(self, request: Request) -> Response | None:
        """Drop a request for a page that was asked for before; answer what need not be asked.

        First of all for domains that are not asked: whoever made the request, and whatever for.
        """
        if self._runtime.guard is not None:
            self._runtime.guard.check(request)
        if (awaiting := RUNNING.get()) is not None:
            awaiting.unkeepable = "a page that the callback waits for"
        settings = self._settings(request)
        if settings is None:
            return None
        await self._runtime.writer.room()
        if self._runtime.resilience is not None:
            await self._runtime.resilience.before(request)
        if settings.url_enabled and not request.dont_filter:
            self._look_for_repeat(request, in_shadow="url" in settings.shadowing)
        try:
            return await self._recrawl.before(request, settings)
        except Exception as error:  # noqa: BLE001 - whatever fails in there, the page is asked for
            self._failed(error)
            return None

    async def process_response(self, request: Request, response: Response) -> Response:
        """Begin a visit, judge what became of the page, and let it go on in its turn."""
        runtime, visit = self._runtime, None
        settings = self._settings(request)
        if settings is not None:
            response = await self._rendering.of(response) if self._rendering is not None else response
            try:
                await self._recrawl.after(request, response, settings)
            except Exception as error:  # noqa: BLE001 - whatever fails in there, the page goes on to the spider
                self._failed(error)
                runtime.begin_visit(request, response, settings)
            visit = runtime.visits.of_response(response)
            if visit is not None and (request.dont_filter or not runtime.fingerprints):
                runtime.note_redirects(visit.redirected_from, visit.url)
        elif is_left_alone(runtime.settings, request):
            runtime.begin_visit(request, response, None)
        if runtime.resilience is not None:
            runtime.resilience.after(request, response, visit)
        # Last of all: who waits for items looks whether any are still to come of the pages that went on.
        await runtime.items_first.turn(request)
        return response

    def _failed(self, error: Exception) -> None:
        """Note a defect of ours, with one traceback a kind."""
        kind = type(error)
        self._runtime.count(f"unchanged/errors/{kind.__name__}")
        if kind not in self._failures:
            self._failures.add(kind)
            logger.error("A page counts as new because of a defect in scrapy_dedup", exc_info=error)

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Note a fetch that failed for good: what was known of the page stays."""
        if isinstance(exception, LeadsNowhere):
            return
        if self._runtime.resilience is not None:
            # A redirect to a domain that is not asked ends what led there, too.
            self._runtime.resilience.ended(request)
        if not isinstance(exception, _Repeated | RefusedDomain) and self._settings(request) is not None:
            self._runtime.registry.met(extract_domain(request.url, self._runtime.settings.domain_scope))
            self._recrawl.gave_nothing(request)

    def _look_for_repeat(self, request: Request, *, in_shadow: bool) -> None:
        """Ask the duplicate filter about the page that a request means, where it was asked about the URL alone."""
        runtime = self._runtime
        duplicates = EngineState(runtime.crawler).duplicate_filter()
        if duplicates is None or type(duplicates) is BaseDupeFilter or (runtime.fingerprints and not in_shadow):
            return
        meant = request.replace(url=request_url(request.url, runtime.rules))
        fingerprint_of = runtime.crawler.request_fingerprinter.fingerprint
        fingerprint = fingerprint_of(meant)
        if in_shadow:
            key = parts_hash(fingerprint)
            if key in self._requested:
                runtime.count("shadow/url/requests")
            self._requested.put(key, 0)
        elif fingerprint != fingerprint_of(request) and duplicates.request_seen(meant):
            runtime.count("url/dropped")
            runtime.note_redirects(redirected_from(request), request.url)
            raise _Repeated("dedup: this page was asked for in this run")

    def _settings(self, request: Request) -> Settings | None:
        """Return what holds for a request; None for those that are left alone."""
        if request.method != "GET" or request.callback is NO_CALLBACK:
            return None
        settings = self._runtime.settings
        return with_request(settings, request) if META_KEY in request.meta else settings


def _rendering(runtime: Runtime) -> "Rendering | None":
    """Return what renders pages; None where none are to be."""
    if runtime.teaching is None or not runtime.settings.render_enabled:
        return None
    from scrapy_dedup.plugin.teacher.teaching import Rendering  # noqa: PLC0415 (few crawls render pages)

    return Rendering(runtime.crawl, runtime.limits, runtime.teaching)


NOT_MODIFIED: Final = 304
_CONDITIONS: Final = ("If-None-Match", "If-Modified-Since")
_OWN_CONDITIONS: Final = (*_CONDITIONS, "If-Match", "If-Unmodified-Since", "If-Range", "Range")
_BROKEN: Final = frozenset({"partial", "dataloss", "download_stopped"})
# RFC 9111, 3.2: a 304 says nothing of these.
_OF_THE_BODY: Final = frozenset({b"content-length", b"content-encoding", b"content-type", b"content-range"})
# Of the connection that it came by (RFC 9110, 7.6.1), and what is given to one visitor.
_NOT_HANDED_ON: Final = frozenset(
    {b"connection", b"keep-alive", b"proxy-authenticate", b"transfer-encoding", b"set-cookie", b"trailer", b"upgrade"}
)
# Headers that say nothing of what is asked for, unless a server's `Vary` names them. All others may choose a page, a
# language or a form, whether or not the server says so: a 304 after another one would stand for the wrong page.
_CHOOSE_NOTHING: Final = frozenset(
    b"accept-encoding cache-control connection content-length cookie dnt forwarded host keep-alive origin pragma"
    b" priority proxy-authorization proxy-connection referer te traceparent tracestate transfer-encoding upgrade"
    b" upgrade-insecure-requests user-agent via x-forwarded-for x-real-ip".split()
)
# As Scrapy's HTTP cache says of what did not come over the wire.
_CACHED: Final = "cached"


class RevalidationMiddleware:
    """Sends validators, hands out what is held, and holds what comes."""

    def __init__(self, crawler: Crawler) -> None:
        self._runtime = Runtime.of(crawler)
        self._crawler = crawler
        self._asked: WeakKeyDictionary[Request, ResponseRecord] = WeakKeyDictionary()
        self._has_sessions = crawler.settings.getbool("COOKIES_ENABLED")
        self._wires: dict[str, bool] = {}
        """By scheme: whether what its download handler gives came over a wire."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make it from the crawler; raises NotConfigured where the plugin is off."""
        return cls(crawler)

    def process_request(self, request: Request) -> Response | None:
        """Ask for a page only if it has changed; return what is held where it is not asked for at all."""
        plan = self._plan(request)
        if plan is None:
            return None
        plan.is_sent = True
        held, decision, status = plan.known.answer, plan.decision, plan.known.state and plan.known.state.http_status
        if isinstance(decision, Skip):
            if held is not None and self._fits(held, request) and held.cookie_hash == _cookies(request):
                why, answer = str(decision.reason), _handed_on(request.url, held, request=request)
            elif held is None and status in GONE:
                why, answer = "left_gone", Response(request.url, status=status, flags=[_CACHED], request=request)
            else:
                return None
            plan.fetched = "skip"
            self._runtime.count(f"unchanged/{why}")
            request.meta["download_latency"] = 0.0
            return answer
        if isinstance(decision, Revalidate) and held is not None and self._fits(held, request):
            # What the site itself set tells visitors apart; an ETag tells their pages apart, a date does not. Beside an
            # ETag no date is sent: many a server says 304 where either stands, and at a change the date may.
            asks_by_date = held.etag is None and held.cookie_hash == _cookies(request)
            conditions = (held.etag, held.last_modified if asks_by_date else None)
            for name, value in zip(_CONDITIONS, conditions, strict=True):
                if value:
                    request.headers[name] = value
                    plan.asked_if = True
            if plan.asked_if:
                self._asked[request] = held
        return None

    def process_response(self, request: Request, response: Response) -> Response:
        """Return a page for a 304; hold a page."""
        held = self._asked.pop(request, None)
        if held is not None:
            _forget_conditions(request)
        plan = self._runtime.plans.get(request)
        if plan is None or plan.fetched == "skip":
            return response
        if response.status == NOT_MODIFIED and held is not None:
            plan.fetched = "304"
            # Scrapy's own stats, above, count the page that is handed on.
            self._runtime.count("unchanged/not_modified")
            self._runtime.crawl.rows.append(ValidatedRecord(held.wire_key, datetime.now(UTC)))
            return _handed_on(response.url, held, request=request, answer=response)
        if self._may_be_held(response, plan) and not self._begins_session(request, response):
            self._hold(request, response)
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:  # noqa: ARG002 (Scrapy's signature)
        """Take the conditions back: whoever asks again asks as the spider did."""
        if self._asked.pop(request, None) is not None:
            _forget_conditions(request)

    def _plan(self, request: Request) -> FetchPlan | None:
        """Return what was planned; None for requests that are left alone."""
        plan = self._runtime.plans.get(request)
        if plan is None or plan.own_cookies or "Authorization" in request.headers or not self._comes_by_wire(request):
            return None
        return None if any(name in request.headers for name in _OWN_CONDITIONS) else plan

    def _comes_by_wire(self, request: Request) -> bool:
        """Say whether Scrapy itself downloads a request: a browser's or a service's answers are none of the server."""
        if request.meta.get("playwright"):
            return False
        scheme = request.url.partition(":")[0]
        if scheme not in self._wires:
            handlers: Any = getattr(getattr(self._crawler.engine, "downloader", None), "handlers", None)
            handler = handlers._get_handler(scheme) if handlers is not None else None  # noqa: SLF001 - nobody else knows
            module = type(handler).__module__
            self._wires[scheme] = module.partition(".")[0] in ("scrapy", "scrapy_playwright")
        return self._wires[scheme]

    def _may_be_held(self, response: Response, plan: FetchPlan) -> bool:
        settings = self._runtime.settings
        headers = response.headers
        needs = any(validators_of(response)) or self._may_be_skipped(plan)
        return bool(
            response.status == 200
            and needs
            and plan.is_sent
            and settings.keep_pages != "none"
            and _BROKEN.isdisjoint(response.flags)
            and len(response.body) <= settings.max_page_bytes
            and b"no-store" not in (headers.get("Cache-Control") or b"").lower()
            and b"*" not in (headers.get("Vary") or b"")
        )

    def _begins_session(self, request: Request, response: Response) -> bool:
        """Say whether a page gave a cookie that its request had not: the next crawl needs one, which no 304 gives."""
        if not self._has_sessions:
            return False
        had = {one.partition(b"=")[0].strip() for one in b";".join(request.headers.getlist("Cookie")).split(b";")}
        return any(one.partition(b"=")[0].strip() not in had for one in response.headers.getlist("Set-Cookie"))

    def _may_be_skipped(self, plan: FetchPlan) -> bool:
        """Say whether pages may be left alone without having been asked for."""
        settings = self._runtime.settings
        fresh = settings.fresh_for
        waits = fresh.default or fresh.rules or settings.adaptive or settings.title_trust == "always"
        return bool(waits) or (settings.sitemap_lastmod and plan.lastmod is not None)

    def _hold(self, request: Request, response: Response) -> None:
        now = datetime.now(UTC)
        etag, last_modified = validators_of(response)
        headers = [
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, values in response.headers.items()
            if name.lower() not in _NOT_HANDED_ON
            for value in values
        ]
        self._runtime.crawl.rows.append(
            ResponseRecord(
                wire_key=wire_key(request.url),
                url=request.url,
                domain=extract_domain(request.url, self._runtime.settings.domain_scope) or "",
                etag=etag,
                last_modified=last_modified,
                received_at=now,
                validated_at=now,
                sent_hash=_sent(response.headers.getlist("Vary"), request),
                cookie_hash=_cookies(request),
                body_hash=parts_hash(response.body),
                headers=headers,
                body=response.body,
            )
        )

    def _fits(self, held: ResponseRecord, request: Request) -> bool:
        """Say whether a request has the headers by which the server's answers vary, or may vary."""
        vary = [value.encode("latin-1") for name, value in held.headers if name.lower() == "vary"]
        return held.sent_hash == _sent(vary, request)


def _forget_conditions(request: Request) -> None:
    for name in _CONDITIONS:
        request.headers.pop(name, None)


def _sent(vary: list[bytes], request: Request) -> bytes:
    """Return what stands for the headers of a request that may choose the answer, or that `Vary` names."""
    sent = {name.lower() for name in request.headers}
    names = {name.strip().lower() for value in vary for name in value.split(b",") if name.strip()}
    names |= sent - _CHOOSE_NOTHING - {name.lower().encode() for name in _CONDITIONS}
    return parts_hash(*(part for name in sorted(names) for part in (name, b",".join(request.headers.getlist(name)))))


def _cookies(request: Request) -> bytes:
    return parts_hash(b";".join(request.headers.getlist("Cookie")))


def _handed_on(url: str, held: ResponseRecord, *, request: Request, answer: Response | None = None) -> Response:
    """Return what is held as the page that a server gives; what a 304 says itself counts more."""
    headers = Headers()
    for name, value in held.headers:
        headers.appendlist(name, value.encode("latin-1"))
    if answer is not None:
        for key, values in answer.headers.items():
            if key.lower() not in _OF_THE_BODY:
                headers.setlist(key, values)
    came: dict[str, Any] = {"flags": [_CACHED]}
    if answer is not None:
        came = {name: getattr(answer, name) for name in ("flags", "certificate", "ip_address", "protocol")}
    kind = responsetypes.from_args(headers=headers, url=url, body=held.body)
    return kind(url, status=200, headers=headers, body=held.body, request=request, **came)

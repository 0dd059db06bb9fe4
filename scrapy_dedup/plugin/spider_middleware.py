"""Items learn here which response they came from; requests pass.

Most links of a page are in every other page's menu, too. The duplicate filter drops their requests at the end of a way
through middlewares, signals and scheduler that costs more than all layers of this package together.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Self

from pydispatch.dispatcher import getAllReceivers, liveReceivers
from scrapy import Request, signals
from scrapy.core.scheduler import Scheduler
from scrapy.crawler import Crawler
from scrapy.dupefilters import RFPDupeFilter
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK

from scrapy_dedup.core.recrawl.values import encode
from scrapy_dedup.plugin.crawl.engine_state import EngineState
from scrapy_dedup.plugin.crawl.marks import READMITTED, is_known_component, mark_new
from scrapy_dedup.plugin.crawl.outcomes import watched
from scrapy_dedup.plugin.crawl.overrides import is_left_alone, with_request
from scrapy_dedup.plugin.crawl.visits import Visit
from scrapy_dedup.plugin.dupefilter import StoreDupeFilter, is_hash
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.service.crawl.commits import Recorded
from scrapy_dedup.service.recrawl.run_pages import Names
from scrapy_dedup.service.resilience.seen_urls import SeenUrls


class CallbackOutput:
    """For the output of one response's callback."""

    def __init__(self, visit: Visit | None, runtime: Runtime) -> None:
        self._visit = visit
        self._runtime = runtime
        self.repeated = 0
        """Requests that the duplicate filter would drop."""
        self._drops_items = ""
        """Why; a word for the stat."""
        if visit is not None:
            self._prepare(visit)

    def _prepare(self, visit: Visit) -> None:
        judgement = visit.judgement
        if visit.is_error_page and visit.settings.soft_404 == "drop":
            self._drops_items = "soft_404"
        elif visit.forbids_content:
            self._drops_items = "directives"
        if judgement is not None:
            self._runtime.count(f"unchanged/{judgement.verdict.kind}")
            if visit.outcome_key and not judgement.replays:
                self._record(visit)

    def _record(self, visit: Visit) -> None:
        """Take down what the callback yields."""
        cb_kwargs = encode(dict(visit.cb_kwargs))
        kept = cb_kwargs if isinstance(cb_kwargs, dict) else {}
        visit.recorded = Recorded(visit.outcome_key, visit.callback, kept, visit.settings.version)

    def passes_request(self, request: Request) -> bool:
        """Say whether a request goes on; take it down."""
        visit = self._visit
        if visit is None:
            return True
        if visit.forbids_links:
            self._runtime.count("directives/requests")
            return False
        if visit.recorded is not None and self._runtime.done.recorder is not None:
            self._runtime.done.recorder.request(request, visit.recorded)
        return True

    def passes_item(self, item: Any) -> bool:
        """Say whether an item goes on; take it down."""
        visit = self._visit
        if visit is not None and visit.recorded is not None and self._runtime.done.recorder is not None:
            self._runtime.done.recorder.item(item, visit.recorded)
        if not self._drops_items:
            return True
        self._runtime.count(f"{self._drops_items}/items")
        return False


class DedupSpiderMiddleware:
    """Streams what a callback yields."""

    def __init__(self, crawler: Crawler) -> None:
        self._runtime = Runtime.of(crawler)
        self._crawler = crawler
        self._repeated = RepeatedLinks(crawler)
        run = self._runtime.crawl.run
        # A queue that several workers share notes a URL in the step in which its request is queued.
        self._readmits = run.killed and run.worker is None
        self._readmitted = Names()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make it from the crawler; raises NotConfigured where the plugin is off."""
        return cls(crawler)

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Hand on the first requests; after a kill they may be filtered, too."""
        async for output in start:
            if isinstance(output, Request):
                if not self._is_asked(output):
                    continue
                if self._runtime.resilience is not None:
                    self._runtime.resilience.starts(output)
                yield self._readmit(output) if self._readmits else output
            else:
                yield output

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Hand on what the callback yields."""
        visit = self._visit(response)
        callback_output = CallbackOutput(visit, self._runtime)
        if visit is not None and visit.recorded is not None:
            result = watched(result, visit.recorded)
        try:
            async for output in result:
                if (passed := self._passed(output, visit, callback_output, response)) is not None:
                    yield passed
            for further in self._further(response, visit, callback_output):
                yield further
        except BaseException:
            if visit is not None:
                visit.failed = True
            raise
        finally:
            if callback_output.repeated:
                self._repeated.count(callback_output.repeated, response)
            if visit is not None:
                visit.callback_ended = True
                self._runtime.done.settle(visit)

    def _passed(self, output: Any, visit: Visit | None, callback_output: CallbackOutput, response: Response) -> Any:
        """Return what goes on of one output; None where it ends here."""
        if not isinstance(output, Request):
            return self._attached(output, visit) if callback_output.passes_item(output) else None
        if not callback_output.passes_request(output) or not self._is_asked(output):
            return None
        # First: whoever takes a fingerprint reads the request's redirects.
        if output.dont_filter or (visit is not None and visit.redirected_from):
            mark_new(output)
        if self._runtime.resilience is not None:
            going = self._runtime.resilience.outgoing(output, response)
            if going is None:
                return None
            output = going
        if self._readmits:
            return self._readmit(output)
        if self._repeated.holds(output, response):
            callback_output.repeated += 1
            return None
        return output

    def _is_asked(self, request: Request) -> bool:
        """Say whether a request's domain is asked; what is refused here does not fill the queue."""
        return self._runtime.guard is None or self._runtime.guard.passes(request)

    def _further(self, response: Response, visit: Visit | None, callback_output: CallbackOutput) -> Iterator[Request]:
        """Yield requests that the callback did not make."""
        if visit is None or self._runtime.resilience is None:
            return
        for request in self._runtime.resilience.further(response, visit):
            if (passed := self._passed(request, visit, callback_output, response)) is not None:
                yield passed

    def _attached(self, item: Any, visit: Visit | None) -> Any:
        if visit is not None:
            self._runtime.visits.attach(item, visit)
        return item

    def _visit(self, response: Response) -> Visit | None:
        """Return the response's visit; a response that another middleware replaced begins a new one."""
        visit = self._runtime.visits.of_response(response)
        if response.request is not None:
            if visit is None:
                visit = self._begin(response, response.request)
            self._runtime.visits.arrived(response.request)
        if visit is not None:
            visit.from_spider = True
        return visit

    def _begin(self, response: Response, request: Request) -> Visit | None:
        runtime = self._runtime
        if is_left_alone(runtime.settings, request):
            return runtime.begin_visit(request, response, None)
        if request.method != "GET" or request.callback is NO_CALLBACK:
            return None
        earlier = runtime.visits.expected(request)
        visit = runtime.begin_visit(request, response, with_request(runtime.settings, request))
        if visit is not None:
            runtime.count("pages/replaced_responses")
            if earlier is not None and not earlier.callback_ended:
                # What it came to was found out from the response as it came.
                visit.judgement, visit.callback = earlier.judgement, earlier.callback
                visit.giver, visit.earlier = earlier.giver, earlier.earlier
        return visit

    def _readmit(self, request: Request) -> Request:
        """After a kill: let a request past the duplicate filter once, which remembers what was lost."""
        if request.dont_filter:
            return request
        fingerprint = self._crawler.request_fingerprinter.fingerprint(request)
        if self._readmitted.has(fingerprint):
            return request
        self._readmitted.add(fingerprint)
        if (duplicates := EngineState(self._crawler).duplicate_filter()) is not None:
            # So that it drops the next one, where it would.
            duplicates.request_seen(request)
        return request.replace(dont_filter=True, meta={**request.meta, READMITTED: True})


class RepeatedLinks:
    """Asks the duplicate filter, Scrapy's or ours, what it would say; silent where anybody could tell the difference.

    That is: with another duplicate filter, scheduler or fingerprinter than are known here, with DUPEFILTER_DEBUG or
    DEPTH_STATS_VERBOSE, with a receiver of `request_dropped` or `request_scheduled`, and with a spider middleware that
    is not Scrapy's own, which may make another request of this one.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._seen: SeenUrls | set[Any] | None = None
        self._key_of: Callable[[Request], Any] = crawler.request_fingerprinter.fingerprint
        self._looked = False
        # Scrapy ends deeper ones before the duplicate filter sees them.
        self._deepest = crawler.settings.getint("DEPTH_LIMIT")

    def holds(self, request: Request, response: Response) -> bool:
        """Say whether the duplicate filter would drop a request of a response's callback now."""
        if request.dont_filter or "depth_reset" in request.meta:
            return False
        if self._deepest and response.meta.get("depth", 0) >= self._deepest:
            return False
        if not self._looked:
            self._look()
        return self._seen is not None and self._key_of(request) in self._seen

    def count(self, dropped: int, response: Response) -> None:
        """Count them as the duplicate filter does, and before it who counts depths."""
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
        if type(scheduler) is not Scheduler or not isinstance(duplicates, RFPDupeFilter) or duplicates.debug:
            return
        if type(duplicates) not in (RFPDupeFilter, StoreDupeFilter):
            return
        # A fingerprint must stay what it is when later middlewares set headers.
        fingerprinter = self._crawler.request_fingerprinter
        if self._somebody_listens() or self._somebody_comes_after() or not is_hash(fingerprinter):
            return
        if isinstance(duplicates, StoreDupeFilter):
            self._seen, self._key_of = duplicates.seen, duplicates.key_of
            return
        attributes = vars(duplicates)
        seen = attributes.get("_fingerprints", attributes.get("fingerprints"))
        if isinstance(seen, set):
            self._seen = seen
            if "_fingerprints" not in attributes:
                self._key_of = lambda request: fingerprinter.fingerprint(request).hex()

    def _somebody_listens(self) -> bool:
        sent = (signals.request_dropped, signals.request_scheduled)
        receivers = [one for signal in sent for one in liveReceivers(getAllReceivers(self._crawler, signal))]
        return not all(is_known_component(getattr(receiver, "__self__", receiver)) for receiver in receivers)

    def _somebody_comes_after(self) -> bool:
        manager = getattr(getattr(self._crawler.engine, "scraper", None), "spidermw", None)
        middlewares = getattr(manager, "middlewares", None)
        return middlewares is None or not all(map(is_known_component, middlewares))

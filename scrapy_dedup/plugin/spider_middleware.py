"""Items learn here which response they came from; requests pass."""

from collections import Counter
from collections.abc import AsyncIterator
from typing import Any, Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK

from scrapy_dedup.core.pages.fingerprints import parts_hash
from scrapy_dedup.core.recrawl.values import encode
from scrapy_dedup.core.urls.seen import KeyTable
from scrapy_dedup.plugin.dupefilter import RepeatedLinks
from scrapy_dedup.plugin.engine_state import EngineState
from scrapy_dedup.plugin.items import detached
from scrapy_dedup.plugin.overrides import is_left_alone, with_request
from scrapy_dedup.plugin.recrawl.reuse import watched
from scrapy_dedup.plugin.requests import READMITTED, carried_by, mark_new, note_parent
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.plugin.visits import Visit, untie
from scrapy_dedup.service.crawl.commits import Recorded


class DedupSpiderMiddleware:
    """Streams what a callback yields."""

    def __init__(self, crawler: Crawler) -> None:
        self._runtime = Runtime.of(crawler)
        self._crawler = crawler
        self._repeated = RepeatedLinks(crawler)
        self._engine = EngineState(crawler)
        self._readmits = self._runtime.crawl.run.lost_requests
        self._readmitted = KeyTable("B")
        self._notes_parents = self._runtime.settings.emit_removed and "unchanged" in self._runtime.settings.acting

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
                yield detached(output)

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Hand on what the callback yields."""
        visit, resilience = self._visit(response), self._runtime.resilience
        if visit is not None and visit.recorded is not None:
            result = watched(result, visit.recorded)
        repeated = Counter[str]()
        try:
            async for output in result:
                if (passed := self._passed(output, visit, response, repeated)) is not None:
                    yield passed
            for request in resilience.further(response, visit) if visit is not None and resilience is not None else ():
                if (passed := self._passed(request, visit, response, repeated)) is not None:
                    yield passed
            if visit is not None and not visit.failed:
                self._runtime.met.note_read(visit.page_key)
        except GeneratorExit:
            # A middleware above has all that it wants of the callback, unless the crawl ends by force.
            if visit is not None:
                visit.failed |= self._engine.closing()
                visit.cut_short()
            raise
        except BaseException:
            if visit is not None:
                visit.failed = True
            raise
        finally:
            # All at once: to count each costs as much as to ask.
            self._repeated.count(repeated.total(), response)
            untie(response)
            if visit is not None:
                self._look_at_what_it_changed(response, visit)
                visit.callback_ended = True
                self._runtime.done.settle(visit)

    def _look_at_what_it_changed(self, response: Response, visit: Visit) -> None:
        """Let nothing be kept of a callback that changed what others decide by, such as what its request carries."""
        recorded, request = visit.recorded, response.request
        if recorded is None:
            return
        self._runtime.reuse.callback_ended()
        if request is not None and carried_by(request) != visit.carried:
            recorded.unkeepable = recorded.unkeepable or "what its request carries, which it changed"

    def _passed(self, output: Any, visit: Visit | None, response: Response, repeated: Counter[str]) -> Any:
        """Return what goes on of one output; None where it ends here."""
        if not isinstance(output, Request):
            return self._attached(output, visit, response)
        if visit is not None and visit.honoured.nofollow:
            self._runtime.count("directives/requests")
            return None
        if visit is not None and visit.recorded is not None:
            self._runtime.reuse.recorder.request(output, visit.recorded)
        if not self._is_asked(output):
            return None
        if self._notes_parents:
            # Of what is not judged nobody knows in the next run whether it was read.
            note_parent(output, response, visit.page_key if visit is not None and visit.judgement is not None else None)
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
        is_repeated = self._repeated.holds(output, response)
        repeated["links"] += is_repeated
        return None if is_repeated else output

    def _is_asked(self, request: Request) -> bool:
        """Say whether a request's domain is asked; what is refused here does not fill the queue."""
        return self._runtime.guard is None or self._runtime.guard.passes(request)

    def _attached(self, item: Any, visit: Visit | None, response: Response) -> Any:
        """Return an item of its own, of which its page is known; None where it ends here."""
        if visit is None:
            self._runtime.visits.attach_to_none(item := detached(item), response)
            return item
        if visit.recorded is not None:
            self._runtime.reuse.recorder.item(item, visit.recorded)
        if why := visit.drops_items:
            self._runtime.count(f"{why}/items")
            return None
        self._runtime.visits.attach(item := detached(item), visit)
        return item

    def _visit(self, response: Response) -> Visit | None:
        """Return the response's visit; a response that another middleware replaced begins a new one."""
        visit = self._runtime.visits.of_response(response)
        if response.request is not None:
            if visit is None:
                visit = self._begin(response, response.request)
            self._runtime.visits.arrived(response.request)
        if visit is None:
            return None
        visit.from_spider = True
        if (judgement := visit.judgement) is not None:
            self._runtime.count(f"unchanged/{judgement.verdict.kind}")
            if visit.outcome_key and not judgement.replays:
                cb_kwargs = encode(dict(visit.cb_kwargs))
                kept = cb_kwargs if isinstance(cb_kwargs, dict) else {}
                visit.recorded = Recorded(visit.outcome_key, visit.callback, kept, visit.settings.version)
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
        # By 128 bits: with ten million of them two are one by 10^-25.
        key = parts_hash(self._crawler.request_fingerprinter.fingerprint(request))
        if key in self._readmitted:
            return request
        self._readmitted.put(key, 0)
        if (duplicates := self._engine.duplicate_filter()) is not None:
            # So that it drops the next one, where it would.
            duplicates.request_seen(request)
        return request.replace(dont_filter=True, meta={**request.meta, READMITTED: True})

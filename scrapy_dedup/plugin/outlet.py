"""What of a callback's output goes on, and what is taken down of it."""

from typing import Any

from scrapy import Request

from scrapy_dedup.core.keeping import Unkeepable, encode
from scrapy_dedup.plugin.outcomes import OutcomeError
from scrapy_dedup.plugin.replay import replayed_items
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.plugin.visits import Visit
from scrapy_dedup.service.commits import Recorded


class Outlet:
    """For the output of one response's callback."""

    def __init__(self, visit: Visit | None, runtime: Runtime) -> None:
        self._visit = visit
        self._runtime = runtime
        self._stored: list[Any] = []
        self.repeated = 0
        """Requests that the duplicate filter would drop."""
        self._drops_items = ""
        """Why; a word for the stat."""
        if visit is not None:
            self._prepare(visit)

    def _prepare(self, visit: Visit) -> None:
        judgement = visit.judgement
        if visit.is_error_page:
            self._drops_items = "soft_404"
        elif visit.forbids_content:
            self._drops_items = "directives"
        if judgement is None:
            return
        runtime = self._runtime
        how = "replayed" if judgement.replays else "callbacks"
        runtime.count(f"unchanged/{judgement.verdict.kind}")
        if judgement.is_unchanged:
            runtime.count(f"unchanged/{how}")
        if judgement.replays or judgement.links_only:
            # Its items went out before: they own the page, and its aliases are aliases.
            runtime.crawl.owners.setdefault(visit.page_key, (visit.serial, visit.callback))
        if judgement.links_only:
            self._only_links(visit)
        if not judgement.replays:
            self._record(visit)

    def _only_links(self, visit: Visit) -> None:
        judgement = visit.judgement
        assert judgement is not None
        extraction = judgement.known.extraction
        if judgement.gives_stored and extraction is not None:
            try:
                self._stored = replayed_items(extraction, judgement, str(self._runtime.crawl.run.id))
            except OutcomeError:
                self._runtime.count("unchanged/outcome_lost")
                judgement.links_only = judgement.gives_stored = False
                return
        self._drops_items = self._drops_items or "unchanged"

    def _record(self, visit: Visit) -> None:
        """Take down what the callback makes, where there is a key to keep it under."""
        cb_kwargs = encode(dict(visit.cb_kwargs))
        if self._runtime.settings.keep_extractions and isinstance(cb_kwargs, dict):
            visit.recorded = Recorded(visit.callback, cb_kwargs, visit.settings.version)
        elif isinstance(cb_kwargs, Unkeepable):
            self._runtime.count("unchanged/unkeepable")

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

    def passes_item(self) -> bool:
        """Say whether an item goes on."""
        if not self._drops_items:
            return True
        self._runtime.count(f"{self._drops_items}/items")
        return False

    def stored_items(self) -> list[Any]:
        """Return the items that go out in place of the callback's."""
        return self._stored

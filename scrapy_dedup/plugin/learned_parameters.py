"""Parameters that change nothing: found out while pages come, left out of keys from then on, and stored."""

import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from scrapy import Request
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import deferred_from_coro

from scrapy_dedup.core.parameters import Decided, Parameters
from scrapy_dedup.core.url_fields import host_of, names_in
from scrapy_dedup.core.urls import page_key
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.store.errors import StoreError
from scrapy_dedup.store.url_parameters import StoredParameter

logger = logging.getLogger(__name__)

_MOST_FETCHED = 200_000
_MOST_DROPPED = 1_000


class LearnedParameters:
    """Keeps the duplicate filter, the page keys and the store at one."""

    def __init__(self, runtime: Runtime, parameters: Parameters) -> None:
        self._runtime = runtime
        self._parameters = parameters
        self._fetched: dict[bytes, str] = {}
        """Page keys of what was sent in this run, with the URLs."""
        self._dropped: dict[str, Request] = {}
        """Requests that were left out, for the case that a parameter turns out to mean something."""

    def recall(self) -> None:
        """Take over what earlier crawls found out; blocks, for the start of a crawl."""
        try:
            stored = self._runtime.crawl.store.url_parameters()
        except StoreError as error:
            self._failed(error)
            return
        self._parameters.recall(Decided(one.domain, one.name, one.same, one.different, one.ignored) for one in stored)

    def tests(self, url: str) -> tuple[str, ...]:
        """Return the parameters that a fetch would tell more of."""
        return self._parameters.tests(url)

    def is_full(self, url: str, tests: Sequence[str]) -> bool:
        """Say whether another fetch is under way that may tell whether this one is worth it."""
        return self._parameters.is_full(url, tests)

    def sent(self, url: str, tests: Sequence[str]) -> None:
        """Note that a page is asked for."""
        if len(self._fetched) < _MOST_FETCHED:
            self._fetched[page_key(url, self._runtime.rules)] = url
        self._parameters.sent(url, tests)

    def came(self, url: str, tests: Sequence[str]) -> None:
        """Note that a request has ended."""
        self._parameters.came(url, tests)

    def is_due(self, request: Request) -> bool:
        """Say whether a request for a known page is tried, in case its parameters mean something."""
        if not self._is_known(request):
            return False
        self._runtime.count("parameters/links_dropped")
        self._keep(request)
        is_due = self._parameters.dropped(request.url)
        if is_due:
            self._runtime.count("parameters/rechecks")
        return is_due

    def is_known_without(self, request: Request) -> bool:
        """Say whether a request in the queue is for a page that was fetched without its parameters, or with others."""
        if request.dont_filter or not self._is_known(request):
            return False
        self._runtime.count("parameters/dropped")
        self._keep(request)
        return True

    def decided(self, decided: Sequence[Decided]) -> None:
        """Let what was found out count from now on."""
        for one in decided:
            self._runtime.count("parameters/learned" if one.is_ignored else "parameters/unlearned")
            word = "changes nothing" if one.is_ignored else "changes the content after all"
            logger.info("Parameter %s of %s %s: %s", one.name, one.domain, word, one.evidence)
            self._renew_keys(one)
            if not one.is_ignored:
                self._give_back(one)
        if decided:
            deferred_from_coro(self.write())

    async def write(self) -> None:
        """Store what was found out since the last time."""
        at = datetime.now(UTC)
        found = [
            StoredParameter(one.domain, one.name, one.same, one.different, one.is_ignored, at)
            for one in self._parameters.take_changed()
        ]
        try:
            if found:
                await run_in_thread(self._runtime.crawl.store.put_url_parameters, found)
        except StoreError as error:
            self._failed(error)

    def _is_known(self, request: Request) -> bool:
        """Say whether a URL carries what is ignored, and its page was fetched."""
        url = request.url
        return self._parameters.ignored.without(url) != url and page_key(url, self._runtime.rules) in self._fetched

    def _keep(self, request: Request) -> None:
        if len(self._dropped) < _MOST_DROPPED:
            self._dropped.setdefault(request.url, request)

    def _renew_keys(self, one: Decided) -> None:
        """Let pages that were fetched under keys with the parameter be known under those without it."""
        changed = [url for url in self._fetched.values() if host_of(url) == one.domain and one.name in names_in(url)]
        scheduler = getattr(getattr(self._runtime.crawler.engine, "_slot", None), "scheduler", None)
        duplicates = getattr(scheduler, "df", None)
        for url in changed:
            self._fetched[page_key(url, self._runtime.rules)] = url
            if duplicates is not None:
                duplicates.request_seen(Request(url))

    def _give_back(self, one: Decided) -> None:
        """Ask for pages that were taken for others."""
        for url, request in list(self._dropped.items()):
            if host_of(url) == one.domain and one.name in names_in(url):
                del self._dropped[url]
                self._runtime.count("parameters/given_back")
                engine: Any = self._runtime.crawler.engine
                engine.crawl(request.replace(dont_filter=False))

    def _failed(self, error: StoreError) -> None:
        self._runtime.count("store/errors")
        logger.warning("What is known of parameters of URLs cannot be read or written: %s", error)

"""Whether another page stands for one, and which of its chunks others hold."""

import time
from datetime import UTC, datetime
from typing import Final

from scrapy.utils.asyncio import call_later, run_in_thread
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.service.chunking import makes_chunks
from scrapy_dedup.service.claims import claims_of, waits_for_title, with_holders
from scrapy_dedup.service.comparison import would_drop
from scrapy_dedup.service.drafts import Draft
from scrapy_dedup.service.others import Found, asked_layers
from scrapy_dedup.service.page_facts import Facts, facts_of
from scrapy_dedup.service.start_check import keeping_all
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.claims import Lost
from scrapy_dedup.store.errors import StoreError
from scrapy_dedup.store.page_records import ClaimKey

# Between two questions to a store that is away, or that does not know yet what another worker gives.
_PAUSE_SECONDS: Final = 0.3


class LikenessCheck:
    """The layers `title`, `duplicate`, `near_duplicate`, `chunk` and `language`. In doubt a page stays."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._is_shared = runtime.crawl.run.worker is not None

    async def check(self, draft: Draft, settings: Settings) -> None:
        """Find out what becomes of a page beside the others; its comparison tells."""
        if self._runtime.crawl.keeps(draft):
            settings = keeping_all(settings)
        if draft.cleaned is None or not (asked_layers(settings) or makes_chunks(settings)):
            return
        if draft.comparison is None:
            facts, found = await run_in_thread(self._look, draft, settings)
            if found is None:
                self._runtime.count("store/errors")
            await self._compare(draft, facts, found or Found(), settings)

    async def _compare(self, draft: Draft, facts: Facts, found: Found, settings: Settings) -> None:
        crawl = self._runtime.crawl
        if self._is_shared and not would_drop(crawl.others, facts, found, settings):
            found = await self._claimed(draft, facts, found, settings)
        # All items of a page share its fate; while this one waited, another may have decided it.
        if draft.comparison is None:
            crawl.compare(draft, facts, found, settings, datetime.now(UTC))

    async def _claimed(self, draft: Draft, facts: Facts, found: Found, settings: Settings) -> Found:
        """Claim a page's title and text; return what is known of them, with what other workers of the run have."""
        claims = claims_of(facts, found, settings)
        if not claims:
            return found
        began = time.monotonic()
        draft.claims = claims
        lost = await self._claim(facts.page_key, claims, began)
        while waits_for_title(facts, found, lost, settings) and not self._has_lease_passed(began):
            await _pause()
            found = await self._look_again(facts, found, settings)
            lost = await self._claim(facts.page_key, claims, began)
        self._runtime.count("claims/asked", len(claims))
        self._runtime.count("claims/lost", len(lost))
        self._runtime.count("claims/waited_seconds", time.monotonic() - began)
        return with_holders(found, facts, lost, settings)

    async def _claim(self, page_key: bytes, claims: list[ClaimKey], began: float) -> Lost:
        """Return what others have; a store that is away is asked again, for a lease at most: nothing is lost."""
        while True:
            try:
                return await run_in_thread(self._runtime.crawl.store.claim, page_key, claims)
            except StoreError:
                self._runtime.count("store/errors")
            if self._has_lease_passed(began):
                self._runtime.count("claims/given_up", len(claims))
                return {}
            await _pause()

    def _has_lease_passed(self, began: float) -> bool:
        return time.monotonic() - began > self._runtime.settings.shared_lease.total_seconds()

    async def _look_again(self, facts: Facts, before: Found, settings: Settings) -> Found:
        try:
            return await run_in_thread(self._runtime.crawl.others.ask, facts, settings)
        except StoreError:
            self._runtime.count("store/errors")
            return before

    def _look(self, draft: Draft, settings: Settings) -> tuple[Facts, Found | None]:
        crawl = self._runtime.crawl
        facts = facts_of(draft, crawl.store.id.bytes, self._runtime.rules, settings)
        try:
            return facts, crawl.others.ask(facts, settings)
        except StoreError:
            return facts, None


async def _pause() -> None:
    waited: Deferred[None] = Deferred()
    call_later(_PAUSE_SECONDS, waited.callback, None)
    await maybe_deferred_to_future(waited)

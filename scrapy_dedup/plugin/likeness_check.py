"""Whether another page stands for one, and which of its chunks others hold."""

from datetime import UTC, datetime
from functools import partial

from scrapy.utils.asyncio import run_in_thread

from scrapy_dedup.plugin.claim_check import Asks, ClaimCheck
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.plugin.visits import Visit
from scrapy_dedup.service.chunking import makes_chunks
from scrapy_dedup.service.comparison import would_drop
from scrapy_dedup.service.drafts import Draft
from scrapy_dedup.service.others import Found, asked_layers
from scrapy_dedup.service.page_facts import Facts, facts_of
from scrapy_dedup.service.start_check import keeping_all
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.errors import StoreError


class LikenessCheck:
    """The layers `title`, `duplicate`, `near_duplicate`, `chunk` and `language`. In doubt a page stays."""

    def __init__(self, runtime: Runtime, claims: ClaimCheck | None) -> None:
        """Take what knows the other workers of the run, if there are any."""
        self._runtime = runtime
        self._claims = claims

    async def check(self, draft: Draft, visit: Visit | None, settings: Settings) -> None:
        """Find out what becomes of a page beside the others; its comparison tells."""
        if self._runtime.crawl.keeps(draft):
            settings = keeping_all(settings)
        if draft.cleaned is None or not (asked_layers(settings) or makes_chunks(settings)):
            return
        if draft.comparison is None:
            facts, found = await run_in_thread(self._look, draft, settings)
            if found is None:
                self._runtime.count("store/errors")
            await self._compare(draft, visit, facts, found or Found(), settings)

    async def _compare(self, draft: Draft, visit: Visit | None, facts: Facts, found: Found, settings: Settings) -> None:
        if self._claims is not None:
            again = partial(self._look_again, facts, found, settings)
            drops = partial(would_drop, self._runtime.crawl.others, facts, settings=settings)
            found = await self._claims.texts(draft, visit, facts, found, Asks(again, drops), settings)
        # All items of a page share its fate; while this one waited, another may have decided it.
        if draft.comparison is None:
            self._runtime.crawl.compare(draft, facts, found, settings, datetime.now(UTC))
            if self._claims is not None:
                self._claims.release(draft, visit)

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

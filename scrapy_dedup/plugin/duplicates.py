"""Whether another page stands for an item's page: what the layers that compare pages say, and what proves it."""

import time
from array import array
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import maybe_deferred_to_future

from scrapy_dedup.core.duplicates.evidence import NOT_READ, PageEvidence, proves_near
from scrapy_dedup.core.duplicates.matching import NEAR_DUPLICATE
from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.core.urls.canonical import Alias
from scrapy_dedup.plugin.crawl.parking import pause
from scrapy_dedup.plugin.intake import ItemPage
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.service.crawl.crawl import is_shown, shown_of
from scrapy_dedup.service.crawl.drafts import Draft
from scrapy_dedup.service.crawl.start_check import keeping_all, marking_all
from scrapy_dedup.service.duplicates.aliases import Duplicate
from scrapy_dedup.service.duplicates.chunking import makes_chunks
from scrapy_dedup.service.duplicates.claims import claims_of, recalled_claims, with_holders
from scrapy_dedup.service.duplicates.index import KnownDuplicates, asked_layers
from scrapy_dedup.service.duplicates.page_facts import PageFacts, facts_of
from scrapy_dedup.service.learning.learning import Learner
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.engine.errors import StoreError
from scrapy_dedup.store.records.records import ClaimKey, ClaimKind
from scrapy_dedup.store.records.stored import StoredPage
from scrapy_dedup.store.workers import Lost, Shown

# Between two questions to a store that is away, or of a page of which it is not known yet what becomes of it.
_PAUSE_SECONDS: Final = 0.3

Answer = TypeVar("Answer")


class AliasCheck:
    """The `canonical` layer: which pages of this run may be another address of one. Whether they are, evidence says."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def candidates(self, item_page: ItemPage) -> list[Duplicate]:
        """Return which pages may stand for a page, and why."""
        draft, alias = item_page.draft, self._runtime.alias_of(item_page.visit, item_page.draft)
        target = alias.target if isinstance(alias, Alias) else None
        return self._runtime.crawl.aliases.candidates(draft.page_key, target)

    def dropped(self, item_page: ItemPage, keeper: bytes) -> None:
        """Note that what a page declares canonical is one more address of the page that went out."""
        alias = self._runtime.alias_of(item_page.visit, item_page.draft)
        if isinstance(alias, Alias):
            self._runtime.crawl.aliases.stand(alias.target.page_key, keeper)

    def goes_out(self, item_page: ItemPage) -> None:
        """Note under which address a page goes out."""
        draft, crawl = item_page.draft, self._runtime.crawl
        alias = self._runtime.alias_of(item_page.visit, draft)
        if isinstance(alias, Alias) and alias.target.page_key not in crawl.given:
            draft.canonical = alias.target
            self._runtime.count("canonical/before_target")
        crawl.aliases.go_out(draft.page_key, draft.canonical)


class DuplicateCheck:
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
            found = found or KnownDuplicates()
            if self._is_shared:
                # Also of a page for which another stands: that one may not come, or come later.
                found = await self._claimed(draft, facts, found, settings)
            # All items of a page share its fate; while this one waited, another may have decided it.
            if draft.comparison is None:
                self._runtime.crawl.compare(draft, facts, found, settings, datetime.now(UTC))

    def let_out(self, draft: Draft, settings: Settings) -> None:
        """Let a page go out whatever its title and its text have in common with another."""
        comparison = draft.comparison
        assert comparison is not None
        draft.comparison = None
        found = comparison.found_of_chunks
        self._runtime.crawl.compare(draft, comparison.facts, found, marking_all(settings), datetime.now(UTC))

    async def _claimed(
        self, draft: Draft, facts: PageFacts, found: KnownDuplicates, settings: Settings
    ) -> KnownDuplicates:
        """Claim a page's title and text; return what is known of them, with what other workers of the run have."""
        claims = claims_of(facts, found, settings)
        if not claims:
            return found
        began = time.monotonic()
        lost = await self._claim(draft, claims, began)
        while await self._is_open(lost) and not self._has_lease_passed(began):
            await pause(_PAUSE_SECONDS)
            lost = await self._claim(draft, claims, began)
        draft.was_first = not lost
        self._runtime.count("claims/asked", len(claims))
        self._runtime.count("claims/lost", len(lost))
        self._runtime.count("claims/waited_seconds", time.monotonic() - began)
        return with_holders(found, facts, lost, settings)

    async def is_proven(self, item_page: ItemPage, duplicate: Duplicate, learner: Learner | None) -> bool:
        """Say whether nothing is lost with an item: one with its fields, of a page with its text, went out."""
        draft, fields, keeper = item_page.draft, item_page.fields, duplicate.document_key
        evidence = self._runtime.crawl.evidence
        shown = evidence.of(keeper)
        if shown is None and not draft.went_out:
            is_first = duplicate.layer != "canonical" and (draft.was_first or duplicate.layer == NEAR_DUPLICATE)
            shown = await self._shown_by(keeper, must_be_out=is_first)
        if shown is None or draft.went_out or draft.evidence is None:
            # Perhaps it went out while the store was asked.
            return False
        is_near = duplicate.layer == NEAR_DUPLICATE and proves_near(draft.evidence, shown, fields)
        if not (is_near or is_shown(draft, shown, fields, learner)):
            return False
        if item_page.before is not None:
            # By then it is known whether a later pipeline dropped the keeper's item, or failed with it.
            evidence.stand_aside(draft, leaves=True)
            await maybe_deferred_to_future(item_page.before)
        return not draft.went_out and not evidence.is_withdrawn(keeper)

    async def _shown_by(self, key: bytes, *, must_be_out: bool) -> PageEvidence | None:
        """Return what a page of this run shows that did not change, or that another process gave."""
        evidence = self._runtime.crawl.evidence
        try:
            shown, stored = await self._patiently(self._ask, key, must_be_out)
        except StoreError:
            return None
        if stored is None or evidence.of(key) is not None:
            # It came while the store was asked: what it shows itself counts.
            return evidence.of(key) or shown
        return self._read(key, stored, shown)

    def _ask(self, key: bytes, must_be_out: bool) -> tuple[PageEvidence | None, StoredPage | None]:  # noqa: FBT001
        """Return what a worker has shown of a page, and the page, where that is not all; blocks."""
        seen = self._runtime.crawl.store.shown_by(key)
        if seen is not None and must_be_out and not seen.is_out:  # it may still be left out for this one
            return None, None
        shown = PageEvidence.unpack(seen.evidence) if seen is not None else None
        if shown is not None and shown.body != NOT_READ:
            return shown, None
        return shown, self._runtime.crawl.store.page(key)

    def _read(self, key: bytes, stored: StoredPage, shown: PageEvidence | None) -> PageEvidence | None:
        """Return what a page of the store shows, where it is one of this run."""
        crawl, document, source = self._runtime.crawl, stored.document, stored.source
        if document is None or source is None or source.content is None or source.field != "html":
            return None
        url = stored.crawled_url
        if url is not None and url.run_id == crawl.run.id and url.document_key not in (None, key):
            # It was left out itself, perhaps for this one, which a worker gave that was killed.
            return None
        is_given = document.run_id == crawl.run.id and document.status != "failed"
        if not (is_given or shown is not None or crawl.evidence.knows(key)):
            return None
        page = parse_page(source.content, self._runtime.limits)
        if not isinstance(page, Page):
            return None
        if shown is not None:
            return shown_of(page, source, shown.fields)
        return crawl.evidence.read(page, source)

    async def show(self, draft: Draft, settings: Settings) -> None:
        """Show the other workers what a page has that goes out, where they do not know it yet."""
        is_asked = self._is_shared and (settings.canonical_enabled or asked_layers(settings))
        fields = len(self._shown(draft).fields)
        if is_asked and draft.fields_shown < fields:
            await self._claim(draft, [], time.monotonic(), is_out=True)
            draft.fields_shown = fields

    async def is_text_of_another(self, draft: Draft, settings: Settings) -> bool:
        """Say whether another page of this run has the text of one that did not change."""
        if self._runtime.crawl.duplicates.with_text(draft, settings):
            return True
        if not self._is_shared or draft.fields_shown >= len(self._shown(draft).fields):
            return False
        claims = recalled_claims(draft.domain, draft.text_hash, settings)
        if draft.held is None:
            # All at once, as later: of two pages that each have what the other lost, neither could be decided.
            facts, found = await run_in_thread(self._look, draft, settings)
            claims = claims_of(facts, found or KnownDuplicates(), settings)
        return bool(claims and await self._claim(draft, claims, time.monotonic(), shows=False))

    def _shown(self, draft: Draft) -> PageEvidence:
        recalled = self._runtime.crawl.evidence.recalled(draft.page_key)
        return draft.evidence or PageEvidence(NOT_READ, array("Q"), recalled)

    async def _claim(
        self, draft: Draft, claims: list[ClaimKey], began: float, *, shows: bool = True, is_out: bool = False
    ) -> Lost:
        """Return what others have; nothing is lost where the store stays away. Where it is first, they see the page."""
        draft.claims = list(dict.fromkeys([*draft.claims, *claims, ClaimKey(ClaimKind.PAGE, draft.page_key)]))
        shown = Shown(self._shown(draft).pack(), is_out) if shows else None
        try:
            return await self._patiently(self._runtime.crawl.store.claim, draft.page_key, claims, shown, began=began)
        except StoreError:
            self._runtime.count("claims/given_up", len(claims))
            return {}

    async def _patiently(self, ask: Callable[..., Answer], *args: Any, began: float = 0) -> Answer:
        """Return what the store answers; of several workers one asks again while it is away, for a lease at most.

        Raises:
            StoreError: it does not answer.
        """
        began = began or time.monotonic()
        while True:
            try:
                return await run_in_thread(ask, *args)
            except StoreError:
                self._runtime.count("store/errors")
                if not self._is_shared or self._has_lease_passed(began):
                    raise
            await pause(_PAUSE_SECONDS)

    async def _is_open(self, lost: Lost) -> bool:
        """Say whether nobody knows yet what becomes of a page that holds what another one has."""
        try:
            seen = [await self._patiently(self._runtime.crawl.store.shown_by, key) for key in set(lost.values())]
        except StoreError:
            return False
        return None in seen

    def _has_lease_passed(self, began: float) -> bool:
        return time.monotonic() - began > self._runtime.settings.shared_lease.total_seconds()

    def _look(self, draft: Draft, settings: Settings) -> tuple[PageFacts, KnownDuplicates | None]:
        crawl = self._runtime.crawl
        facts = facts_of(draft, crawl.store.id.bytes, self._runtime.rules, settings)
        try:
            return facts, crawl.duplicates.ask(facts, settings)
        except StoreError:
            return facts, None

"""Items of unknown domains wait here for their siblings; all of them leave with cleaned_content, or as duplicates."""

import logging
import time
from array import array
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, Self, TypeVar

from itemadapter import ItemAdapter
from msgspec import Struct
from msgspec.structs import replace
from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.utils.asyncio import call_later, run_in_thread
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_dedup.core.duplicates import NEAR_DUPLICATE, NOT_READ, PageEvidence, proves_near
from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.core.recrawl.verdicts import VerdictKind
from scrapy_dedup.core.urls.canonical import Alias
from scrapy_dedup.core.urls.normal_form import extract_domain, page_key
from scrapy_dedup.core.urls.seen import Latest
from scrapy_dedup.plugin.downloader_middleware import DedupDownloaderMiddleware
from scrapy_dedup.plugin.intake import Intake, ItemPage, ItemSkipReason, SkippedItem
from scrapy_dedup.plugin.items import (
    CONTENT,
    FILLED,
    METADATA,
    REPORT,
    ChunkItem,
    DuplicateItem,
    ItemFields,
    chunk_items,
    has_field,
    item_hash,
    lacks,
    not_own,
    note_passing,
    send,
    url_of,
)
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.plugin.spider_middleware import DedupSpiderMiddleware
from scrapy_dedup.plugin.visits import Visit, forget_tree
from scrapy_dedup.plugin.waiting import pause
from scrapy_dedup.service.crawl.crawl import is_shown, load, shown_of
from scrapy_dedup.service.crawl.drafts import Draft, hold_as_before, is_made_otherwise, provenance, verdict_of
from scrapy_dedup.service.crawl.start_check import keeping_all, marking_all
from scrapy_dedup.service.duplicates.chunking import makes_chunks
from scrapy_dedup.service.duplicates.index import asked_layers, claims_of, recalled_claims, with_holders
from scrapy_dedup.service.duplicates.page_facts import Duplicate, PageFacts, facts_of
from scrapy_dedup.service.learning import Learner
from scrapy_dedup.service.recrawl import is_tombstone
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.engine.errors import AwayStoreError, StoreError
from scrapy_dedup.store.records.records import ClaimKey, ClaimKind, DecisionRecord
from scrapy_dedup.store.records.shared import Holders
from scrapy_dedup.store.records.stored import StoredPage
from scrapy_dedup.store.workers import Lost, PageClaim, Shown

# Between two questions to a store that is away, or of a page of which it is not known yet what becomes of it.
_PAUSE_SECONDS: Final = 0.3
# The facts of a text are found in a millisecond or two: to go to a thread and back takes a tenth of that from all else.
_SHORT_CHARS: Final = 20_000

Answer = TypeVar("Answer")


class DuplicateCheck:
    """The layers `title`, `duplicate`, `near_duplicate`, `chunk` and `language`. In doubt a page stays."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._is_shared = runtime.crawl.run.worker is not None

    async def check(self, draft: Draft, settings: Settings) -> None:
        """Find out what becomes of a page beside the others; its comparison tells."""
        if draft.cleaned is None or not (asked_layers(settings) or makes_chunks(settings)):
            return
        if draft.comparison is None:
            facts, found = await self._facts(draft, settings)
            if found is None:
                self._runtime.count("store/errors")
            found = found or Holders()
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
        # Of the chunks alone, whoever has its title or text.
        found = Holders(holders=comparison.found.holders, before=comparison.found.before)
        self._runtime.crawl.compare(draft, comparison.facts, found, marking_all(settings), datetime.now(UTC))

    async def _claimed(self, draft: Draft, facts: PageFacts, found: Holders, settings: Settings) -> Holders:
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
        if (draft.http_status or 200) // 100 != 2:
            # What a server says in place of pages is the same for many URLs, and of each it is news.
            return False
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
            shown, stored = await self._patiently(run_in_thread, self._ask, key, must_be_out)
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
        # Left out itself, perhaps for this one, which a worker gave that was killed.
        is_out = url is not None and url.run_id == crawl.run.id and url.document_key not in (None, key)
        # Another version is in work: what the page was before shows nothing.
        is_before = document.status == "processing" and source.fetched_at == document.last_changed_at
        if is_out or is_before:
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
        if not self._is_shared or not (settings.canonical_enabled or asked_layers(settings)):
            return
        fields = len(self._shown(draft).fields)
        if draft.fields_shown < fields:
            await self._claim(draft, [], time.monotonic(), is_out=True)
            draft.fields_shown = fields

    async def is_text_of_another(self, draft: Draft, settings: Settings) -> bool:
        """Say whether another page of this run has the text of one that did not change."""
        if self._runtime.crawl.duplicates.with_text(draft.page_key, draft.domain, draft.text_hash, settings):
            return True
        if not self._is_shared or draft.fields_shown >= len(self._shown(draft).fields):
            return False
        claims = recalled_claims(draft.domain, draft.text_hash, settings)
        if draft.held is None:
            # All at once, as later: of two pages that each have what the other lost, neither could be decided.
            facts, found = await self._facts(draft, settings)
            claims = claims_of(facts, found or Holders(), settings)
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
            return await self._patiently(
                self._runtime.claims.answer, PageClaim(draft.page_key, claims, shown), began=began
            )
        except StoreError:
            self._runtime.count("claims/given_up", len(claims))
            return {}

    async def _patiently(self, ask: Callable[..., Awaitable[Answer]], *args: Any, began: float = 0) -> Answer:
        """Return what the store answers; of several workers one asks again while it is away, for a lease at most.

        Raises:
            StoreError: it does not answer.
        """
        began = began or time.monotonic()
        while True:
            try:
                return await ask(*args)
            except StoreError:
                self._runtime.count("store/errors")
                if not self._is_shared or self._has_lease_passed(began):
                    raise
            await pause(_PAUSE_SECONDS)

    async def _is_open(self, lost: Lost) -> bool:
        """Say whether nobody knows yet what becomes of a page that holds what another one has."""
        try:
            shown_by = self._runtime.crawl.store.shown_by
            seen = [await self._patiently(run_in_thread, shown_by, key) for key in set(lost.values())]
        except StoreError:
            return False
        return None in seen

    def _has_lease_passed(self, began: float) -> bool:
        return time.monotonic() - began > self._runtime.settings.shared_lease.total_seconds()

    async def _facts(self, draft: Draft, settings: Settings) -> tuple[PageFacts, Holders | None]:
        """Return what of a page others may have, and what is known of these; None: the store failed."""
        is_short = draft.cleaned is not None and len(draft.cleaned.content) <= _SHORT_CHARS
        if is_short and not self._runtime.crawl.duplicates.asks_store(draft.page_key):
            return self._look(draft, settings)
        return await run_in_thread(self._look, draft, settings)

    def _look(self, draft: Draft, settings: Settings) -> tuple[PageFacts, Holders | None]:
        crawl = self._runtime.crawl
        facts = facts_of(draft, crawl.store.id.bytes, self._runtime.rules, settings)
        try:
            return facts, crawl.duplicates.ask(facts, settings)
        except StoreError:
            return facts, None


logger = logging.getLogger(__name__)

_OF_ITEMS: Final = "url canonical boilerplate patterns title duplicate near_duplicate language chunk".split()
# Pages with one text that an item is compared with.
_MOST_KEEPERS: Final = 50
# Of some 400 bytes each. Of a page that is forgotten counts what the store has.
_MOST_SHOWN: Final = 50_000


class Noted(Struct, frozen=True):
    """What stands for an item as it came."""

    stands: bytes
    """For all of it."""
    fields: bytes | None
    """For its own fields, by which another page's item may equal it; None: it equals none."""


class DedupPipeline:
    """The layers that act on items. Whatever fails in here, the item goes out."""

    def __init__(self, crawler: Crawler) -> None:
        self._runtime = Runtime.of(crawler)
        self._intake = Intake(self._runtime)
        self._fields = ItemFields()
        self._shown: Latest[tuple[bytes, bytes], set[bytes]] = Latest(_MOST_SHOWN)
        """The fields of the items that callbacks made of the last pages of this run, whether they went out or not."""
        self._duplicates = DuplicateCheck(self._runtime)
        self._failures: set[type[Exception]] = set()
        crawler.signals.connect(self._opened, signals.spider_opened)
        self._last: dict[str, Deferred[None]] = {}
        """What fires when the item has left that came last from a domain, where it is still here."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make it from the crawler; raises NotConfigured where the plugin is off."""
        return cls(crawler)

    def _opened(self) -> None:
        """Say which layers act, where not all parts are set up: nobody else would."""
        runtime = self._runtime
        asks, gives = runtime.crawler.get_downloader_middleware, runtime.crawler.get_spider_middleware
        if asks(DedupDownloaderMiddleware) is None or gives(DedupSpiderMiddleware) is None:
            acting = ", ".join(layer for layer in _OF_ITEMS if layer in runtime.settings.acting) or "none"
            logger.info(
                "Not all parts of scrapy_dedup are set up. These layers act, on items alone: %s. What acts before that"
                ' (url on requests, unchanged, domain) needs ADDONS = {"scrapy_dedup.Addon": 700}',
                acting,
            )

    async def process_item(self, item: Any) -> Any:
        """Return the item with its cleaned text and what was removed.

        Raises:
            DuplicateItem: its page went out before.
        """
        if isinstance(item, ChunkItem):
            self._runtime.count("chunks/items")
            return item
        self._runtime.count("items/in")
        note_passing(None)
        url, settings = None, self._runtime.settings
        # A pipeline before this one may have made another object of it, whose class may fail.
        with suppress(Exception):
            url = url_of(ItemAdapter(item), settings) if ItemAdapter.is_item(item) else None
        visit = self._runtime.visits.of_item(item, url)
        domain = visit.domain if visit is not None else extract_domain(url or "", settings.domain_scope)
        async with self._runtime.items_first.held_up(), self._in_order(domain) as before:
            await self._runtime.writer.room()
            noted = None
            try:
                if not ItemAdapter.is_item(item):
                    self._runtime.count(f"left/{ItemSkipReason.NO_ITEM}")
                elif is_tombstone(item):
                    self._runtime.count("items/tombstones")
                else:
                    if visit is not None and visit.giver and (noted := self._note(item, visit)) is not None:
                        self._drop_delivered(item, visit, noted)
                    await self._process(item, url, visit, noted, before)
            except DuplicateItem as why:
                if visit is not None and noted is not None and why.keeper is not None:
                    visit.delivered.left_out[noted.stands] = why.keeper
                raise
            except Exception as error:  # noqa: BLE001 - a layer must not lose an item
                self._failed(item, error)
        return item

    @asynccontextmanager
    async def _in_order(self, domain: str | None) -> AsyncIterator[Deferred[None] | None]:
        """Let what a domain's pages gave leave in the order in which it came; give what fires once it is its turn."""
        if domain is None:
            yield None
            return
        before, left = self._last.get(domain), Deferred[None]()
        self._last[domain] = left
        try:
            yield before
        finally:
            if before is not None:
                await maybe_deferred_to_future(before)
            if self._last[domain] is left:
                del self._last[domain]
            else:
                # Without asyncio the next one would go on inside of `callback`, and leave before this one.
                call_later(0, left.callback, None)

    async def _process(
        self, item: Any, url: str | None, visit: Visit | None, noted: Noted | None, before: Deferred[None] | None
    ) -> None:
        runtime, adapter = self._runtime, ItemAdapter(item)
        await self._intake.read(visit)
        item_page = self._intake.of(adapter, url, visit)
        if isinstance(item_page, SkippedItem):
            self._leave(item, adapter, item_page)
            return
        self._drop_repeated(item_page)
        draft, settings = item_page.draft, item_page.settings
        # As it comes in here: what we add to it is no field of its own.
        fields = noted.fields if noted is not None else item_hash(item, not_own(settings))
        item_page = replace(item_page, fields=fields, before=before)
        if draft.held is not None:
            if draft.evidence is not None:
                # Cut for the first of its page's items.
                runtime.crawl.evidence.note(draft, fields, settings)
            else:
                runtime.crawl.evidence.recall(draft, fields)
            if await self._duplicates.is_text_of_another(draft, settings):
                # It is judged as if nothing were known of it.
                item_page = self._intake.read_anew(item_page)
                draft = item_page.draft
        if draft.held is None:
            await self._judge(item_page)
        await self._duplicates.show(draft, settings)
        if self._emit(item, adapter, item_page) and settings.emit_chunks:
            await self._send_chunks(item_page)

    async def _judge(self, item_page: ItemPage) -> None:
        """Cut a page, and compare it with the others.

        Raises:
            DuplicateItem: another page stands for it.
        """
        runtime, draft, settings = self._runtime, item_page.draft, item_page.settings
        runtime.crawl.evidence.note(draft, item_page.fields, settings)
        compares = settings.canonical_enabled and item_page.stands_for_page and draft.page is not None
        compares = compares and not draft.checked
        learner = await self._learn(item_page) if settings.boilerplate_enabled else None
        if draft.domain not in runtime.crawl.configs and settings.patterns_enabled:
            await self._meet(draft)
        is_kept = runtime.crawl.keeps(draft)
        verdict: Deferred[str] | None = None
        async with runtime.aside.turn(draft.domain):
            # Perhaps another of its page's items was first.
            if draft.cleaned is None:
                await runtime.aside.result(runtime.crawl.clean(draft, learner, settings))
            if learner is not None and "boilerplate" in settings.acting:
                verdict = await self._judged(item_page, learner)
        if verdict is not None:
            why = await maybe_deferred_to_future(verdict)
            draft.released = str(why)
        if "boilerplate" in settings.shadowing:
            # What the shadow learned proves nothing: it would show on the feed.
            learner = None
        if compares and not is_kept:
            await self._drop_alias(item_page, learner)
        is_unchanged = draft.judgement is not None and draft.judgement.is_unchanged and draft.comparison is None
        if is_unchanged and not await self._duplicates.is_text_of_another(draft, settings):
            hold_as_before(draft, settings)
        if draft.held is None:
            await self._duplicates.check(draft, keeping_all(settings) if is_kept else settings)
            await self._drop_alike(item_page, learner)

    def _note(self, item: Any, visit: Visit) -> Noted | None:
        """Note an item for the next visit, where it can be."""
        url = url_of(ItemAdapter(item), visit.settings)
        # One page has many addresses: by which of them a crawl comes to it is chance.
        is_own = url == visit.url or (url is not None and page_key(url, self._runtime.rules) == visit.page_key)
        known = {visit.settings.url_field: visit.page_key.hex()} if is_own else {}
        stands = item_hash(item, visit.settings.ignore_fields, known)
        if stands is None:
            return None
        fields = item_hash(item, not_own(visit.settings))
        visit.delivered.items.append(stands)
        note_passing(stands)
        shown = set[bytes]()
        if visit.settings.unchanged == "skip":
            shown = self._shown.setdefault((visit.page_key, visit.giver), shown)
        if fields is not None:
            visit.delivered.fields.add(fields)
            shown.add(fields)
        return Noted(stands, fields)

    def _drop_delivered(self, item: Any, visit: Visit, noted: Noted) -> None:
        """Drop an item that the last visit gave, where that is asked for."""
        earlier = visit.earlier
        if earlier.items[noted.stands] <= 0 or self._has_new_text(item, visit):
            return
        keeper = earlier.left_out.get(noted.stands)
        if keeper is not None:
            is_as_then = visit.judgement is None or visit.judgement.is_unchanged
            # It may have been met since this page was.
            is_over = self._runtime.met.kind_of(keeper) is VerdictKind.CHANGED or keeper in self._runtime.departed
            stays = earlier.stays_left_out(keeper, noted.fields, self._shown.get((keeper, visit.giver)))
            if is_over or not (is_as_then and stays):
                return
            visit.delivered.as_at = earlier.at
        earlier.items[noted.stands] -= 1
        self._runtime.count("unchanged/dropped")
        self._runtime.count("items/dropped")
        raise DuplicateItem(f"dedup: {visit.url}: unchanged: the last visit gave this item", keeper)

    def _has_new_text(self, item: Any, visit: Visit) -> bool:
        """Say whether an item stands for its page, and that has another text now: what is equal is not all of it."""
        judgement, settings = visit.judgement, visit.settings
        stands = judgement is not None and judgement.is_unchanged and visit.earlier.knows(judgement.known.state)
        if judgement is not None and stands and not is_made_otherwise(judgement, settings):
            return False
        adapter = ItemAdapter(item)
        own = {name for name, value in adapter.items() if value not in (None, "")}
        return own <= {settings.url_field} or (has_field(item, CONTENT) and self._intake.takes_response(adapter, visit))

    def _drop_repeated(self, item_page: ItemPage) -> None:
        """Drop an item of a page whose items went out before a kill; else what is fetched twice is given twice."""
        visit, key = item_page.visit, item_page.draft.page_key
        if visit is None or not item_page.stands_for_page:
            # It names a page that is not its response's: that page's own items are still to come.
            return
        if not (self._runtime.crawl.given.setdefault(key, 0) and visit.comes_again):
            return
        if "url" in item_page.settings.shadowing:
            self._runtime.count("shadow/url/items")
        elif "url" in item_page.settings.acting:
            self._drop(item_page, "url", Duplicate("page of this run", key))

    async def _drop_alias(self, item_page: ItemPage, learner: Learner | None) -> None:
        """Drop an item whose page is another address of one that went out; else note the page's own."""
        draft, in_shadow, runtime = item_page.draft, "canonical" in item_page.settings.shadowing, self._runtime
        aliases, alias = runtime.crawl.aliases, runtime.alias_of(item_page.visit, draft)
        target = alias.target if isinstance(alias, Alias) else None
        candidates = partial(aliases.candidates, draft.page_key, target)
        proven = await self._proven(item_page, candidates, learner)
        if draft.checked:
            # Another of its page's items was first, while the store was asked.
            return
        if proven is not None:
            if target is not None:
                # What the page declares canonical is one more address of the page that went out.
                aliases.stand(target.page_key, proven.document_key)
            if not in_shadow:
                self._drop(item_page, proven.layer, proven)
            # It goes out as if nobody had looked.
            runtime.count("shadow/canonical/items")
            reason = f"would be dropped: {proven.reason}"
            runtime.crawl.rows.append(DecisionRecord(draft.page_key, "canonical", "shadow", reason, datetime.now(UTC)))
        else:
            if candidates():
                runtime.count("canonical/unproven")
            if not in_shadow:
                if target is not None and target.page_key not in runtime.crawl.given:
                    draft.canonical = target
                    runtime.count("canonical/before_target")
                aliases.go_out(draft.page_key, draft.canonical)
        draft.checked = True

    async def _drop_alike(self, item_page: ItemPage, learner: Learner | None) -> None:
        """Drop an item where another page stands for its own."""
        draft, comparison = item_page.draft, item_page.draft.comparison
        if comparison is None or not comparison.dropped or comparison.same is None:
            return
        same, own = comparison.same, (draft.page_key, draft.domain, draft.text_hash)

        def keepers() -> list[Duplicate]:
            # Of several pages with one text, each with its own fields, any may be the item's.
            others = self._runtime.crawl.duplicates.with_text(*own, item_page.settings)
            return [Duplicate(same.reason, key, same.layer) for key in (same.keeper, *others)]

        if (proven := await self._proven(item_page, keepers, learner)) is not None:
            self._runtime.crawl.release(draft)
            self._drop(item_page, same.layer, proven)
        if draft.comparison is not comparison:
            # Another of its page's items was first.
            return
        self._runtime.count(f"{same.layer}/unproven")
        # At once: who comes while the store is asked is compared with it.
        self._duplicates.let_out(draft, item_page.settings)
        if not self._runtime.crawl.evidence.knows(same.keeper):
            await self._note_equal(draft, same.keeper)

    async def _proven(
        self, item_page: ItemPage, candidates: Callable[[], list[Duplicate]], learner: Learner | None
    ) -> Duplicate | None:
        """Return the first of some candidates that is proven to stand for an item's page.

        They are looked for anew after each: while the store is asked another of the equal pages may go out.
        """
        asked = set[bytes]()
        while len(asked) < _MOST_KEEPERS:
            one = next((one for one in candidates() if one.document_key not in asked), None)
            if one is None or await self._duplicates.is_proven(item_page, one, learner):
                return one
            asked.add(one.document_key)
        return None

    async def _note_equal(self, draft: Draft, keeper: bytes) -> None:
        """Note which page an item's equals, that did not come in this run; where it is gone, the item's page moved."""
        try:
            stored = await run_in_thread(self._runtime.crawl.store.page, keeper)
        except StoreError:
            self._runtime.count("store/errors")
            return
        document = stored.document if stored is not None else None
        if document is not None:
            draft.equals = document.url
            draft.is_moved = draft.is_new and keeper in self._runtime.departed

    def _drop(self, item_page: ItemPage, layer: str, duplicate: Duplicate) -> None:
        draft, runtime = item_page.draft, self._runtime
        draft.duplicate = duplicate
        keeper = duplicate.document_key if duplicate.document_key != draft.page_key else None
        if keeper is not None and not draft.went_out:
            runtime.crawl.evidence.forget(draft.page_key)
            if not draft.is_dropped:
                draft.is_dropped = True
                runtime.crawl.drops.note(draft.domain, layer, draft.url, keeper)
        runtime.count(f"{layer}/dropped")
        runtime.count("items/dropped")
        if keeper is not None:
            runtime.crawl.note_drop(draft, layer, duplicate.reason, keeper, datetime.now(UTC))
        raise DuplicateItem(f"dedup: {draft.url}: {layer}: {duplicate.reason}", keeper)

    async def _learn(self, item_page: ItemPage) -> Learner:
        """Let the domain learn from the page; wait for its siblings while the domain is unknown."""
        draft, runtime = item_page.draft, self._runtime
        crawl = runtime.crawl
        # In the order in which they came: the first item of a page stands for it.
        async with runtime.aside.turn(draft.domain):
            learner = crawl.learner(draft.domain, draft.method) or await self._meet(draft)
            await runtime.aside.result(crawl.take_in(draft, learner))
        if not learner.known and "boilerplate" in item_page.settings.acting:
            why = await maybe_deferred_to_future(self._park(item_page, learner))
            draft.released = str(why)
        return learner

    async def _judged(self, item_page: ItemPage, learner: Learner) -> "Deferred[str] | None":
        """Return what a page waits for while its site may have been designed anew, or let go who waited for that.

        In the domain's turn, so that the pages go on in their order.
        """
        if learner.site is None or not learner.known:
            return None
        if learner.site.is_judging:
            return self._park(item_page, learner)
        if self._runtime.lot.settle(learner):
            # They go on first.
            await pause(0)
        return None

    def _park(self, item_page: ItemPage, learner: Learner) -> "Deferred[str]":
        draft, visit = item_page.draft, item_page.visit
        response = visit.response() if visit is not None and visit.callback_ended else None
        if response is not None:
            forget_tree(response)
        self._runtime.count("items/parked")
        return self._runtime.lot.park(learner, draft.page_key, len(draft.source), time.monotonic())

    async def _meet(self, draft: Draft) -> Learner:
        crawl = self._runtime.crawl
        try:
            stored = await run_in_thread(load, crawl.store, draft.domain)
        except StoreError as error:
            stored = None
            self._runtime.count("store/errors")
            if isinstance(error, AwayStoreError):
                self._runtime.unmet.note(draft.domain)
            else:
                logger.warning("The store does not answer, %s is learned anew: %s", draft.domain, error)
        return crawl.learner(draft.domain, draft.method) or crawl.meet(draft.domain, draft.method, stored)

    async def _send_chunks(self, item_page: ItemPage) -> None:
        """Send the chunks of a page, with the first of its items."""
        draft, visit = item_page.draft, item_page.visit
        chunks = draft.comparison.chunks if draft.comparison is not None else draft.held_chunks
        if chunks is None or draft.chunks_sent:
            return
        draft.chunks_sent = True
        title = draft.metadata.title
        # Under the key that its page's item names.
        named = (draft.canonical or draft).page_key
        items = list(chunk_items(draft.url, named, title, chunks))
        if visit is not None:
            for item in items:
                self._runtime.visits.attach(item, visit)
        await send(self._runtime.crawler, items, visit.response() if visit is not None else None)

    def _emit(self, item: Any, adapter: ItemAdapter, item_page: ItemPage) -> bool:
        """Write the clean text into the item; say whether it could take it."""
        runtime, draft, visit, settings = self._runtime, item_page.draft, item_page.visit, item_page.settings
        if not self._fields.can_take_content(item):
            runtime.count("left/no_field")
            return False
        self._fields.warn_of_own(item, adapter, settings)
        crawl = runtime.crawl
        draft.went_out = True
        if draft.stands_aside:
            crawl.evidence.stand_aside(draft, leaves=False)
        crawl.emit(draft, datetime.now(UTC))
        self._fields.put(item, adapter, CONTENT, draft.cleaned.content if draft.cleaned else "")
        filled = [name for name in METADATA if lacks(item, adapter, name)]
        for name in filled:
            self._fields.put(item, adapter, name, getattr(draft.metadata, name))
        report = provenance(draft, crawl.store.name, str(crawl.run.id), settings)
        report |= visit.report if visit is not None else {}
        self._fields.put(item, adapter, REPORT, report | {FILLED: filled})
        if visit is None or not item_page.stands_for_page:
            runtime.done.hold(draft)
        runtime.count("items/out")
        return True

    def _leave(self, item: Any, adapter: ItemAdapter, left: SkippedItem) -> None:
        self._runtime.count(f"left/{left.detail}")
        if left.is_nameless:
            self._fields.warn_of_nameless(item, self._runtime.settings.url_field)
        if left.is_told:
            page: dict[str, Any] = {}
            if (visit := left.visit) is not None:
                page = {"url": visit.url, "page_key": visit.page_key.hex()} | visit.report
                if visit.judgement is not None and not visit.judgement.is_shadow:
                    page |= verdict_of(visit.judgement)
            self._fields.put(item, adapter, REPORT, page | {"left": left.detail})

    def _failed(self, item: Any, error: Exception) -> None:
        """Let an item out that a layer could not deal with: flagged, counted, with one traceback a kind."""
        kind = type(error)
        self._runtime.count(f"errors/{kind.__name__}")
        if kind not in self._failures:
            self._failures.add(kind)
            logger.error("An item goes out uncleaned because of a defect in scrapy_dedup", exc_info=error)
        # The item's own class may be what fails.
        with suppress(Exception):
            self._fields.put(item, ItemAdapter(item), REPORT, {"error": f"{kind.__name__}: {error}"[:500]})

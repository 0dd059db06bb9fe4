"""Items of unknown domains wait here for their siblings; all of them leave with cleaned_content."""

import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any, Self

from itemadapter import ItemAdapter
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import DeferredLock

from scrapy_dedup.plugin.alias_check import AliasCheck
from scrapy_dedup.plugin.chunk_items import ChunkItem, chunk_items, send
from scrapy_dedup.plugin.intake import Brought, Intake, Left, LeftReason
from scrapy_dedup.plugin.items import CONTENT, FILLED, METADATA, REPORT, Fields
from scrapy_dedup.plugin.likeness_check import LikenessCheck
from scrapy_dedup.plugin.replay import is_replayed
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.service.aliases import Duplicate
from scrapy_dedup.service.crawl_cutting import load
from scrapy_dedup.service.departures import is_tombstone
from scrapy_dedup.service.drafts import Draft
from scrapy_dedup.service.learning import Learner
from scrapy_dedup.service.provenance import provenance
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.errors import AwayStoreError, StoreError
from scrapy_dedup.store.records import DecisionRecord

logger = logging.getLogger(__name__)


class DuplicateItem(DropItem):
    """The item's page went out before, under this or another URL."""

    def __init__(self, message: str) -> None:
        super().__init__(message, log_level="DEBUG")


class DedupPipeline:
    """The layers that act on items. Whatever fails in here, the item goes out."""

    def __init__(self, crawler: Crawler) -> None:
        self._runtime = Runtime.of(crawler)
        self._intake = Intake(self._runtime)
        self._fields = Fields()
        self._aliases = AliasCheck(self._runtime)
        self._likeness = LikenessCheck(self._runtime)
        self._failures: set[type[Exception]] = set()
        self._turns: dict[str, DeferredLock] = {}
        """Of domains that are just met."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make it from the crawler; raises NotConfigured where the plugin is off."""
        return cls(crawler)

    async def process_item(self, item: Any) -> Any:
        """Return the item with its cleaned text and what was removed.

        Raises:
            DuplicateItem: its page went out before.
        """
        if isinstance(item, ChunkItem):
            self._runtime.count("chunks/items")
            return item
        if self._runtime.stale.knows(item):
            self._runtime.count("items/renewed")
            return item
        self._runtime.count("items/in")
        await self._runtime.writer.room()
        try:
            if ItemAdapter.is_item(item):
                await self._process(item, ItemAdapter(item))
            else:
                self._runtime.count(f"left/{LeftReason.NO_ITEM}")
        except DuplicateItem:
            raise
        except Exception as error:  # noqa: BLE001 - a layer must not lose an item
            self._failed(item, error)
        return item

    async def _process(self, item: Any, adapter: ItemAdapter) -> None:
        runtime = self._runtime
        if is_replayed(item) or is_tombstone(item):
            runtime.count("items/replayed" if is_replayed(item) else "items/tombstones")
            return
        await self._intake.read(item, adapter)
        brought = self._intake.of(item, adapter)
        if isinstance(brought, Left):
            self._leave(item, adapter, brought)
            return
        self._drop_repeated(brought)
        draft, settings = brought.draft, brought.settings
        # In the shadow it is judged once: a page's other items have nothing to add.
        compares = settings.canonical_enabled and brought.stands_for_page and draft.page is not None
        compares = compares and not (draft.checked and settings.shadows("canonical"))
        if compares:
            self._aliases.note(draft)
        learner = await self._learn(draft, settings) if settings.boilerplate_enabled else None
        if draft.domain not in runtime.crawl.configs and settings.patterns_enabled:
            await self._meet(draft)
        compares = compares and not runtime.crawl.keeps(draft)
        if draft.cleaned is None:
            runtime.crawl.clean(draft, learner, settings)
        if compares:
            duplicate = await self._aliases.check(brought, learner)
            if settings.shadows("canonical"):
                self._note_shadow(draft, duplicate)
            elif duplicate is not None:
                self._drop(brought, duplicate.layer, duplicate)
        await self._likeness.check(draft, settings)
        comparison = draft.comparison
        if comparison is not None and comparison.dropped and comparison.same is not None:
            same = comparison.same
            self._drop(brought, same.layer, Duplicate(same.reason, same.keeper, same.layer))
        if self._emit(item, adapter, brought) and settings.emit_chunks:
            await self._send_chunks(brought)

    def _drop_repeated(self, brought: Brought) -> None:
        """Drop an item of a page whose items another response of this run has given."""
        visit, key = brought.visit, brought.draft.page_key
        if visit is None or not brought.stands_for_page:
            # It names a page that is not its response's: that page's own items are still to come.
            return
        owner, callback = self._runtime.crawl.owners.setdefault(key, (visit.serial, visit.callback))
        # Another callback reads something else from the same page.
        if owner == visit.serial or visit.unfiltered or callback not in ("", visit.callback):
            return
        layer = "canonical" if visit.redirected_from else "url"
        if brought.settings.shadows(layer):
            self._runtime.count(f"shadow/{layer}/items")
        elif brought.settings.acts(layer):
            reason = "redirect to a page of this run" if visit.redirected_from else "page of this run"
            self._drop(brought, layer, Duplicate(reason, key))

    def _note_shadow(self, draft: Draft, duplicate: Duplicate | None) -> None:
        """Write down that a page would have been dropped; it goes out as if nobody had looked."""
        draft.canonical = draft.duplicate = None
        if duplicate is not None:
            self._runtime.count("shadow/canonical/items")
            reason = f"would be dropped: {duplicate.reason}"
            record = DecisionRecord(draft.page_key, "canonical", "shadow", reason, datetime.now(UTC))
            self._runtime.crawl.rows.append(record)

    def _drop(self, brought: Brought, layer: str, duplicate: Duplicate) -> None:
        draft, runtime = brought.draft, self._runtime
        draft.duplicate = duplicate
        runtime.count(f"{layer}/dropped")
        runtime.count("items/dropped")
        if duplicate.document_key != draft.page_key:
            runtime.crawl.note_drop(draft, layer, duplicate.reason, duplicate.document_key, datetime.now(UTC))
        raise DuplicateItem(f"dedup: {layer}: {duplicate.reason}: {draft.url}")

    async def _learn(self, draft: Draft, settings: Settings) -> Learner:
        """Let the domain learn from the page; wait for its siblings while the domain is unknown."""
        runtime = self._runtime
        crawl = runtime.crawl
        learner = crawl.learner(draft.domain, draft.method)
        if learner is None:
            # In the order in which they came: the first item of a page stands for it.
            async with self._in_turn(draft.domain):
                learner = crawl.learner(draft.domain, draft.method) or await self._meet(draft)
                crawl.take_in(draft, learner)
        else:
            crawl.take_in(draft, learner)
        if not learner.known and settings.acts("boilerplate"):
            runtime.count("items/parked")
            parked = runtime.lot.park(learner, draft.page_key, len(draft.source), time.monotonic())
            why = await maybe_deferred_to_future(parked)
            draft.released = str(why)
        return learner

    @asynccontextmanager
    async def _in_turn(self, domain: str) -> AsyncIterator[None]:
        lock = self._turns.setdefault(domain, DeferredLock())
        await maybe_deferred_to_future(lock.acquire())
        try:
            yield
        finally:
            lock.release()
            if not lock.locked:
                self._turns.pop(domain, None)

    async def _meet(self, draft: Draft) -> Learner:
        crawl = self._runtime.crawl
        try:
            stored = await run_in_thread(load, crawl.store, draft.domain)
        except AwayStoreError:
            self._runtime.count("store/errors")
            self._runtime.unmet.note(draft.domain)
            stored = None
        except StoreError as error:
            self._runtime.count("store/errors")
            logger.warning("The store does not answer, %s is learned anew: %s", draft.domain, error)
            stored = None
        return crawl.learner(draft.domain, draft.method) or crawl.meet(draft.domain, draft.method, stored)

    async def _send_chunks(self, brought: Brought) -> None:
        """Send the chunks of a page, with the first of its items."""
        draft, visit = brought.draft, brought.visit
        if draft.comparison is None or draft.chunks_sent:
            return
        draft.chunks_sent = True
        title = draft.metadata.title
        # Under the key that its page's item names.
        named = (draft.canonical or draft).page_key
        items = list(chunk_items(draft.url, named, title, draft.comparison.chunks))
        if visit is not None:
            for item in items:
                self._runtime.visits.attach(item, visit)
        await send(self._runtime.crawler, items, visit.response() if visit is not None else None)

    def _emit(self, item: Any, adapter: ItemAdapter, brought: Brought) -> bool:
        """Write the clean text into the item; say whether it could take it."""
        runtime, draft = self._runtime, brought.draft
        if not self._fields.can_take_content(item, adapter):
            runtime.count("left/no_field")
            return False
        crawl = runtime.crawl
        crawl.emit(draft, datetime.now(UTC))
        adapter[CONTENT] = draft.cleaned.content if draft.cleaned else ""
        filled = [name for name in METADATA if adapter.get(name) in (None, "")]
        for name in filled:
            self._fields.put(item, adapter, name, getattr(draft.metadata, name))
        self._fields.put(item, adapter, REPORT, self._report(brought) | {FILLED: filled})
        if brought.visit is None or not brought.stands_for_page:
            runtime.done.hold(draft)
        runtime.count("items/out")
        return True

    def _report(self, brought: Brought) -> dict[str, Any]:
        crawl = self._runtime.crawl
        report = provenance(brought.draft, crawl.store.name, str(crawl.run.id), brought.settings)
        if brought.visit is not None:
            report["visited"] = brought.visit.page_key.hex()
        return report

    def _leave(self, item: Any, adapter: ItemAdapter, left: Left) -> None:
        self._runtime.count(f"left/{left.detail}")
        if left.is_defect:
            self._fields.put(item, adapter, REPORT, {"left": left.detail})

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

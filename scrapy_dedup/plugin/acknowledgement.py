"""When a page is done: its callback has ended, and all of its items have left the pipelines."""

from collections import OrderedDict
from datetime import UTC, datetime
from typing import Any

from itemadapter import ItemAdapter
from scrapy.http import Response

from scrapy_dedup.core.urls import UrlRules, page_key
from scrapy_dedup.plugin.items import url_of
from scrapy_dedup.plugin.visits import Visit, Visits
from scrapy_dedup.plugin.write_behind import WriteBehind
from scrapy_dedup.service.crawl import Crawl, Draft

# Scrapy has some hundred items in the pipelines at once; beyond this an item's URL was changed on its way.
_MOST_LOOSE = 1_000


class Acknowledgement:
    """Completes pages. Where a page's response is not known, its item is known by its URL."""

    def __init__(self, crawl: Crawl, visits: Visits, writer: WriteBehind, rules: UrlRules) -> None:
        self._crawl = crawl
        self._visits = visits
        self._writer = writer
        self._rules = rules
        self._loose: OrderedDict[bytes, Draft] = OrderedDict()

    def __len__(self) -> int:
        """Return how many pages are held."""
        return len(self._loose)

    def hold(self, draft: Draft) -> None:
        """Remember the page of an item that goes on, where it is not its response's."""
        self._loose[draft.page_key] = draft
        if len(self._loose) > _MOST_LOOSE:
            self._complete([self._loose.popitem(last=False)[1]])

    def item_done(self, item: Any, response: Response | None) -> None:
        """Note that an item was scraped or dropped."""
        visit = self._visits.of_response(response) if response is not None else None
        if self._loose and (draft := self._loose_draft(item)) is not None:
            self._complete([draft])
        if visit is not None:
            self._visits.left(item, visit)
            self.settle(visit)

    def item_failed(self, item: Any, response: Response | None, failure: Any) -> None:
        """Note that a later pipeline failed: the item's page is not done."""
        visit = self._visits.of_response(response) if response is not None else None
        draft = self._loose_draft(item) if self._loose else None
        drafts = [draft] if draft is not None else []
        if visit is not None:
            visit.failed = True
            self._visits.left(item, visit)
            drafts += visit.drafts
            visit.drafts.clear()
        for draft in drafts:
            self._crawl.fail(draft, f"{failure.type.__name__}: {failure.value}"[:500], datetime.now(UTC))

    def _loose_draft(self, item: Any) -> Draft | None:
        if not ItemAdapter.is_item(item):
            return None
        url = url_of(ItemAdapter(item), self._crawl.settings)
        return self._loose.pop(page_key(url, self._rules), None) if url else None

    def settle(self, visit: Visit) -> None:
        """Write down that a page is done, when its callback has ended and all of its items have left."""
        if visit.items or visit.failed or (visit.from_spider and not visit.callback_ended):
            return
        self._complete([draft for draft in visit.drafts if draft.duplicate is None])
        visit.drafts.clear()
        if visit.callback_ended and not (visit.had_items or visit.noted) and visit.settings.enabled:
            visit.noted = True
            self._crawl.note_empty(visit.url, visit.page_key, visit.domain, visit.http_status, visit.fetched_at)
        # A response and its selector hold each other, so that a visit stays until garbage is collected.
        visit.parsed = None

    def settle_gone(self) -> None:
        """Settle pages whose response is gone: another middleware kept some of their items from the pipelines."""
        for visit in self._visits.take_gone():
            self._visits.forget_items(visit)
            self.settle(visit)

    def settle_all(self) -> None:
        """Settle every page, once the pipelines are closed."""
        self.settle_gone()
        for visit in self._visits.all():
            self._visits.forget_items(visit)
            self.settle(visit)
        self._complete(list(self._loose.values()))
        self._loose.clear()

    def _complete(self, drafts: list[Draft]) -> None:
        at = datetime.now(UTC)
        for draft in drafts:
            self._crawl.complete(draft, at)
        self._writer.if_due()

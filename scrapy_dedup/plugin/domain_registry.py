"""What a crawl leaves in the registry of domains: those that it asked, and how good their items were."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from itemadapter import ItemAdapter

from scrapy_dedup.core.urls import extract_domain
from scrapy_dedup.plugin.chunk_items import ChunkItem
from scrapy_dedup.plugin.confidence import Confidences
from scrapy_dedup.plugin.items import url_of
from scrapy_dedup.plugin.replay import is_replayed
from scrapy_dedup.service.crawl import Crawl
from scrapy_dedup.service.departures import is_tombstone
from scrapy_dedup.service.domain_runs import settle_run
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.domain_records import ConfidenceRecord
from scrapy_dedup.store.errors import StoreError

logger = logging.getLogger(__name__)


class DomainRegistry:
    """Confidences are written with the pages that they belong to: what a killed crawl had seen safe is not lost."""

    def __init__(self, crawl: Crawl, settings: Settings, count: Callable[[str, int], None]) -> None:
        """Load what judges items; raises ConfidenceError."""
        self._crawl = crawl
        self._settings = settings
        self._confidences = Confidences(settings, count) if settings.domain_enabled else None
        self._met: set[str] = set()

    def met(self, domain: str | None) -> None:
        """Note that a domain was asked something, whatever came of it."""
        if domain:
            self._met.add(domain)

    def judged(self, item: Any, domain: str) -> ConfidenceRecord | None:
        """Return how good an item is that has passed all pipelines; None where nobody says so, or it is no new one.

        Args:
            item: any.
            domain: of its page; that of the URL which the item names goes before.
        """
        if self._confidences is None or isinstance(item, ChunkItem) or is_tombstone(item) or is_replayed(item):
            return None
        confidence = self._confidences.of(item)
        if confidence is None:
            return None
        url = url_of(ItemAdapter(item), self._settings) if ItemAdapter.is_item(item) else None
        domain = (extract_domain(url, self._settings.domain_scope) if url else None) or domain
        if not domain:
            return None
        is_high = confidence >= self._settings.high_quality
        return ConfidenceRecord(domain, int(is_high), int(not is_high), confidence, confidence, datetime.now(UTC))

    def settle(self) -> None:
        """Write what is known of the run's domains; blocks, for the end of a crawl."""
        if self._confidences is None:
            return
        try:
            settle_run(self._crawl.store, self._met, self._settings, datetime.now(UTC), run_id=self._crawl.run.id)
        except StoreError as error:
            logger.warning("What is known of this run's domains is written by the next one: %s", error)

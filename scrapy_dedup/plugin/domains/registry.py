"""What a crawl leaves in the registry of domains: those that it asked, and how good their items were."""

import logging
import math
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, Final

from itemadapter import ItemAdapter

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.urls.normal_form import extract_domain
from scrapy_dedup.plugin.crawl.items import ChunkItem, url_of
from scrapy_dedup.service.crawl.crawl import Crawl
from scrapy_dedup.service.domains.registry import settle_run
from scrapy_dedup.service.recrawl.recrawling import is_tombstone
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.engine.errors import StoreError
from scrapy_dedup.store.records.records import ConfidenceRecord

_FUNCTION: Final = 'DEDUP_DOMAIN["confidence_function"]'

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
        if self._confidences is None or isinstance(item, ChunkItem) or is_tombstone(item):
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


class ConfidenceError(DedupError):
    """DEDUP_DOMAIN["confidence_function"] names nothing that could be called."""


class Confidences:
    """Reads items. Whatever an item, or the function, gives instead of a number is counted, and warned of once."""

    def __init__(self, settings: Settings, count: Callable[[str, int], None]) -> None:
        """Load the function; raises ConfidenceError."""
        self._field = settings.confidence_field
        self._function = _loaded(settings.confidence_function) if settings.confidence_function else None
        self._count = count
        self._told = False

    def of(self, item: Any) -> float | None:
        """Return how good an item is, 0.0 to 1.0; None where nobody says so."""
        try:
            said = self._said(item)
            confidence = _number(said) if said is not None else None
        except Exception as error:  # noqa: BLE001 - whatever a user's function raises: the item is none the worse
            self._refuse(f"{type(error).__name__}: {error}")
            return None
        if said is not None and confidence is None:
            self._refuse(repr(said)[:100])
        return confidence

    def _said(self, item: Any) -> Any:
        if self._function is not None:
            return self._function(item)
        if not self._field or not ItemAdapter.is_item(item):
            return None
        said = ItemAdapter(item).get(self._field)
        return None if said == "" else said

    def _refuse(self, what: str) -> None:
        self._count("domain/confidence_errors", 1)
        if not self._told:
            self._told = True
            source = _FUNCTION if self._function is not None else f"The item field {self._field!r}"
            logger.warning("%s needs to give a number from 0.0 to 1.0, or None; it gave %s", source, what[:300])


def _number(said: Any) -> float | None:
    """Return a confidence, also one that is written as text; None where it is none."""
    if isinstance(said, bool):
        return None
    number = float(said)
    return number if math.isfinite(number) and 0 <= number <= 1 else None


def _loaded(path: str) -> Callable[[Any], Any]:
    module, _, name = path.rpartition(".")
    try:
        found = getattr(import_module(module), name)
    except Exception as error:
        raise ConfidenceError(
            f"{_FUNCTION}={path!r}: cannot be imported ({error}); it needs the import path of a function,"
            " such as 'project.quality.confidence_of'"
        ) from error
    if not callable(found):
        raise ConfidenceError(f"{_FUNCTION}={path!r}: is no function")
    return found  # type: ignore[no-any-return]

"""What goes out of a page whose clean text is another one now."""

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from itemadapter import ItemAdapter
from msgspec import Struct, field

from scrapy_dedup.plugin.crawl.items import CONTENT, FILLED, METADATA, REPORT, ItemFields, chunk_items, plain
from scrapy_dedup.plugin.crawl.outcomes import OutcomeError, kept_items
from scrapy_dedup.service.crawl.provenance import CLEANED_AGAIN, place_among_others
from scrapy_dedup.service.cut.cleaned_report import as_asked, hashes_and_removed
from scrapy_dedup.service.duplicates.index import records_of as records_of_page
from scrapy_dedup.service.stored.refined_outcomes import records_of
from scrapy_dedup.service.stored.refining import Refinement
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import PDF, PageKnowledge, Record

logger = logging.getLogger(__name__)

REFINED: Final = "refined"


class Outgoing(Struct, eq=False):
    """A page on its way out: its items, and what became of each."""

    refinement: Refinement
    items: list[Any]
    is_made_anew: bool = False
    """Its callback's items are not held, or cannot be made again: a dict stands for them."""
    waits_for: set[Any] = field(default_factory=set)
    """What must happen before its items are safe."""
    compared: Sequence[PageKnowledge] = ()
    """By what other pages are compared with it from then on."""
    failed: bool = False
    """A pipeline failed: the page comes again."""
    passed: dict[int, bool] = field(default_factory=dict)
    """Number of an item to whether it passed all pipelines."""

    @property
    def is_done(self) -> bool:
        """Whether all items have left."""
        return len(self.passed) == len(self.items)

    @property
    def scraped(self) -> int:
        """How many items passed all pipelines."""
        return sum(self.passed.values())

    def left(self, number: int, item: Any | None) -> None:
        """Note how an item left; None: it was dropped, or a pipeline failed."""
        self.passed[number] = item is not None

    def records(self, at: datetime) -> list[Record]:
        """Return what is written of the page once its items are safe."""
        return records_of(self.refinement.source, self.refinement.cleaned, at, self.compared)


class Renewer:
    """Makes the items of refined pages."""

    def __init__(self, settings: Settings, project: str) -> None:
        self._settings = settings
        self._project = project
        self._fields = ItemFields()

    def outgoing(self, refinement: Refinement) -> Outgoing:
        """Return the items that the page's callback made, with today's text; where they are not held, a dict."""
        outgoing = self._outgoing(refinement)
        if (found := refinement.comparison) is not None:
            outgoing.compared = records_of_page(found.facts, found.same, found.chunks, self._settings, dropped=False)
            if self._settings.emit_chunks:
                source = refinement.source
                made = chunk_items(source.url, source.page_key, refinement.metadata.title, found.chunks)
                # Behind the others, which are known by their number.
                outgoing.items = [*outgoing.items, *made]
        return outgoing

    def _outgoing(self, refinement: Refinement) -> Outgoing:
        outcome = refinement.outcome
        if outcome is not None and refinement.places:
            held = outcome.items or ()
            try:
                items = kept_items([held[place] for place in refinement.places])
                if self._renew(items, refinement):
                    return Outgoing(refinement, items)
            except OutcomeError:
                pass
            except Exception as error:  # noqa: BLE001 - the item's own class may be what fails
                logger.warning("An item of %s cannot take its new text: %r", refinement.source.url, error)
        return Outgoing(refinement, [self._anew(refinement)], is_made_anew=True)

    def _renew(self, items: Iterable[Any], refinement: Refinement) -> bool:
        """Give items today's text; say whether all of them could take it."""
        for item in items:
            adapter = ItemAdapter(item)
            if not self._fields.can_take_content(item, adapter):
                return False
            adapter[CONTENT] = refinement.cleaned.content
            old = adapter.get(REPORT)
            filled = old.get(FILLED, ()) if isinstance(old, dict) else ()
            # What a PDF file is called stands in the file, which is not kept.
            for name in () if refinement.source.field == PDF else METADATA:
                if name in filled or adapter.get(name) in (None, ""):
                    self._fields.put(item, adapter, name, getattr(refinement.metadata, name))
            report = old if isinstance(old, dict) else self._origin(refinement)
            kept = {name: value for name, value in report.items() if name != "diff"}
            self._fields.put(item, adapter, REPORT, kept | self._renewed_report(refinement))
        return True

    def _anew(self, refinement: Refinement) -> dict[str, Any]:
        metadata = {name: getattr(refinement.metadata, name) for name in METADATA}
        report = self._origin(refinement) | {FILLED: list(METADATA)} | self._renewed_report(refinement)
        url = {self._settings.url_field: refinement.source.url}
        return url | {CONTENT: refinement.cleaned.content} | metadata | {REPORT: plain(report)}

    def _origin(self, refinement: Refinement) -> dict[str, Any]:
        source = refinement.source
        return {
            "project": self._project,
            "domain": source.domain,
            "url": source.url,
            "page_key": source.page_key.hex(),
            "fetched_at": source.fetched_at.isoformat(),
        }

    def _renewed_report(self, refinement: Refinement) -> dict[str, Any]:
        report = {
            "method": refinement.method,
            "verdict": "changed",
            "change": "none",
            "reason": CLEANED_AGAIN,
            "previous_hash": refinement.before.digits,
            REFINED: True,
        } | as_asked(hashes_and_removed(refinement.cleaned), self._settings)
        if refinement.comparison is not None:
            report |= place_among_others(refinement.comparison, self._settings)
        return report

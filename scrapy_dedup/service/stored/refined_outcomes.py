"""What is held of a page whose text is another one now: which of its items are concerned, and what is written of them.

An outcome may have items of other pages, too, and items that brought HTML of their own: those stay as they are.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from scrapy_dedup.core.pages.fingerprints import content_hash
from scrapy_dedup.service.cut.cleaned_report import hashes_and_removed
from scrapy_dedup.service.cut.cleaning import LAYER, LAYERS, Cleaned
from scrapy_dedup.service.cut.removals import removal_decisions
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import (
    ChunksRecord,
    CleanedRecord,
    DecisionRecord,
    DocumentRecord,
    PageKnowledge,
    Record,
    SignatureRecord,
)
from scrapy_dedup.store.records.stored import StoredSource
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.upkeep.recleaning import Recleaned, RecleaningRepository, Refined
from scrapy_dedup.store.writer import ProjectStore

_PAGES_WRITTEN_AT_ONCE: Final = 100

Entry = Mapping[str, Any]
"""An item as it is kept."""


class Sent(Struct, frozen=True):
    """A text that went out; digits are those of its hash."""

    digits: str
    text: str


def own_places(items: Sequence[Entry], source: StoredSource, url_field: str) -> list[int]:
    """Return where those of a page's kept items stand that were cut from its stored original.

    Args:
        items: that the page's callback yielded.
        source: the original.
        url_field: of an item, with its URL.
    """
    return [place for place, one in enumerate(items) if _values(one).get(url_field) in (None, source.url)]


def sent_otherwise(source: StoredSource, cleaned: Cleaned) -> Sent | None:
    """Return the text that went out of a page, where the page has another one now, and the store knows."""
    figures = (source.report or {}).get("cleaned")
    digits = figures.get("content_hash") if isinstance(figures, dict) else None
    if not isinstance(digits, str) or digits == cleaned.content_hash.hex():
        return None
    stored = source.cleaned_content or ""
    return Sent(digits, stored if content_hash(stored).hex() == digits else "")


def _values(entry: Entry) -> Mapping[str, Any]:
    found = entry.get("fields")
    return found if isinstance(found, dict) else {}


def records_of(
    source: StoredSource, cleaned: Cleaned, at: datetime, compared: Sequence[PageKnowledge] = ()
) -> list[Record]:
    """Return what is to be written of a page once its items are safe; `written` reads it back.

    The document is not written as it stands: it says of which page, and of which original, the others are.
    """
    document = DocumentRecord(
        page_key=source.page_key,
        url=source.url,
        domain=source.domain,
        status="completed",
        updated_at=at,
        chars_in=cleaned.chars_in,
        chars_out=cleaned.chars_out,
        last_changed_at=source.fetched_at,
    )
    decisions = removal_decisions(source.page_key, cleaned, at)
    return [
        document,
        CleanedRecord(source.page_key, cleaned.content, {"cleaned": hashes_and_removed(cleaned)}),
        *decisions,
        *compared,
    ]


def write_refined(store: Store, project: ProjectStore, settings: Settings, records: Iterable[Record]) -> int:
    """Bring the store up to date, all in one transaction; return how many pages still were those that were cleaned.

    Raises:
        StoreError: the store failed; nothing was written.
    """
    pages = list(_pages(records))
    with store.session() as session:
        repository = RecleaningRepository(session, project.id, layer=LAYERS, keep_decisions=settings.keep_decisions)
        written = repository.write_refined(pages)
        session.commit()
    return written


def _pages(records: Iterable[Record]) -> Iterator[Refined]:
    group: list[Record] = []
    for record in records:
        if isinstance(record, DocumentRecord) and group:
            yield _page(group)
            group = []
        group.append(record)
    if group:
        yield _page(group)


def _page(group: Sequence[Record]) -> Refined:
    document = group[0]
    assert isinstance(document, DocumentRecord)
    assert document.last_changed_at is not None
    decisions = [one for one in group if isinstance(one, DecisionRecord)]
    text = next((one for one in group if isinstance(one, CleanedRecord)), None)
    recleaned = Recleaned(
        page_key=document.page_key,
        cleaned_content=text.cleaned_content if text is not None else None,
        report=text.report if text is not None else None,
        chars_in=document.chars_in or 0,
        chars_out=document.chars_out or 0,
        decision=next((one for one in decisions if one.layer == LAYER), None),
        others=tuple(one for one in decisions if one.layer != LAYER),
    )
    compared = tuple(one for one in group if isinstance(one, SignatureRecord | ChunksRecord))
    return Refined(recleaned, document.last_changed_at, compared)


def by_pages(records: Iterable[Record]) -> Iterator[list[Record]]:
    """Yield the records of a hundred pages at a time: each page's begin with its document."""
    some: list[Record] = []
    pages = 0
    for record in records:
        pages += isinstance(record, DocumentRecord)
        if pages > _PAGES_WRITTEN_AT_ONCE:
            yield some
            some, pages = [], 1
        some.append(record)
    if some:
        yield some

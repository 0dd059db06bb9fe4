"""A page on its way through the layers, and the field `dedup` of its item."""

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from scrapy_dedup.core.duplicates import PageEvidence, Same
from scrapy_dedup.core.metadata import Metadata
from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.pages.fingerprints import content_hash, text_hash
from scrapy_dedup.core.pages.render import render
from scrapy_dedup.core.urls.canonical import Address
from scrapy_dedup.service.cut.cleaning import Cleaned, as_asked
from scrapy_dedup.service.cut.site_cleaning import How, SiteCut
from scrapy_dedup.service.duplicates.chunking import (
    PageChunks,
    Stopwatch,
    as_before,
    chunks_as_asked,
    divide,
    makes_chunks,
    states_before,
)
from scrapy_dedup.service.duplicates.index import PageComparison
from scrapy_dedup.service.duplicates.page_facts import Duplicate
from scrapy_dedup.service.model_file import model_hash
from scrapy_dedup.service.recrawl import Judgement
from scrapy_dedup.service.templates.site_knowledge import SiteKnowledge
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.pages.contents import HeldText
from scrapy_dedup.store.records.records import BARE, PDF, ClaimKey, Field, Method, SourceRecord

if TYPE_CHECKING:
    from scrapy_dedup.core.pdf.text import PdfText

# Settings that begin so decide what is cut from a page.
_CUTTING: Final = (
    "allow_slow", "attach_response", "boilerplate", "chunk_", "content_field", "cut_", "fallback", "generic",
    "html_field", "item_", "language", "max_page", "min_", "output", "patterns", "pdf_", "shadow", "threshold",
)  # fmt: skip


class Draft(Struct):
    """A page on its way through the layers; made for the first item that brings it."""

    url: str
    page_key: bytes
    domain: str
    source: str
    """The original: HTML, or text where *page* is None."""
    fetched_at: datetime
    method: Method = "template"
    """How its blocks are counted."""
    page: Page | None = None
    pdf: "PdfText | None" = None
    """What was read of a PDF file."""
    text: str = ""
    """What the text method works on."""
    http_status: int | None = None
    content_type: str | None = None
    source_group: str | None = None
    canonical: Address | None = None
    """The page that this one stands for, where it is another address of it."""
    evidence: PageEvidence | None = None
    stands_aside: bool = False
    """An item of it is about to be left out: it proves nothing, or two pages would be left out for each other."""
    """What it shows, uncut, once an item of it may count for others."""
    went_out: bool = False
    """One of its items did."""
    checked: bool = False
    """It was compared with other addresses, and goes out: its other items are not asked again."""
    duplicate: Duplicate | None = None
    """Why all items of the page are dropped."""
    cleaned: Cleaned | None = None
    metadata: Metadata = field(default_factory=Metadata)
    cut: SiteCut | None = None
    """How it was cut, by the method `template`."""
    cut_by: SiteKnowledge | None = None
    """What was known of its site then."""
    released: str = "known"
    """What let the page go: that its domain is known, or why its batch ended."""
    of_response: bool = False
    """Its HTML is the response's."""
    comparison: PageComparison | None = None
    """What came of it beside the other pages of the project, once somebody asked."""
    counted: bool = False
    """What was left out of it is in the stats."""
    chunks_sent: bool = False
    """Its chunks left as items of their own."""
    is_dropped: bool = False
    """An item of it was left out for another page's."""
    bare: bool = False
    """The page gave no item."""
    equals: str | None = None
    """URL of a page with its text that did not come in this run."""
    is_moved: bool = False
    """That page is gone: this one is it, at another address."""
    claims: Sequence[ClaimKey] = ()
    """What it claimed, in a run that several workers share."""
    was_first: bool = True
    """No other worker had any of it."""
    fields_shown: int = -1
    """Of how many of its items, which go out whatever others do, the other workers know the fields; -1: of none yet."""
    judgement: Judgement | None = None
    """What the visit comes to that brought it."""
    held: HeldText | None = None
    """What was cut from the page before, and is cut from it now; nothing is compared or written anew."""
    held_chunks: PageChunks | None = None
    """What became of its chunks then, where somebody wants to see their texts."""

    @property
    def is_new(self) -> bool:
        """Whether it is surely met for the first time."""
        return self.judgement is not None and self.judgement.known.state is None

    @property
    def text_hash(self) -> bytes | None:
        """What stands for what is left of it."""
        return self.cleaned.cleaned_hash if self.cleaned is not None else None

    @property
    def head_title(self) -> str | None:
        """What the page or the file is called."""
        if self.page is not None:
            return self.page.title
        return self.pdf.title if self.pdf is not None else None

    @property
    def field(self) -> Field:
        """What *source* is."""
        if self.pdf is not None:
            return PDF
        if self.page is None:
            return "content"
        if self.bare:
            return BARE
        return "html" if self.of_response else "item_html"


@lru_cache(maxsize=64)
def text_version(settings: Settings) -> str:
    """Return what stands for the settings that decide what is cut from a page."""
    names = [name for name in settings.__dataclass_fields__ if name.startswith(_CUTTING)]
    return text_hash(repr([(name, _in_order(getattr(settings, name))) for name in names])).hex()


def _in_order(value: object) -> object:
    return sorted(value) if isinstance(value, frozenset | set) else value


def text_report(draft: Draft, settings: Settings) -> dict[str, Any] | None:
    """Return what stands on a page's items beside its text, as far as the page itself decides it."""
    if draft.cleaned is None:
        return None
    report: dict[str, Any] = {
        "made_by": text_version(settings),
        "metadata": {name: getattr(draft.metadata, name) for name in ("title", "date", "author")},
        "method": draft.method,
        "cleaned": draft.cleaned.report,
    }
    if draft.cut is not None and draft.cut.how is not How.TEMPLATE:
        report["model"] = model_hash()
    if draft.judgement is not None and draft.judgement.directives.names:
        report["robots"] = draft.judgement.directives.names
    if draft.page is not None and draft.page.lang:
        report["lang"] = draft.page.lang
    if draft.comparison is not None and draft.comparison.same is not None and not draft.comparison.dropped:
        report["near_duplicate"] = near_duplicate_report(draft.comparison.same)
    if draft.pdf is not None:
        report["pdf"] = draft.pdf.report
    return report


def near_duplicate_report(same: Same) -> dict[str, Any]:
    """Return what an item says of the page that its own is nearly like."""
    return {"page_key": same.keeper.hex(), "jaccard": same.jaccard}


class Recalled(Struct, frozen=True):
    """What was cut from a page before, unpacked."""

    text: HeldText
    """As it was kept."""
    cleaned: Cleaned
    metadata: Metadata


def recalled(held: HeldText) -> Recalled | None:
    """Return what was cut from a page before; None where the report is not whole."""
    report: Any = held.report
    try:
        figures, named = report["cleaned"], report["metadata"]
        cleaned = Cleaned(
            held.cleaned_content,
            int(figures["chars_in"]),
            int(figures["chars_out"]),
            content_hash=bytes.fromhex(figures["content_hash"]),
            cleaned_hash=bytes.fromhex(figures["cleaned_hash"]),
        )
        if content_hash(held.cleaned_content) != cleaned.content_hash:
            # It was cleaned again since, and that never went out.
            return None
        return Recalled(held, cleaned, Metadata(*(named[name] for name in ("title", "date", "author"))))
    except (KeyError, TypeError, ValueError):
        return None


def usable_text(judgement: Judgement, settings: Settings) -> Recalled | None:
    """Return what was cut from a page that did not change, where nothing that made it has changed."""
    state, held = judgement.known.state, judgement.known.text
    if held is None or state is None or state.stale is not None or state.document_key not in (None, state.page_key):
        return None
    if held.fetched_at != state.last_changed_at:
        # Another visit of this run wrote it, to which the server gave something else.
        return None
    is_same = held.report.get("made_by") == text_version(settings) and held.field in ("html", "pdf")
    # Chunks of HTML are made from a page, not from its text.
    is_usable = is_same and not judgement.is_shadow and (settings.output != "html" or not makes_chunks(settings))
    return recalled(held) if is_usable else None


def hold_as_before(draft: Draft, settings: Settings) -> None:
    """Hold what was cut from a page before, where its title and language are the same, and all of it still stands.

    That something else is cut now, by what was learned since, is no news of a page that did not change.
    """
    judgement, cleaned, page = draft.judgement, draft.cleaned, draft.page
    if judgement is None or not judgement.is_unchanged or cleaned is None or page is None or not draft.of_response:
        return
    if judgement.known.state is None or (known := judgement.known.text) is None:
        return
    before = usable_text(judgement, settings)
    if before is None or (page.title, page.lang or None) != (judgement.known.state.title, known.report.get("lang")):
        return
    if known.cleaned_content != cleaned.content:
        if not known.cleaned_content.strip():
            return
        whole = render(page, [True] * len(page.blocks), settings.output, draft.url)
        if not set(known.cleaned_content.splitlines()) <= set(whole.splitlines()):
            return
        draft.cleaned, draft.metadata = before.cleaned, before.metadata
    recall(draft, known, settings)


def recall(draft: Draft, held: HeldText, settings: Settings) -> None:
    """Let what was cut from a page before stand for what would be done with it now."""
    draft.held = held
    known, cleaned = draft.judgement.known.chunks if draft.judgement else (), draft.cleaned
    shows_texts = settings.emit_chunks or "chunks" in settings.item_details
    if cleaned is not None and makes_chunks(settings) and (shows_texts or not known):
        lang = held.report.get("lang")
        declared = lang if isinstance(lang, str) else None
        draft.held_chunks = as_before(divide(cleaned.content, draft.page_key, declared, settings, Stopwatch()), known)


def source_record(draft: Draft, fetched_at: datetime, settings: Settings) -> SourceRecord:
    """Return a page's original as it is stored; *fetched_at* is that by which its document knows it."""
    return SourceRecord(
        page_key=draft.page_key,
        url=draft.url,
        domain=draft.domain,
        field=draft.field,
        content=draft.source,
        fetched_at=fetched_at,
        title=draft.head_title,
        content_type=draft.content_type,
        source_group=draft.source_group or None,
        cleaned_content=draft.cleaned.content if draft.cleaned and not draft.bare else None,
        report=text_report(draft, settings) if not draft.bare else None,
    )


CLEANED_AGAIN: Final = "the page did not change; it was cleaned again by what is known now"


def provenance(draft: Draft, project: str, run: str, settings: Settings) -> dict[str, Any]:
    """Return where an item's text came from, its hashes, and what was removed and why."""
    report: dict[str, Any] = {
        "project": project,
        "run": run,
        "domain": draft.domain,
        "url": draft.url,
        "page_key": (draft.canonical or draft).page_key.hex(),
        "fetched_at": draft.fetched_at.isoformat(),
    }
    if draft.canonical is not None:
        report["canonical"] = draft.canonical.url
    if draft.judgement is not None and not draft.judgement.is_shadow:
        report |= verdict_of(draft.judgement) | _cleaned_again(draft, settings)
    if draft.is_moved:
        report |= {"verdict": "moved", "reason": f"it was at {draft.equals}", "moved_from": draft.equals}
    elif draft.equals is not None:
        report["same_as"] = draft.equals
    cleaned = draft.cleaned
    if cleaned is not None:
        report |= {"method": draft.method, "released": draft.released}
        report |= as_asked(cleaned.report, settings)
    if draft.held is not None:
        if draft.page is None:
            report |= as_asked(draft.held.report["cleaned"], settings)  # type: ignore[arg-type]  # `recalled` has read it
        report |= {name: draft.held.report[name] for name in ("pdf", "near_duplicate") if name in draft.held.report}
        if draft.held_chunks is not None and not settings.emit_chunks:
            report["chunks"] = chunks_as_asked(draft.held_chunks, settings)
        elif draft.judgement is not None and makes_chunks(settings) and not settings.emit_chunks:
            report["chunks"] = states_before(draft.judgement.known.chunks)
    if draft.pdf is not None:
        report["pdf"] = draft.pdf.report
    if draft.comparison is not None:
        report |= place_among_others(draft.comparison, settings)
    return report


def _cleaned_again(draft: Draft, settings: Settings) -> dict[str, Any]:
    """Return what is said of a page that did not change, and has another text by what is known now."""
    judgement, cleaned = draft.judgement, draft.cleaned
    if judgement is None or cleaned is None or not judgement.is_unchanged or judgement.known.text is None:
        return {}
    if judgement.known.text.cleaned_content == cleaned.content or not is_made_otherwise(judgement, settings):
        return {}
    return {"verdict": "changed", "change": "none", "reason": CLEANED_AGAIN, "refined": True}


def is_made_otherwise(judgement: Judgement, settings: Settings) -> bool:
    """Say whether a person's decision or a setting cuts a page's text otherwise than the one that is held."""
    held, state = judgement.known.text, judgement.known.state
    was_stale = state is not None and state.stale is not None
    return was_stale or (held is not None and held.report.get("made_by") != text_version(settings))


def place_among_others(comparison: PageComparison, settings: Settings) -> dict[str, Any]:
    """Return which page a near-duplicate is nearly like, and what becomes of the text's chunks."""
    report: dict[str, Any] = {}
    if comparison.same is not None:
        report["near_duplicate"] = near_duplicate_report(comparison.same)
    if makes_chunks(settings) and not settings.emit_chunks:
        report["chunks"] = chunks_as_asked(comparison.chunks, settings)
    return report


def verdict_of(judgement: Judgement) -> dict[str, Any]:
    """Return what became of a page since its last visit."""
    verdict, state = judgement.verdict, judgement.known.state
    found: dict[str, Any] = {
        "verdict": verdict.kind.value,
        "change": verdict.change.value,
        "reason": verdict.reason,
        "previous_seen_at": state.last_seen_at.isoformat() if state else None,
        "previous_hash": state.content_hash.hex() if state and state.content_hash else None,
    }
    if judgement.diff:
        found["diff"] = judgement.diff
    if judgement.directives.names:
        found["robots"] = judgement.directives.names
    return found

"""What an item says about itself: the field `dedup`."""

from typing import Any, Final

from scrapy_dedup.service.crawl.drafts import Draft, near_duplicate_report, text_version
from scrapy_dedup.service.cut.cleaned_report import as_asked, hashes_and_removed
from scrapy_dedup.service.duplicates.chunking import chunks_as_asked, makes_chunks, states_before
from scrapy_dedup.service.duplicates.comparison import PageComparison
from scrapy_dedup.service.pdf.reading import pdf_report
from scrapy_dedup.service.recrawl.recrawling import Judgement
from scrapy_dedup.settings import Settings

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
        report |= as_asked(hashes_and_removed(cleaned), settings)
    if draft.held is not None:
        if draft.page is None:
            report |= as_asked(draft.held.report["cleaned"], settings)  # type: ignore[arg-type]  # `recalled` has read it
        report |= {name: draft.held.report[name] for name in ("pdf", "near_duplicate") if name in draft.held.report}
        if draft.held_chunks is not None and not settings.emit_chunks:
            report["chunks"] = chunks_as_asked(draft.held_chunks, settings)
        elif draft.judgement is not None and makes_chunks(settings) and not settings.emit_chunks:
            report["chunks"] = states_before(draft.judgement.known.chunks)
    if draft.pdf is not None:
        report["pdf"] = pdf_report(draft.pdf)
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
    held, state = judgement.known.text, judgement.state
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
    verdict, state = judgement.verdict, judgement.state
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

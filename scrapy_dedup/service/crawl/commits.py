"""What is written of a visit: at once what harms nobody, and, once its items are safe, that the page was seen."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, cast, get_args

from msgspec import Struct, field

from scrapy_dedup.core.recrawl.plan import next_interval
from scrapy_dedup.core.recrawl.verdicts import Change, VerdictKind
from scrapy_dedup.service.crawl.drafts import Draft, source_record, text_report
from scrapy_dedup.service.policies import adaptive_policy
from scrapy_dedup.service.recrawl import Judgement
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import (
    AliasKind,
    ChangeClass,
    CleanedRecord,
    CrawledUrlRecord,
    DecisionRecord,
    DocumentRecord,
    ExtractionRecord,
    Record,
    SeenRecord,
    VisitRecord,
)

LAYER = "unchanged"


class Recorded(Struct):
    """What a callback yielded, in the form in which it is kept."""

    key: bytes
    callback: str
    cb_kwargs: Mapping[str, Any]
    version: str
    requests: list[Any] = field(default_factory=list)
    """In the order in which they were yielded; a number is the place of an item among the items."""
    items: list[dict[str, Any]] = field(default_factory=list)
    unkeepable: str | None = None
    """What stood in the way."""
    shared: dict[int, Any] = field(default_factory=dict)
    """By its id, what requests carry that their callbacks may change: each kept one would have a copy of its own."""


class Stay(Struct, frozen=True):
    """A visit, as far as it is over."""

    url: str
    page_key: bytes
    domain: str
    at: datetime
    http_status: int
    seconds: float
    callback_run: bool


def commit(
    stay: Stay, judgement: Judgement, recorded: Recorded | None, draft: Draft | None, settings: Settings, at: datetime
) -> tuple[list[Record], list[Record]]:
    """Return what is written of an acknowledged visit: at once, and when its items are safe.

    At once go originals and outcomes, because of which nothing is believed; when they are safe, that the page was seen.
    *recorded* is None where the callback did not run, or where what it yielded is not kept; the *draft* of a page that
    gave no item is as it would have gone out.
    """
    state = judgement.known.state
    stands = judgement.is_stored and not _brings_another(draft, judgement)
    content = state.content_hash if stands and state is not None else _content_hash(judgement, draft)
    at_once: list[Record] = []
    if draft is not None and not stands:
        at_once.append(source_record(draft, judgement.changed_at or stay.at, settings))
    elif draft is not None and (again := _cleaned_again(draft, judgement, settings)) is not None:
        at_once.append(again)
    if judgement.diff:
        at_once.append(
            DecisionRecord(stay.page_key, LAYER, "changed", judgement.verdict.reason, at, {"diff": judgement.diff})
        )
    seen = _seen(stay, judgement, settings) if stands else _document(stay, judgement, draft, content, settings, at)
    when_safe: list[Record] = [seen, _visit(stay, judgement)]
    if recorded is not None and content is not None and recorded.unkeepable is None:
        when_safe.append(_extraction(stay, judgement, recorded, content, at))
    if judgement.fetched != "skip":
        when_safe.append(_url(stay, judgement))
    return at_once, when_safe


def alias_kind(layer: str) -> AliasKind | None:
    """Return as what a URL is remembered that a layer dropped for another page."""
    return cast("AliasKind", layer) if layer in get_args(AliasKind) else None


def failed_fetch(url: str, page_key: bytes, domain: str, http_status: int | None, at: datetime) -> CrawledUrlRecord:
    """Return the note of a fetch that gave no page: what was known of it stays."""
    return CrawledUrlRecord(page_key, url, domain, "failed", at, http_status, page_key)


def _brings_another(draft: Draft | None, judgement: Judgement) -> bool:
    """Say whether an item brought an original of its own, and another text by it: judged is the response's alone."""
    held = judgement.known.text
    if held is None or draft is None or draft.cleaned is None or draft.field not in ("item_html", "content"):
        return False
    return held.cleaned_content != draft.cleaned.content


def _url(stay: Stay, judgement: Judgement) -> CrawledUrlRecord:
    other = judgement.duplicate_of
    return CrawledUrlRecord(
        page_key=stay.page_key,
        url=stay.url,
        domain=stay.domain,
        status="crawled" if other is None else "duplicate",
        last_crawled_at=stay.at,
        http_status=stay.http_status,
        document_key=other or stay.page_key,
        alias_kind=None if other is None else alias_kind(judgement.duplicate_by),
    )


def _content_hash(judgement: Judgement, draft: Draft | None) -> bytes | None:
    if judgement.content is not None:
        return judgement.content
    if draft is not None and draft.cleaned is not None:
        return draft.cleaned.content_hash
    # A page that is not to be kept is known by its blocks.
    return sha256(judgement.blocks).digest() if judgement.blocks is not None else None


def _document(
    stay: Stay, judgement: Judgement, draft: Draft | None, content: bytes | None, settings: Settings, at: datetime
) -> DocumentRecord:
    state = judgement.known.state
    cleaned = draft.cleaned if draft is not None else None
    changed = judgement.verdict.kind is VerdictKind.CHANGED
    shown = cleaned if draft is not None and not draft.bare else None
    return DocumentRecord(
        page_key=stay.page_key,
        url=stay.url,
        domain=stay.domain,
        status="completed",
        updated_at=at,
        verdict=_word(judgement),
        title=draft.head_title if draft else None,
        canonical_url=draft.canonical.url if draft and draft.canonical else None,
        content_hash=content,
        cleaned_hash=cleaned.cleaned_hash if cleaned else None,
        chars_in=shown.chars_in if shown else None,
        chars_out=shown.chars_out if shown else None,
        etag=judgement.etag,
        last_modified=judgement.last_modified,
        validated_at=stay.at,
        first_seen_at=state.first_seen_at if state else stay.at,
        # A duplicate may have been fetched before the page that it was compared with.
        last_seen_at=stay.at if judgement.duplicate_of is None else at,
        last_changed_at=judgement.changed_at or stay.at,
        blocks=judgement.blocks,
        body_hash=judgement.body,
        interval_seconds=_interval(judgement, settings),
        visits_count=(state.visits_count if state else 0) + 1,
        changes_count=(state.changes_count if state else 0) + changed,
        lastmod=judgement.lastmod,
        depth=judgement.depth,
        parent_key=judgement.parent,
    )


def _seen(stay: Stay, judgement: Judgement, settings: Settings) -> SeenRecord:
    state = judgement.known.state
    assert state is not None
    return SeenRecord(
        page_key=stay.page_key,
        at=stay.at,
        visits_count=state.visits_count + 1,
        verdict="unchanged" if judgement.duplicate_of is None else "duplicate",
        etag=judgement.etag,
        last_modified=judgement.last_modified,
        interval_seconds=_interval(judgement, settings),
        validated_at=stay.at if judgement.fetched == "get" else None,
        blocks=judgement.blocks,
        body_hash=judgement.body,
        lastmod=judgement.lastmod,
        parent_key=judgement.parent,
        is_renewed=True,
    )


def _word(judgement: Judgement) -> Any:
    """Return what is stored as the verdict; a duplicate's change is no news."""
    return "duplicate" if judgement.duplicate_of is not None else judgement.verdict.kind.value


def _interval(judgement: Judgement, settings: Settings) -> float | None:
    state = judgement.known.state
    last = state.interval_seconds if state else None
    policy = adaptive_policy(settings)
    if policy is None or judgement.fetched == "skip":
        return last
    interval = None if last is None else timedelta(seconds=last)
    return next_interval(interval, policy, changed=judgement.verdict.kind is VerdictKind.CHANGED).total_seconds()


def _visit(stay: Stay, judgement: Judgement) -> VisitRecord:
    verdict = judgement.verdict
    return VisitRecord(
        page_key=stay.page_key,
        at=stay.at,
        fetched=judgement.fetched,
        verdict=_word(judgement),
        reason=verdict.reason[:500],
        change_class=None if verdict.change is Change.NONE else cast("ChangeClass", verdict.change.value),
        http_status=stay.http_status if judgement.fetched != "skip" else None,
        bytes_received=judgement.bytes_received,
        seconds=stay.seconds,
        callback_run=stay.callback_run,
    )


def _cleaned_again(draft: Draft, judgement: Judgement, settings: Settings) -> CleanedRecord | None:
    """Return the text of an unchanged page that was cut again, where it may be another one than is held."""
    if draft.cleaned is None or draft.bare or draft.held is not None:
        return None
    report = text_report(draft, settings)
    held = judgement.known.text
    if held is not None and held.cleaned_content == draft.cleaned.content and held.report == report:
        return None
    return CleanedRecord(draft.page_key, draft.cleaned.content, report)


def _extraction(stay: Stay, judgement: Judgement, recorded: Recorded, content: bytes, at: datetime) -> ExtractionRecord:
    return ExtractionRecord(
        memo_key=recorded.key,
        page_key=stay.page_key,
        url=stay.url,
        domain=stay.domain,
        content_hash=content,
        body_hash=judgement.body,
        callback=recorded.callback,
        created_at=at,
        requests=recorded.requests,
        items=recorded.items,
        cb_kwargs=recorded.cb_kwargs,
        dedup_version=recorded.version or None,
    )

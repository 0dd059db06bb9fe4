"""Which rows of a project nobody needs any more: the list that `upkeep` removes, in its order."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, exists, false, func, not_, or_, select, true, tuple_
from sqlalchemy.orm import InstrumentedAttribute, aliased

from scrapy_dedup.store import extractions
from scrapy_dedup.store.base import Base
from scrapy_dedup.store.keep_policy import KeepPolicy
from scrapy_dedup.store.models import (
    Claim,
    CrawledUrl,
    CrawlRun,
    Decision,
    Document,
    DocumentChunk,
    Extraction,
    LayoutAlarm,
    LayoutPicture,
    LayoutRun,
    LayoutTemplate,
    PageSignature,
    RunWorker,
    Source,
    SourceVersion,
    Visit,
)
from scrapy_dedup.store.upkeep import Sweep

# Retired versions of a layout's template that can still be rolled back to, however old.
TEMPLATES_KEPT: Final = 5
_PAGE: Final = ("page_key",)
_CONTENT: Final = ("content", "content_bytes", "cleaned_content", "cleaned_bytes")
_COUNTED: Final = ("content_bytes", "cleaned_bytes")
_GONE: Final = "of pages gone for long"
_ORPHANED: Final = "of pages that are not there"


@dataclass(frozen=True, slots=True)
class Choice:
    """What is no longer needed.

    Attributes:
        keep: how much of the past is kept.
        before: what is needed for a while only is not when it is older: gone pages, ended runs, pictures, alarms.
    """

    keep: KeepPolicy
    before: datetime


def sweeps(connection: Connection, project_id: uuid.UUID, choice: Choice) -> list[Sweep]:
    """Return what is to be removed of a project, no row twice: what depends on a page before the page itself."""
    before: dict[type[Base], list[ColumnElement[bool]]] = {}
    found: list[Sweep] = []
    for sweep in (
        *_originals(choice.keep),
        *_outdated(connection, project_id, choice.keep),
        *_orphans(choice.before),
        *_gone_pages(choice.before),
        *_layouts(choice.before),
        *_ended_runs(choice.before),
    ):
        earlier = before.setdefault(sweep.model, [])
        found.append(replace(sweep, go=and_(sweep.go, *map(not_, earlier))))
        if not sweep.empties:
            earlier.append(sweep.go)
    return found


def _originals(keep: KeepPolicy) -> Iterator[Sweep]:
    newer = aliased(SourceVersion)
    count_newer = (
        select(func.count())
        .where(
            newer.project_id == SourceVersion.project_id,
            newer.page_key == SourceVersion.page_key,
            newer.fetched_at > SourceVersion.fetched_at,
        )
        .correlate(SourceVersion)
        .scalar_subquery()
    )
    # The newest original is in `sources`.
    beyond = true() if keep.versions <= 1 else count_newer >= keep.versions - 1
    version = ("page_key", "fetched_at")
    yield Sweep("older originals beyond DEDUP_KEEP_PAGES", SourceVersion, version, beyond, counted=_COUNTED[:1])
    if not keep.versions:
        kept = Source.content.is_not(None)
        yield Sweep("originals, by DEDUP_KEEP_PAGES", Source, _PAGE, kept, empties=_CONTENT, counted=_COUNTED)


def _outdated(connection: Connection, project_id: uuid.UUID, keep: KeepPolicy) -> Iterator[Sweep]:
    # Of a page under way the extraction is written first: its document has that content once its items are safe.
    settled = _has_document(Extraction, Document.status == "completed", Document.updated_at >= Extraction.created_at)
    outdated = and_(~extractions.current(), settled)
    yield Sweep("extractions of contents that pages no longer have", Extraction, ("memo_key",), outdated)
    decisions = (Decision.decided_at, Decision.page_key, Decision.layer)
    beyond = _beyond(connection, project_id, keep.decisions, *decisions)
    yield Sweep("decisions beyond DEDUP_KEEP_DECISIONS", Decision, _names(decisions), beyond)
    visits = (Visit.at, Visit.id)
    beyond = _beyond(connection, project_id, keep.visits, *visits)
    yield Sweep("visits beyond DEDUP_KEEP_VISITS", Visit, _names(visits), beyond)


def _beyond(
    connection: Connection, project_id: uuid.UUID, bound: int, *order: InstrumentedAttribute[Any]
) -> ColumnElement[bool]:
    """Say which rows are beyond a bound, the oldest."""
    if bound <= 0:
        return true()
    newest_first = (column.desc() for column in order)
    of_project = order[0].class_.project_id == project_id
    newest_to_go = select(*order).where(of_project).order_by(*newest_first).offset(bound).limit(1)
    last = connection.execute(newest_to_go).first()
    return tuple_(*order) <= tuple_(*last) if last else false()


def _orphans(before: datetime) -> Iterator[Sweep]:
    chunk = ("page_key", "position")
    yield Sweep(f"signatures {_ORPHANED}", PageSignature, _PAGE, not_(_has_document(PageSignature)))
    yield Sweep(f"chunks {_ORPHANED}", DocumentChunk, chunk, not_(_has_document(DocumentChunk)))
    # What came before its document may still get one.
    old = and_(Extraction.created_at < before, not_(_has_document(Extraction)))
    yield Sweep(f"extractions {_ORPHANED}", Extraction, ("memo_key",), old)
    known = exists().where(CrawledUrl.project_id == Decision.project_id, CrawledUrl.page_key == Decision.page_key)
    old = and_(Decision.decided_at < before, not_(_has_document(Decision)), not_(known))
    yield Sweep(f"decisions {_ORPHANED}", Decision, ("page_key", "layer"), old)
    page = exists().where(Source.project_id == SourceVersion.project_id, Source.page_key == SourceVersion.page_key)
    version = ("page_key", "fetched_at")
    yield Sweep(f"older originals {_ORPHANED}", SourceVersion, version, not_(page), counted=_COUNTED[:1])


def _gone_pages(before: datetime) -> Iterator[Sweep]:
    """Yield what there is of pages that were removed from their site before an instant, and not asked for since."""
    tables: tuple[tuple[str, type[Base], tuple[str, ...], tuple[str, ...]], ...] = (
        ("originals", Source, _PAGE, _COUNTED),
        ("older originals", SourceVersion, ("page_key", "fetched_at"), _COUNTED[:1]),
        ("extractions", Extraction, ("memo_key",), ()),
        ("decisions", Decision, ("page_key", "layer"), ()),
        ("signatures", PageSignature, _PAGE, ()),
        ("chunks", DocumentChunk, ("page_key", "position"), ()),
    )
    for what, model, keys, counted in tables:
        yield Sweep(f"{what} {_GONE}", model, keys, _has_document(model, _is_long_gone(before)), counted=counted)
    yield Sweep("documents of pages gone for long", Document, _PAGE, _is_long_gone(before))
    # Last: whether a page was asked for since is told by them.
    stands = (Document.project_id == CrawledUrl.project_id, Document.page_key == CrawledUrl.document_key)
    stands_for_nothing = and_(CrawledUrl.document_key.is_not(None), not_(exists().where(*stands)))
    of_gone = exists().where(*stands, _is_long_gone(before))
    left = and_(CrawledUrl.last_crawled_at < before, or_(stands_for_nothing, of_gone))
    yield Sweep("URLs of pages gone for long", CrawledUrl, _PAGE, left)


def _is_long_gone(before: datetime) -> ColumnElement[bool]:
    url = aliased(CrawledUrl)
    same = (url.project_id == Document.project_id, url.page_key == Document.page_key)
    return and_(Document.gone_at < before, not_(exists().where(*same, url.last_crawled_at >= before)))


def _has_document(model: Any, *conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    return exists().where(Document.project_id == model.project_id, Document.page_key == model.page_key, *conditions)


def _layouts(before: datetime) -> Iterator[Sweep]:
    newer = aliased(LayoutTemplate)
    same = (
        newer.project_id == LayoutTemplate.project_id,
        newer.domain == LayoutTemplate.domain,
        newer.layout == LayoutTemplate.layout,
        newer.version > LayoutTemplate.version,
    )
    count_newer = select(func.count()).where(*same).correlate(LayoutTemplate).scalar_subquery()
    is_old = (LayoutTemplate.state == "retired", LayoutTemplate.state_at < before, count_newer >= TEMPLATES_KEPT)
    yield Sweep("retired versions of templates", LayoutTemplate, ("id",), and_(*is_old))
    layout = ("domain", "layout")
    yield Sweep("pictures of layouts", LayoutPicture, layout, LayoutPicture.made_at < before)
    runs = ("domain", "layout", "run_id")
    yield Sweep("counts of layouts by run", LayoutRun, runs, LayoutRun.counted_at < before)
    cleared = LayoutAlarm.cleared_at < before
    yield Sweep("alarms that are over", LayoutAlarm, (*layout, "raised_at"), cleared)


def _ended_runs(before: datetime) -> Iterator[Sweep]:
    may_go_on = exists().where(
        CrawlRun.id == Claim.run_id,
        CrawlRun.status != "finished",
        func.coalesce(CrawlRun.seen_at, CrawlRun.started_at) >= before,
    )
    yield Sweep("claims of ended runs", Claim, ("run_id", "kind", "key"), not_(may_go_on))
    recent = exists().where(
        CrawlRun.id == RunWorker.run_id, func.coalesce(CrawlRun.seen_at, CrawlRun.started_at) >= before
    )
    yield Sweep("workers of ended runs", RunWorker, ("id",), not_(recent))


def _names(columns: tuple[InstrumentedAttribute[Any], ...]) -> tuple[str, ...]:
    return tuple(column.key for column in columns)

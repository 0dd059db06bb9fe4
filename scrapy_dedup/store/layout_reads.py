"""Layouts, signatures and alarms, read for people and for a crawl that begins."""

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, func, select, union

from scrapy_dedup.store import templates
from scrapy_dedup.store.codec import column_text
from scrapy_dedup.store.columns import by_code_point
from scrapy_dedup.store.layout_models import IS_OPEN, REST, LayoutAlarm, LayoutRun, LayoutSignature, LayoutTemplate
from scrapy_dedup.store.lookups import columns_of, named
from scrapy_dedup.store.models import CrawlRun
from scrapy_dedup.store.stored_layouts import (
    LayoutCount,
    LayoutFigures,
    StoredAlarm,
    StoredSignature,
    TemplateFigures,
)

Domains = str | Collection[str] | None
"""One, some, or all."""


@dataclass(slots=True)
class _Layout:
    """What is found of a layout, one table after the other."""

    sums: Any = None
    runs: list[LayoutCount] = field(default_factory=list)
    example_url: str | None = None
    template: TemplateFigures | None = None


def layouts(connection: Connection, project_id: uuid.UUID, domain: Domains) -> list[LayoutFigures]:
    """Return the layouts of a domain, of some or of all: in the order of domains, those with most pages first."""
    found: dict[tuple[str, int], _Layout] = {}
    for row in connection.execute(_signature_sums(project_id, domain)):
        found.setdefault((row.domain, row.layout), _Layout()).sums = row
    for row in connection.execute(_run_counts(project_id, domain)):
        layout = found.setdefault((row.domain, row.layout), _Layout())
        layout.runs.append(LayoutCount(row.id, row.started_at, int(row.pages)))
        # That of the newest run: older addresses may be gone.
        layout.example_url = row.first_url
    for version in templates.figures(connection, project_id, domain):
        layout = found.setdefault((version.domain, version.layout), _Layout())
        if layout.template is None or layout.template.state != "live":
            layout.template = version
    figures = [_figures(*names, layout) for names, layout in found.items()]
    return sorted(figures, key=lambda each: (each.domain, -each.pages, each.layout))


def some_domains(connection: Connection, project_id: uuid.UUID, limit: int, after: str = "") -> list[str]:
    """Return the first domains, by name, behind a name, of which layouts or templates are known."""
    parts = []
    for model in (LayoutSignature, LayoutTemplate):
        name = by_code_point(model.domain)
        of_project = select(model.domain).where(model.project_id == project_id, name > column_text(after))
        parts.append(of_project.group_by(model.domain).order_by(name).limit(limit).subquery())
    # What each has behind the name, so that neither is read to its end.
    either = union(*(select(part.c.domain) for part in parts)).subquery()
    return list(connection.scalars(select(either.c.domain).order_by(by_code_point(either.c.domain)).limit(limit)))


def _signature_sums(project_id: uuid.UUID, domain: Domains) -> Any:
    layout = func.coalesce(LayoutSignature.template_id, REST).label("layout")
    return (
        select(
            LayoutSignature.domain,
            layout,
            func.count().label("signatures"),
            func.sum(LayoutSignature.seen_count).label("pages"),
            func.min(LayoutSignature.first_seen_at).label("first_seen_at"),
            func.max(LayoutSignature.last_seen_at).label("last_seen_at"),
        )
        .where(*_of(LayoutSignature, project_id, domain), LayoutSignature.level == 1)
        .group_by(LayoutSignature.domain, layout)
    )


def _run_counts(project_id: uuid.UUID, domain: Domains) -> Any:
    same_run = and_(CrawlRun.project_id == LayoutRun.project_id, CrawlRun.id == LayoutRun.run_id)
    columns = (LayoutRun.domain, LayoutRun.layout, LayoutRun.pages, LayoutRun.first_url)
    return (
        select(*columns, CrawlRun.id, CrawlRun.started_at)
        .outerjoin(CrawlRun, same_run)
        .where(*_of(LayoutRun, project_id, domain))
        .order_by(func.coalesce(CrawlRun.started_at, LayoutRun.counted_at), LayoutRun.run_id)
    )


def _figures(domain: str, layout: int, found: _Layout) -> LayoutFigures:
    sums = found.sums
    return LayoutFigures(
        domain,
        layout,
        signatures=sums.signatures if sums else 0,
        # PostgreSQL's sums of integers are decimals.
        pages=int(sums.pages) if sums else 0,
        first_seen_at=sums.first_seen_at if sums else None,
        last_seen_at=sums.last_seen_at if sums else None,
        runs=tuple(found.runs),
        example_url=found.example_url,
        template=found.template,
    )


def signatures(connection: Connection, project_id: uuid.UUID, domain: str) -> list[StoredSignature]:
    """Return the signatures of a domain, in the order of levels and hashes."""
    columns = [
        LayoutSignature.template_id if name == "layout" else getattr(LayoutSignature, name)
        for name in StoredSignature.__dataclass_fields__
    ]
    ordered = select(*columns).where(*_of(LayoutSignature, project_id, domain))
    ordered = ordered.order_by(LayoutSignature.level, LayoutSignature.signature_hash)
    return [StoredSignature(*row) for row in connection.execute(ordered)]


def alarms(connection: Connection, project_id: uuid.UUID, domain: Domains, *, open_only: bool) -> list[StoredAlarm]:
    """Return the alarms of a domain, of some or of all, newest first."""
    order = (LayoutAlarm.raised_at.desc(), by_code_point(LayoutAlarm.domain), LayoutAlarm.layout)
    some = select(*columns_of(LayoutAlarm, StoredAlarm)).where(*_of(LayoutAlarm, project_id, domain)).order_by(*order)
    if open_only:
        some = some.where(IS_OPEN)
    return [StoredAlarm(**row) for row in connection.execute(some).mappings()]


def _of(model: Any, project_id: uuid.UUID, domains: Domains) -> Sequence[ColumnElement[bool]]:
    return (model.project_id == project_id, *named(model.domain, domains))

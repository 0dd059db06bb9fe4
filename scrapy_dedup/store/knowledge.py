"""What several crawls learn of one domain at once: what rests on fewer pages does not replace what rests on more.

Whoever calls has locked the project, so that what is read here is what will be replaced.
"""

import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection, func, select

from scrapy_dedup.store.layout_batch import LayoutBatch
from scrapy_dedup.store.layout_models import IS_LIVE, LayoutAlarm, LayoutTemplate
from scrapy_dedup.store.layout_records import TemplateStateRecord
from scrapy_dedup.store.models import DomainBoilerplate
from scrapy_dedup.store.upserts import Row

Known = tuple[str, str]


def not_weaker(
    connection: Connection, project_id: uuid.UUID, rows: Mapping[Known, Row], enough_pages: int
) -> list[Row]:
    """Return the rows of `domain_boilerplate` that are to be written.

    Args:
        connection: to read on.
        project_id: of the project.
        rows: by domain and method.
        enough_pages: what rests on so many pages replaces whatever is there.
    """
    thin = {domain for (domain, _), row in rows.items() if row["pages_analyzed"] < enough_pages}
    if not thin:
        return list(rows.values())
    columns = (DomainBoilerplate.domain, DomainBoilerplate.method, DomainBoilerplate.pages_analyzed)
    of_these = (DomainBoilerplate.project_id == project_id, DomainBoilerplate.domain.in_(sorted(thin)))
    stored = {
        (domain, method): pages for domain, method, pages in connection.execute(select(*columns).where(*of_these))
    }
    return [row for key, row in rows.items() if row["pages_analyzed"] >= min(stored.get(key, 0), enough_pages)]


def not_thinner(
    connection: Connection, project_id: uuid.UUID, batch: LayoutBatch, since: datetime | None
) -> LayoutBatch:
    """Return what is to be written of layouts: no template from fewer pages than this run's live one rests on.

    Where a domain was redesigned while the run went on, which an alarm says, every template is written.

    Args:
        connection: to read on.
        project_id: of the project.
        batch: what one worker knows.
        since: when the run began; None for a run of one worker, which knows what it learned before.
    """
    domains = {change["domain"] for change in batch.templates if not isinstance(change, TemplateStateRecord)}
    if since is None or not domains:
        return batch
    raised = select(LayoutAlarm.domain).where(LayoutAlarm.project_id == project_id, LayoutAlarm.raised_at >= since)
    domains -= set(connection.scalars(raised.where(LayoutAlarm.domain.in_(sorted(domains)))))
    domains -= {alarm.domain for alarm in batch.alarms}
    live = (
        select(LayoutTemplate.domain, LayoutTemplate.layout, func.max(LayoutTemplate.pages))
        .where(LayoutTemplate.project_id == project_id, LayoutTemplate.domain.in_(sorted(domains)), IS_LIVE)
        .where(LayoutTemplate.created_at >= since)
        .group_by(LayoutTemplate.domain, LayoutTemplate.layout)
    )
    pages = {(domain, layout): most for domain, layout, most in connection.execute(live)}
    kept = [
        change
        for change in batch.templates
        if isinstance(change, TemplateStateRecord)
        or change["pages"] >= pages.get((change["domain"], change["layout"]), 0)
    ]
    return replace(batch, templates=kept)

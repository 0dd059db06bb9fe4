"""Signatures of layouts, how often runs met their pages, and alarms: counted, and bounded for each domain."""

import uuid
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, case, delete, func, select, tuple_, update
from sqlalchemy.orm import InstrumentedAttribute

from scrapy_dedup.store import templates
from scrapy_dedup.store.codec import column_text
from scrapy_dedup.store.layout_batch import LayoutBatch
from scrapy_dedup.store.layout_models import IS_OPEN, LayoutAlarm, LayoutRun, LayoutSignature
from scrapy_dedup.store.layout_records import AlarmRecord
from scrapy_dedup.store.upserts import insert_into, table_of

# A domain has some ten layouts; where every page has a signature of its own, these would grow with its pages.
SIGNATURES_KEPT = 2_000
RUN_COUNTS_KEPT = 2_000
ALARMS_KEPT = 100
# A domain that has too many rows shrinks to this share of them, so that cutting is rare.
_ROOM = 0.9


def write(connection: Connection, project_id: uuid.UUID, batch: LayoutBatch) -> None:
    """Write what a batch says of layouts; whoever calls has locked the project."""
    _add_signatures(connection, project_id, batch)
    _add_runs(connection, project_id, batch)
    templates.write(connection, project_id, batch.templates)
    for alarm in batch.alarms:
        _set_alarm(connection, project_id, alarm)


def _add_signatures(connection: Connection, project_id: uuid.UUID, batch: LayoutBatch) -> None:
    """Add counts; the database adds, so that two crawls at once lose none."""
    if not batch.signatures:
        return
    stored, statement = table_of(LayoutSignature).c, insert_into(connection, LayoutSignature)
    new = statement.excluded
    values = {
        "seen_count": stored.seen_count + new.seen_count,
        "template_id": func.coalesce(new.template_id, stored.template_id),
        "first_seen_at": case(
            (new.first_seen_at < stored.first_seen_at, new.first_seen_at), else_=stored.first_seen_at
        ),
        "last_seen_at": case((new.last_seen_at > stored.last_seen_at, new.last_seen_at), else_=stored.last_seen_at),
        "algorithm_version": new.algorithm_version,
    }
    keys = ["project_id", "domain", "level", "signature_hash"]
    rows = [batch.signatures[key] for key in sorted(batch.signatures)]
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=values), rows)
    group = (LayoutSignature.domain, LayoutSignature.level)
    order = (LayoutSignature.last_seen_at, LayoutSignature.signature_hash)
    _hold(connection, project_id, {row["domain"] for row in rows}, group, order, SIGNATURES_KEPT)


def _add_runs(connection: Connection, project_id: uuid.UUID, batch: LayoutBatch) -> None:
    if not batch.runs:
        return
    stored, statement = table_of(LayoutRun).c, insert_into(connection, LayoutRun)
    values = {"pages": stored.pages + statement.excluded.pages, "counted_at": statement.excluded.counted_at}
    keys = ["project_id", "domain", "layout", "run_id"]
    rows = [batch.runs[key] for key in sorted(batch.runs)]
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=values), rows)
    order = (LayoutRun.counted_at, LayoutRun.layout, LayoutRun.run_id)
    _hold(connection, project_id, {row["domain"] for row in rows}, (LayoutRun.domain,), order, RUN_COUNTS_KEPT)


def _set_alarm(connection: Connection, project_id: uuid.UUID, alarm: AlarmRecord) -> None:
    domain = column_text(alarm.domain)
    same_layout = (
        LayoutAlarm.project_id == project_id,
        LayoutAlarm.domain == domain,
        LayoutAlarm.layout == alarm.layout,
    )
    of_open = update(LayoutAlarm).where(*same_layout, IS_OPEN)
    if alarm.raised_at is None:
        connection.execute(of_open.values(cleared_at=alarm.cleared_at))
        return
    figures = {
        "cause": column_text(alarm.cause),
        "pages_failed": alarm.pages_failed,
        "pages_looked": alarm.pages_looked,
    }
    if connection.execute(of_open.values(figures)).rowcount:
        return
    row = {
        "project_id": project_id,
        "domain": domain,
        "layout": alarm.layout,
        "raised_at": alarm.raised_at,
        "first_failed_at": alarm.first_failed_at or alarm.raised_at,
        "cleared_at": alarm.cleared_at,
        **figures,
    }
    # One that was raised at this instant and is cleared by now is not raised again.
    connection.execute(insert_into(connection, LayoutAlarm).on_conflict_do_nothing(), row)
    order = (LayoutAlarm.raised_at, LayoutAlarm.layout)
    _hold(connection, project_id, {domain}, (LayoutAlarm.domain,), order, ALARMS_KEPT)


def _hold(
    connection: Connection,
    project_id: uuid.UUID,
    domains: Collection[str],
    group: Sequence[InstrumentedAttribute[Any]],
    order: Sequence[InstrumentedAttribute[Any]],
    bound: int,
) -> None:
    """Forget the oldest rows of the groups that have too many; in their order no two rows of a group are equal."""
    model = order[0].class_
    some: tuple[ColumnElement[bool], ...] = (model.project_id == project_id, model.domain.in_(sorted(domains)))
    too_many = select(*group).where(*some).group_by(*group).having(func.count() > bound)
    for values in connection.execute(too_many).all():
        same = (model.project_id == project_id, *(column == value for column, value in zip(group, values, strict=True)))
        newest_first = (column.desc() for column in order)
        first_to_go = select(*order).where(*same).order_by(*newest_first).offset(int(bound * _ROOM)).limit(1)
        last = connection.execute(first_to_go).one()
        connection.execute(delete(model).where(*same, tuple_(*order) <= tuple_(*last)))

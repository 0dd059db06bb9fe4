"""Layouts of a domain's pages: their signatures and counts, templates in their versions, alarms, and how they look.

Of the versions of a layout's template at most one is live.
"""

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from sqlalchemy import (
    ColumnClause,
    ColumnElement,
    Connection,
    Select,
    Table,
    and_,
    delete,
    func,
    insert,
    select,
    union,
    update,
)
from sqlalchemy import Row as Result

from scrapy_dedup.store.engine.codec import column_text, row_of, unpack_json
from scrapy_dedup.store.records.batch import Batch
from scrapy_dedup.store.records.lookups import columns_of, named, read
from scrapy_dedup.store.records.records import AlarmRecord, TemplateState, TemplateStateRecord
from scrapy_dedup.store.records.stored import LayoutFigures, MetRun, StoredAlarm, StoredTemplate, TemplateFigures
from scrapy_dedup.store.tables.columns import by_code_point
from scrapy_dedup.store.tables.models import (
    IS_LIVE,
    IS_OPEN,
    REST,
    CrawlRun,
    LayoutAlarm,
    LayoutPictureRow,
    LayoutRun,
    LayoutSignature,
    LayoutTemplateRow,
)
from scrapy_dedup.store.tables.statements import How, Row, cut, insert_into, upsert

# A domain has some ten layouts; where every page has a signature of its own, these would grow with its pages.
SIGNATURES_KEPT = 2_000
RUN_COUNTS_KEPT = 2_000
ALARMS_KEPT = 100
# A domain that has too many rows shrinks to this share of them, so that cutting is rare.
_ROOM = 0.9

Domains = str | Collection[str] | None
"""One, some, or all."""

# So many versions of a layout's template are kept, and the live one.
VERSIONS_KEPT = 20
# What may become better known of a version without making another of it.
_DESCRIPTION = ("structure", "kind", "url_pattern", "selectors", "paths", "confidence", "pages", "model")

_WHOLE = columns_of(LayoutTemplateRow, StoredTemplate)
_FIGURES = columns_of(LayoutTemplateRow, TemplateFigures)
_IN_ORDER = (by_code_point(LayoutTemplateRow.domain), LayoutTemplateRow.layout, LayoutTemplateRow.version)


def add_template(connection: Connection, row: Row) -> int:
    """Add a version, unless it equals the newest one; return the number of the one or the other."""
    same_layout = _of_layout(LayoutTemplateRow, row["project_id"], row["domain"], row["layout"])
    columns = (LayoutTemplateRow.version, LayoutTemplateRow.state, LayoutTemplateRow.overrides, LayoutTemplateRow.body)
    newest_first = select(*columns).where(*same_layout).order_by(LayoutTemplateRow.version.desc())
    newest = connection.execute(newest_first.limit(1)).first()
    if newest and _is_same(newest, row):
        this = update(LayoutTemplateRow).where(*same_layout, LayoutTemplateRow.version == newest.version)
        connection.execute(this.values({name: row[name] for name in _DESCRIPTION}))
        return int(newest.version)
    version = newest.version + 1 if newest else 1
    if row["state"] == "live":
        _retire(connection, same_layout, version, row["created_at"])
    connection.execute(insert(LayoutTemplateRow), {**row, "version": version})
    gone = (LayoutTemplateRow.version <= version - VERSIONS_KEPT, LayoutTemplateRow.state != "live")
    connection.execute(delete(LayoutTemplateRow).where(*same_layout, *gone))
    return version


def _is_same(stored: Result[Any], new: Row) -> bool:
    if stored.state != new["state"] or _decisions(stored.overrides) != _decisions(new["overrides"]):
        return False
    # Packed, equal bodies differ where another version of the library packed them.
    return bool(unpack_json(stored.body) == unpack_json(new["body"]))


def _decisions(overrides: Iterable[Mapping[str, Any]]) -> list[tuple[Any, Any]]:
    """Return what was decided; when and by whom is a note."""
    return [(one.get("action"), one.get("selector")) for one in overrides]


def set_template_state(connection: Connection, project_id: uuid.UUID, change: TemplateStateRecord) -> int | None:
    """Change the state of a version; return its number, None where there is no such version."""
    same_layout = _of_layout(LayoutTemplateRow, project_id, change.domain, change.layout)
    found = select(LayoutTemplateRow.version, LayoutTemplateRow.state).where(*same_layout)
    if change.version is not None:
        found = found.where(LayoutTemplateRow.version == change.version)
    one = connection.execute(found.order_by(LayoutTemplateRow.version.desc()).limit(1)).first()
    if one is None:
        return None
    if one.state != change.state:
        if change.state == "live":
            _retire(connection, same_layout, one.version, change.at)
        values = _state_columns(change.state, change.reason, change.at)
        connection.execute(
            update(LayoutTemplateRow).where(*same_layout, LayoutTemplateRow.version == one.version).values(values)
        )
    return int(one.version)


def _retire(connection: Connection, same_layout: Iterable[ColumnElement[bool]], by_version: int, at: datetime) -> None:
    """Retire the live version, for another one."""
    retired = _state_columns("retired", f"version {by_version} took its place", at)
    connection.execute(update(LayoutTemplateRow).where(*same_layout, IS_LIVE).values(retired))


def _state_columns(state: TemplateState, reason: str, at: datetime) -> Row:
    return {"state": state, "reason": column_text(reason), "state_at": at}


def templates_of(
    connection: Connection, project_id: uuid.UUID, domain: str, *, live_only: bool = True
) -> list[StoredTemplate]:
    """Return the templates of a domain, in the order of layouts and versions."""
    same_domain = (LayoutTemplateRow.project_id == project_id, LayoutTemplateRow.domain == column_text(domain))
    some = select(*_WHOLE).where(*same_domain).order_by(LayoutTemplateRow.layout, LayoutTemplateRow.version)
    if live_only:
        some = some.where(IS_LIVE)
    return [read(row, StoredTemplate, paths=unpack_json, body=unpack_json) for row in connection.execute(some)]


def template_versions(connection: Connection, project_id: uuid.UUID, domain: str, layout: int) -> list[StoredTemplate]:
    """Return the versions of a layout's template, newest first."""
    same_layout = _of_layout(LayoutTemplateRow, project_id, domain, layout)
    newest_first = select(*_WHOLE).where(*same_layout).order_by(LayoutTemplateRow.version.desc())
    return [read(row, StoredTemplate, paths=unpack_json, body=unpack_json) for row in connection.execute(newest_first)]


def template_figures(
    connection: Connection, project_id: uuid.UUID, domain: str | Collection[str] | None = None
) -> list[TemplateFigures]:
    """Return all versions, of a domain, of some or of all, in the order of domains, layouts and versions."""
    of_domains = named(LayoutTemplateRow.domain, domain)
    some = select(*_FIGURES).where(LayoutTemplateRow.project_id == project_id, *of_domains).order_by(*_IN_ORDER)
    return [TemplateFigures(*row) for row in connection.execute(some)]


def template_domains(
    connection: Connection, project_id: uuid.UUID, after: str = "", limit: int | None = None
) -> list[str]:
    """Return the domains that have templates, in their order: so many behind a name, or all."""
    name = by_code_point(LayoutTemplateRow.domain)
    found = select(LayoutTemplateRow.domain).where(
        LayoutTemplateRow.project_id == project_id, name > column_text(after)
    )
    return list(connection.scalars(found.group_by(LayoutTemplateRow.domain).order_by(name).limit(limit)))


def _of_layout(model: Any, project_id: uuid.UUID, domain: str, layout: int) -> tuple[ColumnElement[bool], ...]:
    return model.project_id == project_id, model.domain == column_text(domain), model.layout == layout


class PictureFacts(Struct, frozen=True):
    """What is known of a picture of a layout's page, without it.

    Attributes:
        layout: its signature.
        width, height: of the picture, in pixels of the page.
        boxes: what stands where, as JSON holds it.
    """

    domain: str
    layout: int
    url: str
    made_at: datetime
    width: int
    height: int
    boxes: Sequence[dict[str, Any]]


class StoredPicture(PictureFacts, frozen=True):
    """A page of a layout as a browser showed it, in PNG."""

    picture: bytes


def _pictures(kind: type[Struct], project_id: uuid.UUID, domain: str) -> Select[Any]:
    mine = (LayoutPictureRow.project_id == project_id, LayoutPictureRow.domain == column_text(domain))
    return select(*columns_of(LayoutPictureRow, kind)).where(*mine).order_by(LayoutPictureRow.layout)


def picture_facts(connection: Connection, project_id: uuid.UUID, domain: str) -> dict[int, PictureFacts]:
    """Return what is known of the pictures of a domain's layouts, by layout; the pictures themselves are not read."""
    rows = connection.execute(_pictures(PictureFacts, project_id, domain))
    return {row.layout: PictureFacts(*row) for row in rows}


def find_picture(connection: Connection, project_id: uuid.UUID, domain: str, layout: int) -> StoredPicture | None:
    """Return the picture of a layout; None where there is none."""
    asked = _pictures(StoredPicture, project_id, domain).where(LayoutPictureRow.layout == layout)
    row = connection.execute(asked).first()
    return StoredPicture(*row) if row else None


def pictures_of(connection: Connection, project_id: uuid.UUID, domain: str) -> dict[int, StoredPicture]:
    """Return the pictures of a domain's layouts, by layout."""
    rows = connection.execute(_pictures(StoredPicture, project_id, domain))
    return {row.layout: StoredPicture(*row) for row in rows}


def put_picture(connection: Connection, project_id: uuid.UUID, picture: StoredPicture) -> None:
    """Store a picture in place of the layout's former one."""
    row = row_of(picture, project_id=project_id, boxes=list(picture.boxes))
    upsert(connection, LayoutPictureRow, ("project_id", "domain", "layout"), [row])


def layouts_of(connection: Connection, project_id: uuid.UUID, domain: Domains = None) -> list[LayoutFigures]:
    """Return the layouts of a domain, of some or of all: in the order of domains, those with most visits first."""
    found: defaultdict[tuple[str, int], dict[str, Any]] = defaultdict(lambda: {"runs": {}})
    for row in connection.execute(_signature_sums(project_id, domain)):
        layout = found[row.domain, row.layout]
        layout |= {name: getattr(row, name) for name in ("signatures", "first_seen_at", "last_seen_at")}
        layout["visits"] = int(row.visits)  # PostgreSQL's sums of integers are decimals
    for row in connection.execute(_run_counts(project_id, domain)):
        layout, run = found[row.domain, row.layout], MetRun(row.id, row.started_at)
        layout["runs"][run] = layout["runs"].get(run, 0) + int(row.pages)
        # That of the newest run: older addresses may be gone.
        layout["example_url"] = row.first_url
    for version in template_figures(connection, project_id, domain):
        layout = found[version.domain, version.layout]
        if "template" not in layout or layout["template"].state != "live":
            layout["template"] = version
    figures = [LayoutFigures(*names, **known) for names, known in found.items()]
    return sorted(figures, key=lambda each: (each.domain, -each.visits, each.layout))


def some_domains(connection: Connection, project_id: uuid.UUID, limit: int, after: str = "") -> list[str]:
    """Return the first domains, by name, behind a name, of which layouts or templates are known."""
    parts = []
    for model in (LayoutSignature, LayoutTemplateRow):
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
            func.sum(LayoutSignature.seen_count).label("visits"),
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


def alarms_of(
    connection: Connection, project_id: uuid.UUID, domain: Domains = None, *, open_only: bool = False
) -> list[StoredAlarm]:
    """Return the alarms of a domain, of some or of all, newest first."""
    order = (LayoutAlarm.raised_at.desc(), by_code_point(LayoutAlarm.domain), LayoutAlarm.layout)
    some = select(*columns_of(LayoutAlarm, StoredAlarm)).where(*_of(LayoutAlarm, project_id, domain)).order_by(*order)
    if open_only:
        some = some.where(IS_OPEN)
    return [StoredAlarm(**row) for row in connection.execute(some).mappings()]


def _of(model: Any, project_id: uuid.UUID, domains: Domains) -> Sequence[ColumnElement[bool]]:
    return (model.project_id == project_id, *named(model.domain, domains))


def write_layouts(connection: Connection, batch: Batch, since: datetime | None) -> None:
    """Write what a batch says of layouts; whoever calls has locked the project.

    *since* is when the run began that several workers share; None for a run of one, which knows what it learned before.
    """
    _add_signatures(connection, batch)
    _add_runs(connection, batch)
    for change in _not_thinner(connection, batch, since):
        if isinstance(change, TemplateStateRecord):
            set_template_state(connection, batch.project_id, change)
        else:
            add_template(connection, change)
    for alarm in batch.alarms:
        _set_alarm(connection, batch.project_id, alarm)


def _add_signatures(connection: Connection, batch: Batch) -> None:
    if not batch.layout_signatures:
        return
    rows, keys = list(batch.layout_signatures.values()), ("project_id", "domain", "level", "signature_hash")
    seen: dict[str, How] = {"seen_count": "added", "first_seen_at": "smallest", "last_seen_at": "largest"}
    upsert(connection, LayoutSignature, keys, rows, template_id="if_known", **seen)
    group = (LayoutSignature.domain, LayoutSignature.level)
    order = (LayoutSignature.last_seen_at, LayoutSignature.signature_hash)
    _hold(connection, batch.project_id, {row["domain"] for row in rows}, group, order, SIGNATURES_KEPT)


def _add_runs(connection: Connection, batch: Batch) -> None:
    if not batch.layout_runs:
        return
    rows, keys = list(batch.layout_runs.values()), ("project_id", "domain", "layout", "run_id")
    upsert(connection, LayoutRun, keys, rows, only=("pages", "counted_at"), pages="added")
    order = (LayoutRun.counted_at, LayoutRun.layout, LayoutRun.run_id)
    _hold(connection, batch.project_id, {row["domain"] for row in rows}, (LayoutRun.domain,), order, RUN_COUNTS_KEPT)


def _set_alarm(connection: Connection, project_id: uuid.UUID, alarm: AlarmRecord) -> None:
    row = row_of(alarm, project_id=project_id, first_failed_at=alarm.first_failed_at or alarm.raised_at)
    of_open = update(LayoutAlarm).where(*_of_layout(LayoutAlarm, project_id, alarm.domain, alarm.layout), IS_OPEN)
    if alarm.raised_at is None:
        connection.execute(of_open.values(cleared_at=alarm.cleared_at))
        return
    figures = {name: row[name] for name in ("cause", "pages_failed", "pages_looked")}
    if connection.execute(of_open.values(figures)).rowcount:
        return
    # One that was raised at this instant and is cleared by now is not raised again.
    connection.execute(insert_into(connection, LayoutAlarm).on_conflict_do_nothing(), row)
    order = (LayoutAlarm.raised_at, LayoutAlarm.layout)
    _hold(connection, project_id, {row["domain"]}, (LayoutAlarm.domain,), order, ALARMS_KEPT)


def _hold(
    connection: Connection,
    project_id: uuid.UUID,
    domains: Collection[str],
    group: Sequence[ColumnClause[Any]],
    order: Sequence[ColumnClause[Any]],
    bound: int,
) -> None:
    """Forget the oldest rows of the groups that have too many; in their order no two rows of a group are equal."""
    model = order[0].table
    assert isinstance(model, Table)
    some: tuple[ColumnElement[bool], ...] = (model.c.project_id == project_id, model.c.domain.in_(sorted(domains)))
    too_many = select(*group).where(*some).group_by(*group).having(func.count() > bound)
    for values in connection.execute(too_many).all():
        same = (some[0], *(column == value for column, value in zip(group, values, strict=True)))
        cut(connection, order, int(bound * _ROOM), *same)


def _not_thinner(connection: Connection, batch: Batch, since: datetime | None) -> list[Row | TemplateStateRecord]:
    """Return which changes of templates are to be written: none from fewer pages than this run's live one rests on.

    Where a domain was redesigned while the run went on, which an alarm says, every template is written.
    """
    domains = {change["domain"] for change in batch.templates if not isinstance(change, TemplateStateRecord)}
    if since is None or not domains:
        return batch.templates
    project_id = batch.project_id
    raised = select(LayoutAlarm.domain).where(LayoutAlarm.project_id == project_id, LayoutAlarm.raised_at >= since)
    domains -= set(connection.scalars(raised.where(LayoutAlarm.domain.in_(sorted(domains)))))
    domains -= {alarm.domain for alarm in batch.alarms}
    live = (
        select(LayoutTemplateRow.domain, LayoutTemplateRow.layout, func.max(LayoutTemplateRow.pages))
        .where(LayoutTemplateRow.project_id == project_id, LayoutTemplateRow.domain.in_(sorted(domains)), IS_LIVE)
        .where(LayoutTemplateRow.created_at >= since)
        .group_by(LayoutTemplateRow.domain, LayoutTemplateRow.layout)
    )
    pages = {(domain, layout): most for domain, layout, most in connection.execute(live)}
    return [
        change
        for change in batch.templates
        if isinstance(change, TemplateStateRecord)
        or change["pages"] >= pages.get((change["domain"], change["layout"]), 0)
    ]

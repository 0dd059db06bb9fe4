"""Templates of layouts in their versions, of which a layout has at most one live."""

import uuid
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, insert, select, update
from sqlalchemy import Row as Result

from scrapy_dedup.store.engine.codec import column_text, unpack_json
from scrapy_dedup.store.records.batch import read_template
from scrapy_dedup.store.records.lookups import columns_of, named
from scrapy_dedup.store.records.records import TemplateState, TemplateStateRecord
from scrapy_dedup.store.records.stored import StoredTemplate, TemplateFigures
from scrapy_dedup.store.tables.columns import by_code_point
from scrapy_dedup.store.tables.models import IS_LIVE, LayoutTemplateRow
from scrapy_dedup.store.tables.upserts import Row

# So many versions of a layout's template are kept, and the live one.
VERSIONS_KEPT = 20
# What may become better known of a version without making another of it.
_DESCRIPTION = ("structure", "kind", "url_pattern", "selectors", "paths", "confidence", "pages", "model")

_WHOLE = columns_of(LayoutTemplateRow, StoredTemplate)
_FIGURES = columns_of(LayoutTemplateRow, TemplateFigures)
_IN_ORDER = (by_code_point(LayoutTemplateRow.domain), LayoutTemplateRow.layout, LayoutTemplateRow.version)


def write(connection: Connection, project_id: uuid.UUID, changes: Iterable[Row | TemplateStateRecord]) -> None:
    """Write new versions and changes of state, in their order; whoever calls has locked the project."""
    for change in changes:
        if isinstance(change, TemplateStateRecord):
            set_state(connection, project_id, change)
        else:
            add(connection, change)


def add(connection: Connection, row: Row) -> int:
    """Add a version, unless it equals the newest one; return the number of the one or the other."""
    same_layout = _of_layout(row["project_id"], row["domain"], row["layout"])
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


def set_state(connection: Connection, project_id: uuid.UUID, change: TemplateStateRecord) -> int | None:
    """Change the state of a version; return its number, None where there is no such version."""
    same_layout = _of_layout(project_id, column_text(change.domain), change.layout)
    found = select(LayoutTemplateRow.version, LayoutTemplateRow.state).where(*same_layout)
    if change.version is not None:
        found = found.where(LayoutTemplateRow.version == change.version)
    one = connection.execute(found.order_by(LayoutTemplateRow.version.desc()).limit(1)).first()
    if one is None:
        return None
    if one.state != change.state:
        if change.state == "live":
            _retire(connection, same_layout, one.version, change.at)
        values = _state(change.state, change.reason, change.at)
        connection.execute(
            update(LayoutTemplateRow).where(*same_layout, LayoutTemplateRow.version == one.version).values(values)
        )
    return int(one.version)


def _retire(connection: Connection, same_layout: Iterable[ColumnElement[bool]], by_version: int, at: datetime) -> None:
    """Retire the live version, for another one."""
    retired = _state("retired", f"version {by_version} took its place", at)
    connection.execute(update(LayoutTemplateRow).where(*same_layout, IS_LIVE).values(retired))


def _state(state: TemplateState, reason: str, at: datetime) -> Row:
    return {"state": state, "reason": column_text(reason), "state_at": at}


def of_domain(
    connection: Connection, project_id: uuid.UUID, domain: str, *, live_only: bool = True
) -> list[StoredTemplate]:
    """Return the templates of a domain, in the order of layouts and versions."""
    same_domain = (LayoutTemplateRow.project_id == project_id, LayoutTemplateRow.domain == column_text(domain))
    some = select(*_WHOLE).where(*same_domain).order_by(LayoutTemplateRow.layout, LayoutTemplateRow.version)
    if live_only:
        some = some.where(IS_LIVE)
    return [read_template(row) for row in connection.execute(some)]


def versions(connection: Connection, project_id: uuid.UUID, domain: str, layout: int) -> list[StoredTemplate]:
    """Return the versions of a layout's template, newest first."""
    same_layout = _of_layout(project_id, column_text(domain), layout)
    newest_first = select(*_WHOLE).where(*same_layout).order_by(LayoutTemplateRow.version.desc())
    return [read_template(row) for row in connection.execute(newest_first)]


def figures(
    connection: Connection, project_id: uuid.UUID, domain: str | Collection[str] | None = None
) -> list[TemplateFigures]:
    """Return all versions, of a domain, of some or of all, in the order of domains, layouts and versions."""
    of_domains = named(LayoutTemplateRow.domain, domain)
    some = select(*_FIGURES).where(LayoutTemplateRow.project_id == project_id, *of_domains).order_by(*_IN_ORDER)
    return [TemplateFigures(*row) for row in connection.execute(some)]


def domains(connection: Connection, project_id: uuid.UUID, after: str = "", limit: int | None = None) -> list[str]:
    """Return the domains that have templates, in their order: so many behind a name, or all."""
    name = by_code_point(LayoutTemplateRow.domain)
    found = select(LayoutTemplateRow.domain).where(
        LayoutTemplateRow.project_id == project_id, name > column_text(after)
    )
    return list(connection.scalars(found.group_by(LayoutTemplateRow.domain).order_by(name).limit(limit)))


def _of_layout(project_id: uuid.UUID, domain: str, layout: int) -> tuple[ColumnElement[bool], ...]:
    return (
        LayoutTemplateRow.project_id == project_id,
        LayoutTemplateRow.domain == domain,
        LayoutTemplateRow.layout == layout,
    )

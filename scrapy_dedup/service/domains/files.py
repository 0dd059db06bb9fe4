"""Domains read from files and written to them: JSON lines with all that is known of each, or a list of names."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Any, Final, TextIO

from msgspec import Struct
from sqlalchemy import Connection

from scrapy_dedup.core.domains import DomainStatus, domain_name, twin_of
from scrapy_dedup.core.urls.normal_form import DomainScope
from scrapy_dedup.store.domains import lists as domain_lists
from scrapy_dedup.store.domains import registry as domains
from scrapy_dedup.store.domains.lists import MOST_ROWS, DomainChoice
from scrapy_dedup.store.domains.registry import StoredDomain
from scrapy_dedup.store.engine.codec import column_text
from scrapy_dedup.store.writer import ProjectStore

NAME: Final = "domain_name"
_KEYS: Final = (NAME, "domain", "url")
_HEADS: Final = frozenset(
    "domain domains domain_name domain_names host hosts hostname hostnames host_name name names"
    " site sites url urls website websites".split()
)
"""What a list's column is called; none of these names is a site that others reach."""
_MOST_TEXT_CHARS: Final = 10_000
_MOST_NUMBER: Final = 2**31
_MOST_BIG_NUMBER: Final = 2**63


class DomainRow(Struct, frozen=True):
    """What a file says of a domain; only the columns that it has."""

    where: str
    name: str
    values: Mapping[str, Any]


class BadRow(Struct, frozen=True):
    """A line of a file that is no domain, and why."""

    where: str
    reason: str


def read_rows(lines: Iterable[str | None], name: str, scope: DomainScope = "host") -> Iterator[DomainRow | BadRow]:
    """Iterate over the domains of a file: a JSON object a line, or a name, behind which `#` begins a comment.

    The first line may be the head of the column. None stands in the place of a line that is too long; *name* stands in
    messages.
    """
    for number, line in enumerate(lines, 1):
        where = f"{name}, line {number}"
        text = (line or "").lstrip("\ufeff").strip()
        if line is None:
            yield BadRow(where, "the line is too long")
        elif text.startswith("{"):
            yield _row(where, text, scope)
        elif (host := text.partition("#")[0].strip()) and (number > 1 or host.strip('"').lower() not in _HEADS):
            yield _checked(where, {NAME: host}, scope)


def _row(where: str, text: str, scope: DomainScope) -> DomainRow | BadRow:
    try:
        return _checked(where, json.loads(text), scope)
    except (ValueError, RecursionError):
        return BadRow(where, "no JSON")


def _checked(where: str, found: Mapping[str, Any], scope: DomainScope) -> DomainRow | BadRow:
    text = next((found[key] for key in _KEYS if key in found), None)
    name = domain_name(text, scope) if isinstance(text, str) else None
    if name is None:
        return BadRow(where, f"{str(text)[:100]!r} is no domain")
    values = {}
    for column, value in found.items():
        if column in COLUMNS and value is not None:
            try:
                values[column] = COLUMNS[column](value)
            except (ValueError, TypeError, OverflowError):
                return BadRow(where, f"{column} is {str(value)[:100]!r}")
    if values.get("joined_to") not in {None, twin_of(name)}:
        return BadRow(where, f"joined_to is {values['joined_to']!r}, and no twin of {name}")
    return DomainRow(where, name, values)


def _status(value: object) -> str:
    return DomainStatus(str(value).upper()).value


def _a_text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return column_text(value[:_MOST_TEXT_CHARS])


def _whole(value: object, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, str)) or not 0 <= int(value) < most:
        raise ValueError(value)
    return int(value)


def _share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)) or not 0 <= float(value) <= 1:
        raise ValueError(value)
    return float(value)


def _time(value: object) -> datetime:
    at = datetime.fromisoformat(str(value))
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


_number = partial(_whole, most=_MOST_NUMBER)
_big_number = partial(_whole, most=_MOST_BIG_NUMBER)
COLUMNS: Final[Mapping[str, Callable[[object], Any]]] = {
    "status": _status,
    "status_before": _status,
    "blacklisted_at": _time,
    "blacklisted_by": _a_text,
    "blacklist_reason": _a_text,
    "blacklist_expires_at": _time,
    "high_quality_candidate_count": _number,
    "low_quality_candidate_count": _number,
    "best_confidence_score": _share,
    "mean_confidence_score": _share,
    "pages": _number,
    "chars_in": _big_number,
    "chars_out": _big_number,
    "boilerplate_share": _share,
    "errors": _number,
    "last_crawled_at": _time,
    "joined_to": _a_text,
    "pages_alike": _number,
    "pages_unlike": _number,
    "discovered_at": _time,
    "last_processed_at": _time,
}


_STANDING: Final = ("status", "status_before", "blacklisted_at", "blacklisted_by", "blacklist_reason")
_ROWS_AT_ONCE: Final = 500


class ImportedDomains(Struct, frozen=True):
    """How many domains of a file were new, and how many were there and took its values."""

    new: int
    known: int


def all_domains(project: ProjectStore, status: DomainStatus | None = None) -> Iterator[StoredDomain]:
    """Iterate over the domains of a project, in the order of names, a thousand in memory at a time.

    Raises:
        StoreError: the store failed.
    """
    after: str | None = None
    while True:
        with project.transaction() as connection:
            choice = DomainChoice(status=status, limit=MOST_ROWS, after=after)
            found = domain_lists.list_domains(connection, project.id, choice)
        yield from found.domains
        after = found.next
        if after is None:
            return


def write_domains(found: Iterable[StoredDomain], file: TextIO) -> int:
    """Write domains as JSON lines in ASCII, as `import` reads them; return how many. What one lacks is left out."""
    number = 0
    for number, domain in enumerate(found, 1):  # noqa: B007 (counted)
        values = {name: getattr(domain, name) for name in (NAME, *COLUMNS)}
        told = {name: value for name, value in values.items() if value is not None}
        file.write(json.dumps(told, ensure_ascii=True, default=datetime.isoformat) + "\n")
    return number


def import_rows(
    project: ProjectStore, rows: Iterable[DomainRow], at: datetime, *, dry_run: bool = False
) -> ImportedDomains:
    """Register the domains of a file, and give them the values that it has; what it does not have stays.

    A status comes with its blacklist: of a domain that has another one in the file nothing of its own is left.

    Raises:
        StoreError: the store failed; some hundred rows before are written.
    """
    new = known = 0
    source = iter(rows)
    # In a dry run a name that comes twice is new once, as it would be.
    imagined: set[str] = set()
    while some := {row.name: row for row in islice(source, _ROWS_AT_ONCE)}:
        with project.transaction(write=not dry_run) as connection:
            if dry_run:
                there = domains.find(connection, project.id, some).keys() | imagined
                added = some.keys() - there
                imagined |= added
            else:
                added = domains.register(connection, project.id, some, at)
                _write(connection, project, some, at)
        new, known = new + len(added), known + len(some) - len(added)
    return ImportedDomains(new, known)


def _write(connection: Connection, project: ProjectStore, some: Mapping[str, DomainRow], at: datetime) -> None:
    found = domains.find(connection, project.id, some)
    # Rows with the same columns are written together.
    alike: dict[tuple[str, ...], dict[Any, Mapping[str, Any]]] = {}
    for name, row in some.items():
        values = _with_standing(row.values, at)
        if values:
            alike.setdefault(tuple(sorted(values)), {})[found[name].domain_id] = values
    for _, changes in sorted(alike.items()):
        domains.change(connection, changes, at)


def _with_standing(values: Mapping[str, Any], at: datetime) -> dict[str, Any]:
    """Return the values of a row; its status, if it has one, with all that belongs to it."""
    names = (*_STANDING, "blacklist_expires_at")
    told = {name: value for name, value in values.items() if name not in names}
    status = values.get("status")
    if status == DomainStatus.BLACKLISTED:
        named = {name: values.get(name) for name in names}
        return told | named | {"blacklisted_at": values.get("blacklisted_at", at)}
    return told | {name: status if name == "status" else None for name in names} if status else told

"""Domains carried from store to store, in files that `domain_files` reads."""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any, Final, Literal, TextIO

from msgspec import Struct
from sqlalchemy import Connection

from scrapy_dedup.core.domains import DomainStatus
from scrapy_dedup.service.domains.files import COLUMNS, NAME, DomainRow, as_cell
from scrapy_dedup.store.domains import lists as domain_lists
from scrapy_dedup.store.domains import registry as domains
from scrapy_dedup.store.domains.lists import MOST_ROWS, DomainChoice
from scrapy_dedup.store.domains.registry import StoredDomain
from scrapy_dedup.store.engine.codec import REPLACEMENT
from scrapy_dedup.store.writer import ProjectStore

Format = Literal["jsonl", "csv"]
_STANDING: Final = ("status", "status_before", "blacklisted_at", "blacklisted_by", "blacklist_reason")
_ROWS_AT_ONCE: Final = 500
_CONTROLS: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


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


def write_domains(found: Iterable[StoredDomain], file: TextIO, form: Format) -> int:
    """Write domains as `import` reads them; return how many.

    A value that there is none of is left out, or empty. No cell of CSV is a formula to a spreadsheet, or has control
    characters, which a terminal would obey; JSON has them escaped.
    """
    number = 0
    rows = csv.DictWriter(file, [NAME, *COLUMNS], lineterminator="\n") if form == "csv" else None
    if rows is not None:
        rows.writeheader()
    for domain in found:
        number += 1
        values = {name: _written(getattr(domain, name)) for name in (NAME, *COLUMNS)}
        if rows is not None:
            rows.writerow({name: _cell(value) if isinstance(value, str) else value for name, value in values.items()})
        else:
            told = {name: value for name, value in values.items() if value is not None}
            file.write(json.dumps(told, ensure_ascii=True) + "\n")
    return number


def _cell(text: str) -> str:
    return as_cell(_CONTROLS.sub(REPLACEMENT, text))


def _written(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else value


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

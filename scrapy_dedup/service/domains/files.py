"""Domains read from files and written to them: JSON lines or CSV with all that is known of each, or a list of names."""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from itertools import chain, islice
from typing import Any, Final, Literal, TextIO

from msgspec import Struct
from sqlalchemy import Connection

from scrapy_dedup.core.domains import DomainStatus, domain_name, twin_of
from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.urls.normal_form import DomainScope
from scrapy_dedup.store.domains import lists as domain_lists
from scrapy_dedup.store.domains import registry as domains
from scrapy_dedup.store.domains.lists import MOST_ROWS, DomainChoice
from scrapy_dedup.store.domains.registry import StoredDomain
from scrapy_dedup.store.engine.codec import REPLACEMENT, column_text
from scrapy_dedup.store.writer import ProjectStore

NAME: Final = "domain_name"
_KEYS: Final = (NAME, "domain", "url")
_MOST_HEAD_CHARS: Final = 10_000
_TOO_LONG: Final = "the line is too long"
_MOST_TEXT_CHARS: Final = 10_000
_MOST_NUMBER: Final = 2**31
_MOST_BIG_NUMBER: Final = 2**63

# Spreadsheets run a cell that begins so. Written with an apostrophe before it, as they do it themselves; one that has
# apostrophes before it already gets one more, so that each is read as it was.
_RUN_BY_SPREADSHEETS: Final = re.compile(r"'*[=+\-@\t\r]")


def as_cell(text: str) -> str:
    """Return a text as it stands in a file of CSV, where no spreadsheet takes it for a formula."""
    return f"'{text}" if _RUN_BY_SPREADSHEETS.match(text) else text


def from_cell(cell: str) -> str:
    """Return the text that `as_cell` wrote."""
    return cell[1:] if cell.startswith("'") and _RUN_BY_SPREADSHEETS.match(cell) else cell


class ValueRefusedError(ValueError):
    """A value is none of its column."""


class DomainRow(Struct, frozen=True):
    """What a file says of a domain; only the columns that it has."""

    where: str
    name: str
    values: Mapping[str, Any]


class BadRow(Struct, frozen=True):
    """A line of a file that is no domain, and why."""

    where: str
    reason: str


class DomainFileError(DedupError):
    """Where the rows of a file begin and end is in doubt: nothing of it may be taken."""


def read_rows(lines: Iterable[str | None], name: str, scope: DomainScope = "host") -> Iterator[DomainRow | BadRow]:
    """Iterate over the domains of a file: JSON lines, CSV with a header, or one name a line (`#` begins a comment).

    The lines have their ends; None stands in the place of one that is too long. *name* stands in messages.

    Raises:
        DomainFileError: a quoted cell of CSV has no end, or is too long; `check_rows` tells before a row is given.
    """
    columns, start, numbered = _opened(lines)
    if columns:
        for where, cells in _csv_rows(numbered, name, start):
            named = {column: from_cell(cell) for column, cell in zip(columns, cells, strict=False) if cell}
            if named:
                yield _row(where, named, scope)
        return
    read: Callable[[str], Mapping[str, Any] | str] = _of_list
    for number, line in numbered:
        if number == start and (line or "").lstrip().startswith("{"):
            read = _of_json
        where = f"{name}, line {number}"
        if line is None:
            yield BadRow(where, _TOO_LONG)
        elif found := read(line) if line.strip() else {}:
            yield _row(where, found, scope)


def check_rows(lines: Iterable[str | None], name: str) -> None:
    """Read a file as `read_rows` would, and raise what it would raise.

    Raises:
        DomainFileError: rows cannot be told apart.
    """
    columns, start, numbered = _opened(lines)
    if columns:
        for _ in _csv_rows(numbered, name, start):
            pass


def _opened(lines: Iterable[str | None]) -> tuple[list[str], int, Iterator[tuple[int, str | None]]]:
    """Return the columns, if it is CSV, the number of the first line that says something, and the lines to be read."""
    numbered = ((number, None if line is None else line.lstrip("\ufeff")) for number, line in enumerate(lines, 1))
    first = next((each for each in numbered if each[1] is None or each[1].strip()), None)
    if first is None:
        return [], 0, iter(())
    head = (first[1] or "").strip()
    columns = next(csv.reader([head.lower()]), []) if not head.startswith("{") and len(head) < _MOST_HEAD_CHARS else []
    if not {NAME, "domain"}.isdisjoint(columns):
        return columns, first[0], numbered
    return [], first[0], chain([first], numbered)


def _csv_rows(numbered: Iterator[tuple[int, str | None]], name: str, start: int) -> Iterator[tuple[str, list[str]]]:
    """Iterate over the cells of each row, with the place of its first line."""

    def lines() -> Iterator[str]:
        for number, line in numbered:
            if line is None:
                raise csv.Error(f"line {number}: {_TOO_LONG}")
            yield line

    # A cell may have line ends in it, so that the reader takes lines as it needs them.
    rows = csv.reader(lines(), strict=True)
    while True:
        where = f"{name}, line {start + rows.line_num + 1}"
        try:
            cells = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            reason = f"no CSV ({error}): is a quote missing? Nothing was taken from it"
            raise DomainFileError(f"{where}: {reason}") from error
        yield where, cells


def _row(where: str, found: Mapping[str, Any] | str, scope: DomainScope) -> DomainRow | BadRow:
    """Return what was found; a text says why nothing was."""
    if isinstance(found, str):
        return BadRow(where, found)
    try:
        return _checked(where, found, scope)
    except ValueRefusedError as error:
        return BadRow(where, str(error))


def _of_json(line: str) -> Mapping[str, Any] | str:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return "no JSON"
    return found if isinstance(found, dict) else "JSON, but no object"


def _of_list(line: str) -> Mapping[str, Any]:
    name = line.partition("#")[0].strip()
    return {NAME: name} if name else {}


def _checked(where: str, found: Mapping[str, Any], scope: DomainScope) -> DomainRow:
    text = next((found[key] for key in _KEYS if key in found), None)
    name = domain_name(text, scope) if isinstance(text, str) else None
    if name is None:
        raise ValueRefusedError(f"{str(text)[:100]!r} is no domain")
    values = {}
    for column, value in found.items():
        if column in COLUMNS and value is not None:
            try:
                values[column] = COLUMNS[column](value)
            except (ValueError, TypeError, OverflowError) as error:
                raise ValueRefusedError(f"{column} is {str(value)[:100]!r}") from error
    if values.get("joined_to") not in {None, twin_of(name)}:
        raise ValueRefusedError(f"joined_to is {values['joined_to']!r}, and no twin of {name}")
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

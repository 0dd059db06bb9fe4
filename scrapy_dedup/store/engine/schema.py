"""Which schema a database has, and whether this code may write to it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from sqlalchemy import Table

from scrapy_dedup.store.migrations import HEAD, REVISIONS

VERSION_TABLE = "alembic_version"
# Present in every revision, so that a store of a later one is told from a stranger's database.
_MARKS = frozenset({"projects", "crawled_urls", "domain_boilerplate"})


class Schema(Enum):
    """The state of a database that may be opened."""

    EMPTY = "empty"
    OLDER = "older"
    CURRENT = "current"


@dataclass(frozen=True, slots=True)
class Refused:
    """A database that must not be written to: what is wrong with it and what to do."""

    reason: str
    way_out: str

    def __str__(self) -> str:
        return f"{self.reason}. Nothing in it was changed. {self.way_out}"


_ANOTHER_NAME = "Name another one in DEDUP_DATABASE_URL."
_BEGIN_ANOTHER = (
    "Begin a new one with: scrapy crawl SPIDER -s DEDUP_DATABASE_URL=sqlite:///.scrapy/new.db, or move this one away."
)


def judge(
    tables: Mapping[str, Collection[str]], revisions: Sequence[str], expected: Mapping[str, Table]
) -> Schema | Refused:
    """Judge a database by its tables and by what its version table holds.

    Args:
        tables: names of all tables; of those that are expected their columns, too.
        revisions: rows of the version table; empty when there is no such table.
        expected: tables of the present revision.
    """
    if not revisions:
        if set(tables) <= {VERSION_TABLE}:
            return Schema.EMPTY
        names = ", ".join(sorted(set(tables) - {VERSION_TABLE})[:3])
        return Refused(f"it holds other tables ({names}) and no scrapy_dedup store", _ANOTHER_NAME)
    found = ", ".join(revisions)
    if found not in REVISIONS:
        return _unknown(found, tables)
    if found != HEAD:
        return Schema.OLDER
    lack = _lack(tables, expected)
    return Refused(lack, "Restore a copy, or name another database.") if lack else Schema.CURRENT


def _lack(tables: Mapping[str, Collection[str]], expected: Mapping[str, Table]) -> str | None:
    if missing := sorted(set(expected) - set(tables)):
        return f"its tables {', '.join(missing)} are missing"
    for name, table in sorted(expected.items()):
        if columns := sorted(set(table.columns.keys()) - set(tables[name])):
            return f"its table {name} has no {', '.join(columns)}"
    return None


def _unknown(revision: str, tables: Collection[str]) -> Refused:
    if not set(tables) >= _MARKS:
        return Refused(f"it belongs to another program (schema revision {revision!r})", _ANOTHER_NAME)
    if revision < REVISIONS[0]:
        return Refused(
            f"its schema revision {revision!r} is older than the first that this scrapy-dedup knows, {REVISIONS[0]!r}",
            _BEGIN_ANOTHER,
        )
    return Refused(
        f"its schema revision {revision!r} is newer than the last one that this scrapy-dedup knows, {HEAD!r}",
        "Upgrade scrapy-dedup, or name another database in DEDUP_DATABASE_URL.",
    )

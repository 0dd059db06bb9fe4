"""Removes from the store what nobody needs, beside crawls that go on, and gives the space back."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from scrapy_dedup.store.keep_policy import KeepPolicy
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.upkeep import Sweep, Swept, measure, parts
from scrapy_dedup.store.upkeep_scopes import drop, ended
from scrapy_dedup.store.upkeep_space import Space
from scrapy_dedup.store.upkeep_sweeps import Choice, sweeps
from scrapy_dedup.store.writer import ProjectStore

# Between two transactions, so that a crawl that waits gets its turn: SQLite's locks are not given in order.
_PAUSE_SECONDS: Final = 0.01
_SCOPES: Final = "URLs that ended queues have seen"


@dataclass(frozen=True, slots=True)
class Removal:
    """Rows of one kind that were removed, or would be.

    Attributes:
        what: in words.
        table: where they are.
        size_bytes: about what they take up.
    """

    what: str
    table: str
    rows: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What an upkeep removed of a project, or would.

    Attributes:
        before: rows that are needed for a while only were removed where they were older.
        removals: those that there are.
        done: False for what would be removed.
        space: what the store takes up; None for one in memory.
    """

    project: str
    before: datetime
    removals: tuple[Removal, ...]
    done: bool
    space: Space | None

    @property
    def rows(self) -> int:
        """All rows."""
        return sum(each.rows for each in self.removals)

    @property
    def size_bytes(self) -> int:
        """All bytes."""
        return sum(each.size_bytes for each in self.removals)


def look(store: Store, project: ProjectStore, keep: KeepPolicy, before: datetime) -> Upkeep:
    """Return what an upkeep would remove.

    Raises:
        StoreError: the store failed.
    """
    with project.transaction() as connection:
        found = [
            _removal(sweep, measure(connection, sweep, project.id))
            for sweep in sweeps(connection, project.id, Choice(keep, before))
        ]
        queues = ended(connection, project.id, before)
    found.append(Removal(_SCOPES, "seen_urls", sum(queue.urls for queue in queues), sum(q.size_bytes for q in queues)))
    return Upkeep(project.name, before, _there(found), done=False, space=store.space())


def tidy(
    store: Store, project: ProjectStore, keep: KeepPolicy, before: datetime, progress: Callable[[int], None]
) -> Upkeep:
    """Remove what nobody needs, and give the space back; what was removed when it fails stays removed.

    Args:
        store: with the project in it.
        project: of it.
        keep: how much of its past is kept.
        before: what is needed for a while only goes where it is older.
        progress: told how many rows were removed.

    Raises:
        StoreError: the store failed.
    """
    with project.transaction() as connection:
        wanted = sweeps(connection, project.id, Choice(keep, before))
    found = [_removal(sweep, _remove(project, sweep, progress)) for sweep in wanted]
    with project.transaction() as connection:
        queues = ended(connection, project.id, before)
    for queue in queues:
        drop(project, queue)
        progress(queue.urls)
    found.append(Removal(_SCOPES, "seen_urls", sum(queue.urls for queue in queues), sum(q.size_bytes for q in queues)))
    return Upkeep(project.name, before, _there(found), done=True, space=store.give_back())


def _remove(project: ProjectStore, sweep: Sweep, progress: Callable[[int], None]) -> Swept:
    rows = size_bytes = 0
    for part in parts(sweep, project.id):
        with project.transaction(write=True) as connection:
            removed = part.remove(connection)
        rows, size_bytes = rows + removed.rows, size_bytes + removed.size_bytes
        progress(removed.rows)
        time.sleep(_PAUSE_SECONDS)
    return Swept(rows, size_bytes)


def _removal(sweep: Sweep, swept: Swept) -> Removal:
    return Removal(sweep.what, sweep.model.__tablename__, swept.rows, swept.size_bytes)


def _there(removals: list[Removal]) -> tuple[Removal, ...]:
    return tuple(each for each in removals if each.rows)

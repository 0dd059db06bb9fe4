"""The projects of a store as wholes: what there is, and how one is removed."""

from collections.abc import Mapping
from uuid import UUID

from msgspec import Struct

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.store.records.stored import ProjectFigures
from scrapy_dedup.store.repositories import ProjectRepository
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore

_NAMED = 5


class UnknownProjectError(DedupError):
    """There is no project of that name in the store."""


class Deletion(Struct, frozen=True):
    """What the removal of a project takes away.

    Attributes:
        rows: how many rows of each table, tables without any left out.
        deleted: False for what would be removed.
    """

    project: str
    rows: Mapping[str, int]
    deleted: bool

    @property
    def total(self) -> int:
        """All rows."""
        return sum(self.rows.values())


def list_projects(store: Store) -> list[ProjectFigures]:
    """Return every project with its figures, in the order of names.

    Raises:
        StoreError: the store failed.
    """
    with store.session(read_only=True) as session:
        return ProjectRepository(session).list()


def find_project(store: Store, name: str) -> ProjectStore:
    """Return a project's part of the store.

    Raises:
        UnknownProjectError: there is none; the message names those that there are.
        StoreError: the store failed.
    """
    found = store.find_project(name)
    if found is not None:
        return found
    names = [repr(known) for known in store.project_names().values()]
    if not names:
        raise UnknownProjectError("the store is empty: run a crawl first, or check DEDUP_DATABASE_URL")
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    known = ", ".join(names[:_NAMED])
    raise UnknownProjectError(f"no project {name!r} in the store: name it by DEDUP_PROJECT; there is {known}{more}")


def project_of(store: Store, id_or_name: str) -> ProjectStore:
    """Return a project's part of the store by the project's UUID or name; of two that fit the one with this name.

    Raises:
        UnknownProjectError: there is none; the message names those that there are.
        StoreError: the store failed.
    """
    try:
        wanted = UUID(id_or_name)
    except ValueError:
        return find_project(store, id_or_name)
    named = store.find_project(id_or_name)
    return named or find_project(store, store.project_names().get(wanted, id_or_name))


def delete_project(store: Store, name: str, *, dry_run: bool) -> Deletion:
    """Remove a project with all its rows, or say what that would remove.

    Raises:
        UnknownProjectError: there is none of that name.
        StoreError: the store failed; nothing was removed.
    """
    project = find_project(store, name)
    with store.session(read_only=dry_run) as session:
        repository = ProjectRepository(session)
        rows = repository.count(project.id) if dry_run else repository.delete(project.id)
        session.commit()
    return Deletion(name, {table: number for table, number in sorted(rows.items()) if number}, deleted=not dry_run)

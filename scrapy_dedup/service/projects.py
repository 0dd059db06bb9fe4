"""The projects of a store as wholes: what there is, and how one, or what is known of a page, is removed.

Whatever reads or writes the store raises StoreError where that fails.
"""

from collections.abc import Callable, Mapping
from functools import partial
from uuid import UUID

from msgspec import Struct

from scrapy_dedup.core.domains import domain_name
from scrapy_dedup.core.errors import MissingError
from scrapy_dedup.core.urls.normal_form import extract_domain, is_public_suffix, page_key
from scrapy_dedup.service.store_policies import stored_rules
from scrapy_dedup.service.views.explain import UrlError, keys_of
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.stored import ProjectFigures
from scrapy_dedup.store.repositories import ProjectRepository
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.upkeep import forgetting
from scrapy_dedup.store.upkeep.forgetting import ChosenRows
from scrapy_dedup.store.writer import ProjectStore

_NAMED = 5


class UnknownProjectError(MissingError):
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
    """Return every project with its figures, in the order of names."""
    with store.session(read_only=True) as session:
        return ProjectRepository(session).list()


def find_project(store: Store, name: str) -> ProjectStore:
    """Return a project's part of the store.

    Raises:
        UnknownProjectError: there is none; the message names those that there are.
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


def choose(project: ProjectStore, target: str, settings: Settings) -> ChosenRows:
    """Return what a URL stands for: its page, with all of its addresses; or a domain: it, and all names below it.

    Raises:
        UrlError: it is neither.
    """
    key_of = partial(page_key, rules=stored_rules(settings, project))
    if "://" in target:
        keys = keys_of(target, settings, project)
        document = project.document_keys([keys.page_key]).get(keys.page_key) or keys.page_key
        urls = {one.url for one in project.urls_of_document(document)} | {target, keys.normal_url}
        domains = {extract_domain(url, settings.domain_scope) or "" for url in urls}
        return ChosenRows(tuple(sorted(domains)), tuple(sorted(urls)), tuple({document, *map(key_of, urls)}), key_of)
    name = domain_name(target, settings.domain_scope)
    if name is None:
        raise UrlError(f"{target!r} is neither a URL nor a domain: write https://example.com/page, or example.com")
    below = () if is_public_suffix(name) else (f".{name}",)
    names = (one for one in forgetting.stored_domains(project) if one == name or one.endswith(below))
    return ChosenRows(tuple(sorted(names)), (name,), None, key_of)


def count(project: ProjectStore, chosen: ChosenRows) -> Deletion:
    """Return what would go."""
    return Deletion(project.name, dict(sorted(forgetting.find(project, chosen).items())), deleted=False)


def forget(
    project: ProjectStore,
    chosen: ChosenRows,
    settings: Settings,
    fingerprint: Callable[[str], bytes],
    told: Callable[[int], None],
) -> Deletion:
    """Erase it, and return what it was; see `store.upkeep.forgetting.erase`.

    Raises:
        StoreError: the store failed; what was erased by then stays erased.
    """
    gone = forgetting.erase(project, chosen, told, fingerprint=fingerprint, announce=settings.emit_removed)
    return Deletion(project.name, dict(sorted(gone.items())), deleted=True)

"""Which rows stand for a URL or a domain that is to be forgotten."""

from collections.abc import Callable
from functools import partial

from scrapy_dedup.core.domains.names import domain_name
from scrapy_dedup.core.urls.normal_form import extract_domain, is_public_suffix, page_key
from scrapy_dedup.service.projects import Deletion
from scrapy_dedup.service.store_policies import stored_rules
from scrapy_dedup.service.views.explain import UrlError, keys_of
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.upkeep import forgetting
from scrapy_dedup.store.upkeep.forgetting import ChosenRows
from scrapy_dedup.store.writer import ProjectStore


def choose(project: ProjectStore, target: str, settings: Settings) -> ChosenRows:
    """Return what a URL stands for: its page, with all of its addresses; or a domain: it, and all names below it.

    Raises:
        UrlError: it is neither.
        StoreError: the store failed.
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
    """Return what would go.

    Raises:
        StoreError: the store failed.
    """
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

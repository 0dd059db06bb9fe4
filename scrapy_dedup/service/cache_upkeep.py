"""What a person does to the cache: look at a page, have pages extracted anew, drop what is old."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final

from scrapy_dedup.core.recrawl import matches
from scrapy_dedup.service.cache_index import UrlRecord, url_record
from scrapy_dedup.service.cache_pages import content_lines, extracted_at, metadata_of, shown_hash
from scrapy_dedup.service.cache_stats import DomainCache
from scrapy_dedup.service.explain import Keys, keys_of
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.cache_figures import CachedUrl, CacheFigures
from scrapy_dedup.store.cache_reads import CacheReads, PackedPage
from scrapy_dedup.store.records import ExtractionRecord
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.stored_visits import ExtractionChoice, ExtractionFigures
from scrapy_dedup.store.writer import ProjectStore

_PAGES_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True)
class Removal:
    """Extractions that were deleted, or would be; their pages are extracted anew.

    Attributes:
        done: False for what would be deleted.
        unknown: URLs of which there is no page.
    """

    extractions: int
    packed_bytes: int
    done: bool
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Listing:
    """Pages with extractions, the first ones, and how many there are."""

    pages: tuple[CachedUrl, ...]
    total: int


@dataclass(frozen=True, slots=True)
class PageInCache:
    """What the cache holds of a page.

    Attributes:
        stands_for: the address of the document that the URL is another address of.
        record: as the index of an export has it; None where the page was never seen.
        metadata: likewise.
        http_status: of the last visit.
        page: the page's state.
        extractions: newest first.
        domain: the counts of its domain.
    """

    keys: Keys
    stands_for: str | None = None
    record: UrlRecord | None = None
    metadata: Mapping[str, Any] | None = None
    page: PackedPage | None = None
    extractions: tuple[ExtractionRecord, ...] = ()
    domain: DomainCache | None = None

    @property
    def is_known(self) -> bool:
        """Whether the page was seen, or extracted."""
        return self.page is not None or bool(self.extractions)


def list_pages(store: Store, project: ProjectStore, domain: str | None = None, limit: int | None = None) -> Listing:
    """Return the pages that have extractions, in the order of domain and URL.

    Raises:
        StoreError: the store failed.
    """
    with store.session(read_only=True) as session:
        figures = CacheFigures(session, project.id)
        return Listing(tuple(figures.pages(domain, limit)), figures.count_pages(domain))


def find_page(store: Store, project: ProjectStore, url: str, settings: Settings) -> PageInCache:
    """Return what the cache holds of a URL, or of the document that it stands for.

    Raises:
        UrlError: it is no URL of a page.
        StoreError: the store failed, or what it holds of the page is damaged.
    """
    keys = keys_of(url, settings)
    key = project.document_keys([keys.page_key]).get(keys.page_key) or keys.page_key
    domain = DomainCache(keys.domain, validators=project.validator_counts(keys.domain))
    extractions = tuple(project.extractions_of(key))
    with store.session(read_only=True) as session:
        reads = CacheReads(session, project.id)
        page = reads.page(key)
        if page is None:
            return PageInCache(keys, extractions=extractions, domain=domain)
        document, lines = page.document, content_lines(page.source())
        return PageInCache(
            keys=keys,
            stands_for=document.url if key != keys.page_key else None,
            record=url_record(
                document.url, shown_hash(lines, document), extracted_at(document, extractions).isoformat()
            ),
            metadata=metadata_of(page, reads.last_reason(key)),
            page=page,
            extractions=extractions,
            domain=domain,
        )


def invalidate_urls(project: ProjectStore, urls: Collection[str], settings: Settings, *, dry_run: bool) -> Removal:
    """Delete the extractions of pages, named by any of their URLs.

    Raises:
        UrlError: one is no URL of a page; then nothing is deleted.
        StoreError: the store failed.
    """
    keys = {keys_of(url, settings).page_key: url for url in urls}
    known = project.document_keys(keys)
    pages = {key: known.get(key) or key for key in keys}
    held = project.page_states(list(set(pages.values())))
    unknown = [url for key, url in keys.items() if pages[key] not in held and not project.extractions_of(pages[key])]
    choice = ExtractionChoice(page_keys=set(pages.values()))
    return _removal(project.delete_extractions(choice, dry_run=dry_run), dry_run=dry_run, unknown=unknown)


def invalidate_pattern(store: Store, project: ProjectStore, pattern: str, *, dry_run: bool) -> Removal:
    """Delete the extractions of pages whose URL fits; for the pattern see `core.recrawl.matches`.

    Raises:
        StoreError: the store failed; some may be deleted.
    """
    extractions = packed_bytes = 0
    for keys in _chosen(store, project, partial(matches, pattern)):
        some = project.delete_extractions(ExtractionChoice(page_keys=keys), dry_run=dry_run)
        extractions, packed_bytes = extractions + some.extractions, packed_bytes + some.packed_bytes
    return Removal(extractions, packed_bytes, done=not dry_run)


def _chosen(store: Store, project: ProjectStore, fits: Callable[[str], bool]) -> Iterator[list[bytes]]:
    after: bytes | None = None
    while True:
        with store.session(read_only=True) as session:
            some = CacheFigures(session, project.id).urls(after, _PAGES_AT_ONCE)
        if not some:
            return
        if keys := [key for key, url in some if fits(url)]:
            yield keys
        after = some[-1][0]


def invalidate(project: ProjectStore, domain: str | None = None, *, dry_run: bool) -> Removal:
    """Delete the extractions of a domain, or all there are.

    Raises:
        StoreError: the store failed; nothing was deleted.
    """
    return _removal(project.delete_extractions(ExtractionChoice(domain=domain), dry_run=dry_run), dry_run=dry_run)


def expire(project: ProjectStore, before: datetime, *, dry_run: bool) -> Removal:
    """Delete the extractions that were made before an instant.

    Raises:
        StoreError: the store failed; nothing was deleted.
    """
    choice = ExtractionChoice(created_before=before)
    return _removal(project.delete_extractions(choice, dry_run=dry_run), dry_run=dry_run)


def collect_garbage(project: ProjectStore, *, dry_run: bool) -> Removal:
    """Delete the extractions of contents that their pages no longer have; no crawl would use them.

    Raises:
        StoreError: the store failed; nothing was deleted.
    """
    return _removal(project.delete_extractions(ExtractionChoice(outdated=True), dry_run=dry_run), dry_run=dry_run)


def _removal(figures: ExtractionFigures, *, dry_run: bool, unknown: Collection[str] = ()) -> Removal:
    return Removal(figures.extractions, figures.packed_bytes, done=not dry_run, unknown=tuple(unknown))

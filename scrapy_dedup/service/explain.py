"""What is known of one URL, and why each of its blocks was removed."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.repeats import Removal
from scrapy_dedup.core.urls import extract_domain, normalize_url, page_key
from scrapy_dedup.service.explain_blocks import (
    JudgedBlock,
    PageBlocks,
    RemovedBlock,
    judged_blocks,
    lost_blocks,
    own_removals,
    page_blocks,
)
from scrapy_dedup.service.policies import url_rules
from scrapy_dedup.service.store_policies import stored_rules
from scrapy_dedup.settings import Settings
from scrapy_dedup.store import document_chunks
from scrapy_dedup.store.ledger_reads import LedgerReads
from scrapy_dedup.store.page_records import StoredChunk
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.stored import StoredDecision, StoredDocument, StoredPage, StoredRun, StoredSource, StoredUrl
from scrapy_dedup.store.writer import ProjectStore

__all__ = ["Explanation", "JudgedBlock", "Keys", "Likeness", "RemovedBlock", "UrlError", "explain", "judged_blocks"]

_RUNS_SEARCHED = 1_000


class UrlError(DedupError):
    """The text is no URL of a page."""


@dataclass(frozen=True, slots=True)
class Keys:
    """How a URL is recognised."""

    url: str
    normal_url: str
    page_key: bytes
    domain: str


@dataclass(frozen=True, slots=True)
class Likeness:
    """Another page that has the text of one, or nearly; layer is None where that one went out all the same."""

    url: str
    layer: str | None
    jaccard: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """What is known of one URL; a part that is not there is None or empty.

    Attributes:
        crawled: the last crawl of this URL itself.
        run: the run that this belongs to, where it is among the last thousand.
        stands_for: the address of the document that this URL is another address of.
        aliases: the other URLs of the document.
        document: what became of the content; that of the document which this URL stands for.
        source: its stored original.
        decisions: what the layers decided about this URL, and about its document, oldest first.
        blocks: of the document, in the order of the page, each with why it was removed; and removed ones that the
            stored original does not have.
        like: the page that stands for this one, or that it is nearly like.
        chunks: of the document's clean text, in their order.
        holders: URLs of the pages that give a chunk in its place, by key.
    """

    project: str
    keys: Keys
    crawled: StoredUrl | None = None
    run: StoredRun | None = None
    stands_for: str | None = None
    aliases: tuple[StoredUrl, ...] = ()
    document: StoredDocument | None = None
    source: StoredSource | None = None
    decisions: tuple[StoredDecision, ...] = ()
    blocks: PageBlocks = PageBlocks()
    like: Likeness | None = None
    chunks: tuple[StoredChunk, ...] = ()
    holders: Mapping[bytes, str] = field(default_factory=dict)

    @property
    def removed(self) -> tuple[RemovedBlock, ...]:
        """The removed blocks, in the order of the page."""
        return self.blocks.removed()

    @property
    def is_known(self) -> bool:
        """Whether anything is stored about this URL."""
        return any((self.crawled, self.document, self.source, self.decisions))


def keys_of(url: str, settings: Settings, project: ProjectStore | None = None) -> Keys:
    """Return how a URL is recognised, in a project that may have learned which parameters change nothing.

    Raises:
        UrlError: it is none, or none of http or https.
    """
    rules = stored_rules(settings, project) if project is not None else url_rules(settings)
    domain = extract_domain(url, settings.domain_scope)
    if domain is None:
        raise UrlError(f"{url!r} is no URL of a page: needs http:// or https:// and a host")
    return Keys(url, normalize_url(url, rules), page_key(url, rules), domain)


def explain(store: Store, project: str, url: str, settings: Settings) -> Explanation:
    """Return everything that is known of a URL in a project; a URL that was never met has its keys alone.

    Raises:
        UrlError: it is no URL of a page.
        StoreError: the store failed.
    """
    found = store.find_project(project)
    keys = keys_of(url, settings, found)
    page = found.page(keys.page_key) if found else None
    decisions = found.decisions(keys.page_key) if found else []
    if found is None or (page is None and not decisions):
        return Explanation(project, keys)
    crawled = page.crawled_url if page else None
    document_key = crawled.document_key if crawled and crawled.document_key else keys.page_key
    own = page or StoredPage(None, None, None)
    target = own
    if document_key != keys.page_key:
        target = found.page(document_key) or StoredPage(None, None, None)
        decisions = sorted([*decisions, *found.decisions(document_key)], key=lambda each: (each.decided_at, each.layer))
    aliases = found.urls_of_document(document_key)
    chunks, holders, like = _beside_others(store, found, keys.page_key, document_key)
    return Explanation(
        project=project,
        keys=keys,
        crawled=crawled,
        run=_run(found, crawled),
        stands_for=_address(target) if document_key != keys.page_key else None,
        aliases=tuple(alias for alias in aliases if alias.page_key not in (keys.page_key, document_key)),
        document=target.document,
        source=target.source,
        decisions=tuple(decisions),
        blocks=_judged(store, found, target, own_removals(decisions, document_key), settings),
        like=like,
        chunks=chunks,
        holders=holders,
    )


def _judged(
    store: Store, project: ProjectStore, page: StoredPage, removals: Mapping[int, Removal], settings: Settings
) -> PageBlocks:
    if page.source is not None:
        return page_blocks(store, project, page.source, removals, settings)
    return lost_blocks(project, page.document.domain if page.document is not None else "", removals)


def _beside_others(
    store: Store, project: ProjectStore, page_key: bytes, document_key: bytes
) -> tuple[tuple[StoredChunk, ...], dict[bytes, str], Likeness | None]:
    """Return a document's chunks, the URLs of pages that give some of them, and the page that one is like."""
    with store.session(read_only=True) as session:
        chunks = document_chunks.of_page(session.connection(), project.id, document_key)
        reads = LedgerReads(session, project.id)
        like = reads.likeness(page_key)
        asked = {one.holder for one in chunks if one.holder is not None} | ({like.keeper} if like else set())
        urls = reads.urls(asked)
    if like is None:
        return tuple(chunks), urls, None
    found = Likeness(urls.get(like.keeper, like.keeper.hex()), like.layer, like.jaccard or 0.0)
    return tuple(chunks), urls, found


def _run(project: ProjectStore, crawled: StoredUrl | None) -> StoredRun | None:
    if crawled is None or crawled.run_id is None:
        return None
    return next((run for run in project.last_runs(_RUNS_SEARCHED) if run.id == crawled.run_id), None)


def _address(page: StoredPage) -> str | None:
    """Return the URL under which a page is known best."""
    parts = (page.document, page.crawled_url, page.source)
    return next((part.url for part in parts if part is not None), None)

"""What is known of one URL, and why each of its blocks was removed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.fingerprints import to_hex
from scrapy_dedup.core.repeats import Removal
from scrapy_dedup.core.urls import extract_domain, normalize_url, page_key
from scrapy_dedup.service.policies import url_rules
from scrapy_dedup.service.reading import Located, other_method, read_again
from scrapy_dedup.service.removals import ACTION, LAYER, removals_in
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records import HTML_FIELDS
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.stored import (
    StoredBoilerplate,
    StoredDecision,
    StoredDocument,
    StoredPage,
    StoredRun,
    StoredSource,
    StoredUrl,
)
from scrapy_dedup.store.writer import ProjectStore

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
class JudgedBlock:
    """A block of a page, with the reason why it was left out, if it was."""

    path: str
    text: str
    fingerprint: int
    removal: Removal | None


@dataclass(frozen=True, slots=True)
class RemovedBlock:
    """A block that was left out; the text is empty where nobody knows it any more."""

    layer: str
    rule: str
    evidence: str
    on_pages: int
    of_pages: int
    fingerprint: str
    path: str
    text: str


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
        removed: the document's removed blocks, in the order of the page.
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
    removed: tuple[RemovedBlock, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether anything is stored about this URL."""
        return any((self.crawled, self.document, self.source, self.decisions))


def keys_of(url: str, settings: Settings) -> Keys:
    """Return how a URL is recognised.

    Raises:
        UrlError: it is none, or none of http or https.
    """
    rules = url_rules(settings)
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
    keys = keys_of(url, settings)
    found = store.find_project(project)
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
        removed=tuple(_removed(found, document_key, target, decisions, settings)),
    )


def _run(project: ProjectStore, crawled: StoredUrl | None) -> StoredRun | None:
    if crawled is None or crawled.run_id is None:
        return None
    return next((run for run in project.last_runs(_RUNS_SEARCHED) if run.id == crawled.run_id), None)


def _address(page: StoredPage) -> str | None:
    """Return the URL under which a page is known best."""
    parts = (page.document, page.crawled_url, page.source)
    return next((part.url for part in parts if part is not None), None)


def _removed(
    project: ProjectStore,
    document_key: bytes,
    page: StoredPage,
    decisions: Iterable[StoredDecision],
    settings: Settings,
) -> list[RemovedBlock]:
    own = (each for each in decisions if each.page_key == document_key)
    # What a layer in the shadow would remove is a decision, but nothing that was removed.
    decision = next((each for each in own if (each.layer, each.action) == (LAYER, ACTION)), None)
    removals = removals_in(decision)
    if not removals:
        return []
    blocks = judged_blocks(page.source, removals, settings)
    found = [block for block in blocks if block.removal is not None]
    domain = page.document.domain if page.document else page.source.domain if page.source else None
    # What cannot be found in the original, because it is not kept or a newer one, is told from the domain's samples.
    lost = removals.keys() - {block.fingerprint for block in found}
    knowledge = project.knowledge(domain) if lost and domain else {}
    found += [_remembered(key, removals[key], knowledge.values()) for key in sorted(lost)]
    return [_told(block) for block in found]


def judged_blocks(
    source: StoredSource | None, removals: Mapping[int, Removal], settings: Settings
) -> list[JudgedBlock]:
    """Return the blocks of a stored page in their order; none where it is not kept.

    They are those by which the removed ones are found: the settings may have changed since.
    """
    if source is None:
        return []
    blocks = _blocks(source, settings)
    if source.field in HTML_FIELDS and removals and not _holds(blocks, removals):
        others = _blocks(source, other_method(settings))
        if _holds(others, removals):
            blocks = others
    return [JudgedBlock(path, text, key, removals.get(key)) for key, path, text in blocks]


def _blocks(source: StoredSource, settings: Settings) -> list[Located]:
    reading = read_again(source, settings)
    return reading.blocks() if reading else []


def _holds(blocks: Iterable[Located], removals: Mapping[int, Removal]) -> bool:
    return any(block.fingerprint in removals for block in blocks)


def _remembered(key: int, removal: Removal, knowledge: Iterable[StoredBoilerplate]) -> JudgedBlock:
    digits = to_hex(key)
    for row in knowledge:
        if row.evidence and digits in row.evidence:
            return JudgedBlock(row.evidence[digits].path, row.evidence[digits].sample, key, removal)
    return JudgedBlock("", "", key, removal)


def _told(block: JudgedBlock) -> RemovedBlock:
    removal = block.removal
    assert removal is not None
    rule = removal.rule
    return RemovedBlock(
        layer=LAYER,
        rule=rule.name,
        evidence=rule.evidence,
        on_pages=rule.on_pages,
        of_pages=rule.of_pages,
        fingerprint=to_hex(block.fingerprint),
        path=block.path,
        text=block.text,
    )

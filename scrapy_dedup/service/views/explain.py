"""What is known of one URL, and why each of its blocks was removed.

Whatever reads or writes the store raises StoreError where that fails.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict

from scrapy_dedup.core.boilerplate.repeats import Boilerplate, Removal
from scrapy_dedup.core.errors import DedupError, InvalidError
from scrapy_dedup.core.pages.fingerprints import to_hex
from scrapy_dedup.core.urls.normal_form import extract_domain, normalize_url, page_key
from scrapy_dedup.report.numbers import percent, whole
from scrapy_dedup.report.values import ExplainedBlock, ExplainedChunk, ExplainedDecision, ExplainedLike, ExplainedPage
from scrapy_dedup.service.cut.cleaning import LAYERS
from scrapy_dedup.service.cut.reading import Located, other_method, read_again
from scrapy_dedup.service.cut.removals import ACTION, removals_in
from scrapy_dedup.service.cut.site_patterns import PATTERNS, patterns_of
from scrapy_dedup.service.patterns import stored_config
from scrapy_dedup.service.policies import url_rules
from scrapy_dedup.service.store_policies import stored_rules
from scrapy_dedup.service.templates.site_records import site_of
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.pages.reads import Reads
from scrapy_dedup.store.records import shared
from scrapy_dedup.store.records.records import HTML_FIELDS
from scrapy_dedup.store.records.stored import (
    StoredBoilerplate,
    StoredDecision,
    StoredDocument,
    StoredPage,
    StoredRun,
    StoredSource,
    StoredUrl,
)
from scrapy_dedup.store.writer import ProjectStore

_NOTHING: Final[Boilerplate[int]] = Boilerplate()


def own_removals(decisions: Iterable[StoredDecision], page_key: bytes) -> dict[int, Removal]:
    """Return which blocks layers left out of a page, by fingerprint; what one in the shadow would is not among them."""
    found: dict[int, Removal] = {}
    for decision in decisions:
        if decision.page_key == page_key and decision.layer in LAYERS and decision.action == ACTION:
            found |= removals_in(decision)
    return found


def page_blocks(
    project: ProjectStore, source: StoredSource, removals: Mapping[int, Removal], settings: Settings
) -> tuple[list[ExplainedBlock], list[ExplainedBlock]]:
    """Return the blocks of a stored page, and what is known of removed ones that are not among them."""
    blocks = judged_blocks(source, removals, settings)
    shown = {block.fingerprint for block in blocks}
    missing = {key for key in removals if to_hex(key) not in shown}
    if not missing:
        return blocks, []
    parts = (
        _cut_again(project, source, settings) if any(removals[key].rule.layer == PATTERNS for key in missing) else {}
    )
    lost = []
    # What cannot be found in the original, because it is not kept or a newer one, is told from the domain's samples.
    knowledge = project.knowledge(source.domain)
    for key in sorted(missing):
        part = parts.get(key)
        if part is None:
            lost.append(_remembered(key, removals[key], knowledge.values()))
        elif not _inserted(blocks, _judged(*part, key, removals[key], is_part=True)):
            lost.append(_judged(*part, key, removals[key]))
    return blocks, lost


def lost_blocks(project: ProjectStore, domain: str, removals: Mapping[int, Removal]) -> list[ExplainedBlock]:
    """Return what is known of the removed blocks of a page that is not stored."""
    knowledge = project.knowledge(domain) if removals else {}
    return [_remembered(key, removals[key], knowledge.values()) for key in sorted(removals)]


def judged_blocks(
    source: StoredSource | None, removals: Mapping[int, Removal], settings: Settings
) -> list[ExplainedBlock]:
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
    return [_judged(path, text, key, removals.get(key)) for key, path, text in blocks]


def _judged(path: str, text: str, key: int, removal: Removal | None, *, is_part: bool = False) -> ExplainedBlock:
    """Return a block, with why it was left out, if it was."""
    if removal is None:
        return ExplainedBlock(text, path=path)
    rule = removal.rule
    return ExplainedBlock(
        text=text,
        layer=rule.layer,
        rule=rule.name,
        rule_path=rule.path,
        evidence=rule.evidence,
        fingerprint=to_hex(key),
        is_part=is_part,
        path=path,
        on_pages=rule.on_pages,
        of_pages=rule.of_pages,
    )


def _blocks(source: StoredSource, settings: Settings) -> list[Located]:
    reading = read_again(source, settings)
    return reading.blocks() if reading else []


def _holds(blocks: Iterable[Located], removals: Mapping[int, Removal]) -> bool:
    return any(block.fingerprint in removals for block in blocks)


def _cut_again(project: ProjectStore, source: StoredSource, settings: Settings) -> dict[int, tuple[str, str]]:
    """Return (path, text) of what expressions take out of a page today, by fingerprint: texts of parts are not kept."""
    reading = read_again(source, settings)
    if reading is None:
        return {}
    domain = source.domain
    try:
        patterns = patterns_of(settings, stored_config(project, domain), domain)
    except DedupError:  # what was decided about the site cannot be used any more: then nothing is known of it
        return {}
    site = site_of(domain, project.templates(domain)) if reading.method == "template" else None
    removed = reading.clean(_NOTHING, settings, site, patterns).removed
    return {one.removal.fingerprint: (one.path, one.text) for one in removed if one.text}


def _inserted(blocks: list[ExplainedBlock], part: ExplainedBlock) -> bool:
    """Put a part behind the first block that has its words; say whether there is one."""
    words = part.text.split()
    for place, block in enumerate(blocks):
        if block.path == part.path and not block.is_part and all(word in block.text for word in words):
            blocks.insert(place + 1, part)
            return True
    return False


def _remembered(key: int, removal: Removal, knowledge: Iterable[StoredBoilerplate]) -> ExplainedBlock:
    digits = to_hex(key)
    for row in knowledge:
        if row.evidence and digits in row.evidence:
            return _judged(row.evidence[digits].path, row.evidence[digits].sample, key, removal)
    return _judged("", "", key, removal)


class UrlError(InvalidError):
    """The text is no URL of a page."""


class Keys(Struct, frozen=True):
    """How a URL is recognised."""

    url: str
    normal_url: str
    page_key: bytes
    domain: str


class Explanation(Struct, frozen=True):
    """What is known of one URL; a part that is not there is None or empty.

    Attributes:
        crawled: the last crawl of this URL itself.
        run: that this belongs to, where it is known still.
        stands_for: the address of the document that this URL is another address of.
        aliases: the other URLs of the document.
        document: what became of the content; that of the document which this URL stands for.
        source: its stored original.
        decisions: what the layers decided about this URL, and about its document, oldest first.
        blocks: of the document, in the order of the page, each with why it was removed.
        lost: removed blocks that the stored original does not have.
        like: the page that stands for this one, or that it is nearly like.
        chunks: of the document's clean text, in their order.
        gone_at: when the page was declared removed; None where it was not.
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
    blocks: tuple[ExplainedBlock, ...] = ()
    lost: tuple[ExplainedBlock, ...] = ()
    like: ExplainedLike | None = None
    chunks: tuple[ExplainedChunk, ...] = ()
    gone_at: datetime | None = None

    @property
    def removed(self) -> tuple[ExplainedBlock, ...]:
        """The removed blocks, in the order of the page."""
        return (*(one for one in self.blocks if not one.kept), *self.lost)

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


def explain(project: ProjectStore, url: str, settings: Settings) -> Explanation:
    """Return everything that is known of a URL in a project; a URL that was never met has its keys alone.

    Raises:
        UrlError: it is no URL of a page.
    """
    keys = keys_of(url, settings, project)
    page, decisions = project.page(keys.page_key), project.decisions(keys.page_key)
    if page is None and not decisions:
        return Explanation(project.name, keys)
    crawled = page.crawled_url if page else None
    document_key = crawled.document_key if crawled and crawled.document_key else keys.page_key
    target = page or StoredPage(None, None, None)
    if document_key != keys.page_key:
        target = project.page(document_key) or StoredPage(None, None, None)
        decisions += project.decisions(document_key)
        decisions.sort(key=lambda each: (each.decided_at, each.layer))
    aliases = project.urls_of_document(document_key)
    chunks, like = _beside_others(project, keys.page_key, document_key)
    state = project.page_states([keys.page_key]).get(keys.page_key)
    run_id = crawled.run_id if crawled is not None else None
    run = project.find_run(run_id) if run_id is not None else None
    # Under which the page is known best.
    address = next((one.url for one in (target.document, target.crawled_url, target.source) if one is not None), None)
    removals = own_removals(decisions, document_key)
    if target.source is not None:
        blocks, lost = page_blocks(project, target.source, removals, settings)
    else:
        blocks, lost = [], lost_blocks(project, target.document.domain if target.document is not None else "", removals)
    return Explanation(
        project=project.name,
        keys=keys,
        crawled=crawled,
        run=run,
        stands_for=address if document_key != keys.page_key else None,
        aliases=tuple(alias for alias in aliases if alias.page_key not in (keys.page_key, document_key)),
        document=target.document,
        source=target.source,
        decisions=tuple(decisions),
        blocks=tuple(blocks),
        lost=tuple(lost),
        like=like,
        chunks=chunks,
        gone_at=state.gone_at if state is not None else None,
    )


def _beside_others(
    project: ProjectStore, page_key: bytes, document_key: bytes
) -> tuple[tuple[ExplainedChunk, ...], ExplainedLike | None]:
    """Return a document's chunks, with the URLs of pages that give some of them, and the page that one is like."""
    with project.session(read_only=True) as session:
        chunks = shared.chunks_of_page(session.connection(), project.id, document_key)
        reads = Reads(session, project.id)
        like = reads.likeness(page_key)
        asked = {one.holder for one in chunks if one.holder is not None} | ({like.keeper} if like else set())
        urls = reads.urls(asked)
    told = tuple(
        ExplainedChunk(**asdict(one), holder_url=urls.get(one.holder, one.holder.hex()) if one.holder else "")
        for one in chunks
    )
    if like is None:
        return told, None
    return told, ExplainedLike(urls.get(like.keeper, like.keeper.hex()), like.layer or "", like.jaccard or 0.0)


def page_of(found: Explanation, at: datetime) -> ExplainedPage:
    """Return what is drawn of an explanation."""
    document, source = found.document, found.source
    return ExplainedPage(
        project=found.project,
        url=found.keys.url,
        title=(document.title if document else None) or "",
        generated_at=at,
        facts=tuple(facts_of(found)),
        like=found.like,
        decisions=tuple(ExplainedDecision(one.layer, one.action, one.reason) for one in found.decisions),
        blocks=found.blocks,
        lost=found.lost,
        cleaned=source.cleaned_content if source else None,
        chunks=found.chunks,
    )


def facts_of(found: Explanation) -> list[tuple[str, str]]:
    """Return (name, text) of what is known of a URL beside its blocks."""
    keys, document = found.keys, found.document
    lines = [("project", found.project), ("domain", keys.domain), ("page key", keys.page_key.hex())]
    if keys.normal_url != keys.url:
        lines.append(("normal form", keys.normal_url))
    lines += _crawl(found)
    if found.gone_at is not None:
        lines.append(("removed", f"{found.gone_at:%Y-%m-%d %H:%M} UTC: the site has it no more"))
    if found.stands_for:
        lines.append(("kept as", found.stands_for))
    if found.like is not None:
        lines.append(("dropped for" if found.like.layer else "like", like_line(found)))
    lines += [("alias", f"{alias.url} ({alias.alias_kind or alias.status})") for alias in found.aliases]
    if document is not None:
        lines += [("title", document.title)] if document.title else []
        lines += [("canonical", document.canonical_url)] if document.canonical_url else []
        lines.append(("document", document.status + (f": {document.error}" if document.error else "")))
        if document.chars_in is not None and document.chars_out is not None:
            removed = percent(document.chars_in - document.chars_out, document.chars_in)
            lines.append(("text", f"{whole(document.chars_in)} characters, {removed} of them removed"))
    if found.chunks:
        out = sum(not one.layer for one in found.chunks)
        lines.append(("chunks", f"{whole(len(found.chunks))}, {whole(len(found.chunks) - out)} of them left out"))
    if found.is_known and (found.source is None or found.source.content is None):
        lines.append(("original", "not kept"))
    return lines


def like_line(found: Explanation) -> str:
    """Return which page the text is like, and how much; "" where there is none."""
    like = found.like
    if like is None:
        return ""
    share = "the same text" if like.jaccard >= 1 else f"Jaccard {like.jaccard:.3f}"
    return f"{like.url} ({like.layer or 'marked as a near-duplicate'}: {share})"


def _crawl(found: Explanation) -> list[tuple[str, str]]:
    crawled = found.crawled
    if crawled is None:
        return []
    kind = f" ({crawled.alias_kind})" if crawled.alias_kind else ""
    status = f", status {crawled.http_status}" if crawled.http_status else ""
    spider = f", by spider {found.run.spider}" if found.run else ""
    at = f"{crawled.last_crawled_at:%Y-%m-%d %H:%M} UTC"
    return [("last crawl", f"{at}: {crawled.status}{kind}{status}{spider}")]

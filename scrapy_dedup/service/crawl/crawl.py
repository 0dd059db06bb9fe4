"""One crawl: what its pages turn into, what it has emitted, what is to be written. Knows nothing of Scrapy."""

import dataclasses
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal, get_args

from msgspec import Struct, field
from msgspec.structs import replace

from scrapy_dedup.core.boilerplate.repeats import Boilerplate
from scrapy_dedup.core.duplicates import (
    MOST_ITEMS,
    NO_FIELDS,
    Blocks,
    PageEvidence,
    SiteSeen,
    best_seen,
    blocks_of_text,
    own_words,
    proves,
)
from scrapy_dedup.core.metadata import Metadata, metadata_of
from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.pages.fingerprints import from_hex
from scrapy_dedup.core.patterns import SiteConfig
from scrapy_dedup.core.runs import DropWatch
from scrapy_dedup.core.templates.templates import WINDOW
from scrapy_dedup.core.urls.canonical import Address
from scrapy_dedup.core.urls.normal_form import UrlRules, page_key
from scrapy_dedup.core.urls.seen import KeyTable, Latest
from scrapy_dedup.service.crawl.commits import alias_kind
from scrapy_dedup.service.crawl.drafts import Draft, source_record
from scrapy_dedup.service.cut.cleaning import Cleaned, counts_of
from scrapy_dedup.service.cut.reading import Reading
from scrapy_dedup.service.cut.removals import removal_decisions, shadow_decisions
from scrapy_dedup.service.cut.site_cleaning import SiteCut, cut_page
from scrapy_dedup.service.cut.site_patterns import patterns_of
from scrapy_dedup.service.duplicates.chunking import Stopwatch
from scrapy_dedup.service.duplicates.index import DuplicateIndex
from scrapy_dedup.service.duplicates.page_facts import Aliases, PageFacts
from scrapy_dedup.service.learning import (
    Learner,
    SiteLearner,
    Steps,
    at_once,
    html_samples,
    knowledge_of,
    text_samples,
    to_rest,
)
from scrapy_dedup.service.policies import repeat_policy
from scrapy_dedup.service.templates.site_records import site_of
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import (
    AliasKind,
    BoilerplateRecord,
    CrawledUrlRecord,
    DecisionRecord,
    DocumentRecord,
    DocumentStatus,
    Method,
    Record,
    ReleaseRecord,
    TemplateRecord,
)
from scrapy_dedup.store.records.shared import Holders
from scrapy_dedup.store.records.stored import Run, StoredBoilerplate, StoredSource, StoredTemplate
from scrapy_dedup.store.writer import ProjectStore

if TYPE_CHECKING:
    from scrapy_dedup.service.teacher.teaching import PagesToShow

# Of 8 bytes each: 16 MB. Of a page that is forgotten nothing is proven, so that its equals go out.
_MOST_BLOCKS: Final = 2_000_000
# Of some 200 bytes each.
_MOST_RECALLED: Final = 200_000


def _blocks_of(draft: Draft) -> Blocks:
    if draft.page is not None and draft.method != "text":
        return [(block.fingerprint, block.text) for block in draft.page.blocks]
    return blocks_of_text(draft.text)


def shown_of(page: Page, source: StoredSource, fields: Sequence[bytes]) -> PageEvidence:
    """Return what a page of the store shows, with the fields that its items have."""
    blocks = [(block.fingerprint, block.text) for block in page.blocks]
    shown = PageEvidence.of(source.content or "", blocks, source.url, with_numbers=False)
    shown.fields = [*fields]
    if source.report is not None:
        removed = source.report.get("removed") or ()
        shown.note_cut({from_hex(key) for group in removed for key in group["blocks"]})
    return shown


class RunEvidence(Struct):
    """Of the last pages that went out, or are about to."""

    _pages: OrderedDict[bytes, PageEvidence] = field(default_factory=OrderedDict)
    _blocks: int = 0
    _recalled: Latest[bytes, list[bytes]] = field(default_factory=lambda: Latest(_MOST_RECALLED))
    """Of pages whose bytes are those of the last time: the fields of their items alone."""
    _withdrawn: Latest[bytes, None] = field(default_factory=lambda: Latest(_MOST_RECALLED))
    """Pages of which somebody else dropped the items after us."""

    def recall(self, draft: Draft, fields: bytes | None) -> None:
        """Let an item count of whose page nothing was read, as it did not change."""
        known = self._recalled.setdefault(draft.page_key, [])
        if fields is not None and fields not in known and len(known) < MOST_ITEMS:
            known.append(fields)

    def knows(self, page_key: bytes) -> bool:
        """Say whether a page came in this run, as far as is remembered."""
        return page_key in self._pages or page_key in self._recalled

    def of(self, page_key: bytes) -> PageEvidence | None:
        """Return what a page shows, where that is held."""
        return self._pages.get(page_key)

    def recalled(self, page_key: bytes) -> list[bytes]:
        """Return the fields of a page's items that were recalled."""
        return self._recalled.get(page_key, [])

    def read(self, page: Page, source: StoredSource) -> PageEvidence:
        """Take in what a page of this run shows; where none of its items was recalled, one without fields stands."""
        shown = shown_of(page, source, self.recalled(source.page_key) or [NO_FIELDS])
        self._put(source.page_key, shown)
        return shown

    def note(self, draft: Draft, fields: bytes | None, settings: Settings) -> None:
        """Let an item count for those that come after it."""
        evidence = draft.evidence
        if evidence is None:
            with_numbers = settings.near_duplicate == "drop"
            blocks = _blocks_of(draft)
            evidence = draft.evidence = PageEvidence.of(draft.source, blocks, draft.url, with_numbers=with_numbers)
        evidence.add(fields)
        if draft.stands_aside or self._pages.get(draft.page_key) is evidence:
            return
        self._put(draft.page_key, evidence)

    def _put(self, page_key: bytes, evidence: PageEvidence) -> None:
        self.forget(page_key)
        self._pages[page_key] = evidence
        self._blocks += len(evidence.blocks)
        while self._blocks > _MOST_BLOCKS and len(self._pages) > 1:
            self.forget(next(iter(self._pages)))

    def stand_aside(self, draft: Draft, *, leaves: bool) -> None:
        """Let a page prove nothing while one of its items is about to be left out; or what it shows, as it stays."""
        draft.stands_aside = leaves
        if leaves:
            self.forget(draft.page_key)
        elif draft.evidence is not None:
            self._put(draft.page_key, draft.evidence)

    def withdraw(self, page_key: bytes) -> None:
        """Let a page prove nothing more: its items did not arrive."""
        self.forget(page_key)
        self._withdrawn[page_key] = None

    def is_withdrawn(self, page_key: bytes) -> bool:
        """Say whether a page's items did not arrive, as far as is remembered."""
        return page_key in self._withdrawn

    def forget(self, page_key: bytes) -> None:
        """Let a page count no more: it was left out."""
        gone = self._pages.pop(page_key, None)
        self._blocks -= len(gone.blocks) if gone is not None else 0


def is_shown(draft: Draft, other: PageEvidence, fields: bytes | None, learner: Learner | None) -> bool:
    """Say whether an item is one that a page of this run gave, by what that page shows."""
    if draft.evidence is None:
        return False
    site = best_seen(learner.seen if learner is not None else SiteSeen(), other)
    return proves(draft.evidence, other, fields, own_words(_blocks_of(draft), site), site)


Count = Callable[[str, float], None]


def counting(add: Count) -> Callable[..., None]:
    """Return what adds to the stat `dedup/<what>`, by what adds to any stat: as a rule one."""

    def count(what: str, n: float = 1) -> None:
        add(f"dedup/{what}", n)

    return count


_DOCUMENTS_AT_ONCE = 5_000


class Stored(Struct, frozen=True):
    """What the store knows of a domain."""

    boilerplate: Mapping[str, StoredBoilerplate] = field(default_factory=dict)
    templates: Sequence[StoredTemplate] = ()
    config: SiteConfig | None = None


def load(store: ProjectStore, domain: str) -> Stored:
    """Ask the store about a domain; blocks, so call it in a thread.

    Raises:
        StoreError: the store failed.
        SiteConfigError: what people decided was changed by hand so that it cannot be read.
    """
    config = store.site_config(domain)
    return Stored(
        store.knowledge(domain),
        store.templates(domain),
        SiteConfig.from_json(config.config) if config is not None else None,
    )


_NOTHING_KNOWN: Final[Boilerplate[int]] = Boilerplate()
# Of fewer blocks a page is judged in some milliseconds, even where nothing is known of its site.
_MANY_BLOCKS = 100


@dataclasses.dataclass(slots=True)
class Crawl:
    """The state of one run; all of it lives on one thread, only the store's writes do not."""

    store: ProjectStore
    run: Run
    settings: Settings
    count: Count
    has_history: bool = True
    """Whether any page, or feed, was met before it."""
    is_alone: bool = False
    """Whether nobody else has written pages of its project, or does."""
    rows: list[Record] = dataclasses.field(default_factory=list)
    """What waits to be written, in order."""
    learners: dict[tuple[str, Method], Learner] = dataclasses.field(default_factory=dict)
    """Those met last come last."""
    small: dict[tuple[str, Method], BoilerplateRecord] = dataclasses.field(default_factory=dict)
    """What is to be remembered, after a complete run, of domains that were let go with too few pages to learn from."""
    given: KeyTable = dataclasses.field(default_factory=lambda: KeyTable("B"))
    """Pages of which the run gives items; 1: an earlier part of it gave them. A page that was forgotten would go out
    again, so none is.
    """
    aliases: Aliases = dataclasses.field(default_factory=Aliases)
    evidence: RunEvidence = dataclasses.field(default_factory=RunEvidence)
    """What proves that an item went out already."""
    drops: DropWatch = dataclasses.field(default_factory=DropWatch)
    configs: dict[str, SiteConfig | None] = dataclasses.field(default_factory=dict)
    """What people decided about the domains that were met."""
    duplicates: DuplicateIndex = dataclasses.field(init=False)
    """By their titles, texts and chunks."""
    to_show: "PagesToShow | None" = None
    """Pages that a browser is to look at, where there is one."""

    def __post_init__(self) -> None:
        self.duplicates = DuplicateIndex(self.store, is_alone=self.is_alone)

    def learner(self, domain: str, method: Method) -> Learner | None:
        """Return what is known of a domain; None before the store was asked."""
        learner = self.learners.pop((domain, method), None)
        if learner is not None:
            learner.times_met += 1
            self.learners[domain, method] = learner
        return learner

    def meet(self, domain: str, method: Method, stored: Stored | None) -> Learner:
        """Start to learn a domain, from what the store said of it."""
        self.configs.setdefault(domain, stored.config if stored is not None else None)
        site = SiteLearner(domain, self.settings) if method == "template" else None
        learner = Learner(domain, method, repeat_policy(self.settings), self.settings.learn_pages, site)
        if stored is not None:
            _recall(learner, stored)
        self.small.pop((domain, method), None)
        return self.learners.setdefault((domain, method), learner)

    def keeps(self, draft: Draft) -> bool:
        """Say whether somebody decided that a page stays as it is, whatever a layer says."""
        config = self.configs.get(draft.domain)
        return config is not None and draft.page_key.hex() in config.keep_pages

    def take_in(self, draft: Draft, learner: Learner) -> Steps[None]:
        """Let the domain learn from a page."""
        if learner.site is not None and draft.page is not None:
            learner.site.see(draft.page_key, draft.url, draft.source, draft.page)
        if learner.wants(draft.page_key):
            if draft.page is None or draft.method == "text":
                samples = text_samples(draft.text, self.settings.min_block_chars)
            else:
                samples = html_samples(draft.page)
            if learner.count(draft.page_key, samples):
                yield from self.learn(learner)

    def learn(self, learner: Learner) -> Steps[None]:
        """Make verdicts of what a domain has shown so far."""
        if learner.learn():
            known = learner.record()
            at = datetime.now(UTC)
            if learner.site is not None:
                yield from learner.site.learn(at)
            # At once: who is killed between knows all of it or nothing.
            self.rows.append(known)
            if learner.site is not None:
                self.rows += learner.site.take_records(at)

    def clean(self, draft: Draft, learner: Learner | None, settings: Settings) -> Steps[Cleaned]:
        """Cut a page by what is known now."""
        if "boilerplate" in settings.shadowing and learner is not None:
            # A copy: what the shadow finds out must not show on the item.
            learner.shadowed.append((replace(draft), settings))
            yield from self._judge_shadowed(learner)
            learner = None
        watch = Stopwatch()
        draft.cleaned = yield from self._cut(draft, learner, settings, watch)
        for name, seconds in watch.items():
            self.count(name, seconds)
        if learner is not None and draft.cut is not None:
            self.count(f"pages/by_{draft.cut.how}", 1)
            yield from self._note(draft, learner)
            learner.in_doubt.append((draft, settings))
            yield from self._settle(learner)
        if draft.evidence is not None:
            removed = {one.removal.fingerprint for one in draft.cleaned.removed}
            draft.evidence.note_cut(removed, learner.seen if learner is not None else None)
        return draft.cleaned

    def _settle(self, learner: Learner) -> Steps[None]:
        """Cut the pages in doubt again by what they taught, once it is known whether their site was designed anew.

        At once: when a page that waits goes on is chance, and more may be known by then.
        """
        if learner.site is None or learner.site.is_judging:
            return
        # Taken out first: a page that cannot be cut must not come again with each that follows.
        in_doubt, learner.in_doubt = learner.in_doubt, []
        for draft, settings in in_doubt:
            is_out = draft.went_out or draft.comparison is not None
            if draft.cut is not None and draft.cut_by is not learner.site.knowledge and not is_out:
                before = draft.cut.how
                draft.cleaned = yield from self._cut(draft, learner, settings)
                self.count(f"pages/by_{before}", -1)
                self.count(f"pages/by_{draft.cut.how}", 1)

    def let_go(self, learner: Learner, pages: Collection[bytes]) -> Steps[None]:
        """Learn from pages that do not wait any longer; of those in doubt these go out as they are."""
        learner.in_doubt = [one for one in learner.in_doubt if one[0].page_key not in pages]
        if not learner.known:
            yield from self.learn(learner)

    def _note(self, draft: Draft, learner: Learner) -> Steps[None]:
        """Watch whether what is known of the site still fits, and learn from pages that it does not fit."""
        if learner.site is not None and draft.page is not None and draft.cut is not None:
            key, url, page = draft.page_key, draft.url, draft.page
            if (yield from learner.site.note(key, url, page, draft.cut, draft.fetched_at)):
                self.count("drift/alarms", 1)
            if self.to_show is not None:
                from scrapy_dedup.service.teacher.teaching import PageToShow  # noqa: PLC0415 (few crawls have a teacher)

                self.to_show.meet(
                    learner.site, PageToShow(draft.domain, draft.cut.layout, key, url, draft.source, page)
                )
            if learner.site.is_taught and (self.to_show is None or self.to_show.is_over):
                learner.site.end_teaching()

    def _judge_shadowed(self, learner: Learner, *, at_end: bool = False) -> Steps[None]:
        """Find out what would have been removed of pages, once there is something to find it out by."""
        if not learner.known and len(learner.shadowed) >= self.settings.batch_pages:
            yield from self.learn(learner)
        if not (learner.known or at_end or len(learner.shadowed) >= self.settings.batch_pages):
            return
        shadowed, learner.shadowed = learner.shadowed, []
        for draft, settings in shadowed:
            draft.cleaned = yield from self._cut(draft, learner, settings)
            yield from self._note(draft, learner)
            learner.shadowed_in_doubt.append((draft, settings))
            is_full = len(learner.shadowed_in_doubt) >= min(self.settings.batch_pages, WINDOW)
            if is_full or learner.site is None or not learner.site.is_judging:
                yield from self._tell_shadowed(learner)
        if at_end:
            yield from self._tell_shadowed(learner)

    def _tell_shadowed(self, learner: Learner) -> Steps[None]:
        """Note what would have been removed of pages, as far as that is known by now."""
        at = datetime.now(UTC)
        in_doubt, learner.shadowed_in_doubt = learner.shadowed_in_doubt, []
        for draft, settings in in_doubt:
            site = learner.site
            if site is not None and not site.is_judging and draft.cut_by is not site.knowledge:
                draft.cleaned = yield from self._cut(draft, learner, settings)
            cleaned = draft.cleaned
            if cleaned is not None and cleaned.removed:
                self.count("shadow/boilerplate/pages", 1)
                self.count("shadow/boilerplate/blocks", len(cleaned.removed))
                self.count("shadow/boilerplate/chars", cleaned.chars_removed)
                self.rows += shadow_decisions(draft.page_key, cleaned, at)

    def _cut(
        self, draft: Draft, learner: Learner | None, settings: Settings, watch: Stopwatch | None = None
    ) -> Steps[Cleaned]:
        """Cut a page by what is known of its site now; note its title, date and author."""
        watch = watch or Stopwatch()
        patterns = patterns_of(settings, self.configs.get(draft.domain), draft.domain)
        if learner is not None and learner.site is not None and draft.page is not None and draft.method != "text":
            known, page = learner.site.knowledge, draft.page

            def cut() -> SiteCut:
                with watch.on("boilerplate"):
                    return cut_page(draft.source, page, draft.url, known, settings, patterns)

            draft.cut_by = known
            draft.cut = (yield cut) if len(page.blocks) >= _MANY_BLOCKS else cut()
            draft.metadata = draft.cut.metadata
            return draft.cut.cleaned
        if draft.page is not None and draft.method != "text":
            draft.metadata = metadata_of(draft.page, draft.url)
        if draft.pdf is not None:
            draft.metadata = Metadata(draft.pdf.title, draft.pdf.date, draft.pdf.author)
        html = draft.source if draft.page is not None else ""
        reading = Reading(draft.method, draft.page, draft.text, draft.url, html, is_pdf=draft.pdf is not None)
        with watch.on("boilerplate"):
            repeats = learner.boilerplate if learner is not None else _NOTHING_KNOWN
            return reading.clean(repeats, settings, patterns=patterns)

    def compare(self, draft: Draft, facts: PageFacts, found: Holders, settings: Settings, at: datetime) -> None:
        """Find out what becomes of a page beside the other pages, and let it count for those that come."""
        comparison = draft.comparison = self.duplicates.compare(facts, found, settings)
        self.rows += [*comparison.knowledge(settings), *comparison.decisions(at)]
        for name, number in comparison.counts().items():
            self.count(name, number)

    def emit(self, draft: Draft, at: datetime) -> None:
        """Note that a page goes out: its document is in work, where anything is written of it anew."""
        if draft.held is None:
            self.rows.append(self._document(draft, "processing", at))
        # Of a page that was recalled whole nothing was cut.
        if draft.cleaned is not None and draft.source and not draft.counted:
            draft.counted = True
            for name, number in counts_of(draft.cleaned).items():
                self.count(name, number)
            for _, why in draft.cleaned.held:
                self.count(f"patterns/held_{why.name.lower()}", 1)
            learner = self.learner(draft.domain, draft.method) if draft.held is None else None
            if learner is not None:
                learner.note_cut(draft.cleaned.bytes_removed)
        if draft.cleaned is not None and draft.held is None:
            self.rows += removal_decisions(draft.page_key, draft.cleaned, at)

    def bare(self, draft: Draft, settings: Settings) -> Draft:
        """Cut a page that gave no item; it is not counted, and nothing is learned from it."""
        if draft.page is not None:
            # Nobody reads it: it is not worth the time of judging it.
            settings = dataclasses.replace(settings, fallback="whole")
            draft.cleaned = at_once(self._cut(draft, self.learners.get((draft.domain, draft.method)), settings))
        return draft

    def completed(self, draft: Draft, at: datetime) -> tuple[list[Record], list[Record]]:
        """Return what is written of a page that is not compared with its last version: at once, and when it is safe."""
        url = _crawled(draft, "crawled", draft.page_key)
        return [source_record(draft, draft.fetched_at, self.settings)], [self._document(draft, "completed", at), url]

    def fail(self, draft: Draft, error: str, at: datetime) -> None:
        """Note that a later pipeline failed: the page is not done."""
        self.given.discard(draft.page_key)
        self.evidence.withdraw(draft.page_key)
        if draft.canonical is not None:
            self.aliases.withdraw(draft.canonical.page_key, draft.page_key)
        self.rows.append(self._document(draft, "failed", at, error))
        if draft.comparison is not None:
            self.rows.append(self.duplicates.withdraw(draft.page_key, self.settings))
        self.release(draft)

    def release(self, draft: Draft) -> None:
        """Let other workers have what a page claimed that does not go out."""
        self.rows += [ReleaseRecord(claim, draft.page_key) for claim in draft.claims]

    def _document(self, draft: Draft, status: DocumentStatus, at: datetime, error: str | None = None) -> DocumentRecord:
        cleaned = draft.cleaned
        return DocumentRecord(
            page_key=draft.page_key,
            url=draft.url,
            domain=draft.domain,
            status=status,
            updated_at=at,
            title=draft.head_title,
            canonical_url=draft.canonical.url if draft.canonical else None,
            content_hash=cleaned.content_hash if cleaned else None,
            cleaned_hash=cleaned.cleaned_hash if cleaned else None,
            chars_in=cleaned.chars_in if cleaned else None,
            chars_out=cleaned.chars_out if cleaned else None,
            error=error,
            last_changed_at=draft.fetched_at if status == "completed" else None,
        )

    def note_empty(self, url: str, page_key: bytes, domain: str, http_status: int, at: datetime) -> None:
        """Note that a page was fetched and gave no item; where another fetch of this run gave one, that counts."""
        if page_key not in self.given:
            self.rows.append(CrawledUrlRecord(page_key, url, domain, "crawled", at, http_status))

    def note_redirect(self, alias: Address, domain: str, document_key: bytes, at: datetime) -> None:
        """Note that a URL leads to a page, as another address of it."""
        self.rows.append(
            CrawledUrlRecord(alias.page_key, alias.url, domain, "alias", at, None, document_key, alias_kind="redirect")
        )

    def note_drop(self, draft: Draft, layer: str, reason: str, document_key: bytes, at: datetime) -> None:
        """Note why a page was dropped, and which document has its content."""
        self.rows.append(DecisionRecord(draft.page_key, layer, "dropped", reason, at))
        self.rows.append(_crawled(draft, "duplicate", document_key, alias_kind(layer)))

    def finish(self, learner: Learner, *, complete: bool) -> Steps[None]:
        """Learn what there is to learn of a domain; after a complete run even the smallest one is known."""
        yield from self.learn(learner)
        yield from self._judge_shadowed(learner, at_end=True)
        # By now it is known how much pages lost by it.
        if learner.is_new or (complete and not learner.known):
            self.rows.append(learner.record())
        if learner.site is not None:
            self.rows += learner.site.take_records(datetime.now(UTC))

    def to_rest(self) -> list[Learner]:
        """Return the learners to let go, so that what a crawl of many domains holds of them is bounded."""
        return to_rest(self.learners.values(), self.settings.held_pages)

    def rest(self, learner: Learner) -> None:
        """Let a domain go that has learned what there is to learn: met again, it begins with what the store knows."""
        del self.learners[learner.domain, learner.method]
        if not learner.known:
            self.small[learner.domain, learner.method] = learner.record()
        if not any((learner.domain, method) in self.learners for method in get_args(Method)):
            self.configs.pop(learner.domain, None)

    def finish_small(self) -> None:
        """Let the smallest domains be known that were let go: for the end of a complete run."""
        self.rows += self.small.values()

    def take_over(self, rules: UrlRules) -> None:
        """Take over what an earlier part of this run completed; blocks, for the start of a crawl."""
        keys = list(self.store.finished_keys(self.run.id))
        for key in keys:
            self.given.put(key, 1)
        if not self.settings.canonical_enabled:
            return
        for start in range(0, len(keys), _DOCUMENTS_AT_ONCE):
            some = self.store.documents_in_run(self.run.id, keys[start : start + _DOCUMENTS_AT_ONCE])
            for key, document in some.items():
                target = page_key(document.canonical_url, rules) if document.canonical_url else None
                if target is not None and target not in self.given:
                    self.aliases.stand(target, key)


def _crawled(
    draft: Draft, status: Literal["crawled", "duplicate"], document_key: bytes, kind: AliasKind | None = None
) -> CrawledUrlRecord:
    at, http_status = draft.fetched_at, draft.http_status
    return CrawledUrlRecord(draft.page_key, draft.url, draft.domain, status, at, http_status, document_key, kind)


def is_knowledge(record: Record) -> bool:
    """Say whether a record is what a domain has learned; the last thing to lose when the store cannot be written."""
    return isinstance(record, BoilerplateRecord | TemplateRecord)


def recall_late(crawl: Crawl, domain: str, stored: Stored) -> None:
    """Let what is stored hold from now on; what this crawl learned from as many pages stays."""
    if crawl.configs.get(domain) is None:
        crawl.configs[domain] = stored.config
    for (name, _), learner in crawl.learners.items():
        if name == domain:
            _recall(learner, stored)


def _recall(learner: Learner, stored: Stored) -> None:
    known = stored.boilerplate.get(learner.method)
    if known is not None and known.pages_analyzed > max(learner.boilerplate.pages, learner.counts.pages):
        learner.recall(knowledge_of(known))
    site = learner.site
    knowledge = site_of(learner.domain, stored.templates) if site is not None else None
    if site is None or knowledge is None:
        return
    if site.knowledge is None or site.knowledge.pages < knowledge.pages:
        site.recall(knowledge)

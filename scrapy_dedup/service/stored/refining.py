"""Stored pages, cleaned again by what is known now: which have another clean text than the one that went out.

Whatever reads or writes the store raises StoreError where that fails.
"""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice
from typing import Any, Final, Self

from msgspec import Struct, field
from msgspec.structs import replace

from scrapy_dedup.core.boilerplate.repeats import Boilerplate
from scrapy_dedup.core.duplicates import NEAR_DUPLICATE
from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.metadata import Metadata, metadata_of
from scrapy_dedup.core.pages.fingerprints import content_hash, text_hash
from scrapy_dedup.core.patterns import get_site_config_with_db_overrides
from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.service.cut.cleaning import LAYERS, Cleaned
from scrapy_dedup.service.cut.page_cleaning import CleanedPage
from scrapy_dedup.service.cut.reading import Reading, read_again
from scrapy_dedup.service.cut.removals import removal_decisions
from scrapy_dedup.service.cut.site_cleaning import How, cut_page
from scrapy_dedup.service.cut.site_patterns import SitePatterns, patterns_of, project_config
from scrapy_dedup.service.duplicates.chunking import makes_chunks
from scrapy_dedup.service.duplicates.index import DuplicateIndex, PageComparison, asked_layers
from scrapy_dedup.service.duplicates.page_facts import facts_of
from scrapy_dedup.service.learning import knowledge_of
from scrapy_dedup.service.model_file import model_hash
from scrapy_dedup.service.patterns import stored_config
from scrapy_dedup.service.policies import url_rules
from scrapy_dedup.service.templates.site_knowledge import SiteKnowledge, SiteSample, learn_sample, learned_page
from scrapy_dedup.service.templates.site_records import changes, site_of
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.engine.codec import column_text
from scrapy_dedup.store.engine.errors import DamagedStoreError
from scrapy_dedup.store.pages import site_configs
from scrapy_dedup.store.pages.reads import Reads
from scrapy_dedup.store.records.records import (
    ExtractionRecord,
    Method,
    PageKnowledge,
    Recleaned,
    TemplateRecord,
    TemplateStateRecord,
)
from scrapy_dedup.store.records.shared import STALE_CHUNK
from scrapy_dedup.store.records.stored import StoredSource, StoredState
from scrapy_dedup.store.repositories import RecleaningRepository, SourceRepository, is_of_version
from scrapy_dedup.store.writer import ProjectStore

Entry = Mapping[str, Any]
"""An item as it is kept."""


class Sent(Struct, frozen=True):
    """A text that went out; digits are those of its hash."""

    digits: str
    text: str


def sent_otherwise(source: StoredSource, cleaned: Cleaned) -> Sent | None:
    """Return the text that went out of a page, where the page has another one now, and the store knows."""
    figures = (source.report or {}).get("cleaned")
    digits = figures.get("content_hash") if isinstance(figures, dict) else None
    if not isinstance(digits, str) or digits == cleaned.content_hash.hex():
        return None
    stored = source.cleaned_content or ""
    return Sent(digits, stored if content_hash(stored).hex() == digits else "")


def _values(entry: Entry) -> Mapping[str, Any]:
    found = entry.get("fields")
    return found if isinstance(found, dict) else {}


def recleaned(
    source: StoredSource, cleaned: Cleaned, at: datetime, compared: Sequence[PageKnowledge] = ()
) -> Recleaned:
    """Return what is to be written of a page once its items are safe."""
    return Recleaned(
        page_key=source.page_key,
        cleaned_content=cleaned.content,
        chars_in=cleaned.chars_in,
        chars_out=cleaned.chars_out,
        decisions=removal_decisions(source.page_key, cleaned, at),
        report={"cleaned": cleaned.report},
        fetched_at=source.fetched_at,
        compared=compared,
    )


def write_refined(project: ProjectStore, settings: Settings, pages: Sequence[Recleaned]) -> int:
    """Bring the store up to date, all in one transaction; return how many pages still were those that were cleaned.

    Raises:
        StoreError: the store failed; nothing was written.
    """
    with project.session() as session:
        repository = RecleaningRepository(session, project.id, LAYERS, settings.keep_decisions)
        written = repository.write_refined(pages)
        session.commit()
    return written


class KnownSite(Struct, frozen=True):
    """What is known of one domain."""

    site: SiteKnowledge | None
    boilerplate: Mapping[str, Boilerplate[int]]
    settings: Settings
    patterns: SitePatterns
    is_configured: bool
    """Whether somebody decided something about the site: then pages change also where nothing is learned."""
    changes: tuple[TemplateRecord | TemplateStateRecord, ...] = ()
    """What is to be stored of the site where it was learned anew."""

    @classmethod
    def of(cls, project: ProjectStore, domain: str, settings: Settings) -> Self:
        """Return what the store knows, and what people decided."""
        config = stored_config(project, domain)
        patterns = patterns_of(settings, config, domain)
        boilerplate = {method: knowledge_of(row).boilerplate for method, row in project.knowledge(domain).items()}
        site = site_of(domain, project.templates(domain))
        is_configured = not get_site_config_with_db_overrides(project_config(settings), config).is_empty
        return cls(site, boilerplate, settings, patterns, is_configured)

    def learned_anew(self, domain: str, pages: Iterable[StoredSource], at: datetime) -> Self:
        """Return what the present model says of a site whose templates another one made.

        The site stays as it is where the present model made them, and where fewer pages are kept than it was learned
        from.
        """
        site = self.site
        if site is None or all(one.model == model_hash() for one in site.templates.values()):
            return self
        sample, rules = SiteSample(self.settings.learn_pages), url_rules(self.settings)
        for source in pages:
            key = page_key(source.url, rules)
            reading = read_again(source, self.settings) if sample.wants(key) else None
            if reading is not None and reading.page is not None:
                sample.add(learned_page(key, source.url, reading.page))
        if len(sample) < min(site.pages, sample.most):
            return self
        newer = learn_sample(domain, sample, self.settings).with_snapshots_of(site).with_decisions_of(site)
        return replace(self, site=newer, changes=tuple(changes(site, newer, at)))

    def cut(self, reading: Reading, *, alone: bool = False) -> tuple[Cleaned, Metadata] | None:
        """Cut a page as a crawl would; None where nothing is known by which that could be done.

        One of HTML is cut *alone* then, as by a crawl that knows nothing of its site.
        """
        if reading.method == "template" and reading.page is not None:
            if not (alone or self.is_configured or (self.site is not None and self.site.templates)):
                return None
            found = cut_page(reading.source, reading.page, reading.url, self.site, self.settings, self.patterns)
            return found.cleaned, found.metadata
        boilerplate = self.boilerplate.get(reading.method)
        if boilerplate is None and not self.is_configured:
            return None
        is_text = reading.page is None or reading.method == "text"
        metadata = Metadata() if is_text or reading.page is None else metadata_of(reading.page, reading.url)
        return reading.clean(boilerplate or Boilerplate(), self.settings, patterns=self.patterns), metadata


logger = logging.getLogger(__name__)

PAGES_AT_ONCE: Final = 100
"""As many as `SourceRepository.iterate` reads by one query: between two of them no transaction is open."""

Progress = Callable[[str, int], None]
"""Called with a domain and how many of its pages were looked at since the last call."""


class NothingToRefineError(DedupError):
    """There is nothing that could be cleaned again; the message says why."""


class PassedOver(StrEnum):
    """Why a stored page is not cleaned again."""

    NO_KNOWLEDGE = "no_knowledge"  # nothing is known of its domain: the same model cut it, and would say the same
    UNREADABLE = "unreadable"  # not to be parsed
    NOT_SEEN = "not_seen"  # the items of this version never were safe: it comes again by itself
    REMOVED = "removed"  # it is gone from its site
    WITHOUT_ITEMS = "without_items"  # its callback gives none


class Refinement(Struct, frozen=True):
    """A page whose clean text is another one now."""

    source: StoredSource
    method: Method
    cleaned: Cleaned
    metadata: Metadata
    before: Sent
    """The text that went out."""
    outcome: ExtractionRecord | None = None
    """What the page's callback made of this content last; None where that is not held."""
    places: tuple[int, ...] = ()
    """Of those of its items that were cut from the page."""
    comparison: PageComparison | None = None
    """Its place among the other pages; None where nobody asks for that."""


class DomainChurn(Struct):
    """What refining means for one domain: pages whose text changes although they did not."""

    domain: str
    pages: int = 0
    """Kept pages that were looked at."""
    changed: int = 0
    chars_before: int = 0
    """Characters of clean text of the pages that change, and below, after that."""
    chars_after: int = 0
    example: str | None = None
    """URL of the first page that changes."""
    passed_over: Counter[PassedOver] = field(default_factory=Counter)
    not_kept: int = 0
    """Pages with items whose original is not kept: they cannot be cleaned again."""

    def note(self, found: Refinement) -> None:
        """Take in a page that changes."""
        self.changed += 1
        self.chars_before += len(found.before.text)
        self.chars_after += len(found.cleaned.content)
        self.example = self.example or found.source.url


class Refiner:
    """Looks through the stored pages of a project, in the order of domains and page keys."""

    def __init__(self, project: ProjectStore, settings: Settings) -> None:
        self._project = project
        self._settings = settings
        self._index = DuplicateIndex(project)
        self._met: dict[str, int] = {}
        self._learned: dict[str, Sequence[TemplateRecord | TemplateStateRecord]] = {}
        """What is to be stored of domains that were learned anew."""
        self.churns: dict[str, DomainChurn] = {}
        """By domain, in the order in which they were looked through."""
        self.unchanged: dict[str, list[bytes]] = {}
        """Keys of the pages that were looked at and stay as they are, of domains that were looked through."""

    def domains(self, chosen: Collection[str] | None = None) -> dict[str, int]:
        """Return how many pages are kept of each domain that has pages with items, in the order of domains.

        Raises:
            NothingToRefineError: there are none, or none of a chosen domain; or the layer does nothing.
        """
        if "boilerplate" not in self._settings.acting:
            raise NothingToRefineError(
                "the layer boilerplate is off, or in the shadow: pages go out as they came, and nothing can be refined"
            )
        with self._project.session(read_only=True) as session:
            kept = dict(SourceRepository(session).get_domains_for_project(self._project.id))
            self._met = {one.domain: one.pages for one in Reads(session, self._project.id).domains()}
        known = sorted(kept.keys() | self._met.keys())
        if not known:
            raise NothingToRefineError(f"project {self._project.name!r} has no pages with items: run a crawl first")
        unknown = next((domain for domain in sorted(chosen or ()) if domain not in known), None)
        if unknown is not None:
            some = ", ".join(known[:5])
            raise NothingToRefineError(f"project {self._project.name!r} has no pages of {unknown!r}: it has {some}")
        return {domain: kept.get(domain, 0) for domain in known if not chosen or domain in chosen}

    def lots(self, domains: Collection[str], progress: Progress | None = None) -> Generator[list[Refinement]]:
        """Iterate over the pages whose text changes, those of a hundred kept pages at a time; a lot may be empty.

        Blocks, so call it in a thread where others wait. Between two lots nothing of the store is held.

        *domains* is what `domains` returned; *progress* is told of every hundred pages.
        """
        tell = progress or (lambda _domain, _pages: None)
        for domain in domains:
            churn = self.churns[domain] = DomainChurn(domain)
            known = self._known(domain)
            completed, unchanged = 0, list[bytes]()
            with self._project.session(read_only=True) as session:
                pages = SourceRepository(session).iterate(self._project.id, domain)
                while some := list(islice(pages, PAGES_AT_ONCE)):
                    session.rollback()  # what is read next is read as it is then, and the log of writes can end
                    states = self._project.page_states([source.page_key for source in some])
                    completed += sum(state.status == "completed" for state in states.values())
                    lot = [found for source in some if (found := self._look(source, states, known, churn))]
                    changing = {found.source.page_key for found in lot}
                    unchanged += [source.page_key for source in some if source.page_key not in changing]
                    yield lot
                    tell(domain, len(some))
            self.unchanged[domain], self._learned[domain] = unchanged, known.changes
            churn.not_kept = max(0, self._met.get(domain, 0) - completed)

    def _known(self, domain: str) -> KnownSite:
        """Return what is known of a domain; where another model made its templates, it is learned from its pages."""
        known = KnownSite.of(self._project, domain, self._settings)
        with self._project.session(read_only=True) as session:
            pages = SourceRepository(session).iterate(self._project.id, domain)
            return known.learned_anew(domain, pages, datetime.now(UTC))

    def settle(self) -> int:
        """Store the templates that were learned anew, and note that pages which stay as they are need no cleaning.

        Returns how many pages waited for it.

        Call it once all lots were taken and this is no dry run; pages that change are noted as they are written.
        """
        self._project.write([change for changes in self._learned.values() for change in changes])
        waited = 0
        for keys in self.unchanged.values():
            with self._project.session() as session:
                waited += site_configs.forget_stale(session.connection(), self._project.id, keys)
                session.commit()
        return waited

    def _look(
        self, source: StoredSource, states: Mapping[bytes, StoredState], known: KnownSite, churn: DomainChurn
    ) -> Refinement | None:
        churn.pages += 1
        found = self._judge(source, states.get(source.page_key), known)
        if isinstance(found, PassedOver):
            churn.passed_over[found] += 1
            return None
        if found is not None:
            churn.note(found)
        return found

    def _judge(
        self, source: StoredSource, state: StoredState | None, known: KnownSite
    ) -> Refinement | PassedOver | None:
        """Return what changes of a page; None where nothing does."""
        if state is None or not is_of_version(state, source.fetched_at):
            return PassedOver.NOT_SEEN
        if state.gone_at is not None:
            return PassedOver.REMOVED
        reading = read_again(source, self._settings)
        if reading is None:
            return PassedOver.UNREADABLE
        cut = known.cut(reading, alone=self._is_of_another_model(source))
        if cut is None:
            return PassedOver.NO_KNOWLEDGE
        outcomes = self._outcomes(state)
        if outcomes and outcomes[0].items is not None and not outcomes[0].items:
            return PassedOver.WITHOUT_ITEMS
        found = self._refinement(source, reading.method, cut, outcomes, moved=state.stale == STALE_CHUNK)
        return None if found is None else replace(found, comparison=self._compared(reading, source, cut[0]))

    def _is_of_another_model(self, source: StoredSource) -> bool:
        """Say whether a page went out by the word of another model, that judged it by itself."""
        made_by = source.report.get("model") if source.report is not None else None
        return made_by not in (None, model_hash()) and self._settings.fallback != "whole"

    def _compared(self, reading: Reading, source: StoredSource, cleaned: Cleaned) -> PageComparison | None:
        """Return which chunks of a page go out now; whether it goes out itself was decided when it came."""
        if not makes_chunks(self._settings):
            return None
        page = CleanedPage(
            source.url, source.page_key, source.domain, cleaned, Metadata(), How.WHOLE, page=reading.page
        )
        facts = facts_of(page, self._project.id.bytes, url_rules(self._settings), self._settings)
        title_key = text_hash(source.title) if source.title else facts.title_key
        facts = replace(facts, title_key=title_key, is_new=False)
        found = self._index.ask(facts, self._settings)
        near = {NEAR_DUPLICATE} if self._settings.near_duplicate == "mark" else set[str]()
        same = self._index.same(facts, found, self._settings, asked_layers(self._settings) & near)
        chunks = self._index.chunks(facts, found, self._settings)
        self._index.admit(facts, same, chunks, dropped=False)
        return PageComparison(facts, same, dropped=False, chunks=chunks)

    def _refinement(
        self,
        source: StoredSource,
        method: Method,
        cut: tuple[Cleaned, Metadata],
        outcomes: Sequence[ExtractionRecord],
        *,
        moved: bool,
    ) -> Refinement | None:
        """Return what changes: the stored text, the one that went out, or chunks that moved to the page."""
        cleaned, metadata = cut
        newest = outcomes[0] if outcomes else None
        items = (newest.items if newest is not None else None) or ()
        own = (None, source.url, [source.url])
        places = [at for at, one in enumerate(items) if _values(one).get(self._settings.url_field) in own]
        sent = sent_otherwise(source, cleaned)
        stored = source.cleaned_content or ""
        if stored == column_text(cleaned.content) and sent is None and not moved:
            return None
        before = sent or Sent(content_hash(stored).hex(), stored)
        return Refinement(source, method, cleaned, metadata, before, newest, tuple(places))

    def _outcomes(self, state: StoredState) -> list[ExtractionRecord]:
        """Return what callbacks made of a page's content, newest first."""
        if not state.memo_keys:
            return []
        try:
            held = self._project.extractions_of(state.page_key)
        except DamagedStoreError as error:
            # A crawl makes the page anew for the same reason; its text can be cleaned all the same.
            logger.warning("What is held of %s cannot be read: %s", state.url, error)
            return []
        return [one for one in held if one.content_hash == state.content_hash]

"""Stored pages, cleaned again by what is known now: which have another clean text than the one that went out."""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import Final

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.fingerprints import content_hash
from scrapy_dedup.core.metadata import Metadata, metadata_of
from scrapy_dedup.core.patterns_config import get_site_config_with_db_overrides
from scrapy_dedup.core.repeats import Boilerplate
from scrapy_dedup.service.cleaning import Cleaned
from scrapy_dedup.service.learning import knowledge_of
from scrapy_dedup.service.reading import Reading, read_again
from scrapy_dedup.service.refined_outcomes import Sent, own_places, sent_otherwise
from scrapy_dedup.service.site_cleaning import cut_page
from scrapy_dedup.service.site_config import stored_config
from scrapy_dedup.service.site_knowledge import SiteKnowledge
from scrapy_dedup.service.site_patterns import SitePatterns, patterns_of, project_config
from scrapy_dedup.service.site_records import site_of
from scrapy_dedup.settings import Settings
from scrapy_dedup.store import site_configs
from scrapy_dedup.store.codec import column_text
from scrapy_dedup.store.errors import DamagedStoreError
from scrapy_dedup.store.reads import Reads
from scrapy_dedup.store.records import Method
from scrapy_dedup.store.refinements import is_of_version
from scrapy_dedup.store.repositories import SourceRepository
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.stored import StoredSource
from scrapy_dedup.store.stored_visits import StoredExtraction, StoredState
from scrapy_dedup.store.writer import ProjectStore

logger = logging.getLogger(__name__)

PAGES_AT_ONCE: Final = 100
"""As many as `SourceRepository.iterate` reads by one query: between two of them no transaction is open."""

Progress = Callable[[str, int], None]
"""Called with a domain and how many of its pages were looked at since the last call."""


class NothingToRefineError(DedupError):
    """There is nothing that could be cleaned again; the message says why."""


class PassedOver(StrEnum):
    """Why a stored page is not cleaned again."""

    NO_KNOWLEDGE = "no_knowledge"  # nothing is known of its domain: the fallback cut it, and would say the same
    UNREADABLE = "unreadable"  # not to be parsed
    NOT_SEEN = "not_seen"  # the items of this version never were safe: it comes again by itself
    REMOVED = "removed"  # it is gone from its site
    WITHOUT_ITEMS = "without_items"  # its callback gives none


@dataclass(frozen=True, slots=True)
class Refinement:
    """A page whose clean text is another one now."""

    source: StoredSource
    method: Method
    cleaned: Cleaned
    metadata: Metadata
    before: Sent
    """The text that went out."""
    outcome: StoredExtraction | None = None
    """What the page's callback made of this content last; None where that is not held."""
    places: tuple[int, ...] = ()
    """Of those of its items that were cut from the page."""
    older: tuple[StoredExtraction, ...] = ()
    """What other callbacks, or earlier versions of it, made of the same content."""


@dataclass(slots=True)
class Churn:
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

    def __init__(self, store: Store, project: ProjectStore, settings: Settings) -> None:
        self._store = store
        self._project = project
        self._settings = settings
        self._met: dict[str, int] = {}
        self.churns: dict[str, Churn] = {}
        """By domain, in the order in which they were looked through."""
        self.unchanged: dict[str, list[bytes]] = {}
        """Keys of the pages that were looked at and stay as they are, of domains that were looked through."""

    def domains(self, chosen: Collection[str] | None = None) -> dict[str, int]:
        """Return how many pages are kept of each domain that has pages with items, in the order of domains.

        Raises:
            NothingToRefineError: there are none, or none of a chosen domain; or the layer does nothing.
            StoreError: the store failed.
        """
        if not self._settings.acts("boilerplate"):
            raise NothingToRefineError(
                "the layer boilerplate is off, or in the shadow: pages go out as they came, and nothing can be refined"
            )
        with self._store.session(read_only=True) as session:
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

        Args:
            domains: what `domains` returned.
            progress: is told of every hundred pages.

        Raises:
            StoreError: the store failed.
        """
        tell = progress or _silent
        for domain in domains:
            churn = self.churns[domain] = Churn(domain)
            known = _Known.of(self._store, self._project, domain, self._settings)
            completed, unchanged = 0, list[bytes]()
            with self._store.session(read_only=True) as session:
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
            self.unchanged[domain] = unchanged
            churn.not_kept = max(0, self._met.get(domain, 0) - completed)

    def forget_stale(self) -> int:
        """Note that the pages which stay as they are need no cleaning again; return how many waited for it.

        Call it once all lots were taken and this is no dry run; pages that change are noted as they are written.

        Raises:
            StoreError: the store failed.
        """
        waited = 0
        for keys in self.unchanged.values():
            with self._store.session() as session:
                waited += site_configs.forget_stale(session.connection(), self._project.id, keys)
                session.commit()
        return waited

    def _look(
        self, source: StoredSource, states: Mapping[bytes, StoredState], known: "_Known", churn: Churn
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
        self, source: StoredSource, state: StoredState | None, known: "_Known"
    ) -> Refinement | PassedOver | None:
        """Return what changes of a page; None where nothing does."""
        if state is None or not is_of_version(state, source.fetched_at):
            return PassedOver.NOT_SEEN
        if state.gone_at is not None:
            return PassedOver.REMOVED
        reading = read_again(source, self._settings)
        if reading is None:
            return PassedOver.UNREADABLE
        cut = known.cut(reading)
        if cut is None:
            return PassedOver.NO_KNOWLEDGE
        outcomes = self._outcomes(state)
        if outcomes and outcomes[0].items is not None and not outcomes[0].items:
            return PassedOver.WITHOUT_ITEMS
        return self._refinement(source, reading.method, cut, outcomes)

    def _refinement(
        self, source: StoredSource, method: Method, cut: tuple[Cleaned, Metadata], outcomes: Sequence[StoredExtraction]
    ) -> Refinement | None:
        """Return what changes: the stored text, or, where an analysis has changed that, the one that went out."""
        cleaned, metadata = cut
        newest = outcomes[0] if outcomes else None
        items = (newest.items if newest is not None else None) or ()
        places = own_places(items, source, cleaned, self._settings.url_field)
        sent = sent_otherwise(items, places, cleaned)
        stored = source.cleaned_content or ""
        if stored == column_text(cleaned.content) and sent is None:
            return None
        before = sent or Sent(content_hash(stored).hex(), stored)
        return Refinement(source, method, cleaned, metadata, before, newest, tuple(places), tuple(outcomes[1:]))

    def _outcomes(self, state: StoredState) -> list[StoredExtraction]:
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


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of one domain."""

    site: SiteKnowledge | None
    boilerplate: Mapping[str, Boilerplate[int]]
    settings: Settings
    patterns: SitePatterns
    is_configured: bool
    """Whether somebody decided something about the site: then pages change also where nothing is learned."""

    @classmethod
    def of(cls, store: Store, project: ProjectStore, domain: str, settings: Settings) -> "_Known":
        config = stored_config(store, project, domain)
        patterns = patterns_of(settings, config, domain)
        boilerplate = {method: knowledge_of(row).boilerplate for method, row in project.knowledge(domain).items()}
        site = site_of(domain, project.templates(domain))
        is_configured = not get_site_config_with_db_overrides(project_config(settings), config).is_empty
        return cls(site, boilerplate, settings, patterns, is_configured)

    def cut(self, reading: Reading) -> tuple[Cleaned, Metadata] | None:
        """Cut a page as a crawl would; None where nothing is known by which that could be done."""
        if reading.method == "template" and reading.page is not None:
            if not (self.is_configured or (self.site is not None and self.site.templates)):
                return None
            found = cut_page(reading.source, reading.page, reading.url, self.site, self.settings, self.patterns)
            return found.cleaned, found.metadata
        boilerplate = self.boilerplate.get(reading.method)
        if boilerplate is None and not self.is_configured:
            return None
        is_text = reading.page is None or reading.method == "text"
        metadata = Metadata() if is_text or reading.page is None else metadata_of(reading.page, reading.url)
        return reading.clean(boilerplate or Boilerplate(), self.settings, patterns=self.patterns), metadata


def _silent(_domain: str, _pages: int) -> None:
    """Tell nobody."""

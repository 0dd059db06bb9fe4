"""The registry of a project's domains: what there is, what people decide, what a crawl asks, and what runs leave.

A name may be typed in any spelling, or as a URL. Of two names that were joined, with and without `www.`, one domain
stands for both: what is decided about either holds for both.

Whatever reads or writes the store raises StoreError where that fails.
"""

import uuid
from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from functools import partial
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Connection

from scrapy_dedup.core import domains as domain_states
from scrapy_dedup.core.domains import (
    Blacklisting,
    DomainRefusal,
    DomainStanding,
    DomainStatus,
    RefusedDomains,
    RequestPolicy,
    after_run,
    checked_domain,
    domain_name,
    is_pattern,
    named_by,
    unblacklisted,
)
from scrapy_dedup.core.errors import DedupError, MissingError
from scrapy_dedup.service.domains.twins import settle_twins
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.domains import lists as domain_lists
from scrapy_dedup.store.domains import registry as domains
from scrapy_dedup.store.domains.lists import DomainChoice, DomainCounts, DomainList
from scrapy_dedup.store.domains.registry import StoredDomain, TwinPair
from scrapy_dedup.store.engine.codec import optional_text
from scrapy_dedup.store.records.records import DecisionRecord
from scrapy_dedup.store.tables.statements import chunks
from scrapy_dedup.store.writer import ProjectStore

_SHOWN_CHARS = 100


class ChosenDomains(Struct, frozen=True):
    """What patterns and names stand for.

    Attributes:
        domains: that are registered, in the order of their names.
        new: names that are not, in the order in which they were given.
        unmatched: patterns that stand for none; nothing is kept of them for names to come.
    """

    domains: tuple[StoredDomain, ...]
    new: tuple[str, ...]
    unmatched: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """All of them."""
        return [*(each.domain_name for each in self.domains), *self.new]


class DomainService:
    """Knows and changes the domains of a project. The clock is given: *at* is the present instant.

    Every method raises StoreError when the database fails, and DomainNameError for a text that names no domain; then
    nothing was changed.
    """

    def __init__(self, project: ProjectStore, settings: Settings) -> None:
        """Take the project and the settings whose scope (host or registrable domain) a name is read by."""
        self._project = project
        self._project_id = project.id
        self._settings = settings

    # Registering and finding.

    def register_domain(self, name: str, at: datetime, *, session_id: uuid.UUID | None = None) -> StoredDomain:
        """Return the domain of that name, which is added if it is new."""
        return self.register_domains([name], at, session_id=session_id)[0]

    def register_domains(
        self, names: Iterable[str], at: datetime, *, session_id: uuid.UUID | None = None
    ) -> list[StoredDomain]:
        """Return the domains of these names, in their order, each once; those that are new are added."""
        wanted = self._names(names)
        with self._project.transaction(write=True) as connection:
            domains.register(connection, self._project_id, wanted, at, session_id)
            return self._shown(connection, wanted)

    def domain_exists(self, name: str) -> bool:
        """Return whether a domain is registered; a text that names none is not."""
        return self.find_by_domain_name(name) is not None

    def find_by_domain_name(self, name: str) -> StoredDomain | None:
        """Return the domain of that name, or the one that it was joined to; None where there is none."""
        normal = domain_name(name, self._settings.domain_scope)
        if normal is None:
            return None
        pair = self._pair(normal)
        return pair.domain if pair else None

    def joined_with(self, domain: StoredDomain) -> str | None:
        """Return the twin that a domain stands for, too; None where there is none."""
        pair = self._pair(domain.domain_name)
        return pair.joined.domain_name if pair and pair.joined else None

    def matching(self, patterns: Iterable[str]) -> list[StoredDomain]:
        """Return the registered domains that any of the patterns stands for, in the order of names."""
        scope = self._settings.domain_scope
        wanted = [each if is_pattern(each) else domain_name(each, scope) or "" for each in patterns]
        with self._project.transaction() as connection:
            return domains.matching(connection, self._project_id, wanted)

    def choose(self, patterns: Iterable[str]) -> ChosenDomains:
        """Return the domains that patterns stand for, and the names among them that are not registered.

        Raises:
            DomainNameError: one is neither a pattern nor a name.
        """
        given = list(patterns)
        names = self._names(each for each in given if not is_pattern(each))
        globs = dict.fromkeys(filter(is_pattern, given))
        found = self.matching([*names, *globs])
        known = dict.fromkeys(each.domain_name for each in found)
        new = tuple(name for name in names if name not in known)
        return ChosenDomains(tuple(found), new, tuple(glob for glob in globs if not any(map(named_by(glob), known))))

    def list_domains(self, choice: DomainChoice) -> DomainList:
        """Return a page of the list of domains.

        Raises:
            CursorError: `after` is no cursor of this list.
        """
        with self._project.transaction() as connection:
            return domain_lists.list_domains(connection, self._project_id, choice)

    def counts(self) -> DomainCounts:
        """Return how many domains there are by status, and how many twins with and without `www.`."""
        with self._project.transaction() as connection:
            return domain_lists.count_domains(connection, self._project_id)

    def get_blacklisted_domains(self, at: datetime, *, after: str = "", limit: int | None = None) -> list[StoredDomain]:
        """Return the domains whose blacklist holds, both of a joined pair, by name; so many behind one, or all."""
        with self._project.transaction() as connection:
            return domains.blacklisted(connection, self._project_id, at, after, limit)

    def get_high_quality_domains(self, min_candidates: int = 1) -> list[StoredDomain]:
        """Return the domains of high quality with so many good candidates at least, in the order of their names."""
        with self._project.transaction() as connection:
            return domains.high_quality(connection, self._project_id, min_candidates)

    # Deciding.

    def update_status(self, domain_id: uuid.UUID, status: DomainStatus, at: datetime) -> StoredDomain:
        """Give a domain a status, and its twin if they are joined; any but BLACKLISTED ends its blacklist.

        Raises:
            UnknownDomainError: there is no such domain.
        """
        with self._project.transaction(write=True) as connection:
            found = domains.find_by_id(connection, self._project_id, domain_id)
            if found is None:
                raise UnknownDomainError(f"domain {domain_id}: this project has none of that id")
            decide(
                connection,
                self._project_id,
                [found.domain_name],
                at,
                lambda one: domain_states.with_status(one, status, at),
            )
            return self._shown(connection, [found.domain_name])[0]

    def blacklist_domain(
        self, name: str, at: datetime, *, by: str | None, reason: str | None, expires_at: datetime | None = None
    ) -> StoredDomain:
        """Blacklist a domain, and its twin if they are joined; one that is not registered is, so that it never comes.

        *name* is in any spelling, or a URL; *by* wants it, for a *reason*; from *expires_at* on the domain is what it
        was before, None: until somebody says so.
        """
        return self.blacklist_domains([name], at, by=by, reason=reason, expires_at=expires_at)[0]

    def blacklist_domains(
        self,
        names: Iterable[str],
        at: datetime,
        *,
        by: str | None,
        reason: str | None,
        expires_at: datetime | None = None,
    ) -> list[StoredDomain]:
        """Blacklist domains, all or none; return them, each once."""
        wanted = self._names(names)
        why = Blacklisting(at, optional_text(by), optional_text(reason), expires_at)
        with self._project.transaction(write=True) as connection:
            domains.register(connection, self._project_id, wanted, at)
            decide(connection, self._project_id, wanted, at, lambda one: domain_states.blacklisted(one, why))
            return self._shown(connection, wanted)

    def unblacklist_domain(self, name: str, at: datetime) -> StoredDomain:
        """End a domain's blacklist: it is what it was before. Nothing happens to one that is not blacklisted.

        Raises:
            UnknownDomainError: it is not registered.
        """
        return self.unblacklist_domains([name], at)[0]

    def unblacklist_domains(self, names: Iterable[str], at: datetime) -> list[StoredDomain]:
        """End the blacklist of domains, of all or none; return them, each once.

        Raises:
            UnknownDomainError: one is not registered.
        """
        wanted = self._names(names)
        with self._project.transaction(write=True) as connection:
            self._known(connection, wanted)
            decide(connection, self._project_id, wanted, at, domain_states.unblacklisted)
            return self._shown(connection, wanted)

    def update_candidate_counts(
        self, name: str, at: datetime, *, high: int, low: int, confidence: float | None
    ) -> StoredDomain:
        """Note how many good and other candidates a domain gave, and the best confidence, which never falls.

        Its status is another then: of high quality if the best is DEDUP_DOMAIN["high_quality"] or more.

        Raises:
            UnknownDomainError: it is not registered.
            DomainFigureError: the confidence is none.
        """
        if confidence is not None and not 0 <= confidence <= 1:
            raise DomainFigureError(f"the confidence of {name[:_SHOWN_CHARS]} is {confidence!r}: 0.0 to 1.0 is needed")
        wanted = self._names([name])
        with self._project.transaction(write=True) as connection:
            self._known(connection, wanted)
            domain = self._shown(connection, wanted)[0]
            # A run that saw only the pages that changed does not unsay what an earlier one saw.
            scores = [score for score in (domain.best_confidence_score, confidence) if score is not None]
            best = max(scores, default=None)
            values = {
                "high_quality_candidate_count": high,
                "low_quality_candidate_count": low,
                "best_confidence_score": best,
                "last_processed_at": at,
            }
            domains.change(connection, {domain.domain_id: values}, at)
            change = partial(after_run, best=best, high_quality=self._settings.high_quality)
            decide(connection, self._project_id, wanted, at, change)
            return self._shown(connection, wanted)[0]

    # Within.

    def _names(self, texts: Iterable[str]) -> list[str]:
        """Return the names that texts stand for, each once, in their order."""
        return list(dict.fromkeys(checked_domain(text, self._settings.domain_scope) for text in texts))

    def _known(self, connection: Connection, names: Collection[str]) -> None:
        found = domains.find(connection, self._project_id, names)
        for name in names:
            if name not in found:
                raise UnknownDomainError(f"domain {name!r} is not registered: `scrapy dedup domains list` shows all")

    def _shown(self, connection: Connection, names: Collection[str]) -> list[StoredDomain]:
        """Return the domains that stand for names, each once, in the order of names."""
        pairs = domains.find_pairs(connection, self._project_id, names)
        return list({pairs[name].domain.domain_id: pairs[name].domain for name in names}.values())

    def _pair(self, name: str) -> TwinPair | None:
        with self._project.transaction() as connection:
            return domains.find_pairs(connection, self._project_id, [name]).get(name)


class UnknownDomainError(MissingError):
    """A domain is not registered."""


class DomainFigureError(DedupError):
    """A figure is none that a domain can have."""


def decide(
    connection: Connection,
    project_id: uuid.UUID,
    names: Collection[str],
    at: datetime,
    change: Callable[[DomainStanding], DomainStanding],
) -> None:
    """Change what stands about registered domains, and about the twins that are joined with them."""
    pairs = domains.find_pairs(connection, project_id, names).values()
    rows = {row.domain_name: row for pair in pairs for row in pair.rows}
    changed = [(row, change(row.standing)) for _, row in sorted(rows.items())]
    changed = [(row, standing) for row, standing in changed if standing != row.standing]
    domains.set_standings(connection, [row for row, _ in changed], [standing for _, standing in changed], at)


def lift_expired(project: ProjectStore, at: datetime) -> list[str]:
    """Write down what domains are whose blacklist is over; return their names. Nobody heeds such a blacklist anyway."""
    with project.transaction() as connection:
        names = [each.domain_name for each in domains.expired(connection, project.id, at)]
    if names:
        with project.transaction(write=True) as connection:
            decide(connection, project.id, names, at, unblacklisted)
    return names


LAYER: Final = "domain"
DROPPED: Final = "dropped"
SHADOW: Final = "shadow"
_REASON_CHARS: Final = 500
_NAMES_AT_ONCE: Final = 2_000


class RefusedPage(Struct, frozen=True):
    """A page that was not asked for."""

    page_key: bytes
    domain: str
    why: DomainRefusal
    at: datetime
    is_shadow: bool = False


def request_policy(settings: Settings) -> RequestPolicy:
    """Return what becomes of domains of low quality."""
    return RequestPolicy(settings.domain_policy, settings.domain_sample_pages)


def refused_domains(store: ProjectStore, settings: Settings) -> RefusedDomains:
    """Return the domains that a crawl does not ask, or not for everything; by one query."""
    heeds_quality = settings.domain_policy != "crawl"
    low = DomainStatus.PROCESSED_LOW_QUALITY
    found = store.domains_with_status([DomainStatus.BLACKLISTED, *([low] if heeds_quality else [])])
    blacklisted = {one.domain_name: one.blacklist_expires_at for one in found if one.status == DomainStatus.BLACKLISTED}
    poor = (one.domain_name for one in found if low in (one.status, one.status_before))
    return RefusedDomains(blacklisted, frozenset(poor) if heeds_quality else frozenset())


def refusal_records(store: ProjectStore, refused: Iterable[RefusedPage], settings: Settings) -> list[DecisionRecord]:
    """Return what is written down of pages that were not asked for: why, and by whose word."""
    pages, found = list(refused), []
    registered = store.registered_domains({page.domain for page in pages})
    for page in pages:
        domain, is_blacklisted = registered.get(page.domain), page.why is DomainRefusal.BLACKLISTED
        told = _blacklisted(domain) if is_blacklisted else _low_quality(page.why, domain, settings)
        reason = f"{'would be refused: ' if page.is_shadow else ''}{page.domain} is {told}"[:_REASON_CHARS]
        found.append(DecisionRecord(page.page_key, LAYER, SHADOW if page.is_shadow else DROPPED, reason, page.at))
    return found


def _blacklisted(domain: StoredDomain | None) -> str:
    if domain is None or domain.status != DomainStatus.BLACKLISTED:
        # It was when the page was refused; somebody has changed that meanwhile.
        return "blacklisted"
    told = "blacklisted"
    if domain.blacklisted_by:
        told += f" by {domain.blacklisted_by}"
    if domain.blacklisted_at is not None:
        told += f" since {_day(domain.blacklisted_at)}"
    if domain.blacklist_expires_at is not None:
        told += f" until {_day(domain.blacklist_expires_at)}"
    return f"{told}: {domain.blacklist_reason}" if domain.blacklist_reason else told


def _low_quality(why: DomainRefusal, domain: StoredDomain | None, settings: Settings) -> str:
    best = domain.best_confidence_score if domain is not None else None
    told = "of low quality" if best is None else f"of low quality (best confidence {best:.2f})"
    if why is DomainRefusal.SAMPLED:
        asked = f"this run has asked for {settings.domain_sample_pages} of its pages"
        return f'{told}, and {asked} (DEDUP_DOMAIN["policy"]=sample)'
    return f'{told} (DEDUP_DOMAIN["policy"]=skip)'


def _day(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


def settle_run(
    store: ProjectStore, names: Collection[str], settings: Settings, at: datetime, *, run_id: Any
) -> set[str]:
    """Register the domains of a run that is over, write what is known of each, join twins; return their names.

    Domains whose blacklist has ended are what they were before from now on, in the registry, too. A second time changes
    nothing. Domains of runs that were killed are made up for.

    *names* are those of domains that the run asked something; what it and runs that were killed have written counts,
    too.

    Raises:
        StoreError: the store failed; what was settled before stays.
    """
    lift_expired(store, at)
    ordered = sorted(store.domains_of_run(run_id, at).union(names) - {""})
    for some in chunks(ordered, _NAMES_AT_ONCE):
        store.settle_domains(some, at, high_quality=settings.high_quality)
    if ordered:
        settle_twins(store, ordered, settings, at)
    return set(ordered)

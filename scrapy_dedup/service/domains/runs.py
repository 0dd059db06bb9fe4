"""A crawl and the registry of domains: which are not asked, why, and what a run leaves; every call blocks."""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from scrapy_dedup.core.domains import DomainRefusal, DomainStatus, RefusedDomains, RequestPolicy
from scrapy_dedup.service.domains.registry import lift_expired
from scrapy_dedup.service.domains.twins import settle_twins
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.domains.registry import StoredDomain
from scrapy_dedup.store.records.records import DecisionRecord
from scrapy_dedup.store.writer import ProjectStore

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
    """Return the domains that a crawl does not ask, or not for everything; by one query.

    Raises:
        StoreError: the store failed.
    """
    heeds_quality = settings.domain_policy != "crawl"
    low = DomainStatus.PROCESSED_LOW_QUALITY
    found = store.domains_with_status([DomainStatus.BLACKLISTED, *([low] if heeds_quality else [])])
    blacklisted = {one.domain_name: one.blacklist_expires_at for one in found if one.status == DomainStatus.BLACKLISTED}
    poor = (one.domain_name for one in found if low in (one.status, one.status_before))
    return RefusedDomains(blacklisted, frozenset(poor) if heeds_quality else frozenset())


def refusal_records(store: ProjectStore, refused: Iterable[RefusedPage], settings: Settings) -> list[DecisionRecord]:
    """Return what is written down of pages that were not asked for: why, and by whose word.

    Raises:
        StoreError: the store failed.
    """
    pages = list(refused)
    registered = store.registered_domains({page.domain for page in pages})
    return [
        DecisionRecord(
            page.page_key,
            LAYER,
            SHADOW if page.is_shadow else DROPPED,
            _reason(page, registered.get(page.domain), settings),
            page.at,
        )
        for page in pages
    ]


def _reason(page: RefusedPage, domain: StoredDomain | None, settings: Settings) -> str:
    told = _blacklisted(domain) if page.why is DomainRefusal.BLACKLISTED else _low_quality(page.why, domain, settings)
    return f"{'would be refused: ' if page.is_shadow else ''}{page.domain} is {told}"[:_REASON_CHARS]


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

    Args:
        store: of the project.
        names: of domains that the run asked something.
        settings: of the crawl.
        at: now.
        run_id: of the run; what it and runs that were killed have written counts, too.

    Raises:
        StoreError: the store failed; what was settled before stays.
    """
    lift_expired(store, at)
    ordered = sorted(store.domains_of_run(run_id, at).union(names) - {""})
    for start in range(0, len(ordered), _NAMES_AT_ONCE):
        store.settle_domains(ordered[start : start + _NAMES_AT_ONCE], at, high_quality=settings.high_quality)
    if ordered:
        settle_twins(store, ordered, settings, at)
    return set(ordered)

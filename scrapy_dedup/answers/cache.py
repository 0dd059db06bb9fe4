"""What is held of pages, so that they need not be fetched and extracted again."""

from dataclasses import asdict
from typing import Any, Final

from scrapy_dedup.service.cache_check import Check
from scrapy_dedup.service.cache_stats import CacheStats, DomainCache
from scrapy_dedup.service.cache_upkeep import Listing, Removal

_COUNTS: Final = ("sent", "not_modified", "useless", "changed_304")


def cache_stats_answer(stats: CacheStats) -> dict[str, Any]:
    """Return what coming again spared."""
    run = stats.run
    return {
        "project": stats.project,
        "run": run
        and {
            "id": str(run.id),
            "spider": run.spider,
            "status": run.status,
            "started_at": run.started_at.isoformat(),
        },
        "price": stats.price,
        "money_saved": stats.money_saved,
        "total": _domain(stats.total),
        "domains": [
            {**_domain(each), "validators": validators_answer(each), "lastmod": _lastmod(each)}
            for each in stats.domains
        ],
    }


def _domain(each: DomainCache) -> dict[str, Any]:
    return {
        "domain": each.domain,
        "visits": each.visits,
        "hit_rate": each.hit_rate,
        "callbacks_run": each.callbacks_run,
        "callbacks_saved": each.saved.pages,
        "bytes_received": each.bytes_received,
        "bytes_saved": each.saved.bytes_saved,
        "seconds_saved": each.saved.seconds_saved,
        "ways": {way: asdict(answered) for way, answered in each.ways.items()},
        "extractions": each.extractions,
        "packed_bytes": each.packed_bytes,
    }


def validators_answer(each: DomainCache | None) -> dict[str, Any] | None:
    """Return how far a domain's validators are believed; None where nobody knows yet."""
    if each is None or each.validators is None or each.trust is None:
        return None
    return {name: getattr(each.validators, name) for name in _COUNTS} | asdict(each.trust)


def _lastmod(each: DomainCache) -> dict[str, Any] | None:
    if each.validators is None or each.lastmod_trust is None:
        return None
    counts = {"right": each.validators.lastmod_right, "wrong": each.validators.lastmod_wrong}
    return counts | asdict(each.lastmod_trust)


def cache_list_answer(listing: Listing) -> dict[str, Any]:
    """Return pages with extractions, and how many there are."""
    names = ("url", "domain", "extractions", "current", "packed_bytes")
    pages = [
        {name: getattr(page, name) for name in names} | {"extracted_at": page.extracted_at.isoformat()}
        for page in listing.pages
    ]
    return {"pages": pages, "total": listing.total}


def cache_removal_answer(removal: Removal) -> dict[str, Any]:
    """Return what was deleted, or would be."""
    figures = {"extractions": removal.extractions, "packed_bytes": removal.packed_bytes}
    return {"dry_run": not removal.done, **figures, "unknown": list(removal.unknown)}


def cache_check_answer(check: Check, *, dry_run: bool) -> dict[str, Any]:
    """Return what is damaged, and what was done about it."""
    damages = [{"url": one.url, "part": one.part, "reason": one.reason} for one in check.damages]
    figures = {"pages": check.pages, "extractions": check.extractions, "damaged": dict(check.damaged)}
    return {**figures, "damages": damages, "fixed": check.fixed, "dry_run": dry_run}

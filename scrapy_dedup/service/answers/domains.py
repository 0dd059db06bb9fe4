"""Domains as JSON: of commands, REST and MCP."""

from collections.abc import Iterable
from dataclasses import fields
from datetime import datetime
from typing import Any

from scrapy_dedup.core.domain_states import is_blacklisted
from scrapy_dedup.service.domain_files import BadRow
from scrapy_dedup.service.domain_transfer import Imported
from scrapy_dedup.service.domain_twins import Twins
from scrapy_dedup.store.candidates import StoredCandidate
from scrapy_dedup.store.domain_lists import DomainCounts, DomainList
from scrapy_dedup.store.domains import StoredDomain

_SHARE_DIGITS = 4


def domain_answer(domain: StoredDomain) -> dict[str, Any]:
    """Return a domain as JSON has it: a field a column; times are ISO 8601, in UTC."""
    named = {field.name: _plain(getattr(domain, field.name)) for field in fields(domain)}
    return {**named, "domain_id": str(domain.domain_id), "discovery_session_id": _text(domain.discovery_session_id)}


def domain_list_answer(project: str, found: DomainList, counts: DomainCounts) -> dict[str, Any]:
    """Return a page of a list of domains, and how many domains there are of which kind."""
    listed = [domain_answer(domain) for domain in found.domains]
    return {"project": project, "domains": listed, "next": found.next, "total": found.total, **counts_answer(counts)}


def counts_answer(counts: DomainCounts) -> dict[str, Any]:
    """Return how many domains there are by status, and how many are twins."""
    return {
        "statuses": dict(counts.statuses),
        "twins": counts.twins,
        "twin_share": round(counts.twin_share, _SHARE_DIGITS),
        "joined": counts.joined,
    }


def one_domain_answer(
    domain: StoredDomain, joined: str | None, candidates: Iterable[StoredCandidate], at: datetime
) -> dict[str, Any]:
    """Return a domain with its candidates, and whether it is blacklisted at an instant.

    Args:
        domain: as it is stored.
        joined: the twin that it stands for, too.
        candidates: newest first.
        at: the instant.
    """
    return {
        "domain": domain_answer(domain),
        "joined": joined,
        "blacklisted": is_blacklisted(domain, at),
        "candidates": [candidate_answer(candidate) for candidate in candidates],
    }


def candidate_answer(candidate: StoredCandidate) -> dict[str, Any]:
    """Return a candidate as JSON has it."""
    named = {field.name: _plain(getattr(candidate, field.name)) for field in fields(candidate)}
    return {**named, "session_id": str(candidate.session_id)}


def import_answer(project: str, done: Imported, refused: Iterable[BadRow], *, dry_run: bool) -> dict[str, Any]:
    """Return what became of a file of domains."""
    bad = [{"where": row.where, "reason": row.reason} for row in refused]
    return {"project": project, "dry_run": dry_run, "new": done.new, "known": done.known, "refused": bad}


def changed_domains_answer(project: str, changed: Iterable[StoredDomain], *, dry_run: bool) -> dict[str, Any]:
    """Return the domains that were changed, or would be."""
    return {"project": project, "dry_run": dry_run, "domains": [domain_answer(domain) for domain in changed]}


def twins_answer(project: str, found: Iterable[Twins], *, dry_run: bool) -> dict[str, Any]:
    """Return pairs of domains with and without `www.`, and whether they count as one."""
    pairs = [
        {
            "domain": each.name,
            "twin": each.other,
            "pages": dict(sorted(each.pages.items())),
            "pages_alike": each.evidence.alike,
            "pages_unlike": each.evidence.unlike,
            "joined": each.is_joined,
            "was_joined": each.was_joined,
            "reason": each.reason.value,
        }
        for each in found
    ]
    return {"project": project, "dry_run": dry_run, "pairs": pairs}


def _plain(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else value


def _text(value: object | None) -> str | None:
    return None if value is None else str(value)

"""What becomes of a URL that a search engine proposes: a domain is looked at once, however many results lead to it."""

from datetime import datetime
from enum import StrEnum

from scrapy_dedup.core.domains.states import PROCESSED, HasStatus, is_blacklisted, present_status


class CandidateOutcome(StrEnum):
    """What became of a URL; only of a new one there is a candidate."""

    NEW = "new"
    KNOWN = "known"
    PROCESSED = "processed"
    BLACKLISTED = "blacklisted"
    TWIN = "twin"
    INVALID = "invalid"


def outcome_of_known(domain: HasStatus, at: datetime) -> CandidateOutcome:
    """Return what becomes of a URL of a domain that is registered."""
    if is_blacklisted(domain, at):
        return CandidateOutcome.BLACKLISTED
    return CandidateOutcome.PROCESSED if present_status(domain, at) in PROCESSED else CandidateOutcome.KNOWN


def outcome_of_new(twin: HasStatus | None, at: datetime, *, twin_has_candidate: bool) -> CandidateOutcome:
    """Return what becomes of a URL of a domain that is not registered.

    Its twin with or without `www.` stands for it where that is registered. One that is blacklisted does not: until
    their pages were compared, nobody has said anything about this one.
    """
    if twin is not None and (twin_has_candidate or not is_blacklisted(twin, at)):
        return CandidateOutcome.TWIN
    return CandidateOutcome.NEW

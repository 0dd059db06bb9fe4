"""Whether a domain is asked for a page: blacklisted ones never, those of low quality by policy."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Literal

LowQualityPolicy = Literal["crawl", "skip", "sample"]


class DomainRefusal(StrEnum):
    """Why a request is not sent."""

    BLACKLISTED = "blacklisted"  # somebody said so
    LOW_QUALITY = "low_quality"  # its items were no good, and such domains are left alone
    SAMPLED = "sampled"  # its items were no good, and the run has asked for as many of its pages as it may


@dataclass(frozen=True, slots=True)
class RequestPolicy:
    """What becomes of domains of low quality.

    Attributes:
        low_quality: all of their pages are asked for, none, or some of them.
        sample_pages: so many of one domain in a run.
    """

    low_quality: LowQualityPolicy = "crawl"
    sample_pages: int = 10


@dataclass(frozen=True, slots=True)
class RefusedDomains:
    """Names of domains that are not asked, or not for all of their pages.

    Attributes:
        blacklisted: to the instant at which that ends; None: not by itself.
        low_quality: those of low quality, and those that are it once their blacklist is over.
    """

    blacklisted: Mapping[str, datetime | None] = field(default_factory=dict)
    low_quality: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.blacklisted or self.low_quality)

    def refuse(self, name: str, at: datetime) -> bool:
        """Return whether a domain is blacklisted at an instant."""
        if name not in self.blacklisted:
            return False
        ends = self.blacklisted[name]
        return ends is None or at < ends


def judge_domain(
    name: str, domains: RefusedDomains, policy: RequestPolicy, *, requested: int, at: datetime
) -> DomainRefusal | None:
    """Return why a domain is not asked for one more page; None where it is.

    Args:
        name: of the domain.
        domains: that are not asked for everything.
        policy: for those of low quality.
        requested: pages of the domain that this run has asked for.
        at: now.
    """
    if domains.refuse(name, at):
        return DomainRefusal.BLACKLISTED
    if name not in domains.low_quality or policy.low_quality == "crawl":
        return None
    if policy.low_quality == "skip":
        return DomainRefusal.LOW_QUALITY
    return DomainRefusal.SAMPLED if requested >= policy.sample_pages else None

"""Whether a domain and its twin with or without `www.` are one site: by pages of both at the same address."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from scrapy_dedup.core.domain_names import bare_name

# One page in ten may differ by chance: a teaser that changed between two visits, a counter, an error of the server.
MOST_UNLIKE_SHARE: Final = 0.1


class TwinReason(StrEnum):
    """Why two names are one domain, or two."""

    ALIKE = "their pages say the same"
    TOO_FEW = "too few pages of both are known"
    UNLIKE = "their pages differ"


@dataclass(frozen=True, slots=True)
class Evidence:
    """Pages of both at the same path and query.

    Attributes:
        alike: that say the same, or of which one leads to the other.
        unlike: that differ.
    """

    alike: int
    unlike: int


@dataclass(frozen=True, slots=True)
class TwinVerdict:
    """Whether two names count as one domain, and why."""

    is_one: bool
    reason: TwinReason


def judge_twins(evidence: Evidence, least_pages: int) -> TwinVerdict:
    """Return whether two names count as one: at least so many pages agree, and at most a tenth differs."""
    compared = evidence.alike + evidence.unlike
    if evidence.unlike > MOST_UNLIKE_SHARE * compared:
        return TwinVerdict(is_one=False, reason=TwinReason.UNLIKE)
    if evidence.alike < least_pages:
        return TwinVerdict(is_one=False, reason=TwinReason.TOO_FEW)
    return TwinVerdict(is_one=True, reason=TwinReason.ALIKE)


def standing_for_both(pages: dict[str, int]) -> str:
    """Return which of two names stands for both: that of more pages; of as many, the one without `www.`."""
    return min(pages, key=lambda name: (-pages[name], name != bare_name(name)))

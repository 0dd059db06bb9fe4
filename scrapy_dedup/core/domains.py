"""Domains: how their names are spelt, what stands about them, and whether they are asked.

A name is what `extract_domain` gives for the URLs of the domain, so that what a person types and what a crawl meets
are one row. International names are spelt as Scrapy requests them: by IDNA 2003, which maps "ß" to "ss", where IDNA
2008 would name a host that a crawl never asks.
"""

import fnmatch
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from ipaddress import AddressValueError, IPv6Address
from typing import Final, Literal, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from scrapy_dedup.core.errors import InvalidError
from scrapy_dedup.core.urls.normal_form import C0_AND_SPACE, DomainScope, extract_domain, is_public_suffix


class DomainNameError(InvalidError):
    """A text names no domain."""


LowQualityPolicy = Literal["crawl", "skip", "sample"]


class DomainRefusal(StrEnum):
    """Why a request is not sent."""

    BLACKLISTED = "blacklisted"  # somebody said so
    LOW_QUALITY = "low_quality"  # its items were no good, and such domains are left alone
    SAMPLED = "sampled"  # its items were no good, and the run has asked for as many of its pages as it may


class RequestPolicy(Struct, frozen=True):
    """What becomes of domains of low quality.

    Attributes:
        low_quality: all of their pages are asked for, none, or some of them.
        sample_pages: so many of one domain in a run.
    """

    low_quality: LowQualityPolicy = "crawl"
    sample_pages: int = 10


class RefusedDomains(Struct, frozen=True):
    """Names of domains that are not asked, or not for all of their pages.

    Attributes:
        blacklisted: to the instant at which that ends; None: not by itself.
        low_quality: those of low quality, and those that are it once their blacklist is over.
    """

    blacklisted: Mapping[str, datetime | None] = field(default_factory=dict)
    low_quality: frozenset[str] = frozenset()

    def refuse(self, name: str, at: datetime) -> bool:
        """Return whether a domain is blacklisted at an instant."""
        if name not in self.blacklisted:
            return False
        ends = self.blacklisted[name]
        return ends is None or at < ends


def judge_domain(
    name: str, domains: RefusedDomains, policy: RequestPolicy, *, requested: int, at: datetime
) -> DomainRefusal | None:
    """Return why a domain, of which the run has *requested* so many pages, is not asked for one more; None: it is."""
    if domains.refuse(name, at):
        return DomainRefusal.BLACKLISTED
    if name not in domains.low_quality or policy.low_quality == "crawl":
        return None
    if policy.low_quality == "skip":
        return DomainRefusal.LOW_QUALITY
    return DomainRefusal.SAMPLED if requested >= policy.sample_pages else None


class DomainStatus(StrEnum):
    """What is known of a domain; the names are the seed's."""

    DISCOVERED = "DISCOVERED"
    PROCESSED_HIGH_QUALITY = "PROCESSED_HIGH_QUALITY"
    PROCESSED_LOW_QUALITY = "PROCESSED_LOW_QUALITY"
    BLACKLISTED = "BLACKLISTED"


STATUSES: Final = {one.value: one.removeprefix("PROCESSED_").replace("_", " ").lower() for one in DomainStatus}
"""What the registry calls a status, and what a reader does."""
PROCESSED: Final = (DomainStatus.PROCESSED_HIGH_QUALITY, DomainStatus.PROCESSED_LOW_QUALITY)
# Of two, the one that a pair keeps: what a person decided, then the better one.
_STRONGEST_FIRST: Final = (DomainStatus.BLACKLISTED, *PROCESSED, DomainStatus.DISCOVERED)
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


class HasStatus(Protocol):
    """A domain, as the store has it, or a standing."""

    @property
    def status(self) -> str:
        """One of the four."""

    @property
    def status_before(self) -> str | None:
        """What it was before it was blacklisted."""

    @property
    def blacklist_expires_at(self) -> datetime | None:
        """When the blacklist ends; None: not by itself."""


class DomainStanding(Struct, frozen=True):
    """A domain's status, and who blacklisted it, when, why and until when.

    Attributes:
        status_before: what an end of the blacklist brings back; None where it is not blacklisted.
    """

    status: DomainStatus = DomainStatus.DISCOVERED
    status_before: DomainStatus | None = None
    blacklisted_at: datetime | None = None
    blacklisted_by: str | None = None
    blacklist_reason: str | None = None
    blacklist_expires_at: datetime | None = None


class Blacklisting(Struct, frozen=True):
    """Who blacklists, when, why and until when."""

    at: datetime
    by: str | None
    reason: str | None
    expires_at: datetime | None = None


def is_blacklisted(domain: HasStatus, at: datetime) -> bool:
    """Return whether a domain's blacklist holds at an instant; one that is over is none any more."""
    expires = domain.blacklist_expires_at
    return domain.status == DomainStatus.BLACKLISTED and (expires is None or at < expires)


def present_status(domain: HasStatus, at: datetime) -> DomainStatus:
    """Return a domain's status at an instant: what it was before, where its blacklist is over."""
    if domain.status == DomainStatus.BLACKLISTED and not is_blacklisted(domain, at):
        return DomainStatus(domain.status_before or DomainStatus.DISCOVERED)
    return DomainStatus(domain.status)


def blacklisted(standing: DomainStanding, by: Blacklisting) -> DomainStanding:
    """Return the standing of a domain that is blacklisted now; for one that was, the new words replace the old."""
    return DomainStanding(DomainStatus.BLACKLISTED, _beneath(standing), by.at, by.by, by.reason, by.expires_at)


def unblacklisted(standing: DomainStanding) -> DomainStanding:
    """Return the standing without a blacklist; the same where there is none."""
    return DomainStanding(_beneath(standing)) if standing.status == DomainStatus.BLACKLISTED else standing


def with_status(standing: DomainStanding, status: DomainStatus, at: datetime) -> DomainStanding:
    """Return the standing with a status that somebody set; BLACKLISTED then has neither a name nor a reason."""
    if status == standing.status:
        return standing
    if status == DomainStatus.BLACKLISTED:
        return blacklisted(standing, Blacklisting(at, None, None))
    return DomainStanding(status)


def after_run(standing: DomainStanding, best: float | None, high_quality: float) -> DomainStanding:
    """Return the standing of a domain whose part of a run is over.

    A blacklisted domain stays so, and remembers what it would be. *best* is the best confidence that any of its items
    had; None: none had one, and the status stays.
    """
    if best is None:
        return standing
    status = DomainStatus.PROCESSED_HIGH_QUALITY if best >= high_quality else DomainStatus.PROCESSED_LOW_QUALITY
    if standing.status == DomainStatus.BLACKLISTED:
        return replace(standing, status_before=status)
    return DomainStanding(status)


def of_pair(one: DomainStanding, other: DomainStanding) -> DomainStanding:
    """Return what stands about two names that are one site: a blacklist of either, else the better status.

    The order of the two does not matter, but for which of two blacklists counts: the newer; of two as old, the first.
    """
    before = min(_beneath(one), _beneath(other), key=_STRONGEST_FIRST.index)
    lists = [each for each in (one, other) if each.status == DomainStatus.BLACKLISTED]
    if not lists:
        return DomainStanding(before)
    newest = max(lists, key=lambda each: each.blacklisted_at or _LONG_AGO)
    return replace(newest, status_before=before)


def _beneath(standing: DomainStanding) -> DomainStatus:
    if standing.status == DomainStatus.BLACKLISTED:
        return standing.status_before or DomainStatus.DISCOVERED
    return standing.status


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


MOST_CHARS: Final = 253
"""Of a name (RFC 1035)."""
_MOST_TYPED_CHARS: Final = 65_536
_MOST_PATTERN_CHARS: Final = 300
_MOST_STARS: Final = 8
_WWW: Final = "www."

# One page in ten may differ by chance: a teaser that changed between two visits, a counter, an error of the server.
MOST_UNLIKE_SHARE: Final = 0.1


def domain_name(text: str, scope: DomainScope = "host") -> str | None:
    """Return the domain that a text names: a name, a host, a host with its port, or a URL; None where it names none.

    Never raises. A text that is no URL names nothing if a user, a space or a control character stands in it: it is an
    address for mail, two lines, or prose.
    """
    if len(text) > _MOST_TYPED_CHARS:
        return None
    text = text.strip(C0_AND_SPACE)
    if "://" not in text:
        host = text.removeprefix("//")
        typed = host.partition("/")[0]
        if "@" in typed or not typed.isprintable() or " " in typed:
            return None
        text = f"http://{_bracketed(host)}"
    return extract_domain(text, scope)


def checked_domain(text: str, scope: DomainScope) -> str:
    """Return the domain that a text names, see `domain_name`.

    Raises:
        DomainNameError: it names none.
    """
    found = domain_name(text, scope)
    if found is None:
        raise DomainNameError(f"{text[:200]!r} is no domain: write a host, such as example.org, or a URL of it")
    return found


def twin_of(name: str) -> str | None:
    """Return a domain's name without `www.`, or with it where it has none; None where no such twin can be.

    The twin of a twin is the name itself. Public suffixes have no twin (`www.github.io` is somebody's own site), nor
    have addresses and names of one label.
    """
    bare = name.removeprefix(_WWW)
    is_name = "." in bare and ":" not in bare and not bare.startswith(_WWW) and not bare[-1].isdigit()
    if not is_name or is_public_suffix(bare) or len(_WWW + bare) > MOST_CHARS:
        return None
    return _WWW + bare if bare == name else bare


def bare_name(name: str) -> str:
    """Return which of two twins has no `www.`."""
    return min(name, twin_of(name) or name, key=len)


def name_pattern(text: str) -> str:
    """Return a pattern of names as names are spelt: lower case, whole international labels in ASCII.

    One that is longer than 300 characters, or has more than 8 `*`, becomes the empty one, which stands for no name: cut
    off it would stand for more, and a database may take exponential time for many stars.
    """
    text = text.strip(C0_AND_SPACE)
    if len(text) > _MOST_PATTERN_CHARS or text.count("*") > _MOST_STARS:
        return ""
    return ".".join(map(_ascii_label, text.lower().split(".")))


def named_by(pattern: str) -> Callable[[str], object]:
    """Return what says whether a pattern stands for a name, as the store does: brackets are those of IPv6 hosts."""
    return re.compile(fnmatch.translate(name_pattern(pattern).replace("[", "[[]"))).match


def is_pattern(text: str) -> bool:
    """Return whether a text stands for several names: `*` for any characters, `?` for one.

    Not brackets, which stand in the names of IPv6 hosts; and no URL is one, whatever its query says.
    """
    return "/" not in text and ("*" in text or "?" in text)


def _ascii_label(label: str) -> str:
    if label.isascii() or is_pattern(label):
        return label
    return domain_name(label) or label


def _bracketed(host: str) -> str:
    """Return an IPv6 address as it stands in a URL; other texts as they are."""
    try:
        return f"[{IPv6Address(host).compressed}]"
    except AddressValueError:
        return host


class TwinReason(StrEnum):
    """Why two names are one domain, or two."""

    ALIKE = "their pages say the same"
    TOO_FEW = "too few pages of both are known"
    UNLIKE = "their pages differ"


class TwinEvidence(Struct, frozen=True):
    """Pages of both at the same path and query.

    Attributes:
        alike: that say the same, or of which one leads to the other.
        unlike: that differ.
    """

    alike: int
    unlike: int


class TwinVerdict(Struct, frozen=True):
    """Whether two names count as one domain, and why."""

    is_one: bool
    reason: TwinReason


def judge_twins(evidence: TwinEvidence, least_pages: int) -> TwinVerdict:
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

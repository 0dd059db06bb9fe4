"""The one spelling of a domain's name, and the name of its twin with or without `www.`.

A name is what `extract_domain` gives for the URLs of the domain, so that what a person types and what a crawl meets
are one row. International names are spelt as Scrapy requests them: by IDNA 2003, which maps "ß" to "ss", where IDNA
2008 would name a host that a crawl never asks.
"""

from enum import StrEnum
from ipaddress import AddressValueError, IPv6Address
from typing import Final

from msgspec import Struct

from scrapy_dedup.core.urls.normal_form import C0_AND_SPACE, DomainScope, extract_domain, is_public_suffix

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

"""What HTML may be parsed at all: every parser is quadratic in something, and pages are hostile."""

import re
from dataclasses import dataclass
from enum import StrEnum

from scrapy_dedup.core.survey import survey


class UnparsedReason(StrEnum):
    """Why a page is left as it came."""

    TOO_LARGE = "too_large"
    TOO_MANY_ELEMENTS = "too_many_elements"
    TOO_DEEP = "too_deep"
    TOO_MANY_ATTRIBUTES = "too_many_attributes"


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """What is parsed. Beyond *depth* and *attributes* parse time grows with the square.

    Measured with lexbor: 100,000 nested elements take 14 s, 100,000 attributes on one tag 17 s, 16,000 of either 0.3
    and 0.4 s. Real pages stay under 300 and 200.
    """

    characters: int = 8_000_000
    elements: int = 80_000
    depth: int = 16_000
    attributes: int = 16_000


# Each tag may be compared with every element that is open: 150 million comparisons take 0.3 to 0.6 s.
_MOST_COMPARISONS = 150_000_000
# Formatting elements that stay open are cloned into every block that follows: 2,500 times `<b id=1><p>` make three
# million nodes. n tags make at most n²/8 clones, half of them formatting and half blocks: below this, a million.
_FEW_TAGS = 3_000
_MOST_CLONES = 1_000_000
# Spelt out, because ignoring case makes this scan four times as slow.
_FORMATTING_WITH_ATTRIBUTES = re.compile(
    r"<(?:[BbIiSsUu]|[Bb][Ii][Gg]|[Cc][Oo][Dd][Ee]|[Ee][Mm]|[Ff][Oo][Nn][Tt]|[Nn][Oo][Bb][Rr]|[Ss][Mm][Aa][Ll][Ll]"
    r"|[Ss][Tt][Rr](?:[Ii][Kk][Ee]|[Oo][Nn][Gg])|[Tt][Tt])[\t\n\f\r /][^>]*+"
)
# Of one kind (a name with its attributes) a parser keeps three open.
_MOST_OF_A_KIND = 3
_KINDS_WITHOUT_ATTRIBUTES = 14
_LONG = 300
_LONG_TAG = re.compile(rf"<[^>]{{{_LONG},}}+")
_LONG_PART = re.compile(rf">[^>]{{{_LONG},}}+")
# From a quote that holds a ">" on: there a tag ends later than at its first ">".
_QUOTED_END = re.compile(r"=\s*+(?:\"[^\">]*+>|'[^'>]*+>)")
_BETWEEN_ATTRIBUTES = re.compile(r"[\s/\"']+")


def refuse(html: str, limits: ParseLimits) -> UnparsedReason | None:
    """Say why this HTML must not be given to a parser; None where it may.

    Costs three passes in C for an ordinary page; the survey is for pages that are large in something.
    """
    if len(html) > limits.characters:
        return UnparsedReason.TOO_LARGE
    tags = html.count("<")
    if tags > 2 * limits.elements:
        return UnparsedReason.TOO_MANY_ELEMENTS
    if tags <= limits.depth and not _may_clone(html, tags) and not _may_have_attributes(html, limits.attributes):
        return None
    found = survey(html)
    if found.depth > limits.depth or found.depth * tags > _MOST_COMPARISONS or found.formatting * tags > _MOST_CLONES:
        return UnparsedReason.TOO_DEEP
    if found.attribute_work > limits.attributes**2:
        return UnparsedReason.TOO_MANY_ATTRIBUTES
    return None


def _may_clone(html: str, tags: int) -> bool:
    """Tell whether the formatting elements that can stay open, times all tags, are many."""
    if tags <= _FEW_TAGS:
        return False
    sources = _FORMATTING_WITH_ATTRIBUTES.findall(html)
    # Where a quote is open the ">" belongs to a value, and what tells two tags apart may stand behind it.
    doubtful = sum(1 for source in sources if source.count('"') % 2 or source.count("'") % 2)
    kinds = len(set(sources)) + doubtful + _KINDS_WITHOUT_ATTRIBUTES
    return _MOST_OF_A_KIND * kinds * tags > _MOST_CLONES


def _may_have_attributes(html: str, most: int) -> bool:
    """Tell whether tags can have so many attributes; each takes two characters at least (`a b`).

    A tag ends at its first ">" unless that stands in a quoted value. Where some do, all that stands between two ">"
    may be part of one tag.
    """
    if len(html) <= 3 * most:
        return False
    quoted_ends = len(_QUOTED_END.findall(html))
    if not quoted_ends:
        tags = _LONG_TAG.findall(html)
        # Most tags are too short to be looked into.
        if sum((len(tag) // 2) ** 2 for tag in tags) <= most**2:
            return False
        return sum(_attributes(tag) ** 2 for tag in tags) > most**2
    in_long_parts = sum(map(_attributes, _LONG_PART.findall(f">{html}")))
    return in_long_parts + quoted_ends * _LONG // 2 > most


def _attributes(part: str) -> int:
    return len(_BETWEEN_ATTRIBUTES.findall(part))

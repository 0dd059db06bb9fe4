"""What HTML may be parsed at all: every parser is quadratic in something, and pages are hostile."""

import re
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum


class UnparsedReason(StrEnum):
    """Why a page is left as it came."""

    TOO_LARGE = "too_large"
    TOO_MANY_ELEMENTS = "too_many_elements"
    TOO_DEEP = "too_deep"
    TOO_MANY_ATTRIBUTES = "too_many_attributes"


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """What is parsed. Beyond *elements*, *depth* and *attributes* parse time grows with the square.

    Measured with lexbor: 100,000 nested elements, or 100,000 attributes on one tag, take over a minute; 8,000 of
    either take under 0.2 s. Real pages stay under 300 and 200.
    """

    characters: int = 8_000_000
    elements: int = 400_000
    depth: int = 8_000
    attributes: int = 8_000


_TAG_START = re.compile(r"<[a-zA-Z]")
_ATTRIBUTE = re.compile(r"[^\s/=]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s]*))?")
# Elements that end without an end tag are left out: nothing nests by leaving it out, so thousands of them are no depth.
_NESTING = re.compile(
    r"<(/?)(?!(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr|param|p|li|dt|dd|tr|td|th|thead|tbody"
    r"|tfoot|option|optgroup|rp|rt|colgroup)[\s/>])[a-zA-Z]",
    re.IGNORECASE,
)
# Formatting elements that stay open are cloned into every block that follows: 2,500 times `<b id=1><p>` make three
# million nodes. `a` and `nobr` close their own kind and are left out.
# Spelt out, because ignoring case makes this scan four times as slow.
_FORMATTING = re.compile(
    r"<(/?)([BbIiSsUu]|[Bb][Ii][Gg]|[Cc][Oo][Dd][Ee]|[Ee][Mm]|[Ff][Oo][Nn][Tt]|[Ss][Mm][Aa][Ll][Ll]"
    r"|[Ss][Tt][Rr](?:[Ii][Kk][Ee]|[Oo][Nn][Gg])|[Tt][Tt])(?=[\s/>])"
)
# n tags make at most n²/8 clones, half of them formatting and half blocks: below this, half a million.
_FEW_TAGS = 2_000
_MOST_CLONES = 4_000_000


def refuse(html: str, limits: ParseLimits) -> UnparsedReason | None:
    """Say why this HTML must not be given to a parser; None where it may.

    Costs two passes in C for an ordinary page; the slow scan is for pages that are large in something.
    """
    if len(html) > limits.characters:
        return UnparsedReason.TOO_LARGE
    tags = html.count("<")
    if tags > 2 * limits.elements:
        return UnparsedReason.TOO_MANY_ELEMENTS
    if tags > limits.depth and _depth(html) > limits.depth:
        return UnparsedReason.TOO_DEEP
    if tags > _FEW_TAGS and _formatting_clones(html, tags) > _MOST_CLONES:
        return UnparsedReason.TOO_DEEP
    if _most_attributes(html, limits.attributes) > limits.attributes:
        return UnparsedReason.TOO_MANY_ATTRIBUTES
    return None


def _depth(html: str) -> int:
    """Return the deepest nesting that the tags can make, end tags matched by count alone."""
    depth = deepest = 0
    for closing in _NESTING.findall(html):
        if not closing:
            depth += 1
            deepest = max(deepest, depth)
        elif depth:
            depth -= 1
    return deepest


def _most_attributes(html: str, limit: int) -> int:
    """Return the most attributes that a tag can have, 0 where no tag is long enough to have more than *limit*.

    A tag is taken to run from the first `<a` to the next ">": quotes are not followed, so that the scan is linear.
    """
    most = 0
    for segment in html.split(">"):
        # An attribute takes at least two characters (`a b`), so that a short run cannot hold too many.
        if len(segment) > 2 * limit and (start := _TAG_START.search(segment)):
            most = max(most, sum(1 for _ in _ATTRIBUTE.finditer(segment, start.end())))
    return most


def _formatting_clones(html: str, tags: int) -> int:
    """Return a bound of the nodes that open formatting elements make: the most that are open, times all tags.

    End tags count for their own name alone.
    """
    still_open: Counter[str] = Counter()
    depth = deepest = 0
    for closing, written in _FORMATTING.findall(html):
        name = written.lower()
        if not closing:
            still_open[name] += 1
            depth += 1
            deepest = max(deepest, depth)
        elif still_open[name]:
            still_open[name] -= 1
            depth -= 1
    return deepest * tags

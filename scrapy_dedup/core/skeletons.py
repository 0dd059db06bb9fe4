"""What is left of a page without its content, and how much two pages look as if built from one design.

A skeleton is what a page's containers (`div main article section header footer nav aside form`) say: the set of their
marks down to where prose begins, and the classes of body. Texts, ids, repeats and order do not count.
"""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import IntEnum
from hashlib import blake2b
from itertools import islice
from math import sqrt
from typing import Final

from scrapy_dedup.core.blocks import Page
from scrapy_dedup.core.paths import element_key
from scrapy_dedup.core.places import BODY, Place

# Stored with every signature: those of two versions are never compared.
VERSION: Final = 1

# As if all pages had so many containers in common: where there are only a few, one more or less says little.
ALLOWANCE: Final = 3
# Real skeletons have up to a hundred.
_MOST_PATHS: Final = 1_000
_MOST_CLASSES: Final = 20


class Level(IntEnum):
    """How much of a page a signature stands for."""

    TEMPLATE = 1
    """Containers with their classes."""
    STRUCTURE = 2
    """Tags only: what sites with different style sheets can share."""


@dataclass(frozen=True, slots=True)
class Skeleton:
    """What is left of a page without its content."""

    paths: frozenset[str]
    """Marks of containers, as `body/div/nav.menu`: ancestors by tag, the container itself with its classes."""
    classes: frozenset[str]
    """Of body; sites say there what kind of page this is."""
    l1: int
    """Signature of both, signed 64 bits."""
    l2: int
    """Signature of the containers' tags, signed 64 bits."""


def skeleton_of(page: Page) -> Skeleton:
    """Return the skeleton of a page; containers around prose are in it, those beside prose are not."""
    begun = {place.outer for place in page.places if place.is_prose}
    # Some sites put all their prose into body itself.
    begun.discard(BODY)
    within: set[Place | None] = {BODY}
    marks, tags = set(), set()
    for place in page.places:
        if place.mark and place.outer in within:
            marks.add(place.mark)
            tags.add(place.tags)
            if place not in begun:
                within.add(place)
            if len(marks) == _MOST_PATHS:
                break
    classes = _stable_classes(page.body_classes)
    return Skeleton(
        frozenset(marks), classes, _signature([*sorted(marks), "", *sorted(classes)]), _signature(sorted(tags))
    )


def similarity(a: AbstractSet[str], b: AbstractSet[str], allowance: int = 0) -> float:
    """Return the Jaccard similarity of two sets, 0.0 to 1.0, as if they had *allowance* more members in common.

    Two empty sets are equal: 1.0.
    """
    common = len(a & b) + allowance
    either = len(a) + len(b) + allowance + allowance - common
    return common / either if either else 1.0


def likeness(a: Skeleton, b: Skeleton, shared: AbstractSet[str]) -> float:
    """Return how much two pages look as if built from one design, 0.0 to 1.0.

    The similarity of their containers; where body has classes, the geometric mean of it and of theirs: pages that
    differ in what body says of them must be the more alike within, and with nothing of it in common they are not alike.

    Args:
        a: one page.
        b: another.
        shared: classes of body that several pages have; others name a single page and do not count.
    """
    containers = similarity(a.paths, b.paths, ALLOWANCE)
    ours, theirs = a.classes & shared, b.classes & shared
    return sqrt(containers * similarity(ours, theirs)) if ours or theirs else containers


def _stable_classes(classes: str) -> frozenset[str]:
    """Return the classes of body without digits and without those that tell a page's state."""
    stable = (element_key("", name, "") for name in islice(classes.split(), _MOST_CLASSES))
    return frozenset(name[1:] for name in stable if name)


def _signature(lines: Iterable[str]) -> int:
    digest = blake2b("\n".join(lines).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)

"""The layouts of a domain: which of its pages are built from one design.

A skeleton is what a page's containers (`div main article section header footer nav aside form`) say: the set of their
marks down to where prose begins, and the classes of body. Texts, ids, repeats and order do not count.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from hashlib import blake2b
from itertools import islice
from math import sqrt
from typing import Any, Final, Self

from msgspec import Struct, ValidationError, convert, to_builtins
from msgspec.structs import replace

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.pages.tags import BODY, Place, element_key

# Stored with every signature: those of two versions are never compared.
VERSION: Final = 1

# As if all pages had so many containers in common: where there are only a few, one more or less says little.
ALLOWANCE: Final = 3
# Real skeletons have up to a hundred.
_MOST_PATHS: Final = 1_000
_MOST_CLASSES: Final = 20


# Measured on four sites with known kinds and on eight mixes of five sites (`python -m benchmarks.layouts`): from 0.6 to
# 0.8 purity is the same, and mixes have 1.8 to 2.3 layouts a kind.
LIKE: Final = 0.65
# From 0.4 to 0.55 purity is the same.
KIN: Final = 0.5
# Of so many pages of a layout a template is learned.
_FEW: Final = 5
# A domain with more designs has pages that are one of a kind: the layouts that fewest pages have make room.
MOST_LAYOUTS: Final = 100
_MOST_COUNTED_CLASSES: Final = 2_000
# A class of body that one page alone has is that page's name.
_SHARED: Final = 2


class Skeleton(Struct, frozen=True):
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
    places = page.walk.places
    begun = {place.outer for place in places if place.is_prose}
    # Some sites put all their prose into body itself.
    begun.discard(BODY)
    within: set[Place | None] = {BODY}
    marks, tags = set(), set()
    for place in places:
        if place.mark and place.outer in within:
            marks.add(place.mark)
            tags.add(place.tags)
            if place not in begun:
                within.add(place)
            if len(marks) == _MOST_PATHS:
                break
    # Names and attributes of html and body, where the page has them.
    classes = _stable_classes(page.around[-1][1].get("class", "") if page.around else "")
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
    Classes that are not shared by several pages name a single one and do not count.
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


class StoredLayoutsError(DedupError):
    """What was stored cannot be read as the layouts of a domain."""


def cluster(skeletons: Sequence[Skeleton], kin: float = KIN) -> list[int]:
    """Return for each page the signature (L1) of its layout; the order of pages does not matter.

    The skeletons that most pages have lead a layout each (100 at most), unless they are like one that leads already;
    then each page joins the leader that it is most like. From a layout of fewer than five pages nothing is learned: it
    joins the larger one that it is most like, if any. A page that is like none is a layout of its own.

    Args:
        skeletons: of one domain's pages.
        kin: from which likeness on a small layout joins a larger one.
    """
    pages = Counter(skeleton.l1 for skeleton in skeletons)
    counts = Counter(name for skeleton in skeletons for name in skeleton.classes)
    shared = frozenset(name for name, count in counts.items() if count >= _SHARED)
    distinct = {skeleton.l1: skeleton for skeleton in skeletons}
    leaders: list[Skeleton] = []
    for signature in sorted(distinct, key=lambda signature: (-pages[signature], signature)):
        if len(leaders) < MOST_LAYOUTS and _nearest(distinct[signature], leaders, shared, LIKE) is None:
            leaders.append(distinct[signature])
    joined = {signature: _signature_of(distinct[signature], leaders, shared, LIKE) for signature in distinct}
    sizes = Counter(joined[skeleton.l1] for skeleton in skeletons)
    large = [leader for leader in leaders if sizes[leader.l1] >= _FEW]
    layouts = {
        signature: _signature_of(distinct[signature], large, shared, kin) if size < _FEW else signature
        for signature, size in sizes.items()
    }
    return [layouts[joined[skeleton.l1]] for skeleton in skeletons]


def _signature_of(skeleton: Skeleton, leaders: Sequence[Skeleton], shared: AbstractSet[str], like: float) -> int:
    match = _nearest(skeleton, leaders, shared, like)
    return match.signature if match else skeleton.l1


class Match(Struct, frozen=True):
    """The layout that a page belongs to."""

    signature: int
    similarity: float
    """How much the page is like the one that the layout was found with; 1.0 is that very skeleton."""


class Layout(Struct, frozen=True):
    """A class of pages."""

    skeleton: Skeleton
    """Of the page that it was found with; its L1 names the layout."""
    pages: int

    @property
    def signature(self) -> int:
        """The layout's name, signed 64 bits."""
        return self.skeleton.l1


class _StoredIndex(Struct):
    version: int
    layouts: list[Layout]
    """In the order in which they were last met."""
    classes: dict[str, int]


class LayoutIndex:
    """The layouts of one domain, found as pages come.

    A page belongs to the layout that it is most like, or leads a new one. At most *most* are kept: of those that fewest
    pages have, the one that was not met for longest makes room.
    """

    def __init__(self, most: int = MOST_LAYOUTS) -> None:
        self.most = most
        self._layouts: dict[int, Layout] = {}
        """In the order in which they were last met."""
        self._classes: Counter[str] = Counter()
        self._shared: frozenset[str] = frozenset()
        self._known: dict[int, Match | None] = {}
        """What was found for a signature since layouts or shared classes last changed."""

    @property
    def layouts(self) -> list[Layout]:
        """All of them, those that most pages have first."""
        return sorted(self._layouts.values(), key=lambda layout: (-layout.pages, layout.signature))

    def find(self, skeleton: Skeleton) -> Match | None:
        """Return the layout that a page belongs to; None where it is like none."""
        signature = skeleton.l1
        if signature in self._layouts:
            return Match(signature, 1.0)
        if signature not in self._known:
            if len(self._known) >= 10 * self.most:
                self._known.clear()
            leaders = (layout.skeleton for layout in self._layouts.values())
            self._known[signature] = _nearest(skeleton, leaders, self._shared, LIKE)
        return self._known[signature]

    def add(self, skeleton: Skeleton, times: int = 1) -> Match:
        """Count so many pages with a skeleton, not counted before; return the layout that they join or found."""
        self._count_classes(skeleton.classes, times)
        match = self.find(skeleton)
        if match is None:
            match = Match(skeleton.l1, 1.0)
            self._make_room()
            self._layouts[skeleton.l1] = Layout(skeleton, times)
            self._known.clear()
        else:
            met = self._layouts.pop(match.signature)
            self._layouts[match.signature] = replace(met, pages=met.pages + times)
        return match

    def to_json(self) -> dict[str, Any]:
        """Return all that is known as plain values; equal knowledge gives equal ones."""
        stored = _StoredIndex(VERSION, list(self._layouts.values()), self._classes)
        told: dict[str, Any] = to_builtins(stored, order="sorted")
        return told

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return the index behind what `to_json` gave.

        Raises:
            StoredLayoutsError: it was stored by another version, or is damaged.
        """
        if stored.get("version") != VERSION:
            raise StoredLayoutsError(
                f"layouts: stored as version {stored.get('version')!r}, this is version {VERSION}: learn them again"
            )
        try:
            told = convert(stored, _StoredIndex)
        except ValidationError as error:
            raise StoredLayoutsError(f"layouts: what is stored is damaged ({error}): learn them again") from error
        index = cls()
        index._layouts = {one.signature: one for one in told.layouts}
        index._classes.update(told.classes)
        index._share()
        return index

    def _count_classes(self, names: Iterable[str], times: int) -> None:
        for name in names:
            self._classes[name] += times
        if len(self._classes) > _MOST_COUNTED_CLASSES:
            frequent = sorted(self._classes.items(), key=lambda item: (-item[1], item[0]))
            self._classes = Counter(dict(frequent[: _MOST_COUNTED_CLASSES // 2]))
        if any(name not in self._shared and self._classes[name] >= _SHARED for name in names):
            self._share()

    def _share(self) -> None:
        self._shared = frozenset(name for name, count in self._classes.items() if count >= _SHARED)
        self._known.clear()

    def _make_room(self) -> None:
        if len(self._layouts) >= self.most:
            # The first of the smallest: the order is that in which they were met.
            del self._layouts[min(self._layouts, key=lambda signature: self._layouts[signature].pages)]


def _nearest(skeleton: Skeleton, leaders: Iterable[Skeleton], shared: AbstractSet[str], like: float) -> Match | None:
    """Return the leader that a page is most like; of two equally near the one with the smaller signature."""
    best: Match | None = None
    size = len(skeleton.paths) + ALLOWANCE
    for leader in leaders:
        other = len(leader.paths) + ALLOWANCE
        # The sets' sizes alone tell that they cannot be alike enough.
        if min(size, other) < like * like * max(size, other):
            continue
        found = likeness(skeleton, leader, shared)
        if found >= like and (best is None or (found, -leader.l1) > (best.similarity, -best.signature)):
            best = Match(leader.l1, found)
    return best

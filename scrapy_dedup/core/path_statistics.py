"""What the pages of a site show about each of its DOM paths."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from scrapy_dedup.core.observations import Observation
from scrapy_dedup.core.path_looks import FEW_PAGES, NO_LOOKS, PathLooks, names_of_surroundings
from scrapy_dedup.core.path_names import Folding, design_names, tag_of

ROOT: Final = "body"
# The step of the text that stands in an element itself, beside the elements in it.
OWN_TEXT: Final = "-"
HEADINGS: Final = frozenset("h1 h2 h3 h4 h5 h6".split())
_MILLION: Final = 1_000_000
_FEW: Final = 2
_LIST: Final = 3
_NEARLY_ALL: Final = 0.8


@dataclass(frozen=True, slots=True)
class RepeatShares:
    """When a text counts as repeated on its path. Each share of pages is met by whichever asks for fewer pages."""

    some: float = 0.3
    """Of all pages, for text that repeats."""
    some_of_layout: float = 0.6
    """The same of the pages that have its path: what one layout of several repeats."""
    most: float = 0.6
    """Of all pages, for text that is constant."""
    most_of_layout: float = 0.9
    fewest: int = 3
    """Constant text is on so many pages at least; what repeats, on two."""
    design: float = 0.05
    """Share of pages on which a class or id of the design stands."""


class Repeats:
    """On how many pages a text stands on one path, and what that means."""

    def __init__(
        self, observations: Sequence[Observation], folded: Sequence[Sequence[str]], shares: RepeatShares
    ) -> None:
        self.shares = shares
        self.pages = len(observations)
        self.texts: Counter[tuple[str, int]] = Counter()
        self.paths: Counter[str] = Counter()
        for seen, paths in zip(observations, folded, strict=True):
            self.paths.update(set(paths))
            self.texts.update({(paths[at], text) for at, text in zip(seen.at, seen.texts, strict=True)})

    def needed(self, path: str) -> tuple[float, float]:
        """Return on how many pages a text of this path repeats, and on how many it is constant."""
        shares, pages, have = self.shares, self.pages, self.paths[path]
        return (
            max(2, min(shares.some * pages, shares.some_of_layout * have)),
            max(shares.fewest, min(shares.most * pages, shares.most_of_layout * have)),
        )


@dataclass(slots=True)
class Sums:
    """Characters on one path, with all that stands in it."""

    blocks: int = 0
    chars: int = 0
    link_chars: int = 0
    heading_chars: int = 0
    echoed: int = 0
    """In blocks that are links whole, with a text that the page has without a link, too."""
    repeated: int = 0
    constant: int = 0
    unique: int = 0
    """Neither repeated nor links."""

    def add(self, other: "Sums") -> None:
        """Take in what stands below."""
        self.blocks += other.blocks
        self.chars += other.chars
        self.link_chars += other.link_chars
        self.heading_chars += other.heading_chars
        self.echoed += other.echoed
        self.repeated += other.repeated
        self.constant += other.constant
        self.unique += other.unique


@dataclass(slots=True)
class _OnPage:
    """One path of one page."""

    sums: Sums
    before: int
    """Unique characters of the page in front of it."""
    until: int
    """The same up to its end."""


@dataclass(slots=True, eq=False)
class PathNode:
    """One DOM path, summed over the pages that have it."""

    path: str
    step: str
    tag: str
    """Of the element whose text it is."""
    parent: "PathNode | None"
    depth: int = 0
    in_heading: bool = False
    children: "list[PathNode]" = field(default_factory=list)
    sums: Sums = field(default_factory=Sums)
    pages: int = 0
    runs: int = 0
    """How often it begins where pages are read in order: a list once, the titles of ten cards ten times."""
    on_pages: int = 0
    """One bit for each page that has it."""
    on_edge: int = 0
    """Pages on which it stands before all unique text or behind it."""
    weighed: int = 0
    """Pages with enough unique text to say how much of it stands here."""
    coverage_sum: int = 0
    """In millionths: whole numbers add up alike in any order."""
    seen: PathLooks = NO_LOOKS
    """Of the pages that a browser showed, with all that stands in it."""

    @property
    def is_own_text(self) -> bool:
        """Whether this is the text in an element itself, beside the elements in it."""
        return self.step == OWN_TEXT

    @property
    def repeated(self) -> float:
        """Share of its text that some pages share."""
        return self.sums.repeated / max(1, self.sums.chars)

    @property
    def constant(self) -> float:
        """Share of its text that most pages share."""
        return self.sums.constant / max(1, self.sums.chars)

    @property
    def links(self) -> float:
        """Share of its text that stands in links."""
        return self.sums.link_chars / max(1, self.sums.chars)

    @property
    def coverage(self) -> float:
        """Its share of a page's unique text, mean of the pages that have it."""
        return self.coverage_sum / _MILLION / max(1, self.weighed)

    @property
    def looks(self) -> float | None:
        """How far its text looks like what pages are about, 0.0 to 1.0; None where no browser showed any."""
        return self.seen.main / self.seen.seen if self.seen.seen else None

    @property
    def unseen(self) -> float:
        """Share of its text that no person sees, of the pages that a browser showed."""
        return self.seen.unseen / max(1, self.seen.seen + self.seen.unseen)

    @property
    def is_list(self) -> bool:
        """Whether its blocks follow each other, or it stands once or twice a page; the titles of cards do neither."""
        return self.runs <= _FEW * self.pages or self.sums.blocks >= _LIST * self.runs

    @property
    def is_echo(self) -> bool:
        """Whether it repeats in links what its page says without, as pictures lead where the title beside them does."""
        return self.sums.echoed >= _NEARLY_ALL * self.sums.chars

    @property
    def is_heading(self) -> bool:
        """Whether most of its text is headings."""
        return 2 * self.sums.heading_chars >= self.sums.chars


@dataclass(frozen=True, slots=True)
class SiteStatistics:
    """All paths of a site."""

    pages: int
    nodes: tuple[PathNode, ...]
    """Each after its parent; the first is body."""
    blocks: Counter[int]
    """Fingerprint to the number of pages that have the block."""


def survey_paths(
    observations: Sequence[Observation], shares: RepeatShares, looks: Sequence[Mapping[str, PathLooks]] = ()
) -> SiteStatistics:
    """Return what the pages show, and how it looks on some of them; their order does not matter."""
    names = design_names((seen.paths for seen in observations), shares.design)
    if len(observations) < FEW_PAGES:
        names |= names_of_surroundings(looks)
    folding = Folding(names)
    folded = [[folding.path(path) for path in seen.paths] for seen in observations]
    repeats = Repeats(observations, folded, shares)
    tree = _Tree(repeats)
    blocks: Counter[int] = Counter()
    for seen, paths in zip(observations, folded, strict=True):
        tree.add(seen, paths)
        blocks.update(set(seen.fingerprints))
    for of_page in looks:
        for path, looks_there in of_page.items():
            tree.show(folding.path(path), looks_there)
    return SiteStatistics(len(observations), tree.nodes_from_above(), blocks)


class _Tree:
    def __init__(self, repeats: Repeats) -> None:
        self.repeats = repeats
        self.root = PathNode(ROOT, ROOT, ROOT, None)
        self.nodes = {ROOT: self.root}
        self.pages = 0

    def add(self, seen: Observation, paths: Sequence[str]) -> None:
        """Add one page's blocks to the paths on which they stand, and to all above."""
        here, total = self._own_texts(seen, paths)
        self._count_runs([paths[at] for at in seen.at])
        for node in _from_below(here):
            on_page = here[node]
            self._count(node, on_page, total)
            if node.parent is not None:
                _enclose(here, node.parent, on_page)
        self.pages += 1

    def show(self, path: str, looks: PathLooks) -> None:
        """Add how a page's text looks to the path on which it stands, and to all above; of other paths nothing."""
        node = self.nodes.get(f"{path}>{OWN_TEXT}")
        while node is not None:
            node.seen = PathLooks(*map(int.__add__, node.seen, looks))
            node = node.parent

    def _own_texts(self, seen: Observation, paths: Sequence[str]) -> tuple[dict[PathNode, _OnPage], int]:
        """Return the text of each element itself, and how many characters are unique on this page."""
        own = [self.node(f"{path}>{OWN_TEXT}") for path in paths]
        needed = [self.repeats.needed(path) for path in paths]
        counts = self.repeats.texts
        unlinked = {text for text, links in zip(seen.texts, seen.link_chars, strict=True) if not links}
        here: dict[PathNode, _OnPage] = {}
        total = 0
        for at, text, chars, links in zip(seen.at, seen.texts, seen.chars, seen.link_chars, strict=True):
            node = own[at]
            on_page = here.get(node)
            if on_page is None:
                on_page = here[node] = _OnPage(Sums(), total, total)
            sums = on_page.sums
            count = counts[paths[at], text]
            sums.blocks += 1
            sums.chars += chars
            sums.link_chars += links
            if node.in_heading:
                sums.heading_chars += chars
            if links == chars and text in unlinked:
                sums.echoed += chars
            if count >= needed[at][1]:
                sums.constant += chars
            if count >= needed[at][0]:
                sums.repeated += chars
            else:
                sums.unique += chars - links
                total += chars - links
            on_page.until = total
        return here, total

    def _count_runs(self, paths: Iterable[str]) -> None:
        """Count for each path how often text begins to stand in it."""
        last: dict[PathNode, int] = {}
        for number, (path, _) in enumerate(groupby(paths), 1):
            node: PathNode | None = self.node(f"{path}>{OWN_TEXT}")
            while node is not None:
                if last.get(node) != number - 1:
                    node.runs += 1
                last[node] = number
                node = node.parent

    def _count(self, node: PathNode, on_page: _OnPage, total: int) -> None:
        node.sums.add(on_page.sums)
        node.pages += 1
        node.on_pages |= 1 << self.pages
        node.on_edge += on_page.before <= _EDGE * total or on_page.until >= (1 - _EDGE) * total
        if total >= _ENOUGH_UNIQUE:
            node.weighed += 1
            node.coverage_sum += on_page.sums.unique * _MILLION // total

    def node(self, path: str) -> PathNode:
        known = self.nodes.get(path)
        if known is not None:
            return known
        above, _, step = path.rpartition(">")
        parent = self.node(above)
        tag = parent.tag if step == OWN_TEXT else tag_of(step)
        node = PathNode(path, step, tag, parent, parent.depth + 1, parent.in_heading or tag in HEADINGS)
        self.nodes[path] = node
        parent.children.append(node)
        return node

    def nodes_from_above(self) -> tuple[PathNode, ...]:
        return tuple(sorted(self.nodes.values(), key=lambda node: (node.depth, node.path)))


# What has at most this share of the page's unique text in front of it stands at its beginning.
_EDGE: Final = 0.003
# Of a page with less unique text, shares of it say nothing.
_ENOUGH_UNIQUE: Final = 100


def _from_below(here: dict[PathNode, _OnPage]) -> Iterable[PathNode]:
    """Return the nodes of a page and all above them, the deepest first; those above join while one goes."""
    levels: dict[int, dict[PathNode, None]] = {}
    for node in here:
        levels.setdefault(node.depth, {})[node] = None
    for depth in range(max(levels, default=-1), -1, -1):
        for node in levels.get(depth, ()):
            yield node
            if node.parent is not None:
                levels.setdefault(depth - 1, {})[node.parent] = None


def _enclose(here: dict[PathNode, _OnPage], parent: PathNode, inner: _OnPage) -> None:
    outer = here.get(parent)
    if outer is None:
        outer = here[parent] = _OnPage(Sums(), inner.before, inner.until)
    outer.sums.add(inner.sums)
    outer.before = min(outer.before, inner.before)
    outer.until = max(outer.until, inner.until)

"""What the pages of a site, of a layout or one page alone show about each DOM path, as figures that a model can weigh.

Why paths, and not blocks: what surrounds the content varies from page to page (previous and next, breadcrumbs, related
posts), what is content repeats ("Parameters", prices, inherited methods). Where it stands tells them apart.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import accumulate
from math import nan, sqrt
from typing import Final, NamedTuple

from msgspec import Struct, field

from scrapy_dedup.core.boilerplate.names import Called, Folding, design_names, known_step, parts_of
from scrapy_dedup.core.boilerplate.observations import Observation, PageKind

ROOT: Final = "body"
# Of pages: a class or id on fewer says what a page is about, not where in the design it stands.
_DESIGN: Final = 0.05
# Of so few pages none is told from the others by how often its names occur.
_FEW: Final = 3
# Text on so large a share of pages is not a page's own; on two pages at least.
_REPEATS: Final = 0.3
_LONG: Final = 80
# Elements alike on a page make a list, a grid or a thread.
_SEVERAL: Final = 3
# Blocks before and behind a block whose links are looked at.
_NEIGHBOURS: Final = 3
_MOST_SINCE: Final = 60
# In hundredths of words: less in common with the title is chance.
_TITLE: Final = 25
HEADINGS: Final = frozenset("h1 h2 h3 h4 h5 h6".split())
# The way to the content goes on where one element holds so much of its parent's own text.
_WAY: Final = 0.6
_TEXT_TAGS: Final = frozenset("p li tr td tbody pre".split())
# Ids of these are what single pages call their sections.
_CALLED: Final = frozenset("h1 h2 h3 h4 h5 h6 dt dd dl p li tr td a span section pre".split())
TAGS: Final = tuple(
    "nav header footer aside main article section form table ul ol li p pre dl dt dd blockquote tr td th "
    "h1 h2 h3 h4 h5 h6 div label center fieldset figure details address".split()
)


class Sums(Struct):
    """Of the text on a path, over all pages; with all that stands in it, or of the element itself alone."""

    blocks: int = 0
    chars: int = 0
    links: int = 0
    within: int = 0
    away: int = 0
    punctuation: int = 0
    digits: int = 0
    capitals: int = 0
    long: int = 0
    shared: int = 0
    """Characters that another page has, too."""
    often: float = 0.0
    """Characters times the share of the other pages that have them."""
    masked: float = 0.0
    """The same with all numbers alike."""
    heading: int = 0
    """Characters of texts that are the h1 of other pages, and not of this one."""
    prices: int = 0
    offers: int = 0
    """Prices that few pages have."""

    def add(self, other: "Sums") -> None:
        """Take in what stands below."""
        self.blocks += other.blocks
        self.chars += other.chars
        self.links += other.links
        self.within += other.within
        self.away += other.away
        self.punctuation += other.punctuation
        self.digits += other.digits
        self.capitals += other.capitals
        self.long += other.long
        self.shared += other.shared
        self.often += other.often
        self.masked += other.masked
        self.heading += other.heading
        self.prices += other.prices
        self.offers += other.offers


class PathNode(Struct, eq=False):
    """One DOM path, summed over the pages that have it.

    It knows what it stands in, and not what stands in it: in a cycle it would wait for the garbage collector.
    """

    path: str
    tag: str
    parent: "PathNode | None"
    depth: int
    hints: set[str] = field(default_factory=set)
    """Its role and property, with "@" and "%" before them."""
    tokens: frozenset[str] = frozenset()
    """Words in its classes and id."""
    above: frozenset[str] = frozenset()
    """The same of it and of all that it stands in."""
    tags_above: tuple[int, ...] = ()
    in_heading: bool = False
    in_h1: bool = False
    own: Sums = field(default_factory=Sums)
    whole: Sums = field(default_factory=Sums)
    elements: int = 0
    element_squares: int = 0
    """Squares of their number on a page, summed over pages."""
    controls: int = 0
    """Fields and buttons in all its elements."""
    hidden: int = 0
    """Its elements, or those that it stands in, that are not shown, on so many pages."""
    pages: int = 0
    """That have it, with or without text."""
    page_offers: int = 0
    """Prices that few pages have, in it and elsewhere on the pages that have it."""
    text_pages: int = 0
    """That have text in the element itself."""
    # A Counter takes ten times as long to make.
    parts: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    """Elements in it, by tag, itself with them."""
    texts: set[int] = field(default_factory=set)
    largest: int = 0
    squares: int = 0
    own_share: float = 0.0
    share: float = 0.0
    """Its share of a page's text, summed over pages; then of its own text, and where it begins and ends."""
    cover: float = 0.0
    rest: float = 0.0
    """The same of what few pages have, links with it."""
    start: float = 0.0
    start_squares: float = 0.0
    end: float = 0.0
    position: float = 0.0
    from_h1: float = 0.0
    from_h1_blocks: int = 0
    from_title: float = 0.0
    from_title_blocks: int = 0
    since: int = 0
    title: int = 0
    most_title: int = 0
    links_before: float = 0.0
    links_behind: float = 0.0
    chars_before: float = 0.0
    chars_behind: float = 0.0


class PathSurvey(Struct, frozen=True):
    """All paths of some pages."""

    pages: int
    kinds: Counter[PageKind | None]
    """What the pages declare themselves to be."""
    nodes: tuple[PathNode, ...]
    """Each after its parent; the first is body."""
    way: tuple[PathNode, ...]
    """Those that lead from body to the one that holds most of what is a page's own."""
    folding: Folding
    blocks: Counter[int]
    """Fingerprint to the number of pages that have the block."""


def survey(observations: Sequence[Observation]) -> PathSurvey:
    """Return what some pages show about their paths; the order of pages does not matter."""
    folding = Folding(_design_names(observations))
    tree = _Tree(observations)
    for seen in observations:
        tree.add(seen, [folding.path(path) for path in seen.paths])
    nodes = tree.finished()
    return PathSurvey(len(observations), tree.kinds, nodes, _way(nodes), folding, tree.blocks)


def _first_headings(seen: Observation) -> set[int]:
    """Return the texts of a page's h1."""
    within = {at for at, path in enumerate(seen.paths) if ">h1" in path and _H1.search(path)}
    return {text for at, text in zip(seen.at, seen.texts, strict=True) if at in within} if within else set()


_H1: Final = re.compile(r">h1(?![0-9a-z])")


def _design_names(observations: Sequence[Observation]) -> frozenset[str]:
    if len(observations) >= _FEW:
        return design_names((seen.paths for seen in observations), _DESIGN)
    found: set[str] = set()
    for step in {step for seen in observations for path in seen.paths for step in path.split(">")}:
        tag, *names = parts_of(step)
        found.update(name for name in names if name[0] == "." or tag not in _CALLED)
    return frozenset(found)


class _PageTotals(NamedTuple):
    """Characters of a page, as divisors; and prices."""

    chars: int
    own: int
    """That are the page's own, without links."""
    rest: int
    """That few pages have, links with them."""
    offers: int
    """Prices that few pages have."""


class _Tree:
    def __init__(self, observations: Sequence[Observation]) -> None:
        self.pages = len(observations)
        self.others = max(1, self.pages - 1)
        self.on: Counter[int] = Counter()
        self.blocks: Counter[int] = Counter()
        self.masks: Counter[int] = Counter()
        self.headed: Counter[int] = Counter()
        self.kinds: Counter[PageKind | None] = Counter()
        for seen in observations:
            self.kinds[seen.kind] += 1
            self.on.update(set(seen.texts))
            self.masks.update(set(seen.masks))
            self.headed.update(_first_headings(seen))
            self.blocks.update(set(seen.fingerprints))
        self.needed = max(2, _REPEATS * self.pages)
        root = PathNode(ROOT, ROOT, None, 0, tags_above=(0,) * len(TAGS))
        self.nodes = {ROOT: root}

    def node(self, path: str) -> PathNode:
        known = self.nodes.get(path)
        if known is not None:
            return known
        above, _, step = path.rpartition(">")
        parent = self.node(above or ROOT)
        own = known_step(step)
        tag = own.tag
        node = PathNode(path, tag, parent, parent.depth + 1)
        node.tokens = own.tokens
        node.tags_above = parent.tags_above
        if tag in _TAG_PLACES:
            counts = list(parent.tags_above)
            counts[_TAG_PLACES[tag]] += 1
            node.tags_above = tuple(counts)
        node.in_heading = parent.in_heading or tag in HEADINGS
        node.in_h1 = parent.in_h1 or tag == "h1"
        self.nodes[path] = node
        return node

    def add(self, seen: Observation, paths: Sequence[str]) -> None:
        """Add one page: its blocks to the paths on which they stand, and what it shows of those above."""
        nodes = [self.node(path) for path in paths]
        counted: dict[PathNode, int] = {}
        for node, count, controls, hints in zip(nodes, seen.elements, seen.controls, seen.hints, strict=True):
            node.elements += count
            # Several paths of a page may be one here: the square is of their sum.
            before = counted.get(node, 0)
            node.element_squares += count * (count + 2 * before)
            counted[node] = before + count
            node.parts[node.tag] += count
            node.controls += controls
            for hint in hints.split() if hints else ():
                if hint == "!":
                    node.hidden += 1
                else:
                    node.hints.add(hint)
        of_blocks = [nodes[at] for at in seen.at]
        here, of_page = self._texts(seen, of_blocks)
        total = of_page.chars
        _places(seen, of_blocks, total)
        for node, (chars, *_) in here.items():
            node.text_pages += 1
            node.own_share += chars / total
            node.squares += chars * chars
            node.largest = max(node.largest, chars)
        self._enclose(here, nodes, of_page)

    def _texts(
        self, seen: Observation, of_blocks: Sequence[PathNode]
    ) -> tuple[dict[PathNode, list[int]], "_PageTotals"]:
        """Add up texts; return for each path [characters, the page's own, those that few pages have, begin, end]."""
        on, others, needed = self.on, self.others, self.needed
        masks, headed, own_headings = self.masks, self.headed, _first_headings(seen)
        few = max(1.0, _REPEATS * self.pages)
        here: dict[PathNode, list[int]] = {}
        before = own_total = rest_total = offers = 0
        for node, text, mask, chars, links, within, away, marks, digits, capital, title, price in zip(
            of_blocks, seen.texts, seen.masks, seen.chars, seen.link_chars, seen.within, seen.away, seen.punctuation,
            seen.digits, seen.capital, seen.title, seen.price, strict=True,
        ):  # fmt: skip
            sums = node.own
            pages_with = on[text]
            sums.blocks += 1
            sums.chars += chars
            if links:
                sums.links += links
                sums.within += within
                sums.away += away
            sums.punctuation += marks
            sums.digits += digits
            sums.capitals += capital
            sums.prices += price
            sums.long += chars >= _LONG
            if pages_with > 1:
                sums.shared += chars
                sums.often += chars * (pages_with - 1) / others
            masked = masks[mask]
            if masked > 1:
                sums.masked += chars * (masked - 1) / others
            if text in headed and headed[text] <= few and text not in own_headings:
                sums.heading += chars
            rest = unique = 0
            if pages_with < needed:
                rest, unique = chars, chars - links
                sums.offers += price
                offers += price
            own_total += unique
            rest_total += rest
            node.texts.add(text)
            if title:
                node.title += title
                node.most_title = max(title, node.most_title)
            on_page = here.get(node)
            if on_page is None:
                here[node] = [chars, unique, rest, before, before + chars]
            else:
                on_page[0] += chars
                on_page[1] += unique
                on_page[2] += rest
                on_page[4] = before + chars
            before += chars
        return here, _PageTotals(before or 1, own_total or 1, rest_total or 1, offers)

    def _enclose(self, here: dict[PathNode, list[int]], nodes: Sequence[PathNode], of_page: "_PageTotals") -> None:
        """Add to each path of a page what stands in it."""
        levels: dict[int, dict[PathNode, None]] = {}
        for node in nodes:
            levels.setdefault(node.depth, {})[node] = None
        for depth in range(max(levels, default=-1), -1, -1):
            for node in levels.get(depth, ()):
                node.pages += 1
                node.page_offers += of_page.offers
                parent = node.parent
                if parent is not None:
                    levels.setdefault(depth - 1, {})[parent] = None
                on_page = here.get(node)
                if on_page is None:
                    continue
                chars, unique, rest, begin, end = on_page
                node.share += chars / of_page.chars
                node.cover += unique / of_page.own
                node.rest += rest / of_page.rest
                node.start += begin / of_page.chars
                node.start_squares += (begin / of_page.chars) ** 2
                node.end += end / of_page.chars
                if parent is not None:
                    outer = here.get(parent)
                    if outer is None:
                        here[parent] = [chars, unique, rest, begin, end]
                    else:
                        outer[0] += chars
                        outer[1] += unique
                        outer[2] += rest
                        outer[3] = min(outer[3], begin)
                        outer[4] = max(outer[4], end)

    def finished(self) -> tuple[PathNode, ...]:
        nodes = sorted(self.nodes.values(), key=lambda node: (node.depth, node.path))
        for node in nodes:
            if node.hints:
                node.tokens |= node.hints
            if node.parent is not None:
                above = node.parent.above
                node.above = above if node.tokens <= above else above | node.tokens
                node.hidden = max(node.hidden, node.parent.hidden)
        for node in reversed(nodes):
            node.whole.add(node.own)
            if node.parent is not None:
                node.parent.controls += node.controls
                node.parent.whole.add(node.whole)
                parts = node.parent.parts
                for tag, count in node.parts.items():
                    parts[tag] += count
        return tuple(nodes)


def _places(seen: Observation, of_blocks: Sequence[PathNode], total: int) -> None:
    """Add up where the blocks of a page stand, and what stands before and behind them."""
    before = [0, *accumulate(seen.chars)]
    links = [0, *accumulate(seen.link_chars)]
    count = len(of_blocks)
    h1 = next((before[place] for place, node in enumerate(of_blocks) if node.in_h1), -1)
    best = max(seen.title, default=0)
    title_at = before[seen.title.index(best)] if best > _TITLE else -1
    since = _MOST_SINCE
    for number, node in enumerate(of_blocks):
        offset, behind = before[number], before[number + 1]
        since = 0 if node.in_heading else min(_MOST_SINCE, since + 1)
        node.since += since
        node.position += offset / total
        if h1 >= 0:
            node.from_h1 += (offset - h1) / total
            node.from_h1_blocks += 1
        if title_at >= 0:
            node.from_title += (offset - title_at) / total
            node.from_title_blocks += 1
        first, last = max(0, number - _NEIGHBOURS), min(count, number + 1 + _NEIGHBOURS)
        text_before, text_behind = offset - before[first], before[last] - behind
        node.chars_before += text_before
        node.chars_behind += text_behind
        node.links_before += (links[number] - links[first]) / (text_before or 1)
        node.links_behind += (links[last] - links[number + 1]) / (text_behind or 1)


_TAG_PLACES: Final = {tag: place for place, tag in enumerate(TAGS)}


class DropReason(StrEnum):
    """Of which kind the figure is that spoke most against what stands on a path."""

    REPEATS = "repeats"
    """Its text is that of other pages."""
    LINKS = "links"
    """Its text, or that around it, leads elsewhere."""
    NAMED = "named"
    """By tag, class, id or role it, or what it stands in, is called as what surrounds content."""
    OUTSIDE = "outside"
    """Where it stands, and how much of a page's own text is there."""
    FORM = "form"
    """Fields and buttons stand around it."""
    TEXT = "text"
    """How its text is made: how long, with how many digits and marks."""
    UNSEEN = "unseen"
    """No person sees it, and no click opens it."""


class Figure(NamedTuple):
    """What a figure of a path tells of, and how it is said."""

    kind: DropReason
    words: str
    """With a place for its value, without sign, and maybe one for `before` or `behind`."""


_OF_FORMS: Final = frozenset(("form", "label", "fieldset"))
# In the order of a row; see `_row`.
FIGURES: Final[Mapping[str, Figure]] = {
    "pages": Figure(DropReason.OUTSIDE, "it was judged by {:.0f} pages"),
    "own_chars": Figure(DropReason.TEXT, "{:.0f} characters a page"),
    "own_block": Figure(DropReason.TEXT, "{:.0f} characters a text"),
    "own_links": Figure(DropReason.LINKS, "{:.0%} of its text links"),
    "own_within": Figure(DropReason.LINKS, "{:.0%} of its text links within the page"),
    "own_away": Figure(DropReason.LINKS, "{:.0%} of its text links to named hosts"),
    "own_punctuation": Figure(DropReason.TEXT, "{:.3f} marks of punctuation a character"),
    "own_digits": Figure(DropReason.TEXT, "{:.0%} of its text are digits"),
    "own_capitals": Figure(DropReason.TEXT, "{:.0%} of its texts begin with a capital"),
    "own_long": Figure(DropReason.TEXT, "{:.0%} of its texts are long"),
    "own_largest": Figure(DropReason.TEXT, "{:.0f} characters on the page that has most of it"),
    "block": Figure(DropReason.TEXT, "{:.0f} characters a text in it"),
    "links": Figure(DropReason.LINKS, "{:.0%} of the text in it links"),
    "chars": Figure(DropReason.TEXT, "{:.0f} characters in it"),
    "punctuation": Figure(DropReason.TEXT, "{:.3f} marks of punctuation a character in it"),
    "long": Figure(DropReason.TEXT, "{:.0%} of the texts in it are long"),
    "within": Figure(DropReason.LINKS, "{:.0%} of the text in it links within the page"),
    "elements": Figure(DropReason.OUTSIDE, "{:.1f} of it a page"),
    "own_of_whole": Figure(DropReason.OUTSIDE, "{:.0%} of the text in it is its own"),
    "depth": Figure(DropReason.OUTSIDE, "it stands {:.0f} elements deep"),
    "headings": Figure(DropReason.OUTSIDE, "{:.1f} headings in it"),
    "paragraphs": Figure(DropReason.OUTSIDE, "{:.1f} paragraphs in it"),
    "items": Figure(DropReason.OUTSIDE, "{:.1f} list items in it"),
    "rows": Figure(DropReason.OUTSIDE, "{:.1f} table rows in it"),
    "share": Figure(DropReason.OUTSIDE, "it holds {:.0%} of the page's text"),
    "own_share": Figure(DropReason.OUTSIDE, "it is {:.0%} of the page's text"),
    "start": Figure(DropReason.OUTSIDE, "it begins after {:.0%} of the page"),
    "end": Figure(DropReason.OUTSIDE, "it ends after {:.0%} of the page"),
    "position": Figure(DropReason.OUTSIDE, "it stands after {:.0%} of the page"),
    "from_h1": Figure(DropReason.OUTSIDE, "it stands {0:.0%} of the page {1} the first heading"),
    "from_title": Figure(DropReason.OUTSIDE, "it stands {0:.0%} of the page {1} the title"),
    "since": Figure(DropReason.OUTSIDE, "{:.0f} texts since the last heading"),
    "title": Figure(DropReason.TEXT, "{:.0f} % of its words are the title's"),
    "most_title": Figure(DropReason.TEXT, "{:.0f} % of its words are the title's at most"),
    "in_heading": Figure(DropReason.NAMED, "it is a heading"),
    "controls": Figure(DropReason.FORM, "{:.1f} fields and buttons in it"),
    "control_rate": Figure(DropReason.FORM, "{:.1f} fields and buttons a text"),
    "hidden": Figure(DropReason.UNSEEN, "it is not shown on {:.0%} of the pages"),
    "links_before": Figure(DropReason.LINKS, "{:.0%} of the text before it links"),
    "links_behind": Figure(DropReason.LINKS, "{:.0%} of the text behind it links"),
    "chars_before": Figure(DropReason.OUTSIDE, "{:.0f} characters in the three texts before it"),
    "chars_behind": Figure(DropReason.OUTSIDE, "{:.0f} characters in the three texts behind it"),
    "page_share": Figure(DropReason.OUTSIDE, "it is on {:.0%} of the pages"),
    "text_share": Figure(DropReason.OUTSIDE, "it has text on {:.0%} of the pages"),
    "own_shared": Figure(DropReason.REPEATS, "{:.0%} of its text is on other pages, too"),
    "own_often": Figure(DropReason.REPEATS, "its text is on {:.0%} of the other pages"),
    "shared": Figure(DropReason.REPEATS, "{:.0%} of the text in it is on other pages, too"),
    "often": Figure(DropReason.REPEATS, "the text in it is on {:.0%} of the other pages"),
    "distinct": Figure(DropReason.REPEATS, "{:.0%} of its texts differ"),
    "distinct_page": Figure(DropReason.REPEATS, "{:.1f} texts a page are its own"),
    "cover": Figure(DropReason.OUTSIDE, "it holds {:.0%} of what is the page's own"),
    "cover_site": Figure(DropReason.OUTSIDE, "it holds {:.0%} of what is the pages' own"),
    "share_site": Figure(DropReason.OUTSIDE, "it holds {:.0%} of the pages' text"),
    "start_spread": Figure(DropReason.OUTSIDE, "where it begins differs by {:.0%} of the page"),
    "length_spread": Figure(DropReason.TEXT, "its length differs by {:.0%} from page to page"),
    "own_repeated": Figure(DropReason.REPEATS, "{:.0f} characters a page of its text repeat"),
    "repeated": Figure(DropReason.REPEATS, "{:.0f} characters a page of the text in it repeat"),
    "own_cover": Figure(DropReason.OUTSIDE, "{:.0%} of the page is its own text"),
    "short_links": Figure(DropReason.LINKS, "{:.0%} of it are short links"),
    "same_length": Figure(DropReason.REPEATS, "one text serves {:.1f} pages"),
    "left_at": Figure(DropReason.OUTSIDE, "it leaves the way to the content after {:.0%} of it"),
    "left_before_end": Figure(DropReason.OUTSIDE, "it leaves the way to the content {:.0f} steps before its end"),
    "beside": Figure(DropReason.OUTSIDE, "{:.0f} steps beside the way to the content"),
    "from_column": Figure(DropReason.OUTSIDE, "it stands {0:.0%} of the page {1} where the content begins"),
    "from_column_end": Figure(DropReason.OUTSIDE, "it stands {0:.0%} of the page {1} where the content ends"),
    "most_links": Figure(DropReason.LINKS, "it stands where {:.0%} of the text links"),
    "most_often": Figure(DropReason.REPEATS, "it stands where the text is on {:.0%} of the other pages"),
    "least_cover": Figure(DropReason.OUTSIDE, "it stands where {:.0%} of what is the page's own is"),
    "longest_text": Figure(DropReason.TEXT, "it stands where {:.0%} of the texts are long"),
    "of_parent": Figure(DropReason.OUTSIDE, "it is {:.0%} of what it stands in"),
    "parent_links": Figure(DropReason.LINKS, "{:.0%} of the text around it links"),
    "parent_block": Figure(DropReason.TEXT, "{:.0f} characters a text in what it stands in"),
    "parent_chars": Figure(DropReason.TEXT, "{:.0f} characters in what it stands in"),
    "parent_shared": Figure(DropReason.REPEATS, "{:.0%} of the text around it is on other pages, too"),
    "parent_often": Figure(DropReason.REPEATS, "the text around it is on {:.0%} of the other pages"),
    "parent_cover": Figure(DropReason.OUTSIDE, "what it stands in holds {:.0%} of what is the page's own"),
    "parent_share": Figure(DropReason.OUTSIDE, "what it stands in holds {:.0%} of the page's text"),
    "parent_page_share": Figure(DropReason.OUTSIDE, "what it stands in is on {:.0%} of the pages"),
    "parent_paragraphs": Figure(DropReason.OUTSIDE, "{:.1f} paragraphs around it"),
    "parent_headings": Figure(DropReason.OUTSIDE, "{:.1f} headings around it"),
    "parent_start": Figure(DropReason.OUTSIDE, "what it stands in begins after {:.0%} of the page"),
    "parent_end": Figure(DropReason.OUTSIDE, "what it stands in ends after {:.0%} of the page"),
    "parent_elements": Figure(DropReason.OUTSIDE, "{:.1f} of what it stands in a page"),
    "parent_punctuation": Figure(DropReason.TEXT, "{:.3f} marks of punctuation a character around it"),
    "parent_long": Figure(DropReason.TEXT, "{:.0%} of the texts around it are long"),
    "parent_within": Figure(DropReason.LINKS, "{:.0%} of the text around it links within the page"),
    "parent_controls": Figure(DropReason.FORM, "{:.1f} fields and buttons around it"),
    **{
        f"in_{tag}": Figure(DropReason.FORM if tag in _OF_FORMS else DropReason.NAMED, f"it stands in <{tag}>")
        for tag in TAGS
    },
    "own_masked": Figure(DropReason.REPEATS, "numbers aside, its text is on {:.0%} of the other pages"),
    "own_heading": Figure(DropReason.REPEATS, "{:.0%} of its text is headings of other pages"),
    "elements_spread": Figure(DropReason.OUTSIDE, "how many of it are on a page differs by {:.0%}"),
    "articles": Figure(DropReason.OUTSIDE, "{:.0%} of the pages declare that they are articles"),
    "products": Figure(DropReason.OUTSIDE, "{:.0%} of the pages declare that they are products"),
    "others": Figure(DropReason.OUTSIDE, "{:.0%} of the pages declare that they are something else"),
    "group_at": Figure(DropReason.OUTSIDE, "it stands {:.0f} elements deep in what is repeated on a page"),
    "group_elements": Figure(DropReason.OUTSIDE, "it stands in one of {:.0f} alike"),
    "group_spread": Figure(DropReason.OUTSIDE, "it stands in what differs in number by {:.0%} from page to page"),
    "group_chars": Figure(DropReason.OUTSIDE, "it stands in one of many with {:.0f} characters each"),
    "group_links": Figure(DropReason.LINKS, "it stands in one of many of which {:.0%} of the text links"),
    "group_linked": Figure(DropReason.LINKS, "it stands in one of many with {:.0f} characters of links each"),
    "group_headings": Figure(DropReason.OUTSIDE, "it stands in one of many with {:.1f} headings each"),
    "group_cover": Figure(DropReason.OUTSIDE, "it stands in one of many that hold {:.0%} of what is the page's own"),
    "group_start": Figure(DropReason.OUTSIDE, "it stands in one of many that begin after {:.0%} of the page"),
    "group_page_share": Figure(DropReason.OUTSIDE, "it stands in one of many, on {:.0%} of the pages"),
    "group_heading": Figure(DropReason.REPEATS, "it stands in one of many whose text is by {:.0%} headings of others"),
    "around": Figure(DropReason.NAMED, "it is named as what surrounds content"),
    "content": Figure(DropReason.NAMED, "it is named as content"),
    "arounds": Figure(DropReason.NAMED, "{:.0f} words for what surrounds content"),
    "contents": Figure(DropReason.NAMED, "{:.0f} words for content"),
    "around_at": Figure(DropReason.NAMED, "{:.0f} steps below a name of what surrounds content"),
    "content_at": Figure(DropReason.NAMED, "{:.0f} steps below a name of content"),
    "rest": Figure(DropReason.OUTSIDE, "it holds {:.0%} of what few pages have, links with it"),
    "parent_rest": Figure(DropReason.OUTSIDE, "what it stands in holds {:.0%} of what few pages have, links with it"),
    "group_rest": Figure(DropReason.OUTSIDE, "it stands in one of many that hold {:.0%} of what few pages have"),
    "group_offers": Figure(DropReason.OUTSIDE, "it stands in one of many with {:.1f} prices each"),
    "offers_beside": Figure(DropReason.OUTSIDE, "{:.1f} prices a page stand beside it and what is like it"),
    "rest_beside": Figure(DropReason.OUTSIDE, "beside what leads to the content stand {:.0%} of what few pages have"),
}


class _PathFigures(NamedTuple):
    """Of one path, those that stand for it in the rows of what it holds."""

    links: float
    block: float
    chars: float
    shared: float
    often: float
    cover: float
    share: float
    page_share: float
    paragraphs: float
    headings: float
    start: float
    end: float
    elements: float
    punctuation: float
    long: float
    within: float
    controls: float


def rows(found: PathSurvey) -> dict[PathNode, tuple[float, ...]]:
    """Return the figures of each path that has text of its own, in the order of FIGURES; what is not known is NaN."""
    pages = found.pages
    alone = pages == 1
    figures: dict[PathNode, _PathFigures] = {}
    ancestry: dict[PathNode, tuple[float, float, float, float]] = {}
    way = found.way
    places = {node: place for place, node in enumerate(way)}
    column = way[-1]
    column_start, column_end = column.start / max(1, column.pages), column.end / max(1, column.pages)
    leaving: dict[PathNode, tuple[int, int]] = {}
    called: dict[PathNode | None, Called] = {}
    groups: dict[PathNode, tuple[PathNode, int]] = {}
    branches: dict[PathNode, PathNode] = {}
    kinds = tuple(found.kinds[kind] / pages for kind in PageKind)
    result: dict[PathNode, tuple[float, ...]] = {}
    for node in found.nodes:
        parent = node.parent
        whole, own = node.whole, node.own
        chars = whole.chars or 1
        blocks = whole.blocks or 1
        on = node.pages or 1
        elements = node.elements or 1
        parts = node.parts
        one = _PathFigures(
            links=whole.links / chars,
            block=whole.chars / blocks,
            chars=whole.chars / elements,
            shared=nan if alone else whole.shared / chars,
            often=nan if alone else whole.often / chars,
            cover=node.cover / on,
            share=node.share / on,
            page_share=nan if alone else node.pages / pages,
            paragraphs=parts["p"] / elements,
            headings=sum([parts[tag] for tag in HEADINGS if tag in parts]) / elements,
            start=node.start / on,
            end=node.end / on,
            elements=node.elements / on,
            punctuation=whole.punctuation / chars,
            long=whole.long / blocks,
            within=whole.within / chars,
            controls=node.controls / elements,
        )
        figures[node] = one
        links, often, cover, long = ancestry[parent] if parent is not None else (0.0, 0.0, 1.0, 0.0)
        often_here = 0.0 if alone else one.often
        ancestry[node] = (
            max(links, one.links),
            max(often, often_here),
            min(cover, one.cover),
            max(long, one.long if one.share < 0.5 else 0.0),
        )
        step = known_step(node.path.rpartition(">")[2])
        # What the content stands in may be called after what stands beside it, as `with-sidebar`.
        holds = step.around and node in places
        called[node] = called.get(parent, Called()).below(step._replace(around=frozenset()) if holds else step)
        if node in places:
            leaving[node] = (places[node], 0)
        else:
            assert parent is not None
            at, beside = leaving[parent]
            leaving[node] = (at, beside + 1)
            branches[node] = branches.get(parent, node)
        if parent in groups:
            group, steps = groups[parent]
            groups[node] = (group, steps + 1)
        elif node.elements >= _SEVERAL * on:
            groups[node] = (node, 0)
        if not own.chars:
            continue
        left_at, steps_beside = leaving[node]
        stands = _Stands(*ancestry[node], left_at, steps_beside, len(way), column_start, column_end)
        among = _of_group(*groups[node], figures, pages) if node in groups else _NO_GROUP
        around = figures[parent] if parent is not None else _NOBODY
        rest = _rest(node, groups[node][0] if node in groups else None, branches.get(node, node), alone=alone)
        result[node] = (*_row(node, one, around, stands, (*kinds, *among, *called[node].figures()), pages), *rest)
    return result


def _of_group(group: PathNode, steps: int, figures: Mapping[PathNode, _PathFigures], pages: int) -> tuple[float, ...]:
    """Return what the outermost element that a page has several times shows, so many steps above a path or itself."""
    one, elements, alone = figures[group], group.elements, pages == 1
    return (
        steps, one.elements, nan if alone else _spread(group), one.chars, one.links, group.whole.links / elements,
        one.headings, one.cover, one.start, one.page_share,
        nan if alone else group.whole.heading / (group.whole.chars or 1),
    )  # fmt: skip


def _rest(node: PathNode, group: PathNode | None, branch: PathNode, *, alone: bool) -> tuple[float, ...]:
    """Return what a path, and what it stands in, hold of what few pages have, and how many prices stand elsewhere.

    On a product's page its price stands beside the grid of related ones, on a category's all prices stand in the grid.
    """
    own, parent, of_group, of_branch = (
        nan if alone or one is None else one.rest / (one.pages or 1)
        for one in (node, node.parent or node, group, branch)
    )
    priced = group or node
    elsewhere = (priced.page_offers - priced.whole.offers) / (priced.pages or 1)
    return own, parent, of_group, group.whole.offers / group.elements if group else nan, elsewhere, of_branch


_NO_GROUP: Final = (nan,) * 11


def _spread(node: PathNode) -> float:
    """Return by how much the number of its elements differs from page to page, as a share of their mean."""
    on = node.pages or 1
    mean = node.elements / on
    return sqrt(max(0.0, node.element_squares / on - mean * mean)) / (mean or 1)


_NOBODY: Final = (nan,) * len(_PathFigures._fields)


class _Stands(NamedTuple):
    """Where a path stands: what its ancestors are at most, and where it leaves the way to the content."""

    most_links: float
    most_often: float
    least_cover: float
    longest: float
    left_at: int
    beside: int
    way: int
    column_start: float
    column_end: float


def _row(
    node: PathNode, one: _PathFigures, around: tuple[float, ...], stands: _Stands, among: tuple[float, ...], pages: int
) -> tuple[float, ...]:
    own, parent = node.own, node.parent
    chars, blocks = own.chars, own.blocks
    text_pages, on, elements = node.text_pages or 1, node.pages or 1, node.elements or 1
    alone = pages == 1
    mean = chars / text_pages
    position = node.position / blocks
    return (
        # base
        pages, mean, chars / blocks, own.links / chars, own.within / chars, own.away / chars,
        own.punctuation / chars, own.digits / chars, own.capitals / blocks, own.long / blocks, node.largest,
        one.block, one.links, one.chars, one.punctuation, one.long, one.within,
        one.elements, chars / (node.whole.chars or 1), node.depth, one.headings, one.paragraphs,
        node.parts["li"] / elements, node.parts["tr"] / elements,
        one.share, node.own_share / on, one.start, one.end, position,
        node.from_h1 / node.from_h1_blocks if node.from_h1_blocks else nan,
        node.from_title / node.from_title_blocks if node.from_title_blocks else nan,
        node.since / blocks, node.title / blocks, node.most_title, float(node.in_heading),
        node.controls / elements, node.controls / (node.whole.blocks or 1), node.hidden / on,
        node.links_before / blocks, node.links_behind / blocks, node.chars_before / blocks, node.chars_behind / blocks,
        # of the site
        one.page_share, nan if alone else node.text_pages / pages,
        nan if alone else own.shared / chars, nan if alone else own.often / chars, one.shared, one.often,
        len(node.texts) / blocks, nan if alone else len(node.texts) / text_pages,
        one.cover, nan if alone else node.cover / pages, nan if alone else node.share / pages,
        nan if alone else sqrt(max(0.0, node.start_squares / on - one.start**2)),
        nan if alone else sqrt(max(0.0, node.squares / text_pages - mean**2)) / (mean or 1),
        nan if alone else own.often / text_pages, nan if alone else node.whole.often / on,
        nan if alone else (own.chars - own.links) / chars * (1 - own.often / chars) * node.own_share / on,
        one.links * (1 - one.long), node.text_pages / (len(node.texts) or 1),
        # of where it stands
        stands.left_at / max(1, stands.way - 1), stands.way - 1 - stands.left_at, stands.beside,
        position - stands.column_start, position - stands.column_end,
        stands.most_links, nan if alone else stands.most_often, stands.least_cover, stands.longest,
        node.whole.chars / (parent.whole.chars or 1) if parent is not None else 1.0,
        *around,
        *node.tags_above,
        # of pages and of what is alike on one
        nan if alone else own.masked / chars, nan if alone else own.heading / chars, nan if alone else _spread(node),
        *among,
    )  # fmt: skip


def main_column(found: PathSurvey) -> PathNode:
    """Return the element that holds most of what is a page's own."""
    return found.way[-1]


def _way(nodes: Sequence[PathNode]) -> tuple[PathNode, ...]:
    fullest: dict[PathNode, PathNode] = {}
    for node in nodes:
        if node.parent is not None:
            other = fullest.get(node.parent)
            # Of equals the later path.
            if other is None or node.cover >= other.cover:
                fullest[node.parent] = node
    way = [nodes[0]]
    while True:
        inner = fullest.get(way[-1])
        if inner is None or inner.cover < _WAY * way[-1].cover or inner.tag in _TEXT_TAGS or not inner.cover:
            return tuple(way)
        way.append(inner)

"""One verdict per DOM path, from what the pages of a site show on it.

Why paths, and not blocks: what surrounds the content varies from page to page (previous and next, breadcrumbs, related
posts), what is content repeats ("Parameters", prices, inherited methods). Where it stands tells them apart.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from scrapy_dedup.core.boilerplate_names import NAVIGATION_TAGS, is_comments, is_navigation, is_surroundings
from scrapy_dedup.core.observations import Observation
from scrapy_dedup.core.path_looks import APART, FEW_PAGES, PathLooks
from scrapy_dedup.core.path_statistics import HEADINGS, PathNode, RepeatShares, SiteStatistics, survey_paths

__all__ = ["DEFAULT_POLICY", "DropReason", "LearnPolicy", "PathVerdict", "SiteVerdicts", "VerdictChange", "learn"]


class DropReason(StrEnum):
    """Why what stands on a path is not the content."""

    REPEATS = "repeats"
    """Its text is that of other pages."""
    LINKS = "links"
    """Most of its text leads elsewhere."""
    NAVIGATION = "navigation"
    """An element or a name made for ways through a site."""
    NAMED = "named"
    """Named as what surrounds content, and it repeats or links."""
    COMMENTS = "comments"
    OUTSIDE = "outside"
    """Beside the element that holds nearly all unique text."""
    LOOKS = "looks"
    """It stands where and as what surrounds content does, in a browser."""
    UNSEEN = "unseen"
    """No person sees it, and no click opens it."""


@dataclass(frozen=True, slots=True)
class LearnPolicy:
    """Thresholds; docs/methods.md tells how each was chosen. All are shares, 0 to 1."""

    shares: RepeatShares = field(default_factory=RepeatShares)
    fewest_pages: int = 3
    """Nothing is dropped with fewer, and no path for what it shows on fewer."""
    container: float = 0.9
    """Share of its parent's unique text that makes an element the way to the content."""
    container_pages: float = 0.05
    """Of all pages, for an element to be such a way."""
    repeated: float = 0.5
    """Of a path's text, outside the container."""
    constant: float = 0.8
    """The same within it, where much of the content repeats."""
    links: float = 0.55
    links_inside: float = 0.9
    links_at_edge: float = 0.5
    """Within the container, before or behind all its text."""
    minor: float = 0.15
    """Of a page's unique text: what covers more is not dropped for links or its name."""
    protected: float = 0.4
    """Of a page's unique text: what covers more is never dropped."""
    link_pages: float = 0.15
    """Of all pages: rarer paths are not dropped for links."""
    evidence: float = 0.25
    """Of a path's text: repeated or links, where its name is held against it."""
    teaser: float = 0.02
    """Of a page's unique text: beside the container, less is no content."""
    apart: float = APART
    """How far a path's text looks like content: with less, it is dropped where it repeats, or is on few pages."""
    far_apart: float = 0.15
    """The same where nothing but links speaks against it."""
    unseen: float = 0.9
    """Of a path's text: what no person sees is dropped."""
    few: int = FEW_PAGES
    """Of so few pages repetition says little, and looks are enough."""
    often: float = 0.5
    """Of all pages: blocks that are on so many are remembered, and dropped for themselves if they are long."""


@dataclass(frozen=True, slots=True)
class Site:
    """What the rules know besides the path that they judge."""

    pages: int
    with_title: frozenset[PathNode]
    policy: LearnPolicy


def reason_to_drop(node: PathNode, site: Site, *, beside: bool, inside: bool) -> DropReason | None:
    """Return why a path is dropped whose parent is kept."""
    if node.is_own_text and node.parent is not None and len(node.parent.children) == 1:
        return None
    if node.unseen >= site.policy.unseen:
        return DropReason.UNSEEN
    if beside and _is_outside(node, site):
        return DropReason.OUTSIDE
    if node.coverage >= site.policy.protected or not node.sums.chars:
        return None
    for rule in _INSIDE if inside else _OUTSIDE:
        reason = rule(node, site)
        if reason is not None:
            return reason
    return None


def _is_outside(node: PathNode, site: Site) -> bool:
    if node.tag in NAVIGATION_TAGS:
        return True
    policy = site.policy
    if node in site.with_title:
        return False
    return (
        node.tag == "form"
        or node.coverage < policy.teaser
        or node.repeated >= policy.repeated
        or node.links >= policy.repeated
    )


def _by_name(node: PathNode, site: Site) -> DropReason | None:
    """Where names can mean nothing else, and little text is at stake."""
    if node.coverage < site.policy.minor and is_navigation(node.step):
        return DropReason.NAVIGATION
    return None


def _by_tag(node: PathNode, _site: Site) -> DropReason | None:
    return DropReason.NAVIGATION if node.tag in NAVIGATION_TAGS else None


def _comments(node: PathNode, _site: Site) -> DropReason | None:
    return DropReason.COMMENTS if is_comments(node.step) else None


def _named(node: PathNode, site: Site) -> DropReason | None:
    evidence = max(node.links, node.repeated)
    is_named = is_surroundings(node.step) or is_navigation(node.step)
    return DropReason.NAMED if is_named and evidence >= site.policy.evidence else None


def _repeats(node: PathNode, site: Site) -> DropReason | None:
    """Outside the container."""
    policy = site.policy
    if node.pages >= policy.fewest_pages and node.repeated >= policy.repeated:
        return DropReason.REPEATS
    return None


def _apart(node: PathNode, site: Site) -> DropReason | None:
    """Where and as what surrounds content stands: outside what holds it, in another column, or over the page."""
    policy = site.policy
    looks = node.looks
    if looks is None or looks >= policy.apart or node in site.with_title or node.tag in _CONTENT_TAGS:
        return None
    if node.pages < policy.few:
        # Steps without a name are of many kinds, and few pages have shown few of them.
        is_apart = node.step != node.tag or node.tag in NAVIGATION_TAGS
    else:
        is_apart = node.repeated >= policy.evidence or (node.links >= policy.evidence and looks < policy.far_apart)
    return DropReason.LOOKS if is_apart else None


def _constant(node: PathNode, site: Site) -> DropReason | None:
    """Within the container: what most pages share. Headings, terms and heads of rows belong to what follows."""
    policy = site.policy
    if node.pages >= policy.fewest_pages and node.constant >= policy.constant and node.tag not in _HEADS:
        return DropReason.REPEATS
    return None


def _links(node: PathNode, site: Site) -> DropReason | None:
    return DropReason.LINKS if _is_link_region(node, site, site.policy.links) else None


def _links_inside(node: PathNode, site: Site) -> DropReason | None:
    """Lists of links, and rows of links before or behind all text: breadcrumbs, previous and next, tags."""
    policy = site.policy
    at_edge = node.on_edge >= _AT_EDGE * node.pages and node.sums.blocks <= _ROW * node.pages
    share = policy.links_at_edge if at_edge else policy.links_inside
    return DropReason.LINKS if _is_link_region(node, site, share) else None


def _is_link_region(node: PathNode, site: Site, share: float) -> bool:
    policy = site.policy
    return (
        node.links >= share
        and node.tag not in _CONTENT_TAGS
        and not node.is_heading
        and (node.is_list or node.is_echo)
        and node.coverage < policy.minor
        and node.pages >= max(policy.fewest_pages, policy.link_pages * site.pages)
    )


_AT_EDGE: Final = 0.8
# Blocks of a row of links, mean of its pages.
_ROW: Final = 4
_HEADS: Final = HEADINGS | frozenset("dt th td tr".split())
# Single links in text and tables are content, lists of nothing but links are not.
_CONTENT_TAGS: Final = HEADINGS | frozenset("td tr tbody table li dt dd p pre".split())

_Rule = Callable[[PathNode, Site], DropReason | None]
_INSIDE: tuple[_Rule, ...] = (_by_name, _apart, _constant, _links_inside, _by_tag, _named, _comments)
_OUTSIDE: tuple[_Rule, ...] = (_by_name, _apart, _repeats, _links, _by_tag, _named, _comments)


@dataclass(frozen=True, slots=True)
class VerdictChange:
    """A DOM path about which two versions differ: keep, or why it goes, each None where the path is unknown."""

    path: str
    before: str | None
    after: str | None
    evidence: str


@dataclass(frozen=True, slots=True)
class PathVerdict:
    """Whether what stands on a path is content, with the evidence."""

    keep: bool
    reason: DropReason | None
    """None where it is kept."""
    pages: int
    """Learning pages that have the path."""
    of_pages: int
    repeated: float
    """Share of its text that other pages have: most of them, within the container; some, outside."""
    links: float
    """Share of its text in links."""
    coverage: float
    """Its share of a page's unique text."""
    inside: bool
    """Within the main column."""

    @property
    def evidence(self) -> str:
        """The reason in words."""
        match self.reason:
            case DropReason.REPEATS:
                why = f"{self.repeated:.2f} of its text repeats"
            case DropReason.LINKS:
                why = f"{self.links:.2f} of its text are links"
            case DropReason.NAVIGATION | DropReason.COMMENTS:
                why = f"is {self.reason} by its name"
            case DropReason.NAMED:
                why = f"has such a name; {self.repeated:.2f} of its text repeats, {self.links:.2f} are links"
            case DropReason.LOOKS:
                why = "a browser shows it apart from the content"
            case DropReason.UNSEEN:
                why = "no person sees its text"
            case DropReason.OUTSIDE:
                why = f"beside the main column; {self.coverage:.2f} of a page's own text"
            case _:
                why = f"{self.coverage:.2f} of a page's own text"
        return f"{why}, on {self.pages} of {self.of_pages} pages"


@dataclass(frozen=True, slots=True)
class SiteVerdicts:
    """What was learned from the pages of one site, or of one layout."""

    pages: int
    paths: Mapping[str, PathVerdict]
    """By folded path (`path_names.Folding`), each after the one above it. A last step of OWN_TEXT is the text that
    stands in an element itself, beside its children."""
    repeated: Mapping[int, int]
    """Fingerprints of blocks that many pages share, and how many."""
    containers: tuple[str, ...]
    """The paths of all main columns, those of most pages first."""


DEFAULT_POLICY: Final = LearnPolicy()


def learn(
    observations: Sequence[Observation],
    looks: Sequence[Mapping[str, PathLooks]] = (),
) -> SiteVerdicts:
    """Return a verdict for each path of some pages of one site; their order does not matter.

    Args:
        observations: one a page; 60 spread over the site are as good as all, fewer than `LearnPolicy.fewest_pages` drop
            nothing.
        looks: how the text on each path looks, for those of the pages that a browser showed. With it something is
            dropped from any number of pages.
    """
    policy = DEFAULT_POLICY
    statistics = survey_paths(observations, policy.shares, looks)
    ways = _ways(statistics, policy)
    return SiteVerdicts(
        pages=statistics.pages,
        paths=_judge(statistics, ways, policy),
        repeated=_repeated_blocks(statistics, policy),
        containers=_containers(ways),
    )


def _ways(statistics: SiteStatistics, policy: LearnPolicy) -> dict[PathNode, int]:
    """Return the elements that lead from body to the main columns, each with the pages on which it leads further.

    An element leads on where it holds nearly all unique text of its parent, on the pages that have it: so each layout
    of a site has a main column of its own. An element of text is none, it is content itself.
    """
    fewest = max(policy.fewest_pages, policy.container_pages * statistics.pages)
    ways: dict[PathNode, int] = {statistics.nodes[0]: 0}
    for node in statistics.nodes[1:]:
        parent = node.parent
        if (
            parent is not None
            and parent in ways
            and not node.is_own_text
            and node.tag not in _TEXT_TAGS
            and node.pages >= fewest
            and node.runs <= _ONE_PIECE * node.pages
            and node.coverage >= policy.container * parent.coverage
        ):
            ways[node] = 0
            ways[parent] |= node.on_pages
    return ways


# A main column is one piece; what begins anew is a section, and what stands between sections are their headings.
_ONE_PIECE: Final = 1.5
_TEXT_TAGS: Final = frozenset("p ul ol li tr tbody pre dl dd".split())


def _containers(ways: Mapping[PathNode, int]) -> tuple[str, ...]:
    """Return the ends of all ways; of a page's several elements the deepest is its main column."""
    ends = [(node, (node.on_pages & ~further).bit_count()) for node, further in ways.items()]
    ranked = sorted(ends, key=lambda end: (-end[1], -end[0].depth, end[0].path))
    return tuple(node.path for node, pages in ranked if pages) or (ranked[0][0].path,)


def _repeated_blocks(statistics: SiteStatistics, policy: LearnPolicy) -> dict[int, int]:
    needed = max(policy.fewest_pages, policy.often * statistics.pages)
    return {block: pages for block, pages in sorted(statistics.blocks.items()) if pages >= needed}


def _judge(statistics: SiteStatistics, ways: Mapping[PathNode, int], policy: LearnPolicy) -> dict[str, PathVerdict]:
    """Return the verdicts from above: what stands in something dropped is dropped with it."""
    judged: dict[PathNode, PathVerdict] = {}
    site = Site(statistics.pages, _with_own_headings(statistics), policy)
    is_seen = statistics.nodes[0].looks is not None
    for node in statistics.nodes:
        parent = node.parent
        above = judged[parent] if parent is not None else None
        further = ways.get(parent) if parent is not None and node not in ways else None
        beside = further is not None and _is_beside(node, further)
        inside = not beside and (further is not None or (above is not None and above.inside))
        reason = above.reason if above is not None else None
        if reason is None and node not in ways and (is_seen or statistics.pages >= policy.fewest_pages):
            reason = reason_to_drop(node, site, beside=beside, inside=inside)
        judged[node] = _verdict(node, reason, statistics.pages, inside=inside)
    return {node.path: verdict for node, verdict in judged.items()}


def _is_beside(node: PathNode, pages_of_ways: int) -> bool:
    """Whether most pages that have it have a main column beside it."""
    return 2 * (node.on_pages & pages_of_ways).bit_count() >= node.pages


def _with_own_headings(statistics: SiteStatistics) -> frozenset[PathNode]:
    """Return the nodes that hold a heading of the first two levels which differs from page to page: a page's title."""
    found: set[PathNode] = set()
    for node in statistics.nodes:
        if node.tag in _TITLES and not node.is_own_text and node.repeated < _TITLE_REPEATS:
            above: PathNode | None = node
            while above is not None and above not in found:
                found.add(above)
                above = above.parent
    return frozenset(found)


_TITLES: Final = frozenset(["h1", "h2"])
_TITLE_REPEATS: Final = 0.5


def _verdict(node: PathNode, reason: DropReason | None, pages: int, *, inside: bool) -> PathVerdict:
    return PathVerdict(
        keep=reason is None,
        reason=reason,
        pages=node.pages,
        of_pages=pages,
        repeated=node.constant if inside else node.repeated,
        links=node.links,
        coverage=node.coverage,
        inside=inside,
    )

"""One verdict per DOM path, from what the pages of a site show on it.

Why paths, and not blocks: what surrounds the content varies from page to page (previous and next, breadcrumbs, related
posts), what is content repeats ("Parameters", prices, inherited methods). Where it stands tells them apart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scrapy_dedup.core.observations import Observation
from scrapy_dedup.core.path_looks import PathLooks
from scrapy_dedup.core.path_rules import DropReason, LearnPolicy, Site, reason_to_drop
from scrapy_dedup.core.path_statistics import PathNode, SiteStatistics, survey_paths

__all__ = ["DEFAULT_POLICY", "DropReason", "LearnPolicy", "PathVerdict", "SiteVerdicts", "learn"]


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

"""Why what stands on a DOM path is not the content: the rules, one function each, and their thresholds."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from scrapy_dedup.core.boilerplate_names import NAVIGATION_TAGS, is_comments, is_navigation, is_surroundings
from scrapy_dedup.core.path_looks import APART, FEW_PAGES
from scrapy_dedup.core.path_repeats import RepeatShares
from scrapy_dedup.core.path_statistics import HEADINGS, PathNode


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

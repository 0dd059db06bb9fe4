"""The structure miner: what kinds of pages a domain has, what all pages of a kind share, and where they differ."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from statistics import median
from typing import Final, Self

from msgspec import Struct, field

from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.templates.layouts import Skeleton, cluster, skeleton_of
from scrapy_dedup.core.templates.url_patterns import url_pattern
from scrapy_dedup.core.urls.normal_form import is_home

# A menu marks the page that it stands on, a footer counts visitors: one page in ten may differ.
_SAME: Final = 0.9
# What fewer pages have is neither common nor does it vary: it is an exception.
_USUAL: Final = 0.5
_MOST: Final = 20
# Deeper paths are seen as their beginning: 5,000 nested elements have 5,000 paths of 5,000 steps.
_MOST_STEPS: Final = 40
_64_BITS: Final = (1 << 64) - 1

PageBlocks = Sequence[tuple[str, int, int]]
"""(DOM path, fingerprint, characters) of each block, in order."""


class Subtree(Struct, frozen=True):
    """All blocks under one DOM path."""

    path: str
    pages: int
    """Pages that have it."""
    same: int
    """Pages on which it is what it most often is."""
    chars: int
    """Of text, on a mean page."""


class _Seen(Struct):
    pages: int = 0
    chars: int = 0
    contents: Counter[int] = field(default_factory=Counter)
    """Of a page, to the number of pages."""

    @property
    def is_common(self) -> bool:
        return max(self.contents.values()) >= _SAME * self.pages


def split_subtrees(pages: Sequence[PageBlocks]) -> tuple[tuple[Subtree, ...], tuple[Subtree, ...]]:
    """Return the largest subtrees that are common to pages of one layout, and the largest that vary.

    The first are boilerplate, the others content. Most text first, 20 each. A subtree that varies is divided where some
    subtree within is common; no subtree is part of another.
    """
    seen = _seen(pages)
    children: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(seen):
        parent = path.rpartition(">")[0]
        if parent:
            children[parent].append(path)
    usual = {path for path, one in seen.items() if one.pages >= max(2, _USUAL * len(pages))}
    mixed = _above((path for path in sorted(usual) if seen[path].is_common), seen)
    common: list[Subtree] = []
    varying: list[Subtree] = []
    waiting = [path for path in sorted(usual) if not path.rpartition(">")[0]]
    while waiting:
        path = waiting.pop()
        if seen[path].is_common:
            common.append(_subtree(path, seen[path]))
        elif path in mixed:
            waiting += [child for child in children[path] if child in usual]
        else:
            varying.append(_subtree(path, seen[path]))
    # A list that is the same on four pages of five varies, too, but what is new on each page comes first.
    return _first(common, lambda one: one.chars), _first(varying, lambda one: one.chars * (one.pages - one.same))


def _seen(pages: Sequence[PageBlocks]) -> dict[str, _Seen]:
    prefixes: dict[str, list[str]] = {}
    seen: defaultdict[str, _Seen] = defaultdict(_Seen)
    for blocks in pages:
        own: dict[str, tuple[int, int]] = {}
        for path, fingerprint, chars in blocks:
            content, length = own.get(path, (0, 0))
            # Order counts: the same entries in another order are another list.
            own[path] = ((content * 31 + fingerprint) & _64_BITS, length + chars)
        contents: dict[str, tuple[int, int]] = {}
        for path, (own_content, own_length) in own.items():
            if path not in prefixes:
                prefixes[path] = _prefixes(path)
            for prefix in prefixes[path]:
                content, length = contents.get(prefix, (0, 0))
                contents[prefix] = ((content * 31 + own_content) & _64_BITS, length + own_length)
        for prefix, (content, length) in contents.items():
            one = seen[prefix]
            one.pages += 1
            one.chars += length
            one.contents[content] += 1
    return seen


def _prefixes(path: str) -> list[str]:
    steps = path.split(">", _MOST_STEPS)[:_MOST_STEPS]
    return [">".join(steps[: count + 1]) for count in range(len(steps))]


def _above(paths: Iterable[str], seen: dict[str, _Seen]) -> set[str]:
    """Return all ancestors of some paths."""
    above: set[str] = set()
    for path in paths:
        parent = path.rpartition(">")[0]
        while parent and parent not in above and parent in seen:
            above.add(parent)
            parent = parent.rpartition(">")[0]
    return above


def _subtree(path: str, one: _Seen) -> Subtree:
    return Subtree(path, one.pages, max(one.contents.values()), round(one.chars / one.pages))


def _first(subtrees: list[Subtree], weight: Callable[[Subtree], int]) -> tuple[Subtree, ...]:
    return tuple(sorted(subtrees, key=lambda subtree: (-weight(subtree), subtree.path))[:_MOST])


_ERROR_TITLE: Final = re.compile(r"\b(?:40[0-9]|410|50[0-4])\b|\b(?:page )?not found\b", re.IGNORECASE)
# A paragraph of prose, and a text worth the name.
_PARAGRAPH: Final = 120
_TEXT: Final = 600
_MOST_LINKS: Final = 0.5
_FEW_LINKS: Final = 0.35
_ITEMS: Final = 5

_HEADING: Final = re.compile(r">h[1-4](?:[.#][^>]*)?$")
_MOST_EXAMPLES: Final = 5
_MOST_STRUCTURES: Final = 10
# On so many of a domain's pages a block tells nothing about one of them.
_REPEATS: Final = 0.5


class ClusterKind(StrEnum):
    """Names of clusters."""

    ERROR = "error page"
    HOME = "home page"
    LISTING = "listing"
    ARTICLE = "article"
    PAGE = "page"
    """Nothing speaks for one of the others."""


class Named(Struct, frozen=True):
    """A name and why it was given."""

    name: ClusterKind
    reason: str


class KindEvidence(Struct, frozen=True):
    """What one page shows of its kind; of its own text only, without what repeats on the domain."""

    url: str
    title: str
    status: int
    chars: int
    link_chars: int
    items: int
    """Blocks with links that stand in one place: the entries of its longest list."""
    headings: int
    """Headings that are links: titles of entries, each with its text."""
    longest: int
    """Characters outside links of its longest block."""


def name_kind(pages: Sequence[KindEvidence]) -> Named:
    """Return what pages, at least one and all of one layout, are called; "page" where the evidence is weak."""
    error = _error(pages)
    if error is not None:
        return error
    if all(is_home(page.url) for page in pages):
        return Named(ClusterKind.HOME, "it is the root of the site")
    chars = median(page.chars for page in pages)
    links = sum(page.link_chars for page in pages) / max(1, sum(page.chars for page in pages))
    items = median(page.items for page in pages)
    headings = median(page.headings for page in pages)
    longest = median(page.longest for page in pages)
    if headings >= _ITEMS:
        return Named(ClusterKind.LISTING, f"{headings:.0f} of its headings are links")
    if items >= _ITEMS and (links >= _MOST_LINKS or longest < _PARAGRAPH):
        return Named(ClusterKind.LISTING, f"lists {items:.0f} linked entries; {links:.2f} of its own text are links")
    if chars >= _TEXT and longest >= _PARAGRAPH and links < _FEW_LINKS:
        return Named(ClusterKind.ARTICLE, f"{chars:.0f} characters of its own text, {links:.2f} of it links")
    return Named(
        ClusterKind.PAGE, f"{chars:.0f} characters of its own text, {links:.2f} of it links: nothing speaks clearly"
    )


def _error(pages: Sequence[KindEvidence]) -> Named | None:
    total = len(pages)
    failed = sum(1 for page in pages if page.status >= 400)
    if 2 * failed > total:
        return Named(ClusterKind.ERROR, f"{failed} of {total} came with an error status")
    # "Not found" heads a text about it, too: an error page says little.
    titled = sum(1 for page in pages if page.chars < _TEXT and _ERROR_TITLE.search(page.title))
    return Named(ClusterKind.ERROR, f"{titled} of {total} titles speak of an error") if 2 * titled > total else None


class MinedPage(Struct, frozen=True):
    """What the miner needs of a page."""

    url: str
    skeleton: Skeleton
    blocks: Sequence[tuple[str, int, int, int]]
    """(DOM path, fingerprint, characters, of these in links) of each block."""
    title: str | None = None
    status: int = 200

    @classmethod
    def of(cls, url: str, page: Page, status: int = 200) -> Self:
        """Return what the miner needs of a parsed page."""
        blocks = [(block.path, block.fingerprint, len(block.text), block.link_chars) for block in page.blocks]
        return cls(url, skeleton_of(page), blocks, page.title, status)


class Cluster(Struct, frozen=True):
    """Pages of one layout."""

    signature: int
    """Of the layout (L1)."""
    structures: tuple[tuple[int, int], ...]
    """(L2, number of pages with it), the most frequent first; ten at most."""
    pages: tuple[int, ...]
    """Indexes into what was mined, ascending."""
    named: Named
    examples: tuple[int, ...]
    """Indexes of typical pages: those whose own text is nearest to the median in length."""
    url_pattern: str | None
    """Matches all its URLs and none of the other clusters', see `core.templates.url_patterns`."""


class Family(Struct, frozen=True):
    """A structure (L2) that several domains share."""

    l2: int
    domains: tuple[tuple[str, int], ...]
    """(domain, pages), most pages first."""
    names: tuple[str, ...]
    """What the clusters with this structure are called, by alphabet."""

    @property
    def pages(self) -> int:
        """Of all domains."""
        return sum(count for _, count in self.domains)


def mine(pages: Sequence[MinedPage]) -> list[Cluster]:
    """Return the clusters of one domain's pages, the largest first; the order of pages matters for indexes only."""
    members: defaultdict[int, list[int]] = defaultdict(list)
    for index, signature in enumerate(cluster([page.skeleton for page in pages])):
        members[signature].append(index)
    on_pages = Counter(print_ for page in pages for print_ in {print_ for _, print_, _, _ in page.blocks})
    needed = max(2.0, _REPEATS * len(pages))
    repeated = frozenset(print_ for print_, count in on_pages.items() if count >= needed)
    order = sorted(members, key=lambda signature: (-len(members[signature]), signature))
    return [_cluster(pages, signature, members[signature], repeated) for signature in order]


def families(domains: Mapping[str, Iterable[Cluster]]) -> list[Family]:
    """Return the structures that at least two domains have, by number of domains, then of pages."""
    counts: defaultdict[int, Counter[str]] = defaultdict(Counter)
    names: defaultdict[int, set[str]] = defaultdict(set)
    for domain in sorted(domains):
        for found in domains[domain]:
            for structure, number in found.structures:
                counts[structure][domain] += number
                names[structure].add(found.named.name)
    shared = [
        Family(
            structure,
            tuple(sorted(counts[structure].items(), key=lambda item: (-item[1], item[0]))),
            tuple(sorted(names[structure])),
        )
        for structure in counts
        if len(counts[structure]) > 1
    ]
    return sorted(shared, key=lambda family: (-len(family.domains), -family.pages, family.l2))


def _cluster(pages: Sequence[MinedPage], signature: int, members: list[int], repeated: frozenset[int]) -> Cluster:
    own = [pages[index] for index in members]
    inside = frozenset(members)
    structures = Counter(page.skeleton.l2 for page in own)
    by_count = sorted(structures.items(), key=lambda item: (-item[1], item[0]))
    evidence = [_evidence(page, repeated) for page in own]
    return Cluster(
        signature=signature,
        structures=tuple(by_count[:_MOST_STRUCTURES]),
        pages=tuple(members),
        named=name_kind(evidence),
        examples=_examples(members, own, evidence),
        url_pattern=url_pattern(
            [page.url for page in own], [page.url for index, page in enumerate(pages) if index not in inside]
        ),
    )


def _evidence(page: MinedPage, repeated: frozenset[int]) -> KindEvidence:
    """Return what a page shows of its kind: of its own text only, for menus are on pages of every kind."""
    own = [(path, chars, links) for path, print_, chars, links in page.blocks if print_ not in repeated]
    linked = Counter(path for path, _, links in own if links)
    return KindEvidence(
        url=page.url,
        title=page.title or "",
        status=page.status,
        chars=sum(chars for _, chars, _ in own),
        link_chars=sum(links for _, _, links in own),
        items=max(linked.values(), default=0),
        headings=sum(1 for path, chars, links in own if 2 * links > chars and _HEADING.search(path)),
        longest=max((chars - links for _, chars, links in own), default=0),
    )


def _examples(members: list[int], own: list[MinedPage], evidence: list[KindEvidence]) -> tuple[int, ...]:
    middle = median(seen.chars for seen in evidence)
    nearest = sorted(range(len(own)), key=lambda at: (abs(evidence[at].chars - middle), own[at].url, members[at]))
    return tuple(members[at] for at in nearest[:_MOST_EXAMPLES])

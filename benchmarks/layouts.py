"""Do layouts group the pages of a site as its kinds of pages are, and pages of several sites by site?

Folder: sites as for `benchmarks.quality`, and `kinds.json`: site to (name, expression) pairs, the first that a
URL matches is its kind. Mixes put the pages of five sites under one domain; there the site is the kind.
"""

import argparse
import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path

from msgspec.structs import replace
from selectolax.lexbor import LexborHTMLParser

from benchmarks import results
from benchmarks.corpus import pages, sites
from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.core.pages.tags import BODY, Place
from scrapy_dedup.core.templates.layouts import LIKE, LayoutIndex, Skeleton, cluster, similarity, skeleton_of

# A template is learned from so many pages of a layout.
FEW = 5
MIXED = 5


@dataclass(frozen=True, slots=True)
class Seen:
    """One page, as far as any definition looks at it."""

    url: str
    page: Page
    skeleton: Skeleton
    whole: int
    """Signature of all tags with ids and classes in document order."""


@dataclass(frozen=True, slots=True)
class World:
    """Pages under one domain, each with its true kind."""

    name: str
    kinds: list[str]
    seen: list[Seen]


@dataclass(frozen=True, slots=True)
class Judged:
    """How well a grouping fits the kinds."""

    purity: float
    layouts_a_kind: float
    most_layouts: int
    """Of one kind."""
    in_layouts: float
    """Share of the pages that are in layouts of five or more."""


Grouping = Callable[[Sequence[Seen]], Sequence[int]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("corpus", type=Path, help="folder of sites, each with manifest.json, and kinds.json")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    seen, microseconds = read(args.corpus)
    these = list(worlds(seen, json.loads((args.corpus / "kinds.json").read_text())))
    figures: dict[str, object] = {"microseconds a page": microseconds}
    print(f"{'':44}{'purity':>8}{'layouts/kind':>14}{'most':>6}{'in >= 5':>9}")
    for world in these:
        found = judge(world, DEFINITIONS["as it is"])
        figures[world.name] = asdict(found)
        print(row(world.name, found))
    print()
    for name, grouping in DEFINITIONS.items():
        for part, chosen in (("sites", these[: len(these) - 8]), ("mixes", these[-8:])):
            found = mean([judge(world, grouping) for world in chosen])
            figures[f"{name}, {part}"] = asdict(found)
            print(row(f"{name}, {part}", found))
    print(f"\nmicroseconds a page, beyond the parse: {microseconds:.0f}")
    results.write(args.json, figures)


def row(name: str, found: Judged) -> str:
    return f"{name:44}{found.purity:8.3f}{found.layouts_a_kind:14.2f}{found.most_layouts:6}{found.in_layouts:9.3f}"


def read(corpus: Path) -> tuple[dict[str, list[Seen]], float]:
    """Return the pages of each site, and how long a skeleton took."""
    seen: dict[str, list[Seen]] = {}
    spent = 0.0
    for manifest, folder in sites(corpus):
        of_site = seen.setdefault(manifest["name"], [])
        for url, html in pages(manifest, folder):
            page = parse_page(html)
            if isinstance(page, Page):
                started = time.process_time()
                skeleton = skeleton_of(page)
                spent += time.process_time() - started
                kept = Page(walk=page.walk, around=page.around)
                of_site.append(Seen(url, kept, skeleton, preorder(html)))
    return seen, 1e6 * spent / sum(map(len, seen.values()))


def worlds(seen: dict[str, list[Seen]], kinds: dict[str, list[tuple[str, str]]]) -> Iterator[World]:
    for name, expressions in kinds.items():
        of_site = seen[name]
        yield World(name, [kind_of(page.url, expressions) for page in of_site], of_site)
    names = sorted(seen)
    for number in range(4):
        yield mix(f"mix {number + 1}, by alphabet", names[MIXED * number :][:MIXED], seen)
    for number in range(4):
        yield mix(f"mix {number + 5}, every fourth", names[number::4][:MIXED], seen)


def kind_of(url: str, expressions: Sequence[tuple[str, str]]) -> str:
    return next((kind for kind, expression in expressions if re.search(expression, url)), "other")


def mix(name: str, names: Sequence[str], seen: dict[str, list[Seen]]) -> World:
    return World(name, [one for one in names for _ in seen[one]], [page for one in names for page in seen[one]])


def judge(world: World, grouping: Grouping) -> Judged:
    layouts: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for kind, layout in zip(world.kinds, grouping(world.seen), strict=True):
        layouts[layout][kind] += 1
    most = Counter(max(sorted(found), key=found.__getitem__) for found in layouts.values())
    total = len(world.kinds)
    return Judged(
        sum(max(found.values()) for found in layouts.values()) / total,
        len(layouts) / len(set(world.kinds)),
        max(most.values()),
        sum(found.total() for found in layouts.values() if found.total() >= FEW) / total,
    )


def mean(judged: Sequence[Judged]) -> Judged:
    count = len(judged)
    return Judged(
        sum(one.purity for one in judged) / count,
        sum(one.layouts_a_kind for one in judged) / count,
        max(one.most_layouts for one in judged),
        sum(one.in_layouts for one in judged) / count,
    )


def preorder(html: str) -> int:
    """Return the seed's level 1: all elements of body in order, with ids and classes."""
    digest = blake2b(digest_size=8)
    body = LexborHTMLParser(html).body
    for node in body.traverse(include_text=False) if body is not None else ():
        if node.is_element_node and node.tag not in ("script", "style"):
            attributes = node.attributes
            classes = " ".join(sorted((attributes.get("class") or "").split()))
            digest.update(f"<{node.tag}#{attributes.get('id')}.{classes}".encode("utf-8", "surrogatepass"))
    return int.from_bytes(digest.digest(), "big")


def other(
    seen: Seen,
    *,
    label: Callable[[Place], str] = lambda place: place.mark.rpartition("/")[2],
    whole_paths: bool = False,
    stops: bool = True,
) -> Skeleton:
    """Return a skeleton by another definition.

    Args:
        seen: the page.
        label: of a container.
        whole_paths: ancestors with their labels, too.
        stops: at prose.
    """
    begun = {place.outer for place in seen.page.walk.places if place.is_prose and stops} - {BODY}
    paths: dict[Place | None, str] = {BODY: "body"}
    marks = set()
    for place in seen.page.walk.places:
        if place.mark and place.outer in paths:
            above = paths[place.outer]
            marks.add(f"{above}/{label(place)}")
            if place not in begun:
                paths[place] = f"{above}/{label(place)}" if whole_paths else place.tags
    return redefined(seen.skeleton, frozenset(marks), seen.skeleton.classes)


def redefined(skeleton: Skeleton, paths: frozenset[str], classes: frozenset[str]) -> Skeleton:
    digest = blake2b("\n".join([*sorted(paths), "", *sorted(classes)]).encode(), digest_size=8)
    return replace(skeleton, paths=paths, classes=classes, l1=int.from_bytes(digest.digest(), "big"))


def as_one_path(seen: Seen) -> Skeleton:
    """Return the skeleton in which body's classes begin every path."""
    found = other(seen, whole_paths=True)
    body = ".".join(sorted(found.classes))
    return redefined(found, frozenset(f"{body}{path}" for path in found.paths) | {body}, frozenset())


def plain_jaccard(threshold: float, of: Callable[[Seen], Skeleton]) -> Grouping:
    """Return leaders by Jaccard similarity of the paths alone, in order of size."""

    def group(seen: Sequence[Seen]) -> list[int]:
        skeletons = [of(page) for page in seen]
        counts = Counter(skeleton.l1 for skeleton in skeletons)
        distinct = {skeleton.l1: skeleton for skeleton in skeletons}
        leaders: list[Skeleton] = []
        joined: dict[int, int] = {}
        for key in sorted(distinct, key=lambda key: (-counts[key], key)):
            near = max(leaders, key=lambda one: similarity(one.paths, distinct[key].paths), default=None)
            if near is None or similarity(near.paths, distinct[key].paths) < threshold:
                leaders.append(near := distinct[key])
            joined[key] = near.l1
        return [joined[skeleton.l1] for skeleton in skeletons]

    return group


def clustered(of: Callable[[Seen], Skeleton], like: float = LIKE) -> Grouping:
    return lambda seen: cluster([of(page) for page in seen], like)


def streamed(seen: Sequence[Seen]) -> list[int]:
    """Return what each page's layout is said to be when it comes."""
    index = LayoutIndex()
    return [index.add(page.skeleton).signature for page in seen]


def as_it_is(seen: Seen) -> Skeleton:
    return seen.skeleton


def named(place: Place) -> str:
    """Return the last step of a DOM path, which has an id."""
    return place.path.rpartition(">")[2]


DEFINITIONS: dict[str, Grouping] = {
    "as it is": clustered(as_it_is),
    "as pages come": streamed,
    "small layouts stay alone": lambda seen: cluster([page.skeleton for page in seen], kin=2.0),
    **{f"likeness from {like}": clustered(as_it_is, like) for like in (0.5, 0.6, 0.7, 0.8, 0.9)},
    "without classes of body": clustered(lambda seen: redefined(seen.skeleton, seen.skeleton.paths, frozenset())),
    "ancestors with their classes": clustered(lambda seen: other(seen, whole_paths=True)),
    "with ids": clustered(lambda seen: other(seen, label=named)),
    "beyond prose": clustered(lambda seen: other(seen, stops=False)),
    "paths from body with its classes, Jaccard 0.7": plain_jaccard(0.7, as_one_path),
    "containers alone, Jaccard 0.7": plain_jaccard(0.7, as_it_is),
    "signatures alone (L1)": lambda seen: [page.skeleton.l1 for page in seen],
    "signatures alone (L2)": lambda seen: [page.skeleton.l2 for page in seen],
    "seed: all elements in order": lambda seen: [page.whole for page in seen],
}


if __name__ == "__main__":
    main()

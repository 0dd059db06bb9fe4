"""Real sites with their true main content marked, as what a model is trained and tried on."""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from benchmarks.corpus import pages, sites
from benchmarks.words import regions, truth, words
from scrapy_dedup.core.boilerplate.observations import MOST_BLOCKS, Observation, observe
from scrapy_dedup.core.boilerplate.path_features import PathNode, PathSurvey, rows, survey
from scrapy_dedup.core.pages.blocks import Page, parse_page, parse_tree
from scrapy_dedup.core.urls.normal_form import extract_domain, page_key

T = TypeVar("T")
Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

# From HTML and what is marked in it to another page.
Change = Callable[[str, dict[str, Any]], tuple[str, dict[str, Any]]]

# How often pages of a site are drawn at random, and how many at once: one model serves all of them.
DRAWN: Final = {60: 2, 20: 3, 5: 6, 2: 6, 1: 16}


@dataclass(slots=True)
class MarkedPage:
    """A page as it is learned from and judged."""

    url: str
    key: bytes
    page: Page
    observation: Observation
    main: Sequence[float]
    """For each block that is observed 1 where it is content, 0 where it is not, NaN where it counts neither way."""
    paths: tuple[str, ...]
    """Of all blocks, each once."""
    at: Whole
    """For each block its path."""
    words: Whole
    """Each word of its blocks as a number."""
    word_blocks: Whole
    """The block of each word."""
    true: Whole
    """For each word how often the true content has it; *lenient* with what counts neither way."""
    lenient: Whole
    scored: bool

    def score(self, keep: npt.NDArray[np.bool_]) -> tuple[float, float, float]:
        """Return precision, recall and F1 of the words of the blocks that are kept."""
        got = np.bincount(self.words[keep[self.word_blocks]], minlength=len(self.true))
        right = np.minimum(got, self.true)
        free = int(np.minimum(got - right, np.maximum(0, self.lenient - self.true)).sum())
        found, kept, wanted = int(right.sum()), int(got.sum()) - free, int(self.true.sum())
        precision = found / kept if kept else 0.0
        recall = found / wanted
        both = precision + recall
        return precision, recall, 2 * precision * recall / both if both else 0.0


@dataclass(slots=True)
class MarkedSite:
    """The pages of one site, by their keys."""

    name: str
    domain: str
    """The registrable one."""
    kind: str
    doubtful: bool
    pages: list[MarkedPage]


def marked_sites(
    folder: Path, change: Change | None = None, names: Container[str] | None = None
) -> Iterator[MarkedSite]:
    """Return the sites of a folder, or those of some names, with pages that are changed before they are read."""
    for manifest, place in sites(folder):
        if names is not None and manifest["name"] not in names:
            continue
        found = []
        for url, source in pages(manifest, place):
            html, gold = (source, manifest["gold"]) if change is None else change(source, manifest["gold"])
            if (one := marked_page(url, html, gold)) is not None:
                found.append(one)
        found.sort(key=lambda one: one.key)
        doubtful = manifest.get("gold_quality", "checked") != "checked"
        domain = extract_domain(f"http://{manifest['domain']}", "registrable") or manifest["domain"]
        yield MarkedSite(manifest["name"], domain, manifest.get("kind", ""), doubtful, found)


def marked_page(url: str, html: str, gold: dict[str, Any]) -> MarkedPage | None:
    """Return a page with what is marked on it; None where it cannot be parsed."""
    page = parse_page(html)
    if not isinstance(page, Page):
        return None
    true = truth(html, gold)
    main = _main(html, page, gold)
    if main is None:
        return None
    return page_of(url, page, main, true.true if true else None, true.lenient if true else None)


# Stand before each word of what is marked; no page has them.
_MARKS: Final = {"main": "\ue0f1", "neutral": "\ue0f2", "": "\ue0f3", "excluded": "\ue0f3"}
_WORD: Final = re.compile(r"\S+")


def _main(html: str, page: Page, gold: dict[str, Any]) -> list[float] | None:
    """Return for each block which share of its words is content, NaN where they count neither way.

    The words are marked in the tree, which is then read again: so what is marked within a block is seen, too.
    """
    tree = parse_tree(html)
    for node, region in regions(tree, gold):
        mark = _MARKS[region]
        node.replace_with(_WORD.sub(rf"{mark}\g<0>", node.text_content or ""))
    marked = parse_page(tree.html or "")
    if not isinstance(marked, Page) or len(marked.blocks) != len(page.blocks):
        return None
    shares = []
    for block in marked.blocks:
        here, other = block.text.count(_MARKS["main"]), block.text.count(_MARKS[""])
        shares.append(here / (here + other) if here + other else float("nan"))
    return shares


def page_of(
    url: str, page: Page, main: Sequence[float], true: Counter[str] | None, lenient: Counter[str] | None
) -> MarkedPage:
    """Return a page of which it is known how much of each block is content, and which words are."""
    known: dict[str, int] = {}
    number: dict[str, int] = {}
    word_numbers, word_blocks = [], []
    for place, block in enumerate(page.blocks):
        for word, times in words(block.text).items():
            word_numbers += [number.setdefault(word, len(number))] * times
            word_blocks += [place] * times
    at = np.array([known.setdefault(block.path, len(known)) for block in page.blocks], dtype=np.int64)
    for word in [*(true or ()), *(lenient or ())]:
        number.setdefault(word, len(number))
    stride = -(-len(page.blocks) // MOST_BLOCKS) or 1
    return MarkedPage(
        url,
        page_key(url),
        page,
        observe(page),
        main[::stride],
        tuple(known),
        at,
        np.array(word_numbers, dtype=np.int64),
        np.array(word_blocks, dtype=np.int64),
        np.array([true[word] for word in number] if true else [0] * len(number), dtype=np.int64),
        np.array([lenient[word] for word in number] if lenient else [0] * len(number), dtype=np.int64),
        true is not None,
    )


@dataclass(slots=True)
class Rows:
    """The paths of some pages of one site that were looked at together."""

    pages: int
    nodes: list[PathNode]
    features: Floats
    main: Floats
    """Share of each path's text that is content."""
    weights: Floats
    """Share of a page's text that stands there, mean of all pages."""
    found: PathSurvey
    drawn: int = 0
    """How many were asked for; a small site has fewer."""


def rows_of(site_pages: Sequence[MarkedPage], asked: int = 0) -> Rows:
    """Return what some pages show, with what is marked there; paths of which nothing is marked are left out."""
    found = survey([page.observation for page in site_pages])
    figures = rows(found)
    right: dict[str, float] = defaultdict(float)
    marked: dict[str, float] = defaultdict(float)
    for page in site_pages:
        seen = page.observation
        folded = [found.folding.path(path) for path in seen.paths]
        for at, chars, main in zip(seen.at, seen.chars, page.main, strict=True):
            if not isnan(main):
                right[folded[at]] += chars * main
                marked[folded[at]] += chars
    nodes = list(figures)
    share = np.array([node.own_share / len(site_pages) for node in nodes])
    return Rows(
        len(site_pages),
        nodes,
        np.array([figures[node] for node in nodes], dtype=np.float32),
        np.array([right[node.path] / marked[node.path] if marked[node.path] else np.nan for node in nodes]),
        share,
        found,
        asked,
    )


def drawn(site: MarkedSite, seed: int = 0, how_often: Mapping[int, int] = DRAWN) -> Iterator[Rows]:
    """Return rows of pages drawn at random."""
    usable = [page for page in site.pages if page.scored]
    chance = random.Random(f"{seed} {site.name}")
    for count, times in how_often.items():
        for _ in range(times):
            chosen = sorted(chance.sample(range(len(usable)), min(count, len(usable))))
            yield rows_of([usable[place] for place in chosen], count)


def spread(pages_of: Sequence[T], count: int) -> list[T]:
    """Return so many pages, evenly spaced."""
    least = min(count, len(pages_of))
    return [pages_of[place] for place in sorted({place * len(pages_of) // least for place in range(least)})]


def read_folders(folders: Iterable[Path]) -> list[MarkedSite]:
    """Return the sites of all folders."""
    return [site for folder in folders for site in marked_sites(folder)]

"""Are the blocks of a domain of a million pages counted right in bounded memory, and is a redesign found?

Pages are made of numbers alone: 300 blocks of templates on 1 to 100 % of the pages, 20 of them on 66 to 74 %; 20 blocks
that begin after a quarter of the crawl; 60 of a design that ends in the middle, and 60 of the one that takes its place;
25 teasers drawn by Zipf's law from two millions; and 45 blocks that no other page has. Every decision is compared with
an exact count. Memory is what the process grows by while it counts.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from benchmarks import results
from benchmarks.made_pages import MadePage
from benchmarks.million_pages import status_mb
from scrapy_dedup.core.boilerplate.repeats import EPOCH_PAGES, BoundedCounts, Epochs, RepeatPolicy
from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.core.pages.guard import ParseLimits
from scrapy_dedup.service.cut.site_cleaning import cut_page
from scrapy_dedup.service.learning import SiteLearner, at_once
from scrapy_dedup.settings import Settings

Result = TypeVar("Result")
POLICY = RepeatPolicy()
_LOOKED_EVERY = 2_500
_AT_ONCE = 1_000
_TEASERS, _TEASERS_A_PAGE, _UNIQUE = 2_000_000, 25, 45
_TEMPLATE, _LATE, _DESIGN = 300, 20, 60
_LATE_FROM = 0.25
_FIXED = _TEMPLATE + _LATE + 2 * _DESIGN
_MOST_BLOCKS = 80_000
_WARM = 3
_LEARNED, _WATCHED = 200, 100
"""Real pages of the old and the new design that a crawl's learner gets."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """What one way to count came to."""

    memory_mb: float
    seconds: float
    held: int
    floor: int
    boilerplate: int
    doubtful: int
    wrong: int


class MadeDomain:
    """The pages of one domain, as lists of fingerprints, and on how many of them each block is."""

    def __init__(self, pages: int) -> None:
        self.pages = pages
        near = np.linspace(0.66, 0.74, 20)
        self._shares = np.concatenate([np.linspace(0.01, 1.0, _TEMPLATE - 20), near])
        # Of the pages before the redesign, and of those after it.
        self.fixed_counts = np.zeros((2, _FIXED), np.int64)
        self.teaser_counts = np.zeros((2, _TEASERS), np.int32)

    def __iter__(self) -> Iterator[list[int]]:
        """Yield each page's fingerprints, and count them exactly."""
        chosen = np.random.default_rng(1)
        for start in range(0, self.pages, _AT_ONCE):
            yield from self.some(start, chosen)

    def some(self, start: int, chosen: np.random.Generator) -> Iterator[list[int]]:
        """Yield a thousand pages."""
        shares = np.zeros(_FIXED)
        shares[:_TEMPLATE] = self._shares
        shares[_TEMPLATE : _TEMPLATE + _LATE] = 0.95 if start >= _LATE_FROM * self.pages else 0.0
        is_new = start >= self.pages // 2
        shares[_TEMPLATE + _LATE : _FIXED - _DESIGN] = 0.0 if is_new else 0.98
        shares[_FIXED - _DESIGN :] = 0.98 if is_new else 0.0
        has = chosen.random((_AT_ONCE, _FIXED)) < shares
        self.fixed_counts[int(is_new)] += has.sum(axis=0)
        teasers = np.minimum(chosen.zipf(1.2, (_AT_ONCE, _TEASERS_A_PAGE)), _TEASERS) - 1
        unique = _FIXED + _TEASERS + np.arange(_AT_ONCE * _UNIQUE).reshape(_AT_ONCE, _UNIQUE) + start * _UNIQUE
        for number in range(_AT_ONCE):
            shown = np.unique(teasers[number])
            self.teaser_counts[int(is_new)][shown] += 1
            yield fingerprints(np.concatenate([np.flatnonzero(has[number]), shown + _FIXED, unique[number]])).tolist()

    def true(self) -> tuple[set[int], dict[int, int]]:
        """Return the fingerprints of what is on enough pages, and all counts but those of unique blocks."""
        counts = np.concatenate([self.fixed_counts, self.teaser_counts], axis=1).sum(axis=0)
        keys = fingerprints(np.arange(len(counts)))
        enough = counts >= POLICY.needed(self.pages)
        return set(keys[enough].tolist()), dict(zip(keys.tolist(), counts.tolist(), strict=True))

    def true_of_designs(self) -> set[int]:
        """Return the fingerprints of what is on enough of the pages of one design."""
        counts = np.concatenate([self.fixed_counts, self.teaser_counts], axis=1)
        enough = (counts >= POLICY.needed(self.pages // 2)).any(axis=0)
        return set(fingerprints(np.flatnonzero(enough)).tolist())


def fingerprints(numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return numbers as 64 bits that look like hashes, one for each.

    Source: Steele, Lea and Flood 2014, Fast splittable pseudorandom number generators (the mixer of SplitMix64).
    """
    mixed = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    counted = _alone(_count, args.pages)
    epochs = _alone(_count_by_epochs, args.pages)
    crawl = _redesign_in_a_crawl()
    print(f"{args.pages} pages of one domain, {_MOST_BLOCKS} blocks held at most")
    print(
        f"memory {counted.memory_mb:.1f} MB (target 25), {counted.boilerplate} blocks repeat, {counted.doubtful} in"
        f" doubt, {counted.wrong} decisions wrong, a forgotten block was on {counted.floor} pages at most,"
        f" {1e6 * counted.seconds / args.pages:.0f} us a page with making it"
    )
    print(f"by epochs: {epochs}")
    print(f"in a crawl: {crawl}")
    results.write(args.json, {"pages": args.pages, "whole": asdict(counted), "epochs": epochs, "crawl": crawl})


def _alone(count: Callable[[int], Result], pages: int) -> Result:
    """Return what a function gives in a process of its own, whose memory nothing was in before."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(count, (pages,))


def _grown_mb(domain: MadeDomain, count: BoundedCounts | Epochs) -> float:
    """Count all pages; return by how much the process grew at most."""
    before = peak = status_mb("VmRSS")
    for number, page in enumerate(domain):
        count.add(page)
        if number % _LOOKED_EVERY == 0:
            peak = max(peak, status_mb("VmRSS"))
    return max(peak, status_mb("VmRSS")) - before


def _count(pages: int) -> Decisions:
    domain, counts = MadeDomain(pages), BoundedCounts(_MOST_BLOCKS)
    _warm(domain)
    began = time.process_time()
    grown_mb = _grown_mb(domain, counts)
    seconds = time.process_time() - began
    true, exact = domain.true()
    doubtful = counts.doubtful(POLICY)
    # The second look of `analyze`: the blocks in doubt alone are counted again.
    found = set(counts.boilerplate(POLICY, {key: exact[key] for key in doubtful}).counts)
    return Decisions(grown_mb, seconds, len(counts), counts.floor, len(found), len(doubtful), len(found ^ true))


def _warm(domain: MadeDomain) -> None:
    """Make some pages, so that what making them takes is there before memory is looked at."""
    chosen = np.random.default_rng(2)
    for _ in range(_WARM):
        for _page in domain.some(0, chosen):
            pass
    domain.fixed_counts[:] = 0
    domain.teaser_counts[:] = 0


def _count_by_epochs(pages: int) -> dict[str, Any]:
    """Return where a redesign was found, and whether what repeats on all pages or on one design's was."""
    domain = MadeDomain(pages)
    _warm(domain)
    epochs = Epochs(POLICY, epoch_pages=min(EPOCH_PAGES, pages // 20))
    grown_mb = _grown_mb(domain, epochs)
    designs = fingerprints(np.arange(_TEMPLATE + _LATE, _FIXED)).tolist()
    true, exact = domain.true()
    doubtful = epochs.doubtful()
    found = set(epochs.boilerplate({key: exact[key] for key in doubtful}).counts)
    return {
        "memory_mb": grown_mb,
        "redesigned_at": pages // 2,
        "found_at": epochs.redesigns,
        "blocks_of_both_designs_found": sum(key in found for key in designs),
        "of": 2 * _DESIGN,
        "boilerplate": len(found),
        "doubtful": len(doubtful),
        "wrong": len(found ^ (true | domain.true_of_designs())),
    }


def _redesign_in_a_crawl() -> dict[str, Any]:
    """Return after how many pages of a new design a crawl's learner raised its alarm, and when pages fitted again.

    The crawl knows the site from an earlier one. What it holds is bounded, and watches the last ten pages: how many
    came before does not matter.
    """
    learner = SiteLearner("site.example", Settings())
    at = datetime.now(UTC)
    alarm = fits_from = None
    for number in range(_LEARNED + _WATCHED):
        if number == _LEARNED and learner.knowledge is not None:
            learner.recall(learner.knowledge)
        key, url, html, page = _page(number, is_new=number >= _LEARNED)
        learner.see(key, url, html, page)
        if number + 1 in (5, 20, 60):
            at_once(learner.learn(at))
        cut = cut_page(html, page, url, learner.knowledge, Settings())
        if at_once(learner.note(key, url, page, cut, at)):
            alarm = number - _LEARNED + 1
        if number >= _LEARNED:
            fits_from = None if cut.misfit or cut.how != "template" else fits_from or number - _LEARNED + 1
    return {"alarm_at_page_of_new_design": alarm, "fits_again_from_page": fits_from, "of": _WATCHED}


def _page(number: int, *, is_new: bool) -> tuple[bytes, str, str, Page]:
    made = MadePage(1, 3 * number)
    html = made.html()
    if is_new:
        html = html.replace("<main><article>", "<div class=page><div class=story>").replace(
            "</article></main>", "</div></div>"
        )
        html = html.replace("<header><nav>", "<div class=top>").replace("</nav></header>", "</div>")
    page = parse_page(html, ParseLimits())
    assert isinstance(page, Page)
    return fingerprints(np.array([number]))[0].tobytes() * 2, made.url, html, page


if __name__ == "__main__":
    main()

"""Are near-duplicates found, all of them and no others, and at what cost?

pairs: real aliases, canonical pairs and re-crawls, against the exact similarity of all pairs, beside datasketch.
planted: 2,000 edited copies among 100,000 stored pages. texts: CPU of tokenising and of an exact check.
crowded: 50,000 stored pages with one and the same text. cost: CPU and bytes a page at up to 1,000,000 stored pages.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import corpus, near_duplicates_cost, near_duplicates_pairs, near_duplicates_planted, results
from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.service.cut.page_cleaning import clean_page
from scrapy_dedup.settings import Settings

PARTS = ("pairs", "planted", "texts", "crowded", "cost")
SIZES = (10_000, 100_000, 1_000_000)
_EVERY = 4
_PAGES_OF_A_SITE = 40
_CROWD = 50_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("data", type=Path, help="folder with pairs.jsonl in its folders, beside large/ and corpus/")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="stored pages at which costs are measured")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    figures: dict[str, Any] = {}
    if "pairs" in args.parts:
        figures["pairs"] = near_duplicates_pairs.measure(args.data)
    if "planted" in args.parts:
        figures["planted"] = near_duplicates_planted.measure(_texts(args.data))
    if "texts" in args.parts:
        figures["texts"] = near_duplicates_cost.texts(_cleaned(args.data))
    if "crowded" in args.parts:
        figures["crowded"] = near_duplicates_cost.crowded(_CROWD)
    if "cost" in args.parts:
        figures["cost"] = near_duplicates_cost.measure(args.sizes)
    results.write(args.json, figures)


def _texts(data: Path) -> list[list[str]]:
    """Return the blocks of some pages of each site."""
    parsed = (parse_page(html) for _, html in _pages(data))
    return [[block.text for block in page.blocks] for page in parsed if isinstance(page, Page) and page.blocks]


def _cleaned(data: Path) -> list[str]:
    """Return what is left of some of these pages, as of pages of unknown sites."""
    settings = Settings.read({"DEDUP_OUTPUT": "text"})
    return [clean_page(html, url, None, settings).cleaned.content for url, html in list(_pages(data))[::_EVERY]]


def _pages(data: Path) -> Iterator[tuple[str, str]]:
    for folder in (data.parent / "corpus", data.parent / "large"):
        for manifest, site in corpus.sites(folder):
            manifest["pages"] = manifest["pages"][:_PAGES_OF_A_SITE]
            yield from corpus.pages(manifest, site)


if __name__ == "__main__":
    main()

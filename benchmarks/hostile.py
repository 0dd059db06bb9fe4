"""How long do inputs take that were made to take long? Each may take two seconds, and says what became of it.

The tests say what becomes of each, and how its time grows; here it is measured.
"""

import argparse
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

from benchmarks import results
from scrapy_dedup.core.chunks.chunks import ChunkPolicy, split_into_chunks
from scrapy_dedup.core.duplicates import shingles, sketch_of
from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.core.patterns import PatternMatches, SiteConfig, compile_expressions
from scrapy_dedup.service.cut.site_patterns import patterns_of
from scrapy_dedup.service.pdf.reading import PdfReader, UnreadPdf
from scrapy_dedup.settings import Settings
from tests.core.pages.test_guard import PARSED, REFUSED, draw
from tests.pdf_files import a_bomb

MOST_SECONDS = 2.0
LINE = "word and another word, " * 220_000
ELEMENTS = "<div class=a><p class=b>text of one more element</p></div>" * 15_000


def told(found: PatternMatches) -> str:
    """Return what expressions found, and which were not carried out."""
    held = sorted({str(one.reason) for one in found.held})
    return f"{len(found.spans)} matches; not carried out: {', '.join(held) or 'none'}"


def expressions(*sources: str, slow: bool = False) -> Callable[[], str]:
    return lambda: told(compile_expressions(sources, allow_slow=slow).find(LINE))


def selectors(*chosen: str) -> str:
    page = parse_page(ELEMENTS)
    assert isinstance(page, Page)
    patterns = patterns_of(Settings(), SiteConfig(boilerplate_css_selectors=chosen), "bench")
    found = patterns.judge(ELEMENTS, page, [None] * len(page.blocks))
    removed = sum(one is not None for one in found.removals)
    held = sorted({str(one.reason) for one in found.held})
    return f"{removed} of {len(page.blocks)} blocks; held back: {', '.join(held) or 'none'}"


def pdf_bomb() -> str:
    with closing(PdfReader()) as reader:
        found = reader.read(a_bomb())
    return found.message if isinstance(found, UnreadPdf) else f"{len(found.blocks)} blocks"


def drawn(name: str) -> str:
    html = PARSED[name](1)
    draw(html)
    return f"{len(html):,} characters parsed and drawn in three forms"


def refused(name: str) -> str:
    found = parse_page(REFUSED[name][0]())
    return str(found) if isinstance(found, Page) else str(found.reason)


CASES: dict[str, Callable[[], str]] = {
    "a catastrophic expression, RE2": expressions(r"(\w+\s?)+$"),
    "the same with look-ahead, slow patterns allowed": expressions(r"(\w+\s?)+$(?!x)", slow=True),
    "1,000 expressions that match nothing": expressions(*(f"nothing of {number}" for number in range(1_000))),
    "1,000 expressions that match": expressions(*(f"wor[d{number}]" for number in range(1_000))),
    "a selector that matches everything": lambda: selectors("*"),
    "1,000 selectors that match everything": lambda: selectors(*(f"div, p:not(.x{number})" for number in range(1_000))),
    "a PDF bomb": pdf_bomb,
    "chunks of a 5 MB line": lambda: f"{len(split_into_chunks(LINE, b'', ChunkPolicy()))} chunks",
    "a sketch of a 5 MB line": lambda: "none: it is too long" if sketch_of(shingles(LINE), b"") is None else "made",
    **{f"a page, {name}": partial(drawn, name) for name in PARSED},
    **{f"a page that is refused, {name}": partial(refused, name) for name in REFUSED},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    figures = {}
    for name, case in CASES.items():
        began = time.perf_counter()
        said = case()
        seconds = time.perf_counter() - began
        figures[name] = {"seconds": round(seconds, 3), "said": said}
        print(f"{seconds:6.2f} s {'' if seconds <= MOST_SECONDS else 'TOO LONG'} {name}: {said}", flush=True)
    results.write(args.json, figures)


if __name__ == "__main__":
    main()

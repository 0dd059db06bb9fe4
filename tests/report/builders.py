"""Reports with defaults; a test overrides what it is about."""

from datetime import UTC, datetime
from typing import Any

from scrapy_dedup.report.values import (
    ChangedPage,
    DomainFigures,
    LayerFigures,
    Recrawl,
    RepeatedBlock,
    Report,
    SampleBlock,
    SamplePage,
)

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def a_domain(
    domain: str = "shop.example", *, pages: int = 40, chars_in: int = 100_000, chars_out: int = 59_000
) -> DomainFigures:
    return DomainFigures(domain, pages, chars_in, chars_out, {"boilerplate": chars_in - chars_out})


def a_layer(layer: str = "boilerplate", *, pages: int = 0, blocks: int = 320, chars: int = 41_000) -> LayerFigures:
    return LayerFigures(layer, "what a site repeats on its pages", pages, blocks, chars)


def a_repeated_block(text: str = "Contact us", **other: Any) -> RepeatedBlock:
    values: dict[str, Any] = {
        "domain": "shop.example",
        "path": "body>footer>p",
        "on_pages": 39,
        "of_pages": 40,
        "chars": 10,
    }
    return RepeatedBlock(text=text, **(values | other))


def kept(text: str) -> SampleBlock:
    return SampleBlock(text, kept=True)


def removed(text: str, evidence: str = "on 39 of 40 pages") -> SampleBlock:
    return SampleBlock(text, kept=False, layer="boilerplate", rule="repeated block", evidence=evidence)


def a_sample(**other: Any) -> SamplePage:
    values: dict[str, Any] = {
        "url": "http://shop.example/tea",
        "title": "Green tea",
        "blocks": (removed("Menu"), kept("Steep for two minutes."), removed("Contact us")),
        "cleaned": "# Green tea\n\nSteep for two minutes.",
    }
    return SamplePage(**(values | other))


def a_diff(*lines: str) -> str:
    return "\n".join(["--- old", "+++ new", *lines])


def a_changed_page(**other: Any) -> ChangedPage:
    values: dict[str, Any] = {
        "url": "http://shop.example/tea",
        "title": "Green tea",
        "change": "content",
        "diff": a_diff("@@ -1 +1 @@", "-Steep for two minutes.", "+Steep for three minutes.", "@@ -9,0 +9 @@", "+New!"),
    }
    return ChangedPage(**(values | other))


def a_recrawl(**other: Any) -> Recrawl:
    values: dict[str, Any] = {
        "began_at": NOON,
        "new": 2,
        "changed": 5,
        "unchanged": 30,
        "removed": 1,
        "requests": 37,
        "not_modified": 21,
        "callbacks_run": 8,
        "callbacks_saved": 29,
        "bytes_received": 400_000,
        "bytes_saved": 1_200_000,
        "diffs": (a_changed_page(),),
    }
    return Recrawl(**(values | other))


def a_report(**other: Any) -> Report:
    values: dict[str, Any] = {
        "project": "shop",
        "generated_at": NOON,
        "pages_fetched": 42,
        "domains": (a_domain(),),
        "layers": (a_layer("url", pages=3, blocks=0, chars=0), a_layer()),
        "repeated": (a_repeated_block(),),
        "samples": (a_sample(),),
    }
    return Report(**(values | other))


def a_large_report() -> Report:
    """Many domains, long words, long menus: what is hard to lay out."""
    domains = tuple(
        a_domain(f"shop-number-{number}.example", pages=400 - number, chars_in=9_000_000 // number, chars_out=n_kept)
        for number in range(1, 301)
        for n_kept in [9_000_000 // number - 40 * number]
    )
    words = " ".join(f"word{number}" for number in range(90))
    lines = [f"-{words} {number}" for number in range(200)] + [f"+{words} {number}x" for number in range(220)]
    hunks = [
        line for number in range(150) for line in (f"@@ -{number} +{number} @@", "-" + "long" * 100, "+" + "x" * 500)
    ]
    diffs = (a_diff("@@ -1,200 +1,220 @@", *lines), a_diff(*hunks), a_diff("@@ -0,0 +1 @@", "+<br>", "..."))
    menu = tuple(removed(f"Menu entry {number}") for number in range(40))
    blocks = (*menu, kept("word" * 400), removed("Buy\nnow", "on 12 of 40 pages"), kept("Some prose. " * 200))
    paths = "body>div.wrapper.outer-most-wrapper>div#page>" + "div.inner>" * 30 + "p"
    return a_report(
        pages_fetched=48_211,
        domains=domains,
        repeated=tuple(a_repeated_block("Terms " * 40, path=paths, on_pages=40 - n) for n in range(10)),
        samples=tuple(a_sample(blocks=blocks, cleaned="x" * 5000, title="T" * 300) for _ in range(3)),
        recrawl=a_recrawl(diffs=tuple(a_changed_page(diff=diff, title="T" * 300) for diff in diffs)),
    )

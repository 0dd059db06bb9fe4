"""Reports with defaults; a test overrides what it is about."""

from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from scrapy_dedup.core.chunks.chunks import ChunkState
from scrapy_dedup.core.runs import LedgerDomain
from scrapy_dedup.report.values import (
    Alarm,
    AliasGroup,
    Amounts,
    ChangedPage,
    Cost,
    ExplainedBlock,
    ExplainedChunk,
    ExplainedDecision,
    ExplainedLike,
    ExplainedPage,
    LayerFigures,
    Ledger,
    LedgerCheck,
    LedgerRow,
    LedgerTable,
    Report,
    ReportBlock,
    ReportDomain,
    ReportDomainLayouts,
    ReportLayout,
    ReportLocator,
    ReportRecrawl,
    ReportTemplate,
    SamplePage,
    ShadowedLayer,
    ShadowedPage,
    SharedChunk,
)

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def a_domain(
    domain: str = "shop.example", *, pages: int = 40, chars_in: int = 100_000, chars_out: int = 59_000
) -> ReportDomain:
    return ReportDomain(domain, pages, chars_in, chars_out, {"boilerplate": chars_in - chars_out})


def a_layer(layer: str = "boilerplate", *, pages: int = 0, blocks: int = 320, chars: int = 41_000) -> LayerFigures:
    return LayerFigures(layer, "what a site repeats on its pages", pages, blocks, chars)


def a_repeated_block(text: str = "Contact us", **other: Any) -> ReportBlock:
    return replace(ReportBlock("shop.example", text, "body>footer>p", on_pages=39, of_pages=40, chars=10), **other)


def kept(text: str) -> ExplainedBlock:
    return ExplainedBlock(text)


def removed(text: str, evidence: str = "on 39 of 40 pages") -> ExplainedBlock:
    return ExplainedBlock(text, layer="boilerplate", rule="repeated block", evidence=evidence)


def a_sample(**other: Any) -> SamplePage:
    blocks = (removed("Menu"), kept("Steep for two minutes."), removed("Contact us"))
    cleaned = "# Green tea\n\nSteep for two minutes."
    return replace(SamplePage("http://shop.example/tea", "Green tea", blocks=blocks, cleaned=cleaned), **other)


def a_diff(*lines: str) -> str:
    return "\n".join(["--- old", "+++ new", *lines])


def a_changed_page(**other: Any) -> ChangedPage:
    diff = a_diff("@@ -1 +1 @@", "-Steep for two minutes.", "+Steep for three minutes.", "@@ -9,0 +9 @@", "+New!")
    return replace(ChangedPage("http://shop.example/tea", "Green tea", change="content", diff=diff), **other)


def a_recrawl(**other: Any) -> ReportRecrawl:
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
    return ReportRecrawl(**(values | other))


def an_alarm(cause: str = "content root lost on 9 of 10 pages since 14:02", **other: Any) -> Alarm:
    return replace(Alarm(domain="shop.example", layout="05b8c1d2e3f40718", cause=cause, raised_at=NOON), **other)


def a_template(**other: Any) -> ReportTemplate:
    values: dict[str, Any] = {
        "version": 3,
        "state": "live",
        "confidence": 0.94,
        "pages": 60,
        "reason": "at least as good as the fallback on 12 pages",
        "content": (ReportLocator("main > div.text", "0.91 of a page's own text, on 44 of 44 pages"),),
        "left_out": (
            ReportLocator("nav.menu", "is navigation by its name, on 44 of 44 pages", "Home"),
            ReportLocator("footer > p", "1.00 of its text repeats, on 44 of 44 pages", "All rights reserved"),
        ),
        "rules": 2,
        "fields": {"title": "h1", "date": "time.published"},
    }
    return ReportTemplate(**(values | other))


def a_layout(**other: Any) -> ReportLayout:
    examples = ("https://shop.example/notes/green-tea", "https://shop.example/notes/oolong")
    layout = ReportLayout(
        "05b8c1d2e3f40718", "article", visits=440, pages_by_run=(40, 60, 140, 0, 200), examples=examples,
        url_pattern=r"/notes/[^/]+", template=a_template(),
    )  # fmt: skip
    return replace(layout, **other)


def a_site(*layouts: ReportLayout, **other: Any) -> ReportDomainLayouts:
    shown = layouts or (a_layout(), a_layout(layout="rest", kind="", visits=60, url_pattern=None, template=None))
    visits = sum(each.visits for each in shown)
    values: dict[str, Any] = {"domain": "shop.example", "visits": visits, "all_layouts": len(shown)}
    return ReportDomainLayouts(layouts=shown, **(values | other))


def a_shadowed_layer(**other: Any) -> ShadowedLayer:
    counts = {"blocks": 320, "chars": 41_000, "pages": 40}
    return replace(ShadowedLayer("boilerplate", counts, samples=(a_sample(),)), **other)


def shadowed_pages(*pages: tuple[str, str]) -> ShadowedLayer:
    return ShadowedLayer("canonical", {"items": len(pages)}, pages=tuple(ShadowedPage(*page) for page in pages))


def a_row(layer: str = "title", **other: Any) -> LedgerRow:
    says = ("pages with the title of another", "title, then text")
    return replace(LedgerRow(layer, *says, pages=53, chunks=159, chars=52_500, tokens=13_125, is_about=True), **other)


def a_table(**other: Any) -> LedgerTable:
    values: dict[str, Any] = {
        "runs": 1,
        "began_at": NOON,
        "rows": (
            a_row("url", pages=49, chunks=None, chars=None, tokens=None, is_about=False),
            a_row(),
            a_row("unchanged", pages=0, chunks=None, chars=None, tokens=None, is_about=False),
            a_row("chunk", pages=None, chunks=46, chars=30_160, tokens=7_540, is_about=False, note="a note"),
        ),
        "before": Amounts(315, 709, 299_491, 74_873),
        "after": Amounts(192, 653, 261_475, 65_369),
        "about": Amounts(0, 159, 52_500, 13_125),
        "checks": (LedgerCheck("items that came in = given + dropped", 315, 315),),
        "costs": (Cost("language", 1.29), Cost("chunk", 0.09)),
        "elapsed_seconds": 15.0,
    }
    return LedgerTable(**(values | other))


def a_ledger(**other: Any) -> Ledger:
    values: dict[str, Any] = {
        "run": a_table(),
        "all_runs": a_table(runs=3),
        "tokens_by": "an estimate, 4 characters each",
        "is_estimate": True,
        "domains": (LedgerDomain("shop.example", 192, 123, 299_491, 261_475, 709, 653),),
        "aliases": (
            AliasGroup(
                "/werking/*", "/*", {"canonical": 33, "title": 33}, 66, "https://a.example/x", "https://a.example/"
            ),
        ),
        "shared": (SharedChunk("## Exercise", 331, 8, ("https://a.example/1",), ("https://a.example/2",)),),
    }
    return Ledger(**(values | other))


def a_removed_block(text: str = "Menu", **other: Any) -> ExplainedBlock:
    named = ("boilerplate", "template: outside", "body>nav", "on 60 of 60 pages", "a443c9553881cae5")
    return replace(ExplainedBlock(text, *named), **other)


def _a_chunk(position: int, state: ChunkState, sample: str, **other: Any) -> ExplainedChunk:
    return ExplainedChunk(position, "d126a56629f783ae", b"hash", state, "prose", 344, 344, sample, **other)


def an_explained_page(**other: Any) -> ExplainedPage:
    values: dict[str, Any] = {
        "project": "shop",
        "url": "https://shop.example/tea",
        "title": "Green tea",
        "generated_at": NOON,
        "facts": (("domain", "shop.example"), ("alias", "https://shop.example/node/7")),
        "like": ExplainedLike("https://shop.example/oolong", "", 0.953),
        "decisions": (ExplainedDecision("boilerplate", "removed", "2 blocks, 14 of 50 characters"),),
        "blocks": (
            a_removed_block(),
            ExplainedBlock("Steep for two minutes."),
            a_removed_block("two", layer="patterns", rule="text pattern", rule_path="tw.", evidence="", is_part=True),
        ),
        "lost": (a_removed_block("", fingerprint="0123456789abcdef"),),
        "cleaned": "# Green tea\n\nSteep for minutes.",
        "chunks": (
            _a_chunk(0, "added", "# Green tea", language="en"),
            _a_chunk(
                1,
                "removed",
                "Steep",
                layer="chunk",
                reason="another page gives it",
                holder_url="https://shop.example/oolong",
            ),
            _a_chunk(2, "removed", "Guten Tag", language="de", layer="language", reason="de is not wanted"),
        ),
    }
    return ExplainedPage(**(values | other))


def a_full_report() -> Report:
    return a_report(
        ledger=a_ledger(),
        recrawl=a_recrawl(),
        alarms=(an_alarm(),),
        layouts=(a_site(),),
        shadowed=(
            shadowed_pages(("https://shop.example/tea?print=1", "would be dropped: canonical link")),
            a_shadowed_layer(),
        ),
    )


def a_report(**other: Any) -> Report:
    layers = (a_layer("url", pages=3, blocks=0, chars=0), a_layer())
    report = Report(
        "shop", NOON, pages_fetched=42, domains=(a_domain(),), layers=layers,
        repeated=(a_repeated_block(),), samples=(a_sample(),),
    )  # fmt: skip
    return replace(report, **other)


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
    rules = tuple(ReportLocator("body > div.wrap " * 40, "e" * 300, "word" * 100) for _ in range(30))
    template = a_template(left_out=rules, content=rules, rules=400, reason="r" * 500, fields={"title": "h1" * 200})
    layouts = tuple(
        a_layout(
            layout=f"{number:016x}",
            pages_by_run=tuple(range(1, 60)),
            url_pattern="x" * 500,
            examples=("https://shop.example/" + "y" * 500,) * 5,
            template=template,
        )
        for number in range(30)
    )
    groups = tuple(
        AliasGroup("/x" * 200, "/y" * 200, {"title": 9}, 9, "https://a.example/" + "z" * 300, "n") for _ in range(60)
    )
    shared = tuple(SharedChunk("w" * 120, 900, 9, ("https://a.example/" + "z" * 300,) * 3, ()) for _ in range(60))
    domain = LedgerDomain("d" * 100, 10**7, 10**7, 10**12, 10**12, 10**9, 10**9)
    rows = tuple(
        a_row("l" * 40, pages=10**8, blocks=10**9, chunks=10**9, chars=10**12, tokens=10**12) for _ in range(10)
    )
    ledger = a_ledger(run=a_table(rows=rows), aliases=groups, shared=shared, domains=(domain,) * 300)
    return a_report(
        ledger=ledger,
        alarms=tuple(an_alarm("c" * 400, domain="d" * 300) for _ in range(40)),
        layouts=tuple(a_site(*layouts, domain=f"shop-{number}.example", all_layouts=90) for number in range(20)),
        shadowed=(
            shadowed_pages(*(("https://shop.example/" + "z" * 300, "r" * 300) for _ in range(50))),
            a_shadowed_layer(samples=tuple(a_sample(blocks=blocks, title="T" * 300) for _ in range(20))),
        ),
        pages_fetched=48_211,
        domains=domains,
        repeated=tuple(a_repeated_block("Terms " * 40, path=paths, on_pages=40 - n) for n in range(10)),
        samples=tuple(a_sample(blocks=blocks, cleaned="x" * 5000, title="T" * 300) for _ in range(3)),
        recrawl=a_recrawl(diffs=tuple(a_changed_page(diff=diff, title="T" * 300) for diff in diffs)),
    )

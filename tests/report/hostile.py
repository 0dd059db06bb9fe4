import re

from scrapy_dedup.core.runs import LedgerDomain
from scrapy_dedup.report.values import (
    AliasGroup,
    Cost,
    ExplainedBlock,
    ExplainedChunk,
    ExplainedDecision,
    ExplainedLike,
    ExplainedPage,
    Ledger,
    LedgerCheck,
    Report,
    ReportLocator,
    SharedChunk,
)
from tests.report.builders import (
    a_changed_page,
    a_diff,
    a_domain,
    a_layer,
    a_layout,
    a_ledger,
    a_recrawl,
    a_repeated_block,
    a_report,
    a_row,
    a_sample,
    a_shadowed_layer,
    a_site,
    a_table,
    a_template,
    an_alarm,
    an_explained_page,
    kept,
    removed,
    shadowed_pages,
)

HOSTILE = '</title></style><script>window.hacked = 1</script><img src=x onerror="window.hacked=1">\'&amp;'
NUL_AND_BIDI = "a\x00b\x1bc\u202egnp.exe\u2066\u200b\ufeff\U000e0041\ud800"
ALL = HOSTILE + NUL_AND_BIDI


def without_values(html: str) -> str:
    """Return HTML without what fields hold: it comes back as it was."""
    return re.sub(r' value="[^"]*"', "", html)


def a_hostile_ledger() -> Ledger:
    return a_ledger(
        run=a_table(
            rows=(a_row(ALL, prevents=ALL, method=ALL, note=ALL),),
            checks=(LedgerCheck(ALL, 1, 2),),
            costs=(Cost(ALL, 1),),
        ),
        tokens_by=ALL,
        domains=(LedgerDomain(ALL, 1, 1, 1, 1, 1, 1),),
        aliases=(
            AliasGroup(ALL, ALL, {ALL: 1}, 1, "javascript:window.hacked=1", ALL),
            AliasGroup("p" * 10_000_000, "q" * 10_000_000, {}, 1, "u" * 10_000_000, "http://[broken/"),
        ),
        shared=(SharedChunk(ALL, 1, 2, (ALL, "javascript:window.hacked=1"), ("data:text/html,hacked",)),),
    )


def a_hostile_page() -> ExplainedPage:
    """Hostile text in every field of an explanation that can hold text."""
    block = ExplainedBlock(ALL, ALL, ALL, ALL, ALL, ALL)
    chunk = ExplainedChunk(0, ALL, ALL, ALL, 10**9, ALL, ALL, ALL, ALL, "javascript:window.hacked=1")
    return an_explained_page(
        project=ALL,
        url="javascript:window.hacked=1",
        title=ALL,
        facts=(
            (ALL, ALL),
            ("alias", 'http://evil.example/"onclick="window.hacked=1'),
            ("x" * 10_000, "y" * 10_000_000),
        ),
        like=ExplainedLike(ALL, ALL, 2.0),
        decisions=(ExplainedDecision(ALL, ALL, ALL),),
        blocks=(block, ExplainedBlock(ALL), ExplainedBlock("b" * 10_000_000), *[block] * 3_000),
        lost=(block,),
        cleaned="</pre><script>window.hacked=1</script>" + ALL + "c" * 10_000_000,
        chunks=(chunk, ExplainedChunk(1, ALL, ALL, ALL, 1, ALL), *[chunk] * 2_000),
    )


def a_hostile_report() -> Report:
    return a_report(
        project=ALL,
        ledger=a_hostile_ledger(),
        domains=(a_domain(ALL), a_domain("javascript:alert(1)")),
        layers=(a_layer(ALL),),
        repeated=(a_repeated_block(ALL, domain=ALL, path=ALL), a_repeated_block("x", path='" onmouseover="hacked=1')),
        samples=(
            a_sample(
                url="javascript:window.hacked=1",
                title=ALL,
                blocks=(removed(ALL, evidence=ALL), kept(ALL)),
                cleaned=ALL + "\n\n" + "</pre><script>window.hacked=1</script>",
            ),
            a_sample(url='http://evil.example/"onclick="window.hacked=1', title=""),
            a_sample(url="http://[broken/", title="t" * 10_000_000, cleaned="c" * 10_000_000),
        ),
        alarms=(an_alarm(ALL, domain=ALL, layout=ALL),),
        layouts=(
            a_site(
                a_layout(
                    layout=ALL,
                    kind=ALL,
                    url_pattern=ALL,
                    examples=("javascript:window.hacked=1", "http://[broken/", ALL),
                    template=a_template(
                        state=ALL,
                        reason=ALL,
                        content=(ReportLocator(ALL, ALL, ALL),),
                        left_out=(ReportLocator("s" * 10_000_000, "e" * 10_000_000, "x" * 10_000_000),) * 1_000,
                        fields={ALL: ALL},
                    ),
                ),
                domain=ALL,
            ),
        ),
        shadowed=(
            shadowed_pages(("javascript:window.hacked=1", ALL)),
            a_shadowed_layer(
                layer=ALL,
                counts={ALL: 1},
                samples=(a_sample(url="data:text/html,hacked", title=ALL, blocks=(removed(ALL, evidence=ALL),)),),
            ),
        ),
        recrawl=a_recrawl(
            diffs=(
                a_changed_page(
                    url="javascript:window.hacked=1", title=ALL, change=ALL, diff=a_diff("-" + ALL, "+x" + ALL)
                ),
                a_changed_page(title="", url="http://[broken/", diff=ALL),
                a_changed_page(url="data:text/html,hacked", diff=a_diff("-" + "d" * 10_000_000, *["+e"] * 100_000)),
            )
        ),
    )

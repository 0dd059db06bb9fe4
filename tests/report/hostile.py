"""A report about a site that hates us."""

from scrapy_dedup.report.values import Report, Rule
from tests.report.builders import (
    a_changed_page,
    a_diff,
    a_domain,
    a_layer,
    a_layout,
    a_recrawl,
    a_repeated_block,
    a_report,
    a_sample,
    a_shadowed_layer,
    a_site,
    a_template,
    an_alarm,
    kept,
    removed,
    shadowed_pages,
)

HOSTILE = '</title></style><script>window.hacked = 1</script><img src=x onerror="window.hacked=1">\'&amp;'
NUL_AND_BIDI = "a\x00b\x1bc\u202egnp.exe\u2066\u200b\ufeff\U000e0041\ud800"
ALL = HOSTILE + NUL_AND_BIDI


def a_hostile_report() -> Report:
    """Hostile text in every field that can hold text."""
    return a_report(
        project=ALL,
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
                        content=(Rule(ALL, ALL, ALL),),
                        left_out=(Rule("s" * 10_000_000, "e" * 10_000_000, "x" * 10_000_000),) * 1_000,
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

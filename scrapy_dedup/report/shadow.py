"""What layers would have dropped that only look on: nothing here was removed from what was handed on."""

from collections.abc import Sequence

from scrapy_dedup.report.markup import Html, isolated, joined, page_link
from scrapy_dedup.report.numbers import count, whole
from scrapy_dedup.report.samples import would_go_section
from scrapy_dedup.report.values import ShadowedLayer, ShadowedPage

MOST_PAGES = 20
MOST_SAMPLES = 10
MOST_COUNTS = 12

# Counts are called as in the stats; these are short there.
_WORDS = {"chars": "characters", "asked_if": "asked whether changed", "skipped": "left alone"}


def shadow_section(layers: Sequence[ShadowedLayer]) -> Html:
    """Return the layers in the shadow, each with its counts and with samples."""
    return Html(
        '<section class="shadow">\n<h2>In the shadow</h2>\n<p class="lead">These layers only look on '
        "(<code>DEDUP_SHADOW</code>): <strong>nothing shown here was removed.</strong> What is marked as “would go” "
        "was handed on as it came, and goes once the layer is taken out of the shadow.</p>\n"
        f"{joined(_layer(each, place) for place, each in enumerate(layers, start=1))}\n</section>"
    )


def _layer(each: ShadowedLayer, place: int) -> Html:
    counts = list(each.counts.items())[:MOST_COUNTS]
    told = " · ".join(f"{isolated(_WORDS.get(name, name), 40)} {whole(number)}" for name, number in counts)
    parts = [Html(f'<h3>{isolated(each.layer, 60)}</h3>\n<p class="meta">It found: {told or "nothing"}</p>')]
    if each.pages:
        parts.append(_pages(each.pages))
    samples = each.samples[:MOST_SAMPLES]
    parts += [would_go_section(page, f"shadow-{place}-{number}") for number, page in enumerate(samples, start=1)]
    return Html(f'<div class="shadowed">\n{joined(parts)}\n</div>')


def _pages(pages: Sequence[ShadowedPage]) -> Html:
    rows = joined(
        Html(f'<li>{page_link(page.url)}<span class="note">{isolated(page.reason)}</span></li>')
        for page in pages[:MOST_PAGES]
    )
    left_out = len(pages) - MOST_PAGES
    more = f'<p class="more">… and {count(left_out, "more page")}</p>' if left_out > 0 else ""
    return Html(f'<ul class="rules">\n{rows}\n</ul>\n{more}')

"""The first page: what came in, what the layers saved, how the last runs went, what is wrong."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from html import escape
from typing import Final

from scrapy_dedup.report.charts import Saving as SavingBar
from scrapy_dedup.report.charts import bar, legend, savings_chart
from scrapy_dedup.report.dashboard_frame import NOTHING, Nav, as_of, domain_path, empty, page_head, panel, scrolling
from scrapy_dedup.report.dashboard_runs import run_list, running_card
from scrapy_dedup.report.dashboard_values import FrontPage, RunPage, RunRow
from scrapy_dedup.report.document import numbers, table, table_row
from scrapy_dedup.report.ledger import COLUMNS, figures_of, tokens_line
from scrapy_dedup.report.markup import Html, attribute, isolated, joined
from scrapy_dedup.report.numbers import count, percent, short, whole
from scrapy_dedup.report.values import Alarm, DomainFigures, Ledger, LedgerTable

LAST_RUNS: Final = 5
MOST_ALARMS: Final = 10
MOST_RUNNING: Final = 3
VERDICTS: Final = ("new", "changed", "unchanged", "removed")


HEIGHT: Final = 150
MOST_COLUMNS: Final = 60
_WIDEST: Final = 7.0  # percent: two runs are two columns, not two walls


def overview_content(front: FrontPage, nav: Nav) -> Html:
    """Return the first page of a project."""
    if front.is_empty:
        return _nothing_yet(nav)
    running = [step for step in reversed(front.steps) if step.is_running]
    cards = joined(running_card(run, nav, title_level=2) for run in running[:MOST_RUNNING])
    parts = [_head(front, nav), cards, _alarms(front.alarms, nav), sums_content(front, nav)]
    return joined(part for part in parts if part)


def sums_content(front: FrontPage, nav: Nav) -> Html:
    """Return the figures of the first page; a script asks for them again while they are being added up."""
    layers = _layers(front.ledger) if front.ledger else NOTHING
    parts = [_figures(front), _trend(front.steps), layers, _two(front, nav)]
    if not front.is_quick:
        return Html(f'<div class="sums">\n{joined(part for part in parts if part)}\n</div>')
    told = Html(
        '<p class="more">These sums are as of the ends of runs. All pages are being added up, which takes a while; '
        f'what the layers saved comes then. <a class="without-script" href="{escape(nav.path())}">Refresh</a></p>\n'
        '<p class="unseen announce">All pages are being added up.</p>'
    )
    parts.insert(1, told)
    content = joined(part for part in parts if part)
    return Html(f'<div class="sums" data-live="{escape(nav.path("sums"))}" data-state="adding">\n{content}\n</div>')


def _nothing_yet(nav: Nav) -> Html:
    told = empty(
        "Nothing was crawled yet",
        Html(
            "A crawl fills this page by itself. Put these lines into the settings of your Scrapy project, "
            "run a spider, and load this page again: a running crawl shows from its first pages on."
            "</p>\n<pre><code>ADDONS = {&quot;scrapy_dedup.Addon&quot;: 700}\n"
            f"DEDUP_PROJECT = &quot;{attribute(nav.project_name, 100)}&quot;</code></pre>\n<p>"
            "The store is the one that DEDUP_DATABASE_URL names; "
            f'<a href="{escape(nav.path("domains"))}">domains</a> can be listed, and blacklisted, before a crawl.'
        ),
    )
    return joined([page_head(isolated(nav.project_name, 100)), told])


def _head(front: FrontPage, nav: Nav) -> Html:
    removed = percent(front.chars_in - front.chars_out, front.chars_in)
    title = Html(f"{count(front.pages, 'page')}, <em>{escape(removed)}</em> of their text left out")
    above = Html(
        f'<p class="eyebrow"><strong>{isolated(nav.project_name, 100)}</strong> '
        f"<span>as of {as_of(front.at)}</span></p>"
    )
    return page_head(title, above=above)


def _figures(front: FrontPage) -> Html:
    told = front.ledger
    shown = [
        ("pages", whole(front.pages)),
        ("domains", whole(front.domains)),
        ("domains with much boilerplate", whole(front.above)),
        ("characters in", short(front.chars_in)),
        ("characters kept", short(front.chars_out)),
    ]
    if told is not None:
        every = told.all_runs or told.run
        saved = every.before.tokens + every.about.tokens - every.after.tokens
        shown.append(("tokens saved", ("~" if told.is_estimate or every.about.tokens else "") + short(saved)))
    label = Html(f"{escape(percent(front.chars_in - front.chars_out, front.chars_in))} of the text was left out")
    return joined([numbers(shown), bar(front.chars_in, front.chars_out, front.chars_in, label), legend()])


def _alarms(alarms: Sequence[Alarm], nav: Nav) -> Html:
    if not alarms:
        return NOTHING
    rows = joined(
        Html(
            f'<li><p class="cause">{isolated(one.cause, 300)}</p><p class="meta">'
            f'<a href="{domain_path(nav, one.domain)}">{isolated(one.domain, 100)}</a>, layout '
            f"<code>{isolated(one.layout, 60)}</code>, since {as_of(one.raised_at)}</p></li>"
        )
        for one in alarms[:MOST_ALARMS]
    )
    left = len(alarms) - MOST_ALARMS
    more = f'<p class="more">… and {count(left, "more alarm")}</p>' if left > 0 else ""
    title = f"{count(len(alarms), 'template')} {'does' if len(alarms) == 1 else 'do'} not fit any more"
    return panel(title, Html(f'<div class="alarms"><ul>\n{rows}\n</ul>{more}</div>'))


def _trend(steps: Sequence[RunRow]) -> Html:
    if not steps:
        return NOTHING
    labels = [f"{step.began_at.astimezone(UTC):%Y-%m-%d %H:%M}" for step in steps]
    pages = [Series(name, name, [step.verdicts.get(name, 0) for step in steps]) for name in VERDICTS]
    kept = [step.chars_out for step in steps]
    removed = [max(step.chars_in - step.chars_out, 0) for step in steps]
    text = [Series("kept", "kept", kept), Series("left out", "removed", removed)]
    ends = Html(f'<p class="columns-ends"><span>{escape(labels[0])}</span><span>{escape(labels[-1])} UTC</span></p>')
    of_pages = columns_chart(labels, pages, unit="pages")
    of_text = columns_chart(labels, text, unit="characters")
    charts = Html(
        f'<div class="two">\n<div class="card"><h3>Pages a run</h3>\n{of_pages}\n{ends}</div>\n'
        f'<div class="card"><h3>Text a run, in characters</h3>\n{of_text}\n{ends}</div>\n</div>'
    )
    return panel(
        f"Trend over the last {count(len(steps), 'run')}" if len(steps) > 1 else "The first run",
        joined([charts, _trend_table(steps, labels)]),
    )


def _trend_table(steps: Sequence[RunRow], labels: Sequence[str]) -> Html:
    columns = [name.capitalize() for name in VERDICTS] + ["Text in", "Kept"]
    body = joined(
        table_row(
            Html(escape(label)),
            [*(whole(step.verdicts.get(name, 0)) for name in VERDICTS), whole(step.chars_in), whole(step.chars_out)],
            labels=columns,
        )
        for label, step in zip(labels, steps, strict=True)
    )
    rows = table("Run began (UTC)", columns, body, "wide listing")
    return Html(f'<details class="folded"><summary>These figures as a table</summary>\n{rows}</details>')


def _layers(ledger: Ledger) -> Html:
    every = ledger.all_runs or ledger.run
    savings = [SavingBar(row.layer, row.chars or 0, is_about=row.is_about) for row in every.rows if row.chars]
    chart = Html(f'<div class="card">{savings_chart(savings)}</div>') if savings else NOTHING
    runs = f"all {whole(every.runs)} runs together" if every.runs > 1 else "one run"
    lead = Html(
        f"Of {runs}, in the order in which the layers act. Each page, block and passage is counted once, under the "
        "first layer that drops it."
    )
    return panel("What each layer saved", joined([chart, layer_table(every, ledger)]), lead=lead, name="layers")


def layer_table(shown: LedgerTable, ledger: Ledger) -> Html:
    """Return what the layers did, as figures that fold away; `shown` is one of the ledger's tables."""
    body = joined(
        table_row(
            Html(f'{isolated(row.layer, 60)}<span class="note">{isolated(row.prevents, 200)}</span>'),
            figures_of(row),
            idle=row.is_idle,
            labels=COLUMNS,
        )
        for row in shown.rows
    )
    rows = table("Layer", COLUMNS, body, "wide listing")
    foot = Html(f'<p class="more">{isolated(tokens_line(ledger), 500)}</p>')
    return Html(
        '<details class="folded"><summary>All figures of the layers</summary>\n'
        f"{scrolling('Figures of the layers', rows)}\n{foot}</details>"
    )


def layers_of_run(page: RunPage) -> Html:
    """Return what the layers did in one run; nothing where it left no counts."""
    if page.ledger is None:
        return NOTHING
    table_of_run = page.ledger.run
    savings = [SavingBar(row.layer, row.chars or 0, is_about=row.is_about) for row in table_of_run.rows if row.chars]
    chart = Html(f'<div class="card">{savings_chart(savings)}</div>') if savings else NOTHING
    return panel("What each layer saved", joined([chart, layer_table(table_of_run, page.ledger)]), name="layers")


def _two(front: FrontPage, nav: Nav) -> Html:
    runs = run_list(tuple(reversed(front.steps))[:LAST_RUNS], nav)
    domains = f"{escape(nav.path('domains'))}?sort=boilerplate&amp;order=down"
    return Html(
        '<section class="panel"><div class="two">\n'
        f'<div class="card"><h2>Domains with most boilerplate</h2>\n{_worst(front.worst, nav)}\n'
        f'<p class="more"><a href="{domains}">All domains</a></p></div>\n'
        f'<div class="card"><h2>Last runs</h2>\n{runs}\n'
        f'<p class="more"><a href="{escape(nav.path("runs"))}">All runs</a></p></div>\n</div></section>'
    )


def _worst(worst: Sequence[DomainFigures], nav: Nav) -> Html:
    if not worst:
        return Html('<p class="more">No page was cleaned yet.</p>')
    rows = joined(_worst_row(each, nav) for each in worst)
    return Html(f'<ol class="chart">\n{rows}\n</ol>')


def _worst_row(each: DomainFigures, nav: Nav) -> Html:
    share = percent(each.chars_in - each.chars_out, each.chars_in)
    label = Html(f"{attribute(each.domain, 80)}: {escape(share)} of {escape(short(each.chars_in))} left out")
    return Html(
        f'<li><div class="row"><span class="name"><a href="{domain_path(nav, each.domain)}">'
        f'{isolated(each.domain, 80)}</a></span><span class="figures">{count(each.pages, "page")} · '
        f"<strong>{escape(share)}</strong></span></div>{bar(each.chars_in, each.chars_out, each.chars_in, label)}</li>"
    )


@dataclass(frozen=True, slots=True)
class Series:
    """One part of each column, with a filling of the style sheet: `fill-` and new, changed, kept, removed."""

    name: str
    filling: str
    numbers: Sequence[int]


def columns_chart(labels: Sequence[str], series: Sequence[Series], *, unit: str) -> Html:
    """Return stacked columns, one a label, the first series at the bottom; a table beside it says the same.

    Args:
        labels: what each column is, in order; plain text.
        series: each with one number a label.
        unit: of the numbers, such as "pages".
    """
    first = max(len(labels) - MOST_COLUMNS, 0)
    totals = [sum(each.numbers[place] for each in series) for place in range(first, len(labels))]
    top = _round_up(max(totals, default=0))
    slot = 100 / max(len(totals), 1)
    columns = [
        _column(series, first + place, slot, place, top, _said(labels[first + place], series, first + place))
        for place in range(len(totals))
    ]
    label = attribute(f"{unit} a run, {len(totals)} runs: " + ", ".join(map(whole, totals)), 600)
    return Html(
        f'<svg class="columns-chart" width="100%" height="{HEIGHT + 14}" role="img" aria-label="{label}">\n'
        f"{_lines(top)}\n{joined(columns)}\n</svg>\n{_legend(series)}"
    )


def _column(series: Sequence[Series], index: int, slot: float, place: int, top: int, said: str) -> Html:
    width = min(slot * 0.7, _WIDEST)
    x = slot * place + (slot - width) / 2
    base, parts = float(HEIGHT + 12), []
    for each in series:
        number = each.numbers[index]
        # What is there is seen: two pixels at least.
        height = max(2.0, HEIGHT * number / top) if number > 0 and top else 0.0
        base -= height
        if height:
            parts.append(
                f'<rect class="fill-{escape(each.filling)}" x="{x:.2f}%" y="{base:.1f}" width="{width:.2f}%" '
                f'height="{height:.1f}" rx="1.5"/>'
            )
    return Html(f"<g><title>{escape(said)}</title>{''.join(parts)}</g>")


def _said(label: str, series: Sequence[Series], index: int) -> str:
    return f"{label}: " + ", ".join(f"{whole(each.numbers[index])} {each.name}" for each in series)


def _lines(top: int) -> Html:
    lines = []
    for share in (0.0, 0.5, 1.0):
        y = HEIGHT + 12 - HEIGHT * share
        lines.append(f'<line class="line" x1="0" x2="100%" y1="{y:.1f}" y2="{y:.1f}"/>')
        if share and top:
            lines.append(f'<text x="0" y="{y - 3:.1f}">{escape(short(round(top * share)).replace(".0", ""))}</text>')
    return Html("".join(lines))


def _round_up(number: int) -> int:
    """Return the next number with one figure that is even, or 10, 20, 50 and so on: a scale that can be halved."""
    if number <= 2:
        return 2
    unit = int("1".ljust(len(str(number)), "0"))
    return next(unit * step for step in (1, 2, 4, 6, 8, 10) if unit * step >= number)


def _legend(series: Sequence[Series]) -> Html:
    shown = " ".join(
        f'<span><svg width="14" height="14" aria-hidden="true"><rect class="fill-{escape(each.filling)}" width="14" '
        f'height="14" rx="3"/></svg> {escape(each.name)}</span>'
        for each in series
    )
    return Html(f'<p class="legend">{shown}</p>')

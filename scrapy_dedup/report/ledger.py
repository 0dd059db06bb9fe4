"""The ledger: what each layer spared, what came in and went out, other addresses of pages, and shared passages."""

from collections.abc import Sequence
from datetime import UTC

from scrapy_dedup.core.run_totals import LedgerDomain
from scrapy_dedup.report.charts import Saving, savings_chart
from scrapy_dedup.report.document import NONE, section, table, table_row
from scrapy_dedup.report.markup import Html, isolated, joined, page_link
from scrapy_dedup.report.numbers import count, percent, short, whole
from scrapy_dedup.report.values import AliasGroup, Ledger, LedgerRow, LedgerTable, SharedChunk

COLUMNS = ("Pages", "Blocks", "Chunks", "Characters", "Tokens")
MOST_DOMAINS = 200
MOST_GROUPS = 50
MOST_SHARED = 50
MOST_COSTS = 15


def ledger_section(ledger: Ledger) -> Html:
    """Return the tables of layers, with what they cost and what they did for each domain."""
    run = ledger.run
    parts = [_checks(run), _savings(run), _layer_table(run, ledger), _before_and_after(run), _costs(run)]
    if ledger.all_runs is not None:
        every = ledger.all_runs
        inner = joined([_checks(every), _layer_table(every, ledger), _before_and_after(every)])
        title = f"All {whole(every.runs)} runs together"
        parts.append(Html(f'<details class="domains"><summary>{title}</summary>\n{inner}\n</details>'))
    if ledger.domains:
        parts.append(_domains(ledger.domains))
    lead = (
        f"{_which(run)} Layers stand in the order in which they act; each page, block and passage is counted once, "
        "under the first layer that drops it."
    )
    return section("What each layer saved", lead, joined(part for part in parts if part))


def tokens_line(ledger: Ledger) -> str:
    """Return how tokens were counted, and that some figures are about."""
    told = f"Tokens: {ledger.tokens_by}."
    tables = (ledger.run, ledger.all_runs)
    if any(row.is_about for one in tables if one is not None for row in one.rows):
        told += " ~: as much as the pages have that stand for those which were dropped."
    return told


def figures_of(row: LedgerRow) -> list[str]:
    """Return a row's figures in the order of COLUMNS; about ones begin with ~."""
    about = "~" if row.is_about else ""
    return [
        NONE if row.pages is None else whole(row.pages),
        NONE if row.blocks is None else whole(row.blocks),
        NONE if row.chunks is None else about + whole(row.chunks),
        NONE if row.chars is None else about + short(row.chars),
        NONE if row.tokens is None else about + short(row.tokens),
    ]


def _which(run: LedgerTable) -> str:
    if run.began_at is None:
        return ""
    at = run.began_at.astimezone(UTC)
    return f'The run that began on <time datetime="{at.isoformat()}">{at:%Y-%m-%d %H:%M} UTC</time>.'


def _checks(run: LedgerTable) -> Html:
    if not run.differences:
        return Html("")
    rows = joined(
        Html(f"<li>{isolated(one.what)}: {whole(one.counted)}, but {whole(one.expected)}</li>")
        for one in run.differences
    )
    return Html(f'<div class="alarms"><p class="cause">These counts do not agree</p>\n<ul>\n{rows}\n</ul></div>')


def _savings(run: LedgerTable) -> Html:
    savings = [Saving(row.layer, row.chars or 0, is_about=row.is_about) for row in run.rows if row.chars]
    return savings_chart(savings) if savings else Html("")


def _layer_table(run: LedgerTable, ledger: Ledger) -> Html:
    body = joined(_layer_row(row) for row in run.rows)
    return Html(f'{table("Layer", COLUMNS, body, "wide")}\n<p class="more">{isolated(tokens_line(ledger), 500)}</p>')


def _layer_row(row: LedgerRow) -> Html:
    by = f'<span class="note">{isolated(row.prevents, 200)}; by {isolated(row.method, 200)}</span>'
    more = f'<span class="note">{isolated(row.note, 200)}</span>' if row.note else ""
    name = Html(f"{isolated(row.layer, 60)}{by}{more}")
    return table_row(name, figures_of(row), idle=row.is_idle, labels=COLUMNS)


def amounts_of(run: LedgerTable) -> list[tuple[str, str, str, str]]:
    """Return (what, before, after, saved); before is about where it counts pages that were left out whole."""
    before, after, about = run.before, run.after, run.about
    found = [("Items", whole(before.items), whole(after.items), percent(before.items - after.items, before.items))]
    for name, was, more, now in (
        ("Chunks", before.chunks, about.chunks, after.chunks),
        ("Characters", before.chars, about.chars, after.chars),
        ("Tokens", before.tokens, about.tokens, after.tokens),
    ):
        together = was + more
        found.append((name, f"{'~' if more else ''}{whole(together)}", whole(now), percent(together - now, together)))
    return found


def _before_and_after(run: LedgerTable) -> Html:
    columns = ("Before", "After", "Saved")
    body = joined(table_row(Html(name), figures, labels=columns) for name, *figures in amounts_of(run))
    return Html(f"<h3>Before and after</h3>\n{table('', columns, body)}")


def _costs(run: LedgerTable) -> Html:
    if not run.costs:
        return Html("")
    total = run.cost_seconds
    columns = ("Seconds", "Share")
    body = joined(
        table_row(isolated(one.name, 60), [f"{one.seconds:.2f}", _share(one.seconds, total)], labels=columns)
        for one in run.costs[:MOST_COSTS]
    )
    of_run = f" of {run.elapsed_seconds:.1f} that the crawl took" if run.elapsed_seconds else ""
    return Html(
        f"<h3>What it cost</h3>\n"
        f'<p class="lead">{total:.2f} seconds of processor time{of_run}.</p>\n{table("", columns, body)}'
    )


def _share(part: float, total: float) -> str:
    return percent(round(part * 1_000), round(total * 1_000))


def _domains(domains: Sequence[LedgerDomain]) -> Html:
    columns = ("Pages", "Aliases", "Text in", "Kept", "Chunks", "Given")
    body = joined(
        table_row(isolated(one.domain, 100), _domain_figures(one), labels=columns) for one in domains[:MOST_DOMAINS]
    )
    left_out = len(domains) - MOST_DOMAINS
    more = f'<p class="more">… and {count(left_out, "more domain")}</p>' if left_out > 0 else ""
    return Html(
        f'<details class="domains"><summary>By domain, as it is stored now</summary>\n'
        f"{table('Domain', columns, body, 'wide')}\n{more}</details>"
    )


def _domain_figures(one: LedgerDomain) -> list[str]:
    texts = [short(one.chars_in), short(one.chars_out)]
    return [whole(one.pages), whole(one.aliases), *texts, whole(one.chunks_in), whole(one.chunks_out)]


def alias_section(groups: Sequence[AliasGroup]) -> Html:
    """Return which addresses stand for which; empty where there are none."""
    if not groups:
        return Html("")
    body = joined(_alias_row(one) for one in groups[:MOST_GROUPS])
    total = sum(one.count for one in groups)
    lead = f"{count(total, 'address')}" if total == 1 else f"{whole(total)} addresses"
    told = f"{lead} of pages that have another one, by how both look; <code>*</code> is anything."
    return section("One page, several addresses", told, table("Pattern and example", ("Count",), body))


def _alias_row(one: AliasGroup) -> Html:
    pattern = f"<code>{isolated(one.alias, 160)}</code> → <code>{isolated(one.target, 160)}</code>"
    example = f"{page_link(one.example)} → {page_link(one.example_target)}"
    by = ", ".join(f"{whole(number)} by {isolated(name, 40)}" for name, number in one.found_by.items())
    found = f'<span class="note">{example}</span><span class="note">{by}</span>'
    return table_row(Html(f'<span class="quote">{pattern}</span>{found}'), [whole(one.count)])


def shared_section(shared: Sequence[SharedChunk]) -> Html:
    """Return the passages that most pages have; empty where there are none."""
    if not shared:
        return Html("")
    body = joined(_shared_row(one) for one in shared[:MOST_SHARED])
    lead = "Passages that several pages have, and which page gives each of them."
    return section("Most shared chunks", lead, table("Passage", ("Pages", "Characters"), body))


def _shared_row(one: SharedChunk) -> Html:
    keepers = ", ".join(page_link(url, limit=120) for url in one.keepers)
    given = f"given by {keepers}" if one.keepers else "given by none: a layer leaves it out everywhere"
    others = f"; also on {', '.join(page_link(url, limit=120) for url in one.others)}" if one.others else ""
    note = f'<span class="note">{given}{others}</span>'
    name = Html(f'<span class="quote">{isolated(one.sample, 200)}</span>{note}')
    return table_row(name, [whole(one.pages), whole(one.chars)])

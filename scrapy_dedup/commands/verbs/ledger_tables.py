"""The ledger at a terminal."""

from rich.console import Console

from scrapy_dedup.commands.terminal import a_table, output, print_table, shown
from scrapy_dedup.report.ledger import COLUMNS, amounts_of, figures_of, tokens_line
from scrapy_dedup.report.numbers import count, percent, whole
from scrapy_dedup.report.values import Ledger, LedgerTable

_ALIASES = 10
_CHUNKS = 5
_COSTS = 12


def show_ledger(ledger: Ledger) -> None:
    """Print all of a ledger but its domains, which `stats` lists."""
    console = output()
    show_table(ledger.run, "What each layer saved", console)
    if ledger.all_runs is not None:
        show_table(ledger.all_runs, f"The same, all {whole(ledger.all_runs.runs)} runs together", console)
    console.print(shown(tokens_line(ledger), 500, style="dim"), soft_wrap=True)
    console.print()
    _show_aliases(ledger)
    _show_shared(ledger)


def show_table(table: LedgerTable, title: str, console: Console) -> None:
    """Print what each layer saved, before and after, what does not add up, and what it cost."""
    rows = a_table("Layer", "Prevents", *COLUMNS, texts=2)
    for row in table.rows:
        prevents = f"{row.prevents} ({row.note})" if row.note else row.prevents
        rows.add_row(shown(row.layer), shown(prevents), *map(shown, figures_of(row)))
    began = f", run of {table.began_at:%Y-%m-%d %H:%M} UTC" if table.began_at is not None and table.runs == 1 else ""
    console.print(shown(title + began, 300, style="bold"), soft_wrap=True)
    console.print(rows)
    told = "; ".join(f"{name} {was} in, {now} out ({saved} less)" for name, was, now, saved in amounts_of(table))
    console.print(shown(f"{told}.", 500), soft_wrap=True)
    for one in table.differences:
        wrong = f"These counts do not agree: {one.what}: {whole(one.counted)}, but {whole(one.expected)}."
        console.print(shown(wrong, 500, style="red"), soft_wrap=True)
    if table.costs:
        console.print(shown(_cost(table), 1_000), soft_wrap=True)


def _cost(table: LedgerTable) -> str:
    total = table.cost_seconds
    parts = [
        f"{one.name} {one.seconds:.2f} s ({percent(round(1_000 * one.seconds), round(1_000 * total))})"
        for one in table.costs[:_COSTS]
    ]
    of_run = f" of {table.elapsed_seconds:.1f} s that the crawl took" if table.elapsed_seconds else ""
    return f"It cost {total:.2f} s of processor time{of_run}: {', '.join(parts)}."


def _show_aliases(ledger: Ledger) -> None:
    if not ledger.aliases:
        return
    table = a_table("Addresses", "of pages", "Found by", "Example", "Count", texts=4)
    for one in ledger.aliases[:_ALIASES]:
        texts = (shown(one.alias, 80), shown(one.target, 80), shown(", ".join(one.found_by)), shown(one.example, 100))
        table.add_row(*texts, whole(one.count))
    print_table("One page, several addresses", table)
    _and_more(len(ledger.aliases) - _ALIASES, "more pattern")


def _show_shared(ledger: Ledger) -> None:
    if not ledger.shared:
        return
    table = a_table("Chunk", "Given by", "Pages", texts=2)
    for one in ledger.shared[:_CHUNKS]:
        keeper = one.keepers[0] if one.keepers else "none"
        table.add_row(shown(one.sample, 80), shown(keeper, 100), whole(one.pages))
    print_table("Most shared chunks", table)
    _and_more(len(ledger.shared) - _CHUNKS, "more chunk")


def _and_more(number: int, thing: str) -> None:
    if number > 0:
        output().print(f"and {count(number, thing)}; --json lists them")
    output().print()

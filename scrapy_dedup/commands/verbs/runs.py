"""`scrapy dedup runs`: the last runs, newest first, and what each found.

A run that is said to be running, and was not heard (`seen_at`) for half a minute, was probably killed. Figures are
those of the visits that are still kept; `request_seconds`, from requests to their acknowledgement, are added up. A
worker is lost that is not heard within its lease, and resumed where the run went on after it ended. Layers that left
out a tenth of a domain's pages in a run stand below, with pages to look at.

JSON: `RunsAnswer` of `scrapy_dedup.answers.runs`.
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from rich.console import Console
from rich.text import Text

from scrapy_dedup.commands.call import DONE, Call, CommandError, number, print_answer
from scrapy_dedup.commands.terminal import a_table, output, print_table, shown
from scrapy_dedup.core.runs import DropAlarm
from scrapy_dedup.report.numbers import (
    COLUMNS,
    amounts_of,
    count,
    figures_of,
    lasting,
    percent,
    short,
    tokens_line,
    whole,
)
from scrapy_dedup.report.values import Ledger, LedgerTable
from scrapy_dedup.store.records.stored import RunFigures, StoredRun, StoredWorker

_VERDICTS = ("new", "changed", "unchanged", "removed")
_MOST = 100_000
_ID_DIGITS = 8


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add how many runs."""
    parser.add_argument(
        "-n", dest="limit", metavar="RUNS", type=number(_MOST, "runs"), default=10, help="so many at most (10)"
    )


def run(call: Call) -> int:
    """Print the last runs."""
    with call.opened() as (_, project):
        runs = project.runs(call.options.limit)
    if not runs:
        raise CommandError(f"project {call.project!r} has no run yet: run a crawl first")
    if not print_answer(
        call,
        "runs",
        lambda answers: answers.RunsAnswer.of(
            project=call.project, runs=[answers.RunAnswer.made(each) for each in runs]
        ),
    ):
        show(call, runs)
    return DONE


def show(call: Call, runs: Sequence[RunFigures]) -> None:
    """Print a table."""
    verdicts = [verdict.capitalize() for verdict in _VERDICTS]
    table = a_table("Run", "Spider", "Status", "Began (UTC)", "Took", *verdicts, "Callbacks", "Bytes", texts=4)
    at = datetime.now(UTC)
    for each in runs:
        took = each.run.took
        table.add_row(
            str(each.run.id)[:_ID_DIGITS],
            shown(each.run.spider, 60),
            shown(_status(each.run, at) + _of_workers(each.workers), 90),
            f"{each.run.started_at:%Y-%m-%d %H:%M}",
            "" if took is None else lasting(took),
            *(whole(each.verdicts.get(verdict, 0)) for verdict in _VERDICTS),
            whole(each.callbacks),
            short(each.bytes_received),
        )
    print_table(f"Runs of project {call.project}, newest first", table)
    for each in runs:
        for alarm in DropAlarm.of_run(each.run.stats):
            output().print(
                shown(
                    f"Run {str(each.run.id)[:_ID_DIGITS]}: {alarm.layer} left out {whole(alarm.dropped)} of"
                    f" {alarm.pages} pages of {alarm.domain}. Look at some:",
                    300,
                    "bold",
                )
            )
            for url, keeper in alarm.pairs:
                output().print(shown(f"  {url} for {keeper}", 1_000))
    output().print(Text("\nscrapy dedup changes --since RUN shows what a run found, and all after it.", style="dim"))


def _of_workers(workers: Sequence[StoredWorker]) -> str:
    """Return how many crawlers share a run, and how they stand."""
    if not workers:
        return ""
    number = Counter(worker.status for worker in workers)
    return f"; {len(workers)} workers: " + ", ".join(f"{number[status]} {status}" for status in sorted(number))


def _status(run_of_it: StoredRun, at: datetime) -> str:
    if run_of_it.silence(at) is not None:
        return "running (silent, probably killed)"
    # A run that finished for the reason "finished" needs one word.
    told = run_of_it.reason and run_of_it.reason != run_of_it.status
    return f"{run_of_it.status} ({run_of_it.reason})" if told else run_of_it.status


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

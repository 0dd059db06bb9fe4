"""`scrapy dedup runs`: the last runs, newest first, and what each found.

A run that is said to be running, and was not heard (`seen_at`) for half a minute, was probably killed. Figures are
those of the visits that are still kept; `request_seconds`, from requests to their acknowledgement, are added up. A
worker is lost that is not heard within its lease, and resumed where the run went on after it ended. Layers that left
out a tenth of a domain's pages in a run stand below, with pages to look at.

JSON: `RunsAnswer` of `scrapy_dedup.answers.pages`.
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from rich.console import Console

from scrapy_dedup.commands.call import DONE, Call, CommandError, number, print_answer
from scrapy_dedup.commands.terminal import output, print_table, say, say_more, shown
from scrapy_dedup.core.runs import DropAlarm
from scrapy_dedup.report.numbers import COLUMNS, amounts_of, figures_of, lasting, percent, short, tokens_line, whole
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
    with call.opened() as project:
        runs = project.runs(call.options.limit)
    if not runs:
        raise CommandError(f"project {call.project!r} has no run yet: run a crawl first")
    if not print_answer(
        call,
        "pages",
        lambda answers: answers.RunsAnswer.of(
            project=call.project, runs=[answers.RunAnswer.made(each) for each in runs]
        ),
    ):
        show(call, runs)
    return DONE


def show(call: Call, runs: Sequence[RunFigures]) -> None:
    """Print a table."""
    at, rows = datetime.now(UTC), []
    for one in runs:
        run, took = one.run, one.run.took
        status = _status(run, at) + _of_workers(one.workers)
        words = (str(run.id)[:_ID_DIGITS], run.spider, status, f"{run.started_at:%Y-%m-%d %H:%M}")
        found = (one.verdicts.get(verdict, 0) for verdict in _VERDICTS)
        rows.append((*words, "" if took is None else lasting(took), *found, one.callbacks, short(one.bytes_received)))
    verdicts = ", ".join(verdict.capitalize() for verdict in _VERDICTS)
    columns = f"Run, Spider, Status, Began (UTC), Took, {verdicts}, Callbacks, Bytes"
    print_table(f"Runs of project {call.project}, newest first", columns, rows, texts=4)
    for one in runs:
        for alarm in DropAlarm.of_run(one.run.stats):
            left_out = f"{alarm.layer} left out {whole(alarm.dropped)} of {alarm.pages} pages of {alarm.domain}"
            say(f"Run {str(one.run.id)[:_ID_DIGITS]}: {left_out}. Look at some:", "bold")
            for url, keeper in alarm.pairs:
                say(f"{url} for {keeper}", limit=1_000, indent=2)
    say("")
    say("scrapy dedup changes --since RUN shows what a run found, and all after it.", "dim")


def _of_workers(workers: Sequence[StoredWorker]) -> str:
    """Return how many crawlers share a run, and how they stand."""
    if not workers:
        return ""
    number = Counter(worker.status for worker in workers)
    return f"; {len(workers)} workers: " + ", ".join(f"{number[status]} {status}" for status in sorted(number))


def _status(run_of_it: StoredRun, at: datetime) -> str:
    if run_of_it.silence(at) is not None:
        return "running (silent, probably killed)"
    return f"{run_of_it.status} ({run_of_it.why})" if run_of_it.why else run_of_it.status


_ALIASES = 10
_CHUNKS = 5
_COSTS = 12


def show_ledger(ledger: Ledger) -> None:
    """Print all of a ledger but its domains, which `stats` lists."""
    console = output()
    show_table(ledger.run, "What each layer saved", console)
    if ledger.all_runs is not None:
        show_table(ledger.all_runs, f"The same, all {whole(ledger.all_runs.runs)} runs together", console)
    say(tokens_line(ledger), "dim")
    say("")
    if ledger.aliases:
        rows = (
            (one.alias, one.target, ", ".join(one.found_by), one.example, one.count)
            for one in ledger.aliases[:_ALIASES]
        )
        columns = "Addresses, of pages, Found by, Example, Count"
        print_table("One page, several addresses", columns, rows, texts=4)
        say_more(len(ledger.aliases) - _ALIASES, "pattern")
        say("")
    if ledger.shared:
        chunks = (
            (shown(one.sample, 80), one.keepers[0] if one.keepers else "none", one.pages)
            for one in ledger.shared[:_CHUNKS]
        )
        print_table("Most shared chunks", "Chunk, Given by, Pages", chunks, texts=2)
        say_more(len(ledger.shared) - _CHUNKS, "chunk")
        say("")


def show_table(table: LedgerTable, title: str, console: Console) -> None:
    """Print what each layer saved, before and after, what does not add up, and what it cost."""
    began = f", run of {table.began_at:%Y-%m-%d %H:%M} UTC" if table.began_at is not None and table.runs == 1 else ""
    rows = (
        (row.layer, f"{row.prevents} ({row.note})" if row.note else row.prevents, *figures_of(row))
        for row in table.rows
    )
    print_table(title + began, ", ".join(["Layer", "Prevents", *COLUMNS]), rows, texts=2, console=console)
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
    who = "crawl" if table.runs == 1 else "crawls"
    of_run = f" of {table.elapsed_seconds:.1f} s that the {who} took" if table.elapsed_seconds else ""
    return f"It cost {total:.2f} s of processor time{of_run}: {', '.join(parts)}."

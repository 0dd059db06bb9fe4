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

from rich.text import Text

from scrapy_dedup.commands.call import DONE, Call, CommandError, number, print_answer
from scrapy_dedup.commands.terminal import a_table, output, print_table, shown
from scrapy_dedup.core.runs.alarms import DropAlarm
from scrapy_dedup.report.numbers import lasting, short, whole
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

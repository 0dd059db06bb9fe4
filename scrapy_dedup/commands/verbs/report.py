"""`scrapy dedup report`: what was fetched, dropped and kept; with `--html FILE` as a page.

JSON: the fields of `scrapy_dedup.report.values.Report`, times in ISO 8601; recrawl is null where the crawl that is
reported on, the last one without --run, found nothing but new pages; ledger is null where no crawl left counts, and
its all_runs with --run, or where there is but one.
"""

import argparse
from datetime import UTC, datetime
from pathlib import Path

from scrapy_dedup.commands.call import DONE, Call, CommandError, print_answer, write_text
from scrapy_dedup.commands.terminal import print_table, say, shown
from scrapy_dedup.commands.verbs.runs import show_ledger
from scrapy_dedup.report.drawing import render_report
from scrapy_dedup.report.numbers import count, percent, short, whole
from scrapy_dedup.report.values import Report, ReportRecrawl
from scrapy_dedup.service.report.overview import make_report, named_run


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what is reported on, and where the page goes."""
    parser.add_argument("--html", metavar="FILE", type=Path, help="write the report as one HTML file")
    parser.add_argument("--run", metavar="RUN", help="one run alone: its id or how that begins, or last")


def run(call: Call) -> int:
    """Print a report, and write it."""
    file: Path | None = call.options.html
    with call.opened() as project:
        run_asked_for = named_run(project, call.options.run)
        why_none = "no run fetched one; `scrapy dedup runs` tells how each ended"
        why_none = why_none if project.last_runs(1) else "run a crawl first"
        report = make_report(project, call.settings, datetime.now(UTC), run_asked_for)
    if not report.pages_fetched and not report.domains and report.recrawl is None:
        raise CommandError(f"project {call.project!r} has no pages to report on: {why_none}")
    if file is not None:
        write_text(file, render_report(report))
    if not print_answer(call, "projects", lambda answers: answers.ReportAnswer.made(report)):
        show(report, file)
    return DONE


def show(report: Report, file: Path | None) -> None:
    """Print the report's figures; the pages before and after are for the HTML."""
    chars_in = sum(domain.chars_in for domain in report.domains)
    chars_out = sum(domain.chars_out for domain in report.domains)
    removed = percent(chars_in - chars_out, chars_in)
    say(f"Project {report.project}", "bold")
    say(
        f"{count(report.pages_fetched, 'page')} fetched, {removed} of their text removed "
        f"({short(chars_in)} characters in, {short(chars_out)} kept)."
    )
    say("")
    for alarm in report.alarms:
        say(f"Alarm since {alarm.raised_at:%Y-%m-%d %H:%M}: {alarm.domain}: {alarm.cause}", "red")
    if report.recrawl is not None:
        _show_recrawl(report.recrawl)
    if report.ledger is not None:
        show_ledger(report.ledger)
    else:
        rows = ((one.layer, one.prevents, one.pages, one.blocks, short(one.chars)) for one in report.layers)
        print_table("Dropped, by layer", "Layer, Prevents, Pages, Blocks, Characters", rows, texts=2)
        say("")
    for one in report.shadowed:
        counts = ", ".join(f"{whole(number)} {name.replace('_', ' ')}" for name, number in one.counts.items())
        say(f"In the shadow, {one.layer}: {counts}; nothing of it was dropped.")
    if report.repeated:
        on_pages = [f"{whole(one.on_pages)} of {whole(one.of_pages)}" for one in report.repeated]
        cells = ((shown(one.text, 80), one.domain, on) for one, on in zip(report.repeated, on_pages, strict=True))
        print_table("Most repeated blocks", "Block, Domain, On pages", cells, texts=2)
    else:
        say("No block repeats often enough yet.")
    if file is not None:
        say("")
        say(f"Report: {file}")


def _show_recrawl(found: ReportRecrawl) -> None:
    verdicts = ("new", "changed", "unchanged", "removed")
    pages = ", ".join(f"{whole(getattr(found, verdict))} {verdict}" for verdict in verdicts)
    say(f"The crawl of {found.began_at:%Y-%m-%d %H:%M} UTC found of pages: {pages}.")
    say(
        f"It ran {count(found.callbacks_run, 'callback')} and spared {whole(found.callbacks_saved)}; "
        f"it received {short(found.bytes_received)} bytes and spared {short(found.bytes_saved)}."
    )
    say("")

"""`scrapy dedup report`: what was fetched, dropped and kept; with `--html FILE` as a page.

JSON: the fields of `scrapy_dedup.report.values.Report`, times in ISO 8601; recrawl is null where the crawl that is
reported on, the last one without --run, found nothing but new pages; ledger is null where no crawl left counts, and
its all_runs with --run, or where there is but one.
"""

import argparse
from datetime import UTC, datetime
from pathlib import Path

from rich.text import Text

from scrapy_dedup.commands.call import DONE, Call, CommandError, print_answer
from scrapy_dedup.commands.terminal import a_table, output, print_table, shown
from scrapy_dedup.commands.verbs.runs import show_ledger
from scrapy_dedup.report.drawing import render_report
from scrapy_dedup.report.numbers import count, percent, short, whole
from scrapy_dedup.report.values import Report
from scrapy_dedup.service.report.overview import make_report, named_run


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what is reported on, and where the page goes."""
    parser.add_argument("--html", metavar="FILE", type=Path, help="write the report as one HTML file")
    parser.add_argument("--run", metavar="RUN", help="only one run: its id, or last; else the whole project")


def run(call: Call) -> int:
    """Print a report, and write it."""
    file: Path | None = call.options.html
    with call.opened() as (store, project):
        run_asked_for = named_run(project, call.options.run)
        report = make_report(store, project, call.settings, datetime.now(UTC), run_asked_for)
    if not report.pages_fetched and not report.domains and report.recrawl is None:
        raise CommandError(f"project {call.project!r} has no pages to report on: run a crawl first")
    if file is not None:
        write_html(file, render_report(report))
    if not print_answer(call, "projects", lambda answers: answers.ReportAnswer.made(report)):
        show(report, file)
    return DONE


def write_html(file: Path, html: str) -> None:
    """Write a page.

    Raises:
        CommandError: it cannot be written.
    """
    try:
        file.write_text(html, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"the report cannot be written to {file}: {error.strerror}") from error


def show(report: Report, file: Path | None) -> None:
    """Print the report's figures; the pages before and after are for the HTML."""
    console = output()
    chars_in = sum(domain.chars_in for domain in report.domains)
    chars_out = sum(domain.chars_out for domain in report.domains)
    removed = percent(chars_in - chars_out, chars_in)
    console.print(shown(f"Project {report.project}", style="bold"))
    console.print(
        f"{whole(report.pages_fetched)} pages fetched, {removed} of their text removed "
        f"({short(chars_in)} characters in, {short(chars_out)} kept).\n"
    )
    for alarm in report.alarms:
        told = f"Alarm since {alarm.raised_at:%Y-%m-%d %H:%M}: {alarm.domain}: {alarm.cause}"
        console.print(shown(told, 400, style="red"), soft_wrap=True)
    _show_recrawl(report)
    if report.ledger is not None:
        show_ledger(report.ledger)
    else:
        _show_layers(report)
    _show_shadow(report)
    _show_repeated(report)
    if file is not None:
        console.print(Text(f"\nReport: {file}"), soft_wrap=True)


def _show_recrawl(report: Report) -> None:
    found = report.recrawl
    if found is None:
        return
    verdicts = ("new", "changed", "unchanged", "removed")
    pages = ", ".join(f"{whole(getattr(found, verdict))} {verdict}" for verdict in verdicts)
    output().print(
        f"The crawl of {found.began_at:%Y-%m-%d %H:%M} UTC found of pages: {pages}.\n"
        f"It ran {count(found.callbacks_run, 'callback')} and spared {whole(found.callbacks_saved)}; "
        f"it received {short(found.bytes_received)} bytes and spared {short(found.bytes_saved)}.\n"
    )


def _show_layers(report: Report) -> None:
    table = a_table("Layer", "Prevents", "Pages", "Blocks", "Characters", texts=2)
    for each in report.layers:
        table.add_row(each.layer, each.prevents, whole(each.pages), whole(each.blocks), short(each.chars))
    print_table("Dropped, by layer", table)
    output().print()


def _show_shadow(report: Report) -> None:
    for each in report.shadowed:
        counts = ", ".join(f"{whole(number)} {name.replace('_', ' ')}" for name, number in each.counts.items())
        told = f"In the shadow, {each.layer}: {counts}; nothing of it was dropped."
        output().print(shown(told, 400), soft_wrap=True)


def _show_repeated(report: Report) -> None:
    if not report.repeated:
        output().print("No block repeats often enough yet.")
        return
    table = a_table("Block", "Domain", "On pages", texts=2)
    for each in report.repeated:
        on_pages = f"{whole(each.on_pages)} of {whole(each.of_pages)}"
        table.add_row(shown(each.text, 80), shown(each.domain, 60), on_pages)
    print_table("Most repeated blocks", table)

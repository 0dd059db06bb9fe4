"""`scrapy dedup templates layouts [DOMAIN]`: from which designs a domain's pages are built, and how that develops.

JSON: `LayoutsAnswer` of `scrapy_dedup.answers.templates`; layout 0000000000000000 are the pages of no known layout.
"""

import argparse
from collections.abc import Iterable
from typing import Final

from scrapy_dedup.commands.call import DONE, Call, print_answer
from scrapy_dedup.commands.terminal import print_table, say, shown
from scrapy_dedup.report.numbers import whole
from scrapy_dedup.service.templates.layout_figures import DomainLayout, DomainLayouts, domain_layouts, name_of

_RUNS_SHOWN: Final = 6


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add which domain."""
    parser.add_argument("domain", nargs="?", metavar="DOMAIN", help="only this one")


def run(call: Call) -> int:
    """Print the layouts."""
    domain = call.options.domain
    with call.opened() as (_, project):
        domains = domain_layouts(project, domain.lower() if domain else None)
    if not print_answer(
        call, "templates", lambda answers: answers.LayoutsAnswer.of(project=call.project, domains=domains)
    ):
        show(domains)
    return DONE


def show(domains: Iterable[DomainLayouts]) -> None:
    """Print a table for each domain."""
    for domain in domains:
        rows: list[tuple[object, ...]] = []
        for each in domain.layouts:
            figures, known = each.figures, each.figures.template
            words = (name_of(figures.layout), known and known.kind, _template(each), _seen(each), figures.example_url)
            rows.append((*words, figures.visits, trend(each.pages_by_run)))
            if known and known.url_pattern:
                rows.append(("", "", "", "", shown(known.url_pattern, 300, style="dim"), "", ""))
        columns = "Layout, Kind, Template, Seen, Example, Visits, Pages in the last runs"
        print_table(f"Layouts of {domain.domain}", columns, rows, texts=5)
        for alarm in domain.alarms:
            say(f"Alarm since {alarm.raised_at:%Y-%m-%d %H:%M}: {alarm.cause}", "red")
        say("")
    say("scrapy dedup templates show DOMAIN LAYOUT tells how its pages are cut.", "dim")


def _template(layout: DomainLayout) -> str:
    template = layout.figures.template
    return f"{template.version} {template.state}, {template.confidence:.2f}" if template else ""


def _seen(layout: DomainLayout) -> str:
    first, last = layout.figures.first_seen_at, layout.figures.last_seen_at
    if first is None or last is None:
        return ""
    return f"{first:%Y-%m-%d}" if first.date() == last.date() else f"{first:%Y-%m-%d} to {last:%Y-%m-%d}"


def trend(pages_by_run: tuple[int, ...]) -> str:
    """Return how many pages each of the last runs met, oldest first: 12 > 40 > 0."""
    return " > ".join(map(whole, pages_by_run[-_RUNS_SHOWN:]))

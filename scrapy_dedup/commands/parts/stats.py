"""`scrapy dedup report --domains`: how much boilerplate each domain has.

JSON: `project`; `domains`, worst first, each with domain, pages, chars_in, chars_out, removed_share (0.0 to 1.0);
`total` with domains, pages, chars_in, chars_out, removed_share; `domains_above_10_percent`; `learned`, what is known of
each domain by each method, as `DomainDedupService.get_domain_stats` returns it.
"""

import argparse

from rich.text import Text

from scrapy_dedup.commands.call import DONE, Call, CommandError, print_answer
from scrapy_dedup.commands.terminal import print_table, say
from scrapy_dedup.report.numbers import count, percent, short, whole
from scrapy_dedup.service.report.overview import Overview, overview
from scrapy_dedup.service.stored.analysis import DomainDedupService
from scrapy_dedup.store.records.stored import DomainFigures


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add none: there is nothing to choose."""
    del parser


def run(call: Call) -> int:
    """Print the figures of a project's domains."""
    with call.opened() as project:
        found = overview(project)
        if not found.domains:
            raise CommandError(f"project {call.project!r} has no pages yet: run a crawl first")
        with project.session(read_only=True) as session:
            learned = DomainDedupService(session, call.settings).get_domain_stats(project.id)
        if not print_answer(call, "projects", lambda answers: answers.StatsAnswer.made(found, learned)):
            show(found)
    return DONE


def show(found: Overview) -> None:
    """Print a table."""
    rows = [(each.domain, *_cells(each)) for each in found.domains]
    total = (Text("Total", style="bold"), *_cells(found.total))
    title = f"Boilerplate by domain, project {found.project}"
    print_table(title, "Domain, Pages, Boilerplate, Text, Kept", [*rows, total])
    much, all_domains = found.domains_with_much, len(found.domains)
    say("")
    say(f"{whole(much)} of {count(all_domains, 'domain')} {'exceeds' if much == 1 else 'exceed'} 10 %.")


def _cells(each: DomainFigures) -> tuple[object, ...]:
    removed = percent(each.chars_in - each.chars_out, each.chars_in)
    return each.pages, removed, short(each.chars_in), short(each.chars_out)

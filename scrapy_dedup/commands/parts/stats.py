"""`scrapy dedup report --domains`: how much boilerplate each domain has.

JSON: `project`; `domains`, worst first, each with domain, pages, chars_in, chars_out, removed_share (0.0 to 1.0);
`total` with domains, pages, chars_in, chars_out, removed_share; `domains_above_10_percent`; `learned`, what is known of
each domain by each method, as `DomainDedupService.get_domain_stats` returns it.
"""

import argparse

from rich.text import Text

from scrapy_dedup.commands.call import DONE, Call, CommandError, print_answer
from scrapy_dedup.commands.terminal import a_table, output, print_table, shown
from scrapy_dedup.report.numbers import count, percent, short, whole
from scrapy_dedup.service.report.overview import Overview, overview
from scrapy_dedup.service.stored.analysis import DomainDedupService
from scrapy_dedup.store.records.stored import DomainFigures


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add none: there is nothing to choose."""
    del parser


def run(call: Call) -> int:
    """Print the figures of a project's domains."""
    with call.opened() as (store, project):
        found = overview(store, project)
        if not found.domains:
            raise CommandError(f"project {call.project!r} has no pages yet: run a crawl first")
        with store.session(read_only=True) as session:
            learned = DomainDedupService(session, call.settings).get_domain_stats(project.id)
        if not print_answer(call, "projects", lambda answers: answers.StatsAnswer.made(found, learned)):
            show(found)
    return DONE


def show(found: Overview) -> None:
    """Print a table."""
    table = a_table("Domain", "Pages", "Boilerplate", "Text", "Kept")
    for each in found.domains:
        table.add_row(shown(each.domain, 100), *_cells(each))
    table.add_section()
    table.add_row(Text("Total", style="bold"), *_cells(found.total))
    print_table(f"Boilerplate by domain, project {found.project}", table)
    much, all_domains = found.domains_with_much, len(found.domains)
    output().print(f"\n{whole(much)} of {count(all_domains, 'domain')} {'exceeds' if much == 1 else 'exceed'} 10 %.")


def _cells(each: DomainFigures) -> list[str]:
    removed = percent(each.chars_in - each.chars_out, each.chars_in)
    return [whole(each.pages), removed, short(each.chars_in), short(each.chars_out)]

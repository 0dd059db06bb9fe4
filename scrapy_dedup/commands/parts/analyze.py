"""`scrapy dedup templates analyze`: find what repeats on the stored pages, and store them without it.

JSON: `project`; `dry_run`; `parameters` with threshold_pct, min_pages, min_block_chars, method, source_groups (null:
all); then the fields of `ProjectAnalysisResult`: domains_analyzed, domains_with_boilerplate, total_pages_cleaned,
total_bytes_removed, and domain_results, each with domain, pages_analyzed, pages_cleaned, blocks_boilerplate,
bytes_removed_total.
"""

import argparse

from rich.text import Text

from scrapy_dedup.commands.call import DONE, Call, CommandError, print_answer
from scrapy_dedup.commands.terminal import a_table, named_progress, output, print_table, shown
from scrapy_dedup.core.boilerplate.repeats import ProjectAnalysisResult
from scrapy_dedup.report.numbers import count, short, whole
from scrapy_dedup.service.stored.analysis import (
    PASSES,
    AnalysisParameters,
    DomainDedupService,
    pages_to_analyze,
    settings_of_analysis,
)
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what an analysis can be limited to, and what it does differently from the settings."""
    add = parser.add_argument
    add("--domain", metavar="DOMAIN", action="append", help="only this domain (may be repeated)")
    add("--source-group", metavar="GROUP", action="append", help="only pages of this group (may be repeated)")
    counts = "; pages of HTML are cut by --method html"
    add("--threshold-pct", metavar="SHARE", help=f"share of pages that makes a block boilerplate, 0.1 to 1.0{counts}")
    add("--min-pages", metavar="PAGES", help=f"nothing is found on fewer pages, 2 to 100{counts}")
    add("--min-block-chars", metavar="CHARS", help=f"method text: shorter blocks stay, 10 to 500{counts}")
    add("--method", metavar="METHOD", help="auto, template, html or text, as DEDUP_BOILERPLATE_METHOD")
    add("--dry-run", action="store_true", help="find out and write nothing")


def run(call: Call) -> int:
    """Analyse, all in one transaction; a crawl that writes to the same SQLite file meanwhile waits."""
    settings = _chosen(call)
    with call.opened() as (store, project):
        result = _analysed(store, project, settings, call.options)
    groups, dry_run = call.options.source_group, call.options.dry_run
    if not print_answer(
        call,
        "projects",
        lambda answers: answers.AnalysisAnswer.made(call.project, settings, result, groups, dry_run=dry_run),
    ):
        show(call, result)
    return DONE


def _chosen(call: Call) -> Settings:
    options = call.options
    given: AnalysisParameters = {
        "threshold_pct": options.threshold_pct,
        "min_pages": options.min_pages,
        "min_block_chars": options.min_block_chars,
        "method": options.method,
    }
    return settings_of_analysis(call.settings, given)


def _analysed(
    store: Store, project: ProjectStore, settings: Settings, options: argparse.Namespace
) -> ProjectAnalysisResult:
    with store.session(read_only=options.dry_run) as session:
        known = pages_to_analyze(session, project, options.source_group)
        domains = _asked_for(project.name, known, options)
        service = DomainDedupService(session, settings)
        groups, dry_run = options.source_group, options.dry_run
        with named_progress(PASSES * sum(known[domain] for domain in domains)) as progress:
            return service.analyze_project(
                project.id, domains, source_groups=groups, dry_run=dry_run, progress=progress
            )


def _asked_for(project: str, known: dict[str, int], options: argparse.Namespace) -> list[str]:
    """Return the domains to analyse; there are pages of each."""
    domains = sorted(set(options.domain or known))
    unknown = next((domain for domain in domains if domain not in known), None)
    if unknown is not None:
        some = ", ".join(sorted(known)[:5])
        raise CommandError(f"project {project!r} keeps no pages of {unknown!r}: it has pages of {some}")
    return domains


def show(call: Call, result: ProjectAnalysisResult) -> None:
    """Print a table, domains that lose most first."""
    table = a_table("Domain", "Pages", "With boilerplate", "Blocks", "Bytes removed")
    for each in sorted(result.domain_results, key=lambda each: (-each.bytes_removed_total, each.domain)):
        figures = (each.pages_analyzed, each.pages_cleaned, each.blocks_boilerplate)
        table.add_row(shown(each.domain, 100), *map(whole, figures), short(each.bytes_removed_total))
    print_table(f"Analysis of project {call.project}", table)
    console = output()
    console.print(
        f"\n{whole(result.domains_with_boilerplate)} of {count(result.domains_analyzed, 'domain')} with boilerplate, "
        f"{count(result.total_pages_cleaned, 'page')} cut, {short(result.total_bytes_removed)} bytes removed."
    )
    if call.options.dry_run:
        console.print(Text("Dry run: nothing was written.", style="bold"))

"""`scrapy dedup templates analyze`: find what repeats on the stored pages, and store them without it.

JSON: `project`; `dry_run`; `parameters` with threshold_pct, min_pages, min_block_chars, method, source_groups (null:
all); then the fields of `ProjectAnalysisResult`: domains_analyzed, domains_with_boilerplate, total_pages_cleaned,
total_bytes_removed, and domain_results, each with domain, pages_analyzed, pages_cleaned, blocks_boilerplate,
bytes_removed_total.
"""

import argparse

from scrapy_dedup.commands.call import DONE, Call, CommandError, print_answer
from scrapy_dedup.commands.terminal import named_progress, output, print_table, say_dry_run
from scrapy_dedup.core.boilerplate.repeats import ProjectAnalysisResult
from scrapy_dedup.report.numbers import count, short, whole
from scrapy_dedup.service.stored import analysis


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
    """Analyse, and write all in one transaction; a crawl that writes to the same SQLite file waits for that alone."""
    options = call.options
    groups, dry_run = options.source_group, options.dry_run
    given = analysis.AnalysisParameters(threshold_pct=options.threshold_pct, min_pages=options.min_pages)
    given |= analysis.AnalysisParameters(min_block_chars=options.min_block_chars, method=options.method)
    settings = analysis.settings_of_analysis(call.settings, given)
    with call.opened() as project:
        known = analysis.pages_to_analyze(project, groups)
        domains = _asked_for(call, known)
        pages = analysis.PASSES * sum(known[domain] for domain in domains)
        with project.session(read_only=dry_run) as session, named_progress(pages) as told:
            service = analysis.DomainDedupService(session, settings)
            how = analysis.AnalysisParameters(source_groups=groups, dry_run=dry_run, progress=told)
            result = service.analyze_project(project.id, domains, **how)
    told_by = (call.project, settings, result, groups)
    if not print_answer(call, "projects", lambda answers: answers.AnalysisAnswer.made(*told_by, dry_run=dry_run)):
        show(call, result)
    return DONE


def _asked_for(call: Call, known: dict[str, int]) -> list[str]:
    """Return the domains to analyse; there are pages of each."""
    domains = sorted({*map(call.domain, call.options.domain)} if call.options.domain else known)
    unknown = next((domain for domain in domains if domain not in known), None)
    if unknown is not None:
        some = ", ".join(sorted(known)[:5])
        raise CommandError(f"project {call.project!r} keeps no pages of {unknown!r}: it has pages of {some}")
    return domains


def show(call: Call, result: ProjectAnalysisResult) -> None:
    """Print a table, domains that lose most first."""
    found = sorted(result.domain_results, key=lambda each: (-each.bytes_removed_total, each.domain))
    rows = [
        (one.domain, one.pages_analyzed, one.pages_cleaned, one.blocks_boilerplate, short(one.bytes_removed_total))
        for one in found
    ]
    print_table(f"Analysis of project {call.project}", "Domain, Pages, With boilerplate, Blocks, Bytes removed", rows)
    output().print(
        f"\n{whole(result.domains_with_boilerplate)} of {count(result.domains_analyzed, 'domain')} with boilerplate, "
        f"{count(result.total_pages_cleaned, 'page')} cut, {short(result.total_bytes_removed)} bytes removed."
    )
    say_dry_run(dry_run=call.options.dry_run)

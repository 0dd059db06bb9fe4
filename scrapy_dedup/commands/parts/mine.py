"""`scrapy dedup templates mine`: which kinds of pages are stored, what those of a kind share, and where they differ.

JSON: `project`; `domains`, by name, each with domain, pages, left_out (pages that are no HTML, or could not be parsed),
batches, and `clusters`, those with most pages first, each with layout (16 hex digits: its signature of level 1),
structure (level 2), pages, kind, reason (why it is called so), examples (URLs), url_pattern (null: no expression tells
its URLs from those of the other clusters), `common` (subtrees that are the same on nearly all pages) and `varying`,
those with most text first, each with path, pages (that have it), same (on which it is what it most often is), chars (on
a mean page), and for common ones text (how it begins, or null); with --all-domains also `families`, structures that
several domains share, each with structure, pages, kinds, and `domains` (domain, pages).

Nothing is written: what a crawl learns of layouts, `scrapy dedup templates layouts` lists.
"""

import argparse
from typing import Any, Final

from msgspec import to_builtins
from rich.text import Text

from scrapy_dedup.commands.call import DONE, Call, WrongCallError, number, print_json
from scrapy_dedup.commands.terminal import output, print_table, progress, say, shown
from scrapy_dedup.core.pages.fingerprints import to_digits
from scrapy_dedup.core.templates.mining import Family
from scrapy_dedup.report.numbers import count, percent, whole
from scrapy_dedup.service.stored.mining import MinedCluster, MinedDomain, Mining, mine_stored, pages_to_mine

_MOST_BATCH: Final = 100_000
_CLUSTERS_SHOWN: Final = 20
_SUBTREES_SHOWN: Final = 3
_EXAMPLES_SHOWN: Final = 2
_FAMILY_DOMAINS_SHOWN: Final = 5


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add which pages, and how many at once."""
    add = parser.add_argument
    add("--domain", metavar="DOMAIN", help="only this one; without it every domain that has stored pages")
    add(
        "--batch",
        metavar="PAGES",
        type=number(_MOST_BATCH, "pages"),
        default=1_000,
        help="mine so many pages at once (1000)",
    )
    add("--all-domains", action="store_true", help="list the structures that several domains share")


def run(call: Call) -> int:
    """Mine, and print what was found."""
    options = call.options
    if options.domain and options.all_domains:
        raise WrongCallError("mine takes --domain or --all-domains: structures are shared by several domains")
    with call.opened() as (store, project):
        known = pages_to_mine(store, project, options.domain.lower() if options.domain else None)
        with progress("pages", sum(known.values())) as advance:
            mining = mine_stored(store, project, known, call.settings, advance, batch_pages=options.batch)
    if options.json:
        print_json({"project": call.project, **as_json(mining, with_families=options.all_domains)})
    elif options.all_domains:
        _show_families(call, mining)
    else:
        for domain in mining.domains:
            _show(domain)
    return DONE


def as_json(mining: Mining, *, with_families: bool) -> dict[str, Any]:
    """Return what was mined as JSON has it."""
    found: dict[str, Any] = {"domains": []}
    for each in mining.domains:
        clusters = [_cluster_json(cluster) for cluster in each.clusters]
        found["domains"].append(to_builtins(each) | {"clusters": clusters})
    if with_families:
        found["families"] = [_family_json(family) for family in mining.families]
    return found


def _cluster_json(cluster: MinedCluster) -> dict[str, Any]:
    return {
        "layout": to_digits(cluster.layout),
        "structure": to_digits(cluster.structure),
        "pages": cluster.pages,
        "kind": str(cluster.named.name),
        "reason": cluster.named.reason,
        "examples": list(cluster.examples),
        "url_pattern": cluster.url_pattern,
        "common": [to_builtins(one) | {"text": cluster.samples.get(one.path)} for one in cluster.common],
        "varying": to_builtins(cluster.varying),
    }


def _family_json(family: Family) -> dict[str, Any]:
    domains = [{"domain": domain, "pages": pages} for domain, pages in family.domains]
    return {"structure": to_digits(family.l2), "pages": family.pages, "kinds": list(family.names), "domains": domains}


def _show(domain: MinedDomain) -> None:
    left_out = f", {count(domain.left_out, 'page')} left out" if domain.left_out else ""
    batches = f" in {whole(domain.batches)} batches" if domain.batches > 1 else ""
    clusters = count(len(domain.clusters), "cluster")
    say(f"{domain.domain}: {count(domain.pages, 'page')}{batches}, {clusters}{left_out}", "bold")
    for cluster in domain.clusters[:_CLUSTERS_SHOWN]:
        _show_cluster(cluster, domain.pages)
    if rest := domain.clusters[_CLUSTERS_SHOWN:]:
        pages = sum(cluster.pages for cluster in rest)
        say("")
        say(f"and {count(len(rest), 'smaller cluster')} with {count(pages, 'page')}; --json lists them all")
    say("")


def _show_cluster(cluster: MinedCluster, pages: int) -> None:
    share = f"{whole(cluster.pages)} ({percent(cluster.pages, pages)})"
    head = Text.assemble((f"\n{cluster.named.name}", "bold"), f"  {share}  ", (to_digits(cluster.layout), "dim"))
    output().print(head, soft_wrap=True)
    _line("because", cluster.named.reason)
    if cluster.url_pattern:
        _line("URLs", cluster.url_pattern)
    for url in cluster.examples[:_EXAMPLES_SHOWN]:
        _line("such as", url)
    for subtree in cluster.common[:_SUBTREES_SHOWN]:
        text = cluster.samples.get(subtree.path)
        _line("common", f"{_last_steps(subtree.path)}: {text}" if text else _last_steps(subtree.path))
    for subtree in cluster.varying[:_SUBTREES_SHOWN]:
        _line("varying", f"{_last_steps(subtree.path)}: {count(subtree.chars, 'character')} on a mean page")


def _line(what: str, text: str) -> None:
    output().print(Text.assemble((f"  {what:<9}", "dim"), shown(text, 300)), soft_wrap=True)


def _last_steps(path: str) -> str:
    """Return the end of a DOM path, which is what tells one from another."""
    steps = path.split(">")
    return " > ".join(["…", *steps[-3:]] if len(steps) > 4 else steps)


def _show_families(call: Call, mining: Mining) -> None:
    if not mining.families:
        say(f"No structure is shared by two of {count(len(mining.domains), 'domain')}.")
        return
    rows = []
    for family in mining.families:
        named = ", ".join(domain for domain, _ in family.domains[:_FAMILY_DOMAINS_SHOWN])
        more = len(family.domains) - _FAMILY_DOMAINS_SHOWN
        shared_by = f"{named} and {more} more" if more > 0 else named
        names = ", ".join(family.names)
        rows.append((to_digits(family.l2), names, shared_by, len(family.domains), family.pages))
    title = f"Structures that domains of project {call.project} share"
    print_table(title, "Structure, Kinds, Domains, Shared by, Pages", rows, texts=3)

"""`scrapy dedup cache ACTION`: what is held of pages, so that they need not be fetched and extracted again.

JSON of stats: `project`; `run` (null: all visits that are kept), with id, spider, status, started_at; `price`,
`money_saved` (null without a price); `total` and `domains`, each with domain, visits, hit_rate (0.0 to 1.0),
callbacks_run, callbacks_saved, bytes_received, bytes_saved, seconds_saved, `ways` (304: the site said so; text: the
text was the same; skip: not asked for; each with pages, bytes_saved, seconds_saved), extractions, packed_bytes; domains
also with `validators` (null, or sent, not_modified, useless, changed_304, trusted, reason) and `lastmod` (null, or
right, wrong, trusted, reason). Bytes saved are those that pages weighed when they were received whole, seconds are
against the average of visits with a callback.

list: `pages`, each with url, domain, extractions, current (how many are of the present content), packed_bytes,
extracted_at; `total`. show: `url`, `page_key`, `known`, `stands_for`, `record` and `metadata` (as an export has them,
or null), `validators` with etag, last_modified, validated_at, and of the domain sent, not_modified, useless,
changed_304, trusted, reason; `extractions`, each with callback, cb_kwargs, dedup_version, content_hash, current,
created_at, items (null: not kept), requests (how many), unkeepable (why its callback runs again, or null).

invalidate, expire, gc: `dry_run`, `extractions`, `packed_bytes`, `unknown` (URLs without a page). verify: `pages`,
`extractions`, `damaged` by part, `damages` (the first 200: url, part, reason), `fixed`, `dry_run`. export: `folder`,
`pages`, `files_written`, `files_removed`, `pages_left_out`, `left_out` (url, reason). import: `folder`, `dry_run`,
`pages`, `extractions`, `urls`, `domains`, `pages_held`, `index_rebuilt` (null, or why), `files_left`,
`problems_by_kind`, `problems` (the first 200: where, url, reason).

The exit code is 1 for a URL that has no page, and for damage that was found and not fixed.
"""

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from scrapy_dedup.commands.ages import ago, duration
from scrapy_dedup.commands.call import DONE, NOT_DONE, Call, WrongCallError
from scrapy_dedup.commands.verbs import cache_reports as reports
from scrapy_dedup.commands.verbs import cache_tables as tables
from scrapy_dedup.service import cache_upkeep as upkeep
from scrapy_dedup.service.cache_check import check_cache
from scrapy_dedup.service.cache_export import count_pages, export_cache
from scrapy_dedup.service.cache_import import count_files, import_cache
from scrapy_dedup.service.cache_stats import cache_stats
from scrapy_dedup.service.explain import keys_of

_LISTED: Final = 100


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that can be done, and what it takes."""

    run: Callable[[Call], int]
    options: frozenset[str] = frozenset()
    takes: Literal["nothing", "a URL", "URLs", "a folder"] = "nothing"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options; which belong together is checked when it runs."""
    # Python 3.11 gives what stands after an option to no positional of this kind otherwise.
    parser.parse_args = parser.parse_intermixed_args  # type: ignore[method-assign]
    add = parser.add_argument
    add("action", nargs="?", choices=tuple(ACTIONS), help="what to do")
    add("targets", nargs="*", metavar="URL|DIR", help="show, invalidate: pages; export, import: the folder")
    add("--domain", metavar="DOMAIN", help="list, invalidate: only this domain")
    add("--pattern", metavar="PATTERN", help="invalidate: a domain, or a URL without scheme where * is any text")
    add("--all", action="store_true", help="stats: all visits that are kept; invalidate: everything")
    add("--price", type=_price, metavar="PER_CALL", help="stats: what one callback costs")
    add("--limit", type=_limit, metavar="PAGES", help=f"list: how many pages; 0 is all, the default is {_LISTED}")
    add("--older-than", type=duration, metavar="AGE", help="expire: made so long ago, such as 30d, 12h, 2w")
    add("--fix", action="store_true", help="verify: delete what is damaged, so that its pages come again")
    add("--dry-run", action="store_true", help="invalidate, expire, gc, verify, import: only say what would be done")


def run(call: Call) -> int:
    """Do what was asked for."""
    options = call.options
    if options.action is None:
        raise WrongCallError(f"cache needs an action: {', '.join(ACTIONS)}")
    action = ACTIONS[options.action]
    given = {name for name in _OPTIONS if getattr(options, name) not in (None, False)}
    for name in sorted(given - action.options):
        raise WrongCallError(f"cache {options.action} takes no --{name.replace('_', '-')}")
    wrong = {"nothing": options.targets, "a URL": len(options.targets) != 1, "a folder": len(options.targets) != 1}
    if wrong.get(action.takes):
        raise WrongCallError(f"cache {options.action} takes {action.takes}, and {len(options.targets)} were given")
    return action.run(call)


def _stats(call: Call) -> int:
    with call.opened() as (store, project):
        stats = cache_stats(store, project, all_runs=call.options.all, price=call.options.price)
    tables.show_stats(stats, as_json=call.options.json)
    return DONE


def _list(call: Call) -> int:
    limit = _LISTED if call.options.limit is None else call.options.limit or None
    with call.opened() as (store, project):
        listing = upkeep.list_pages(store, project, call.options.domain, limit)
    tables.show_listing(listing, as_json=call.options.json)
    return DONE


def _show(call: Call) -> int:
    (url,) = call.options.targets
    keys_of(url, call.settings)  # a wrong URL is told before the store is looked for
    with call.opened() as (store, project):
        page = upkeep.find_page(store, project, url, call.settings)
    tables.show_page(page, as_json=call.options.json)
    return DONE if page.is_known else NOT_DONE


def _invalidate(call: Call) -> int:
    options, dry_run = call.options, call.options.dry_run
    chosen = [bool(options.targets), options.domain is not None, options.pattern is not None, options.all]
    if sum(chosen) != 1:
        raise WrongCallError("cache invalidate needs one of: URLs, --domain, --pattern, --all")
    with call.opened() as (store, project):
        if options.targets:
            removal = upkeep.invalidate_urls(project, options.targets, call.settings, dry_run=dry_run)
        elif options.pattern is not None:
            removal = upkeep.invalidate_pattern(store, project, options.pattern, dry_run=dry_run)
        else:
            removal = upkeep.invalidate(project, options.domain, dry_run=dry_run)
    reports.show_removal(removal, as_json=options.json)
    return NOT_DONE if removal.unknown else DONE


def _expire(call: Call) -> int:
    if call.options.older_than is None:
        raise WrongCallError("cache expire needs --older-than AGE, such as --older-than 30d")
    with call.opened() as (_, project):
        before = ago(call.options.older_than)
        removal = upkeep.expire(project, before, dry_run=call.options.dry_run)
    reports.show_removal(removal, as_json=call.options.json)
    return DONE


def _gc(call: Call) -> int:
    with call.opened() as (_, project):
        removal = upkeep.collect_garbage(project, dry_run=call.options.dry_run)
    reports.show_removal(removal, "No crawl would have used them.", as_json=call.options.json)
    return DONE


def _verify(call: Call) -> int:
    fix = call.options.fix and not call.options.dry_run
    with call.opened() as (store, project), reports.progress("pages", count_pages(store, project)) as progress:
        check = check_cache(store, project, call.settings, progress, fix=fix)
    reports.show_check(check, asked_to_fix=call.options.fix, dry_run=call.options.dry_run, as_json=call.options.json)
    return NOT_DONE if check.damaged and not fix else DONE


def _export(call: Call) -> int:
    folder = Path(call.options.targets[0])
    with call.opened() as (store, project), reports.progress("pages", count_pages(store, project)) as progress:
        export = export_cache(store, project, folder, progress)
    reports.show_export(export, as_json=call.options.json)
    return DONE


def _import(call: Call) -> int:
    folder, dry_run = Path(call.options.targets[0]), call.options.dry_run
    if not folder.is_dir():
        raise WrongCallError(f"cache import: {folder} is no folder: name one that `scrapy dedup cache export` wrote")
    with call.filled(dry_run=dry_run) as (store, project), reports.progress("files", count_files(folder)) as progress:
        done = import_cache(store, project, folder, call.settings, progress, dry_run=dry_run)
    reports.show_import(done, folder, dry_run=dry_run, as_json=call.options.json)
    return DONE


def _price(text: str) -> float:
    try:
        price = float(text)
    except ValueError:
        price = -1.0
    if not (math.isfinite(price) and price >= 0):
        raise argparse.ArgumentTypeError(f"{text!r} is no price: write a number, such as 0.002")
    return price


def _limit(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of pages")
    return int(text)


_OPTIONS: Final = ("domain", "pattern", "all", "price", "limit", "older_than", "fix", "dry_run")
ACTIONS: Final = {
    "stats": Action(_stats, frozenset({"all", "price"})),
    "list": Action(_list, frozenset({"domain", "limit"})),
    "show": Action(_show, takes="a URL"),
    "invalidate": Action(_invalidate, frozenset({"domain", "pattern", "all", "dry_run"}), takes="URLs"),
    "expire": Action(_expire, frozenset({"older_than", "dry_run"})),
    "gc": Action(_gc, frozenset({"dry_run"})),
    "verify": Action(_verify, frozenset({"fix", "dry_run"})),
    "export": Action(_export, takes="a folder"),
    "import": Action(_import, frozenset({"dry_run"}), takes="a folder"),
}

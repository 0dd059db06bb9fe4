"""`scrapy dedup store backup | restore | copy | gc`: the store as a whole.

JSON of `gc`: `project`; `deleted` (false for a dry run); `rows`, of `pages`, `claims` and `seen_urls`; `total`. JSON of
the others: `source` and `target`; `rows`, copied, by table.
"""

import argparse
from datetime import timedelta
from pathlib import Path
from typing import Final

from sqlalchemy import URL

from scrapy_dedup.commands.call import (
    DONE,
    Call,
    CommandError,
    WrongCallError,
    ago,
    delete,
    duration,
    print_json,
    refuse_unasked,
)
from scrapy_dedup.commands.terminal import output, progress
from scrapy_dedup.commands.terminal import shown as safe
from scrapy_dedup.plugin.run_state import database_url
from scrapy_dedup.report.numbers import count
from scrapy_dedup.service.projects import Deletion
from scrapy_dedup.store.engine.copying import copy_store
from scrapy_dedup.store.engine.database import parse_url
from scrapy_dedup.store.engine.errors import StoreError, file_of, shown
from scrapy_dedup.store.upkeep.forgetting import find_garbage, remove_garbage

_OLDER_THAN: Final = timedelta(days=180)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what can be done, and the options of each."""
    add = parser.add_argument
    add("action", choices=("backup", "restore", "copy", "gc"))
    add("file", nargs="?", metavar="FILE", help="backup: where to, a file that is not there yet; restore: the backup")
    add("--to", metavar="URL", help="copy: a database that holds nothing yet, of either kind")
    add(
        "--older-than",
        type=duration,
        default=_OLDER_THAN,
        metavar="AGE",
        help="gc: pages that were gone, runs and JOBDIRs that were left so long ago, such as 30d; the default is 180d",
    )
    add("--dry-run", action="store_true", help="gc: only say what would be removed")
    add("--yes", action="store_true", help="gc: do not ask")


def run(call: Call) -> int:
    """Copy the store, or remove from it what nobody needs."""
    options = call.options
    if (options.file is not None) != (options.action in ("backup", "restore")):
        raise WrongCallError("store backup and store restore need a FILE, and nothing else takes one")
    if (options.to is not None) != (options.action == "copy"):
        raise WrongCallError("store copy needs --to URL, and nothing else takes it")
    if options.action != "gc":
        if options.older_than != _OLDER_THAN or options.dry_run or options.yes:
            raise WrongCallError("--older-than, --dry-run and --yes are options of store gc alone")
        return _copy(call)
    refuse_unasked(call, "store gc")
    return _gc(call)


def _copy(call: Call) -> int:
    options, store = call.options, parse_url(database_url(call.settings))
    if options.action == "copy":
        source, target = store, _named(options.to)
    else:
        file = URL.create("sqlite", database=str(Path(options.file).absolute()))
        source, target = (store, file) if options.action == "backup" else (file, store)
    if target is store and (path := file_of(store)):
        # As a crawl does, for the store that its settings name.
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        rows = copy_store(source, target, call.settings.database_timeout, progress)
    except StoreError as error:
        if str(error).startswith(f"store {shown(store)}:"):
            raise
        raise CommandError(_as_option(options.action, error)) from error
    if options.json:
        print_json({"source": shown(source), "target": shown(target), "rows": rows})
    else:
        what = f"{count(rows['projects'], 'project')}, {count(sum(rows.values()), 'row')}"
        output().print(safe(f"Copied: {what}, to {shown(target)}.", 2_000), soft_wrap=True)
    return DONE


def _named(url: str) -> URL:
    try:
        return parse_url(url)
    except StoreError as error:
        raise WrongCallError(_as_option("copy", error)) from error


def _as_option(action: str, error: StoreError) -> str:
    """Return what is wrong with the other store, with the name that it has on the command line."""
    return str(error).replace("DEDUP_DATABASE_URL", "--to" if action == "copy" else "FILE")


def _gc(call: Call) -> int:
    before = ago(call.options.older_than)
    with call.opened() as (_, project):

        def remove(found: Deletion) -> Deletion:
            with progress("rows", found.total) as moved:
                return Deletion(call.project, remove_garbage(project, before, moved), deleted=True)

        def find() -> Deletion:
            return Deletion(call.project, find_garbage(project, before), deleted=False)

        return delete(call, f"what nobody needs of project {call.project}", find, remove)

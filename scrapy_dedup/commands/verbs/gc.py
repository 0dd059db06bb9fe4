"""`scrapy dedup gc`: removes what no crawl and nobody else needs, and gives the space back.

JSON: `project`; `before` (ISO 8601: what is needed for a while only goes where it is older); `deleted` (false for a dry
run); `removals`, each with what, table, rows, bytes; `rows` and `bytes`, the sums; `space` (null for a store in
memory): bytes_before, bytes_after, unused (bytes inside of it that the next crawls fill, null where that is not known),
kept_because (why no space was given back, or null).
"""

import argparse
import sys
from datetime import timedelta
from typing import Any, Final

from scrapy_dedup.commands.ages import ago, duration
from scrapy_dedup.commands.call import DONE, NOT_DONE, Call, WrongCallError, print_json
from scrapy_dedup.commands.terminal import a_table, errors, output, print_table, progress, shown
from scrapy_dedup.report.numbers import count, short, whole
from scrapy_dedup.service.projects import find_project
from scrapy_dedup.service.store_policies import keep_policy
from scrapy_dedup.service.store_upkeep import Upkeep, look, tidy
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.upkeep_space import Space

_OLDER_THAN: Final = timedelta(days=180)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add whose rows, how old, and the safeguards."""
    add = parser.add_argument
    add("--project", metavar="NAME", help="of this project; the default is that of the settings")
    add(
        "--older-than",
        type=duration,
        default=_OLDER_THAN,
        metavar="AGE",
        help="pages that were gone so long ago, ended runs, pictures; such as 30d; the default is 180d",
    )
    add("--dry-run", action="store_true", help="only say what would be removed, and do not ask")
    add("--yes", action="store_true", help="do not ask")


def run(call: Call) -> int:
    """Say what would be removed; remove it where that is wanted."""
    options = call.options
    if options.dry_run and options.yes:
        raise WrongCallError("gc takes either --dry-run or --yes")
    with call.store() as store:
        return _run(call, store)


def _run(call: Call, store: Store) -> int:
    options, keep, before = call.options, keep_policy(call.settings), ago(call.options.older_than)
    project = find_project(store, options.project or call.project)
    found = look(store, project, keep, before)
    asks = not (options.yes or options.dry_run or options.json) and sys.stdin.isatty()
    if not options.yes:
        _show(found, as_json=options.json)
        if not asks or not found.rows:
            _say_how(options)
            return DONE
        if not _confirmed(found):
            output().print("Nothing was deleted.")
            return NOT_DONE
    with progress("rows", found.rows) as moved:
        done = tidy(store, project, keep, before, moved)
    _show(done, as_json=options.json)
    return DONE


def _say_how(options: argparse.Namespace) -> None:
    if not options.json:
        how = "" if options.dry_run else " With --yes it is deleted."
        output().print(shown(f"Dry run: nothing was deleted.{how}", style="bold"))


def _confirmed(found: Upkeep) -> bool:
    question = shown(f"Delete {count(found.rows, 'row')} of project {found.project}? [y/N] ", 300)
    return errors().input(question).strip().lower() in ("y", "yes")


def _show(upkeep: Upkeep, *, as_json: bool) -> None:
    if as_json:
        print_json(_answer(upkeep))
        return
    table = a_table("What", "Table", "Rows", "Bytes", texts=2)
    for each in upkeep.removals:
        table.add_row(shown(each.what), shown(each.table), whole(each.rows), short(each.size_bytes))
    table.add_row("all", "", whole(upkeep.rows), short(upkeep.size_bytes))
    print_table(f"{'Deleted' if upkeep.done else 'Would be deleted'}: project {upkeep.project}", table)
    if upkeep.space is not None:
        output().print(shown(_told(upkeep.space, done=upkeep.done), 1_000), soft_wrap=True)


def _told(space: Space, *, done: bool) -> str:
    inside = "" if space.unused is None else f", {short(space.unused)} of them unused"
    if not done:
        return f"The store takes up {short(space.before)} bytes{inside}."
    if space.kept_because is not None:
        reason = f"Space was not given back to the disk: {space.kept_because}. The next crawls use it."
        return f"The store takes up {short(space.after)} bytes{inside}. {reason}"
    return f"The store took up {short(space.before)} bytes, and takes up {short(space.after)} now."


def _answer(upkeep: Upkeep) -> dict[str, Any]:
    space = upkeep.space
    return {
        "project": upkeep.project,
        "before": upkeep.before.isoformat(),
        "deleted": upkeep.done,
        "removals": [
            {"what": each.what, "table": each.table, "rows": each.rows, "bytes": each.size_bytes}
            for each in upkeep.removals
        ],
        "rows": upkeep.rows,
        "bytes": upkeep.size_bytes,
        "space": space
        and {
            "bytes_before": space.before,
            "bytes_after": space.after,
            "unused": space.unused,
            "kept_because": space.kept_because,
        },
    }

"""`scrapy dedup store ACTION`: the store as a whole, its projects, and what is to be forgotten.

JSON of `gc`, `forget` and `projects delete`: `project`; `deleted` (false for a dry run); `rows`, deleted or to be
deleted, by table; `total`. JSON of `projects list`: `projects`, by name, each with id, name, pages, runs, stored_bytes,
created_at (ISO 8601). JSON of the others: `source` and `target`; `rows`, copied, by table. The exit code of `forget` is
1 where nothing is known of the page or the domain.
"""

import argparse
from datetime import timedelta
from pathlib import Path
from typing import Final

from sqlalchemy import URL

from scrapy_dedup.commands.call import (
    DONE,
    NOT_DONE,
    Action,
    Call,
    CommandError,
    WrongCallError,
    add_actions,
    age,
    ago,
    delete,
    print_answer,
    print_json,
    refuse_unasked,
    run_action,
)
from scrapy_dedup.commands.terminal import output, print_table, progress
from scrapy_dedup.commands.terminal import shown as safe
from scrapy_dedup.plugin.dupefilter import key_of_page
from scrapy_dedup.plugin.run_state import database_url
from scrapy_dedup.report.numbers import count, short
from scrapy_dedup.service import projects as stored
from scrapy_dedup.service.policies import url_rules
from scrapy_dedup.service.projects import Deletion
from scrapy_dedup.store.engine.copying import copy_store
from scrapy_dedup.store.engine.database import parse_url
from scrapy_dedup.store.engine.errors import StoreError, file_of, shown
from scrapy_dedup.store.upkeep.forgetting import find_garbage, remove_garbage

_OLDER_THAN: Final = timedelta(days=180)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what can be done, and the options of each."""
    add_actions(parser, ACTIONS)
    add = parser.add_argument
    add("--to", metavar="URL", help="copy: a database that holds nothing yet, of either kind")
    add(
        "--older-than",
        type=age,
        metavar="AGE",
        help="gc: pages that were gone, runs and JOBDIRs that were left so long ago, such as 30d; the default is 180d",
    )
    add("--dry-run", action="store_true", help="forget, gc, projects delete: only say what would be removed")
    add("--yes", action="store_true", help="forget, gc, projects delete: do not ask")


def run(call: Call) -> int:
    """Copy the store, or remove something from it."""
    return run_action(call, "store", ACTIONS)


def _copy(call: Call) -> int:
    options, store = call.options, parse_url(database_url(call.settings))
    if options.action == "copy":
        if options.to is None:
            raise WrongCallError("store copy needs --to URL")
        source, target = store, _named(options.to)
    else:
        file = URL.create("sqlite", database=str(Path(options.targets[0]).absolute()))
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
    refuse_unasked(call, "store gc")
    older_than = call.options.older_than
    before = ago(_OLDER_THAN if older_than is None else older_than)
    with call.opened(write=not call.options.dry_run) as project:

        def remove(found: Deletion) -> Deletion:
            with progress("rows", found.total) as moved:
                return Deletion(call.project, remove_garbage(project, before, moved), deleted=True)

        def find() -> Deletion:
            return Deletion(call.project, find_garbage(project, before), deleted=False)

        return delete(call, f"what nobody needs of project {call.project}", find, remove)


def _forget(call: Call) -> int:
    refuse_unasked(call, "store forget")
    (target,) = call.options.targets
    rules = url_rules(call.settings)
    with call.opened(write=not call.options.dry_run) as project:
        chosen = stored.choose(project, target, call.settings)
        named = target if chosen.pages else ", ".join(chosen.domains) or chosen.words[0]

        def erase(found: Deletion) -> Deletion:
            with progress("rows", found.total) as told:
                return stored.forget(project, chosen, call.settings, lambda url: key_of_page(url, rules), told)

        what, found = f"{named} of project {call.project}", stored.count(project, chosen)
        if found.total:
            return delete(call, what, lambda: found, erase)
        if not call.options.dry_run:
            # Other rows may name it yet: an earlier call was interrupted.
            found = erase(found)
        if not print_answer(call, "projects", lambda answers: answers.DeletionAnswer.of(found)):
            output().print(safe(f"Nothing is known of {what}.", 300), soft_wrap=True)
        return NOT_DONE


def _projects(call: Call) -> int:
    options = call.options
    action, *names = options.targets
    if action not in ("list", "delete"):
        raise WrongCallError(f"store projects knows list and delete, not {action!r}")
    if action == "list":
        if names or options.dry_run or options.yes:
            raise WrongCallError("store projects list takes neither a name nor --dry-run nor --yes")
        return _list_projects(call)
    if not names:
        raise WrongCallError("store projects delete needs the project's name; scrapy dedup store projects list has it")
    refuse_unasked(call, "store projects delete")
    with call.store(write=not options.dry_run) as store:

        def removed(*, dry_run: bool = False) -> Deletion:
            return stored.delete_project(store, names[0], dry_run=dry_run)

        return delete(call, f"project {names[0]}", lambda: removed(dry_run=True), lambda _: removed())


def _list_projects(call: Call) -> int:
    with call.store() as store:
        projects = stored.list_projects(store)
    if not projects:
        raise CommandError("the store is empty: run a crawl first, or check DEDUP_DATABASE_URL")
    if not print_answer(call, "projects", lambda answers: answers.ProjectsAnswer.of(projects=projects)):
        rows = (
            (one.name, one.pages, one.runs, short(one.stored_bytes), f"{one.created_at:%Y-%m-%d}") for one in projects
        )
        print_table("Projects", "Name, Pages, Runs, Bytes stored, Since", rows)
    return DONE


_ASKED: Final = frozenset({"dry_run", "yes"})
ACTIONS: Final = {
    "backup": Action(_copy, "FILE, which is not there yet", 1, 1),
    "restore": Action(_copy, "FILE, a backup", 1, 1),
    "copy": Action(_copy, "--to URL and no more", 0, 0, frozenset({"to"})),
    "gc": Action(_gc, "nothing", 0, 0, _ASKED | {"older_than"}),
    "forget": Action(
        _forget, "URL|DOMAIN, a page with all of its addresses or a domain with all below it", 1, 1, _ASKED
    ),
    "projects": Action(_projects, "list, or delete NAME", 1, 2, _ASKED),
}

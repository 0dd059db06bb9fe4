"""`scrapy dedup store projects list` and `scrapy dedup store projects delete NAME`.

JSON of list: `projects`, by name, each with id, name, pages, runs, stored_bytes, created_at (ISO 8601). JSON of
delete: `project`; `deleted` (false for a dry run); `rows`, deleted or to be deleted, by table; `total`.
"""

import argparse

from scrapy_dedup.commands.call import DONE, Call, CommandError, WrongCallError, delete, print_answer, refuse_unasked
from scrapy_dedup.commands.terminal import print_table
from scrapy_dedup.report.numbers import short
from scrapy_dedup.service.projects import Deletion, delete_project, list_projects
from scrapy_dedup.store.store import Store


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the two things that can be done, and the safeguards of the second."""
    parser.add_argument("action", choices=("list", "delete"))
    parser.add_argument("name", nargs="?", help="the project to delete")
    parser.add_argument("--dry-run", action="store_true", help="delete: only say what would be removed")
    parser.add_argument("--yes", action="store_true", help="delete: do not ask")


def run(call: Call) -> int:
    """List projects, or delete one."""
    options = call.options
    if options.action == "list":
        if options.name or options.dry_run or options.yes:
            raise WrongCallError("projects list takes neither a name nor --dry-run nor --yes")
        with call.store() as store:
            return _list(call, store)
    if not options.name:
        raise WrongCallError("projects delete needs the project's name; scrapy dedup store projects list shows them")
    refuse_unasked(call, "projects delete")
    with call.store() as store:

        def removed(*, dry_run: bool = False) -> Deletion:
            return delete_project(store, options.name, dry_run=dry_run)

        return delete(call, f"project {options.name}", lambda: removed(dry_run=True), lambda _: removed())


def _list(call: Call, store: Store) -> int:
    projects = list_projects(store)
    if not projects:
        raise CommandError("the store is empty: run a crawl first, or check DEDUP_DATABASE_URL")
    if not print_answer(call, "projects", lambda answers: answers.ProjectsAnswer.of(projects=projects)):
        rows = (
            (one.name, one.pages, one.runs, short(one.stored_bytes), f"{one.created_at:%Y-%m-%d}") for one in projects
        )
        print_table("Projects", "Name, Pages, Runs, Bytes stored, Since", rows)
    return DONE

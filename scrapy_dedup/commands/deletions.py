"""Deletions that are shown, and asked for, before they are done."""

import sys
from collections.abc import Callable

from scrapy_dedup.commands.call import DONE, NOT_DONE, Call, WrongCallError, print_json
from scrapy_dedup.commands.terminal import a_table, errors, output, print_table, shown
from scrapy_dedup.report.numbers import count, whole
from scrapy_dedup.service.projects import Deletion


def refuse_unasked(call: Call, verb: str) -> None:
    """Refuse to delete where nobody can be asked.

    Raises:
        WrongCallError: neither --yes nor --dry-run is given, and there is no terminal.
    """
    options = call.options
    if not (options.dry_run or options.yes) and (options.json or not sys.stdin.isatty()):
        raise WrongCallError(f"{verb} asks before it deletes, and here it cannot: repeat it with --yes")


def delete(call: Call, what: str, find: Callable[[], Deletion], remove: Callable[[Deletion], Deletion]) -> int:
    """Show what would be deleted, ask, delete it, and show what was; return the exit code."""
    options = call.options
    deletion = find()
    if not (options.yes or options.dry_run):
        _tell(deletion, what)
        question = shown(f"Delete {what} with {count(deletion.total, 'row')}? [y/N] ", 300)
        if errors().input(question).strip().lower() not in ("y", "yes"):
            output().print("Nothing was deleted.")
            return NOT_DONE
    if not options.dry_run:
        deletion = remove(deletion)
    if options.json:
        from scrapy_dedup.answers.projects import DeletionAnswer  # noqa: PLC0415 (pydantic: only for JSON)

        print_json(DeletionAnswer.of(deletion))
    else:
        _tell(deletion, what)
    return DONE


def _tell(deletion: Deletion, what: str) -> None:
    table = a_table("Table", "Rows")
    for name, rows in deletion.rows.items():
        table.add_row(shown(name), whole(rows))
    print_table(f"{'Deleted' if deletion.deleted else 'Would be deleted'}: {what}", table)

"""What `scrapy dedup cache` says of what it did; the JSON is described in `cache`."""

import dataclasses
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from scrapy_dedup.answers.cache import cache_check_answer, cache_removal_answer
from scrapy_dedup.commands.call import print_json
from scrapy_dedup.commands.terminal import errors, output, shown
from scrapy_dedup.report.numbers import count, short, whole
from scrapy_dedup.service.cache_check import Check
from scrapy_dedup.service.cache_export import Export
from scrapy_dedup.service.cache_import import Import
from scrapy_dedup.service.cache_upkeep import Removal

_TOLD: Final = 10


@contextmanager
def progress(things: str, total: int) -> Iterator[Callable[[int], None]]:
    """Give what moves a bar; nothing is drawn where nobody looks at it."""
    if not sys.stderr.isatty():
        yield lambda _number: None
        return
    columns = (TextColumn(things), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors(), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda number: bar.advance(task, number)


def show_removal(removal: Removal, consequence: str = "Their pages are extracted anew.", *, as_json: bool) -> None:
    """Print what was deleted, or would be, and what comes of it."""
    if as_json:
        print_json(cache_removal_answer(removal))
        return
    deleted = f"{count(removal.extractions, 'extraction')} of {short(removal.packed_bytes)} bytes"
    if removal.done:
        _say(f"Deleted: {deleted}. {consequence}")
    else:
        _say(f"Would be deleted: {deleted}.")
        _say_dry_run()
    _warn(
        (f"{url}: there is no such page; cache list shows those there are" for url in removal.unknown),
        len(removal.unknown),
    )


def show_check(check: Check, *, asked_to_fix: bool, dry_run: bool, as_json: bool) -> None:
    """Print what is damaged, and what was done about it."""
    damaged = check.damaged.total()
    if as_json:
        print_json(cache_check_answer(check, dry_run=dry_run))
        return
    _say(f"Checked: {count(check.pages, 'page')} with {count(check.extractions, 'extraction')}.")
    if not damaged:
        _say("All is as it was stored.")
        return
    by_part = ", ".join(f"{part} {whole(number)}" for part, number in sorted(check.damaged.items()))
    _warn((f"{one.url}: {one.part}: {one.reason}" for one in check.damages), damaged)
    if check.fixed:
        _say(f"Damaged and deleted: {by_part}. Their pages come again.")
    elif asked_to_fix:
        _say(f"Damaged, and would be deleted, so that their pages come again: {by_part}.")
    else:
        _say(f"Damaged: {by_part}. With --fix it is deleted, so that its pages come again.")
    if dry_run:
        _say_dry_run()


def show_export(export: Export, *, as_json: bool) -> None:
    """Print what was written."""
    if as_json:
        figures = ("pages", "files_written", "files_removed", "pages_left_out")
        left_out = [dataclasses.asdict(one) for one in export.left_out]
        values = {name: getattr(export, name) for name in figures}
        print_json({"folder": str(export.folder), **values, "left_out": left_out})
        return
    changed = f"{count(export.files_written, 'file')} written, {whole(export.files_removed)} removed"
    _say(f"Exported: {count(export.pages, 'page')} to {export.folder}; {changed}.")
    _warn((f"{one.url} is left out: {one.reason}" for one in export.left_out), export.pages_left_out)


def show_import(done: Import, folder: Path, *, dry_run: bool, as_json: bool) -> None:
    """Print what was imported, or would be."""
    if as_json:
        values = dataclasses.asdict(done) | {"problems_by_kind": dict(done.problems_by_kind)}
        print_json({"folder": str(folder), "dry_run": dry_run, **values})
        return
    if done.index_rebuilt:
        _warn([f"{done.index_rebuilt}: the index is made anew from the extraction files"], 0)
    _warn((f"{one.where}: {one.url}: {one.reason}" for one in done.problems), done.problems_by_kind.total())
    taken = f"{count(done.pages, 'page')}, {count(done.extractions, 'extraction')}, {count(done.urls, 'other URL')}"
    _say(f"{'Would be imported' if dry_run else 'Imported'}: {taken}, {count(done.domains, 'domain')}.")
    if done.pages_held:
        _say(f"In the store already, as they are or newer: {count(done.pages_held, 'page')}.")
    if done.files_left:
        _say(f"Left alone: {count(done.files_left, 'file')} that the index does not name.")
    if dry_run:
        _say_dry_run("written")


def _say(text: str) -> None:
    output().print(shown(text, 2_000), soft_wrap=True)


def _say_dry_run(what: str = "deleted") -> None:
    output().print(Text(f"Dry run: nothing was {what}.", style="bold"))


def _warn(lines: Iterable[str], total: int) -> None:
    """Print the first lines on standard error, and how many more there are."""
    told = 0
    for line in lines:
        if told == _TOLD:
            break
        told += 1
        errors().print(shown(f"scrapy dedup: {line}", 500), soft_wrap=True)
    if total > told:
        errors().print(f"scrapy dedup: and {whole(total - told)} more; --json has some of them", soft_wrap=True)

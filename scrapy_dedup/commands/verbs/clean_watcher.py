"""What a person sees of `scrapy dedup clean` while it runs: a bar, and the records that are passed over."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from scrapy_dedup.commands.terminal import errors, one_line, shown
from scrapy_dedup.service.cleaning_run import Watcher
from scrapy_dedup.service.cleaning_run_tasks import as_json
from scrapy_dedup.service.inputs_records import BadRecord


class _LeftOut:
    """Writes down the pages that others stand for, where somebody wants that."""

    def __init__(self, file: BinaryIO | None) -> None:
        self._file = file

    def left_out(self, left: Mapping[str, Any]) -> None:
        """Write a line."""
        if self._file is not None:
            self._file.write(as_json(dict(left)))


class _Lines(_LeftOut):
    """Nobody looks: there are only the lines that a log wants."""

    def phase(self, name: str) -> None:
        """Say nothing."""

    def advance(self, some: int) -> None:
        """Say nothing."""

    def complain(self, bad: BadRecord) -> None:
        """Say which record, and why."""
        sys.stderr.write(_told(bad) + "\n")


class _Bar(_LeftOut):
    """A terminal."""

    def __init__(self, bar: Progress, total: int, file: BinaryIO | None) -> None:
        super().__init__(file)
        self._bar = bar
        self._task = bar.add_task("", total=total)

    def phase(self, name: str) -> None:
        """Say what is done."""
        self._bar.update(self._task, description=name)

    def advance(self, some: int) -> None:
        """Move the bar."""
        self._bar.update(self._task, advance=some)

    def complain(self, bad: BadRecord) -> None:
        """Say which record, and why, above the bar."""
        self._bar.console.print(shown(_told(bad), 1_000), soft_wrap=True)


@contextmanager
def watching(total: int, left_out: BinaryIO | None) -> Iterator[Watcher]:
    """Give who watches a run that reads so many bytes.

    Args:
        total: bytes.
        left_out: where the pages are written that others stand for; None: nowhere.
    """
    if not sys.stderr.isatty():
        yield _Lines(left_out)
        return
    name = TextColumn("{task.description}", markup=False)
    columns = (name, BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors(), transient=True) as bar:
        yield _Bar(bar, total, left_out)


def _told(bad: BadRecord) -> str:
    return one_line(f"scrapy dedup: passed over: {bad.where}: {bad.reason}", 1_000)

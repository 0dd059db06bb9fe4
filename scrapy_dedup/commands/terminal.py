"""Text for a terminal: nothing that a page says is obeyed by it."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from scrapy_dedup.report.markup import visible

_PIPED_WIDTH = 200


def one_line(text: str, limit: int = 200) -> str:
    """Return foreign text in one line, controls, bidi marks and invisible characters written as ⟨U+202E⟩."""
    return visible(" ".join(text.split()), limit)


def shown(text: str, limit: int = 200, style: str = "") -> Text:
    """Return foreign text for rich, which then reads no markup in it."""
    return Text(one_line(text, limit), style=style)


def output() -> Console:
    """Return standard output; piped, lines are long, so that nothing is cut at an 80th column."""
    piped = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(highlight=False, markup=False, emoji=False, width=_PIPED_WIDTH if piped else None)


def errors() -> Console:
    """Return standard error, for progress and questions: they must not get into what a program reads."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def a_table(*columns: str, texts: int = 1) -> Table:
    """Return an empty table; the first *texts* columns are text, the others numbers."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for place, name in enumerate(columns):
        if place < texts:
            table.add_column(name, overflow="fold", header_style="dim")
        else:
            table.add_column(name, justify="right", no_wrap=True, header_style="dim")
    return table


def print_table(title: str, table: Table) -> None:
    """Print a table under its title, which may be longer than the table is wide."""
    console = output()
    console.print(shown(title, 300, style="bold"), soft_wrap=True)
    console.print(table)


def say(text: str, style: str = "") -> None:
    """Print foreign text in one line, which the terminal may break."""
    output().print(shown(text, 500, style=style), soft_wrap=True)


@contextmanager
def progress(things: str, total: int) -> Iterator[Callable[[int], None]]:
    """Give what moves a bar; nothing is drawn where nobody looks at it."""
    with named_progress(total) as tell:
        yield lambda number: tell(things, number)


@contextmanager
def named_progress(total: int) -> Iterator[Callable[[str, int], None]]:
    """Give what moves a bar and names what is done, such as a domain."""
    if not sys.stderr.isatty():
        yield lambda _name, _number: None
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors(), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda name, number: bar.update(task, description=one_line(name, 40), advance=number)

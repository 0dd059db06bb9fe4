"""Text for a terminal: nothing that a page says is obeyed by it."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.padding import Padding
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from scrapy_dedup.report.markup import visible
from scrapy_dedup.report.numbers import count, whole

_PIPED_WIDTH = 200
_GAP = 2
_NARROWEST_TEXT = 16


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


def print_table(
    title: str, columns: str, rows: Iterable[Sequence[object]], *, texts: int = 1, console: Console | None = None
) -> None:
    """Print a table under its title, which may be longer than the table is wide; on a narrow terminal row by row.

    *columns* are names, with commas between them, the first *texts* of which are texts, the others numbers. Cells are
    foreign text, whole numbers, shares (0.42) or nothing.
    """
    names = columns.split(", ")
    cells = [[_cell(value, is_text=place < texts) for place, value in enumerate(row)] for row in rows]
    console = console or output()
    if title:
        console.print(shown(title, 300, style="bold"), soft_wrap=True)
    lines = [list(map(Text, names)), *cells]
    widths = [max(cell.cell_len for cell in column) for column in zip(*lines, strict=True)]
    # What is narrower is folded in the middle of names and dates, or is not there at all.
    needed = sum(min(width, _NARROWEST_TEXT) for width in widths[:texts]) + sum(widths[texts:])
    if needed + _GAP * len(names) > console.width:
        _print_rows(names, cells, console)
        return
    table = Table(box=None, padding=(0, _GAP, 0, 0))
    for place, name in enumerate(names):
        if place < texts:
            table.add_column(name, overflow="fold", header_style="dim")
        else:
            table.add_column(name, justify="right", no_wrap=True, header_style="dim")
    for row in cells:
        table.add_row(*row)
    console.print(table)


def _print_rows(names: Sequence[str], rows: Iterable[Sequence[Text]], console: Console) -> None:
    """Print each row as its first cell and, below it, the others that hold something, with their names."""
    for first, *others in rows:
        console.print(first, soft_wrap=True)
        named = zip(names[1:], others, strict=True)
        told = [Text.assemble((f"{name}: ", "dim"), cell) for name, cell in named if cell.plain]
        if told:
            console.print(Padding(Text(", ").join(told), (0, 0, 0, _GAP)))


def _cell(value: object, *, is_text: bool) -> Text:
    if isinstance(value, Text):
        return value
    if isinstance(value, int | float):
        return Text(whole(value) if isinstance(value, int) else f"{value:.2f}")
    text = "" if value is None else str(value)
    # The space before a unit is one that no line ends at.
    return shown(text, 300) if is_text else Text(visible(text, 300))


def say(text: str, style: str = "", *, limit: int = 500, indent: int = 0) -> None:
    """Print foreign text in one line, which the terminal may break."""
    output().print(Text.assemble(" " * indent, shown(text, limit, style=style)), soft_wrap=True)


def say_dry_run(*, dry_run: bool = True) -> None:
    """Say that nothing was written, where that is so."""
    if dry_run:
        output().print(Text("Dry run: nothing was written.", style="bold"))


def say_more(number: int, thing: str = "", *, indent: int = 0) -> None:
    """Say how many things are not shown, if any are not."""
    if number > 0:
        say(
            f"and {count(number, f'more {thing}') if thing else f'{whole(number)} more'}; --json lists them all",
            "dim",
            indent=indent,
        )


class RunBar:
    """Tells how a run goes on: moves a bar on a terminal; elsewhere only lines are told, which a log wants."""

    def __init__(self, bar: Progress | None = None, total: int | None = None) -> None:
        """Take None for no terminal; a bar without a total only shows that something goes on."""
        self.bar = bar
        self.task = bar.add_task("", total=total) if bar else TaskID(0)

    def phase(self, name: str) -> None:
        """Say what is done."""
        if self.bar:
            self.bar.update(self.task, description=name)

    def advance(self, some: int) -> None:
        """Move the bar."""
        if self.bar:
            self.bar.update(self.task, advance=some)

    def tell(self, line: str) -> None:
        """Print a line on standard error, above the bar."""
        if self.bar:
            self.bar.console.print(shown(line, 1_000), soft_wrap=True)
        else:
            sys.stderr.write(one_line(line, 1_000) + "\n")


@contextmanager
def bar_of(*columns: ProgressColumn) -> Iterator[Progress | None]:
    """Give a bar on standard error; None where nobody looks at it."""
    if not sys.stderr.isatty():
        yield None
        return
    name = TextColumn("{task.description}", markup=False)
    with Progress(name, BarColumn(), *columns, console=errors(), transient=True) as bar:
        yield bar


@contextmanager
def progress(things: str, total: int) -> Iterator[Callable[[int], None]]:
    """Give what moves a bar; nothing is drawn where nobody looks at it."""
    with named_progress(total) as tell:
        yield lambda number: tell(things, number)


@contextmanager
def named_progress(total: int) -> Iterator[Callable[[str, int], None]]:
    """Give what moves a bar and names what is done, such as a domain."""
    with bar_of(MofNCompleteColumn(), TimeRemainingColumn()) as bar:
        run = RunBar(bar, total)

        def tell(name: str, number: int) -> None:
            run.phase(one_line(name, 40))
            run.advance(number)

        yield tell

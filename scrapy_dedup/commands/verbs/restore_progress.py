"""How far a backup or its restoring is."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from scrapy_dedup.commands.terminal import errors
from scrapy_dedup.report.numbers import short


@contextmanager
def steps() -> Iterator[Callable[[str, int], None]]:
    """Give what tells a step's name and how much more of it is done; nothing is drawn where nobody looks at it."""
    if not sys.stderr.isatty():
        yield lambda _step, _more: None
        return
    done: dict[str, int] = {}
    with Progress(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=errors()) as bar:
        task = bar.add_task("", total=None)

        def tell(step: str, more: int) -> None:
            done[step] = done.get(step, 0) + more
            bar.update(task, description=f"{step} {short(done[step])}")

        yield tell

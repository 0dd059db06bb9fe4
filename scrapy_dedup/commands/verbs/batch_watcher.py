"""What a person sees of `scrapy dedup batch` while it runs: what is done, how many of its tasks, and bad records."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from scrapy_dedup.commands.terminal import errors, one_line, shown

_LOOK_EVERY_SECONDS: Final = 0.5
# More say nothing that the count does not.
_MOST_TOLD: Final = 1_000


class BatchWatcher:
    """Tells of bad records, a line each; of more than a thousand, how many there are is in the summary."""

    def __init__(self) -> None:
        self._told = 0

    def watch(self, spark: Any) -> None:
        """Say nothing: nobody looks."""

    def phase(self, name: str) -> None:
        """Say nothing."""

    def complain(self, told: str) -> None:
        """Say which record is passed over, and why."""
        self._told += 1
        if self._told <= _MOST_TOLD:
            self._say(one_line(f"scrapy dedup: passed over: {told}", 1_000))
        elif self._told == _MOST_TOLD + 1:
            self._say(f"scrapy dedup: passed over: more than {_MOST_TOLD}; the summary counts them")

    def close(self) -> None:
        """Make room for the summary."""

    def _say(self, line: str) -> None:
        sys.stderr.write(line + "\n")


class _Bar(BatchWatcher):
    """A terminal."""

    def __init__(self, bar: Progress) -> None:
        super().__init__()
        self._bar = bar
        self._task = bar.add_task("", total=None)
        self._ended = threading.Event()

    def watch(self, spark: Any) -> None:
        threading.Thread(target=self._look, args=(spark.sparkContext.statusTracker(),), daemon=True).start()

    def phase(self, name: str) -> None:
        self._bar.update(self._task, description=name, completed=0, total=None)

    def close(self) -> None:
        self._ended.set()
        self._bar.stop()

    def _look(self, tracker: Any) -> None:
        """Move the bar to how many tasks of what runs are done, every half a second."""
        while not self._ended.wait(_LOOK_EVERY_SECONDS):
            stages = [found for one in tracker.getActiveStageIds() if (found := tracker.getStageInfo(one)) is not None]
            total = sum(one.numTasks for one in stages)
            if total:
                self._bar.update(self._task, completed=sum(one.numCompletedTasks for one in stages), total=total)

    def _say(self, line: str) -> None:
        self._bar.console.print(shown(line, 1_000), soft_wrap=True)


@contextmanager
def watching() -> Iterator[BatchWatcher]:
    """Give who watches a run."""
    if not sys.stderr.isatty():
        yield BatchWatcher()
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=errors(), transient=True) as bar:
        watcher = _Bar(bar)
        try:
            yield watcher
        finally:
            watcher.close()

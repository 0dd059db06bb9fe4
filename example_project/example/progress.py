"""A progress bar for crawls: pages fetched of pages known so far, and items."""

import logging
import sys
import time
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.statscollectors import StatsCollector

SECONDS_BETWEEN_LINES = 3.0


class Progress:
    """Draws a bar on a terminal, and prints a line every few seconds where there is none."""

    def __init__(self, stats: StatsCollector, page_cap: int) -> None:
        self._stats = stats
        self._page_cap = page_cap
        self._bar: Bar | None = None
        self._next_line_at = 0.0
        self._last_line = ""
        self._moved_handlers: list[logging.StreamHandler] = []  # type: ignore[type-arg] # not generic at run time

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Connect to the crawl's events.

        Raises:
            NotConfigured: the crawl keeps no figures.
        """
        if crawler.stats is None:
            raise NotConfigured
        progress = cls(crawler.stats, crawler.settings.getint("CLOSESPIDER_PAGECOUNT"))
        crawler.signals.connect(progress.opened, signal=signals.spider_opened)
        crawler.signals.connect(progress.moved, signal=signals.response_received)
        crawler.signals.connect(progress.moved, signal=signals.item_scraped)
        crawler.signals.connect(progress.closed, signal=signals.engine_stopped)
        return progress

    def opened(self) -> None:
        """Start to draw."""
        if not sys.stderr.isatty():
            return
        # Made before the log is moved: it must draw on the terminal itself.
        self._bar = Bar(
            TextColumn("crawling"),
            BarColumn(),
            TextColumn("{task.completed:.0f} of {task.total:.0f} pages, {task.description}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
        )
        self._bar.add_task(self._words(), total=1)
        self._bar.start()
        self._move_log()

    def moved(self) -> None:
        """Show where the crawl is."""
        if self._bar is not None:
            self._bar.update(
                self._bar.task_ids[0], completed=self._fetched, total=self._known, description=self._words()
            )
        elif time.monotonic() >= self._next_line_at:
            self._next_line_at = time.monotonic() + SECONDS_BETWEEN_LINES
            self._print_line()

    def closed(self) -> None:
        """Show the last figures and leave the terminal as it was."""
        if self._bar is None:
            self._print_line()
            return
        self._bar.update(self._bar.task_ids[0], completed=self._fetched, total=self._fetched, description=self._words())
        for handler in self._moved_handlers:
            handler.setStream(sys.__stderr__)
        self._bar.stop()

    @property
    def _fetched(self) -> int:
        value = self._stats.get_value
        return int(value("response_received_count", 0) - value("robotstxt/response_count", 0))

    @property
    def _known(self) -> int:
        """Fetched pages and those that wait, but no more than the crawl may fetch."""
        waiting = self._stats.get_value("scheduler/enqueued", 0) - self._stats.get_value("scheduler/dequeued", 0)
        known = self._fetched + int(waiting)
        return max(min(known, self._page_cap) if self._page_cap else known, self._fetched, 1)

    def _words(self) -> str:
        return f"{self._stats.get_value('item_scraped_count', 0)} items"

    def _print_line(self) -> None:
        line = f"crawling: {self._fetched} of {self._known} pages, {self._words()}"
        if line != self._last_line:
            print(line, file=sys.stderr, flush=True)  # noqa: T201 - for people, like the bar
        self._last_line = line

    def _move_log(self) -> None:
        """Let log lines scroll above the bar instead of through it.

        While the bar is drawn, sys.stderr is rich's; Scrapy's handler still holds the terminal.
        """
        for handler in logging.root.handlers:
            if isinstance(handler, logging.StreamHandler) and handler.stream is sys.__stderr__:
                handler.setStream(sys.stderr)
                self._moved_handlers.append(handler)

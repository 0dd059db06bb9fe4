"""Pages of unknown domains wait for each other here. Nothing waits for ever, and nothing is lost."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from twisted.internet.defer import Deferred

from scrapy_dedup.service.learning import Learner

logger = logging.getLogger(__name__)


class Release(StrEnum):
    """Why a batch was let go."""

    FULL = "full"
    KNOWN = "known"
    AGE = "age"
    QUIET = "quiet"
    PRESSURE = "pressure"
    CLOSING = "closing"


@dataclass(slots=True)
class _Batch:
    learner: Learner
    since: float
    size_bytes: int = 0
    pages: set[bytes] = field(default_factory=set)
    waiting: list["Deferred[str]"] = field(default_factory=list)


class ParkingLot:
    """Batches by learner. *on_release* is called before the pages of a batch go on."""

    def __init__(
        self, batch_pages: int, max_bytes: int, max_wait: timedelta, on_release: Callable[[Learner, Release, int], None]
    ) -> None:
        self._batch_pages = batch_pages
        self._max_bytes = max_bytes
        self._max_wait = max_wait.total_seconds()
        self._on_release = on_release
        self._batches: dict[tuple[str, str], _Batch] = {}
        self.size_bytes = 0

    def __len__(self) -> int:
        return sum(len(batch.pages) for batch in self._batches.values())

    def park(self, learner: Learner, page_key: bytes, size_bytes: int, now: float) -> "Deferred[str]":
        """Return what fires when the page may go on, and let go what has become full by it."""
        deferred: Deferred[str] = Deferred()
        batch = self._batches.setdefault((learner.domain, learner.method), _Batch(learner, now))
        batch.waiting.append(deferred)
        if page_key not in batch.pages:
            batch.pages.add(page_key)
            batch.size_bytes += size_bytes
            self.size_bytes += size_bytes
        if len(batch.pages) >= self._batch_pages:
            self._release([batch], Release.FULL)
        elif self.size_bytes > self._max_bytes:
            self._release(self._largest(), Release.PRESSURE)
        return deferred

    def tick(self, now: float, *, closing: bool, pressure: bool, quiet: bool) -> None:
        """Let go what need not, or must not, wait any longer."""
        if not self._batches:
            return
        batches = list(self._batches.values())
        if closing:
            self._release(batches, Release.CLOSING)
        elif quiet:
            self._release(batches, Release.QUIET)
        elif pressure:
            self._release(self._largest(), Release.PRESSURE)
        else:
            self._release([batch for batch in batches if now - batch.since >= self._max_wait], Release.AGE)

    def release_all(self) -> None:
        """Let everything go."""
        self._release(list(self._batches.values()), Release.CLOSING)

    def _largest(self) -> list[_Batch]:
        """Return the largest quarter of the batches, at least one."""
        by_size = sorted(self._batches.values(), key=lambda batch: (-batch.size_bytes, batch.learner.domain))
        return by_size[: max(1, len(by_size) // 4)]

    def _release(self, batches: Iterable[_Batch], why: Release) -> None:
        let_go = list(batches)
        # All are taken out first: without asyncio an item goes on within `callback`, and may bring the next one here.
        for batch in let_go:
            del self._batches[batch.learner.domain, batch.learner.method]
            self.size_bytes -= batch.size_bytes
        for batch in let_go:
            try:
                self._on_release(batch.learner, why, len(batch.pages))
            except Exception:
                logger.exception("%s could not be learned; its pages go out all the same", batch.learner.domain)
            for deferred in batch.waiting:
                deferred.callback(why)

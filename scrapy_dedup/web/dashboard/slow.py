"""Answers that may take long: made in a thread of their own, and kept for as long as making them was dear."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from scrapy_dedup.core.errors import DedupError

Key = TypeVar("Key")
Answer = TypeVar("Answer")

# What took long is kept for twenty times as long, so that making it costs a twentieth of a core at most; what was quick
# is made anew each time.
_KEPT_TIMES: Final = 20
_QUICK_SECONDS: Final = 0.1


@dataclass(slots=True)
class _Entry(Generic[Answer]):
    """An answer as it was made last, and the making of the next."""

    answer: Answer | None = None
    seconds: float = 0.0
    until: float = 0.0
    made: threading.Event | None = None
    error: DedupError | None = None


class Slow(Generic[Key, Answer]):
    """Answers by key; any thread may ask. As many are kept as there are keys: projects, not pages."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._entries: dict[Key, _Entry[Answer]] = {}
        self._lock = threading.Lock()
        self._clock = clock

    def page(self, key: Key, make: Callable[[], Answer], *, wait_seconds: float) -> Answer | None:
        """Return an answer, made now or a while ago; None: it still takes a while, so ask again.

        Args:
            key: whose answer.
            make: makes it; called in another thread, once at a time for each key.
            wait_seconds: for an answer that is not known to take longer.

        Raises:
            DedupError: it could not be made; raised once.
        """
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            if entry.answer is not None and self._clock() < entry.until:
                return entry.answer
            made = entry.made
            if made is None:
                made = entry.made = threading.Event()
                threading.Thread(target=self._make, args=(entry, make, made), name="dedup-sums", daemon=True).start()
            is_slow = entry.seconds > wait_seconds
        if not is_slow:
            made.wait(wait_seconds)
        with self._lock:
            if entry.error is not None:
                error, entry.error = entry.error, None
                raise error
            return entry.answer

    def _make(self, entry: _Entry[Answer], make: Callable[[], Answer], made: threading.Event) -> None:
        answer, error, began = None, None, self._clock()
        try:
            answer = make()
        except DedupError as found:
            error = found
        finally:
            ended = self._clock()
            seconds = ended - began
            with self._lock:
                entry.answer = entry.answer if answer is None else answer
                entry.error, entry.made, entry.seconds = error, None, seconds
                entry.until = ended + _KEPT_TIMES * seconds if seconds > _QUICK_SECONDS else ended
            made.set()

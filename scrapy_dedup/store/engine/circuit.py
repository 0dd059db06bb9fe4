"""What to do while a server does not answer: ask it no more, but for one thread that tries once a second.

Whoever asks meanwhile hears at once that it is away, so that no page of a crawl waits for it, nor a thread.
"""

import logging
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from scrapy_dedup.store.engine.errors import AwayStoreError, StoreError

logger = logging.getLogger(__name__)

RETRY: Final = timedelta(seconds=1)
SLOW: Final = timedelta(seconds=3)
"""An answer that did not come so long makes us doubt that the server is there."""


class Circuit:
    """Knows whether a server can be reached. Any thread may use it."""

    def __init__(self, connect: Callable[[], None], *, retry: timedelta = RETRY) -> None:
        """Take the server for reachable.

        *connect* connects to the server and leaves again, or raises StoreError; *retry* lies between two tries.
        """
        self._connect = connect
        self._retry_seconds = retry.total_seconds()
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._cause: str | None = None
        self._trying = False

    @property
    def is_away(self) -> bool:
        """Return whether the server was not there when it was tried last."""
        return self._cause is not None

    def check(self) -> None:
        """Return at once if the server is there, as far as is known.

        Raises:
            AwayStoreError: it is not.
        """
        cause = self._cause
        if cause is not None:
            raise AwayStoreError(cause)

    def failed(self, error: StoreError) -> None:
        """Note that the server was not there, and begin to try it."""
        self._cause = str(error)
        self.doubt()

    def doubt(self) -> None:
        """Begin to find out whether the server is there, unless that is under way."""
        with self._lock:
            if self._trying or self._closed.is_set():
                return
            self._trying = True
        threading.Thread(target=self._try, name="scrapy_dedup store", daemon=True).start()

    def close(self) -> None:
        """Stop trying."""
        self._closed.set()

    def _try(self) -> None:
        while not self._closed.is_set():
            try:
                self._connect()
            except StoreError as error:
                if self._cause is None:
                    logger.debug("The store's server is away: %s", error)
                self._cause = str(error)
                self._closed.wait(self._retry_seconds)
                continue
            except Exception:
                # Nobody would try again.
                logger.exception("Whether the store's server is there cannot be found out; it is asked as ever")
            break
        with self._lock:
            self._trying = False
            self._cause = None

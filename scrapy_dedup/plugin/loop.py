"""The loop that a crawl runs in, and the threads beside it."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.reactor import is_reactor_installed
from twisted.internet.defer import Deferred

_T = TypeVar("_T")


class Loop:
    """Make it on the crawl's thread."""

    def __init__(self) -> None:
        self._call: Callable[..., Any]
        if is_reactor_installed():
            from twisted.internet import reactor  # noqa: PLC0415 - importing it installs one

            self._call = reactor.callFromThread
        else:
            self._call = asyncio.get_running_loop().call_soon_threadsafe

    def call(self, work: Callable[..., object], *args: object) -> None:
        """Do something on the crawl's thread, soon; may be called from any thread."""
        self._call(work, *args)

    async def result_of(self, future: "Future[_T]") -> _T:
        """Return what another thread answers; no thread of the crawl's waits for it meanwhile.

        Raises:
            CancelledError: of `concurrent.futures`: there will be no answer.
        """
        answered: Deferred[None] = Deferred()
        future.add_done_callback(lambda _: self.call(answered.callback, None))
        await maybe_deferred_to_future(answered)
        return future.result()

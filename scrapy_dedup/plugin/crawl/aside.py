"""What is done beside the reactor, in the order in which a domain's pages asked for it."""

from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

from scrapy.settings import BaseSettings
from scrapy.utils.asyncio import call_later, run_in_thread
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_dedup.service.learning import Steps, done

T = TypeVar("T")
_COUNTED: Final = ("ITEMCOUNT", "PAGECOUNT", "PAGECOUNT_NO_ITEM", "TIMEOUT_NO_ITEM")
# No domain is called so.
_THREAD = ""


class CrawlEndedError(Exception):
    """Nobody waits any more for what was done in a thread."""


class Turn:
    """A place in a queue, taken when it is made; use it with `async with`, for else all behind it wait for ever."""

    def __init__(self, last: "dict[str, Deferred[None]]", name: str) -> None:
        self._last = last
        self._name = name
        self._before = last.get(name)
        self._done = last[name] = Deferred[None]()

    async def __aenter__(self) -> None:
        try:
            if self._before is not None:
                await maybe_deferred_to_future(self._before)
        except BaseException:
            self._leave()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._leave()

    def _leave(self) -> None:
        if self._last[self._name] is self._done:
            del self._last[self._name]
        else:
            # Without asyncio the next one would go on inside of `callback`, and so on: sixty pages deep.
            call_later(0, self._done.callback, None)


class Aside:
    """One thing at a time for each domain, and of all of them one thread.

    More threads would only share one interpreter, and the store needs the others.
    """

    def __init__(self, of_crawl: BaseSettings) -> None:
        self._at_once = any(of_crawl.getfloat(f"CLOSESPIDER_{what}") > 0 for what in _COUNTED)
        """Pages that come meanwhile would count for the end of the crawl, and their items not yet."""
        self._last: dict[str, Deferred[None]] = {}
        """What fires when who came last for a domain is done."""
        self._ended = False

    def turn(self, domain: str) -> Turn:
        """Return what lets nobody else work on a domain meanwhile; who asks first is first."""
        return Turn(self._last, domain)

    def is_busy(self, domain: str) -> bool:
        """Say whether somebody works on a domain, or waits for it."""
        return domain in self._last

    async def result(self, steps: Steps[T]) -> T:
        """Return what comes of steps, whose long parts run in a thread.

        Raises:
            CrawlEndedError: the crawl ended meanwhile.
        """
        try:
            part = next(steps)
            while True:
                go_on = await self._in_thread(partial(done, steps, part))
                part = go_on()
        except StopIteration as ended:
            result: T = ended.value
            return result

    async def _in_thread(self, call: Callable[[], T]) -> T:
        if self._ended or self._at_once:
            # Nothing else is to be done meanwhile, or may be.
            return call()
        async with self.turn(_THREAD):
            found = await run_in_thread(call)
        if self._ended:
            raise CrawlEndedError
        return found

    def end(self) -> None:
        """Let what is still in a thread change nothing any more, and what comes yet be done at once."""
        self._ended = True

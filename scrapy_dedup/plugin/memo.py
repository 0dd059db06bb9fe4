"""What a costly function made of a text is made once, for all crawls of a project."""

import json
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from inspect import iscoroutine, iscoroutinefunction
from typing import Any

from scrapy.crawler import Crawler
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from scrapy_dedup.core.recrawl.costly import as_json, function_name, memo_key
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.store.engine.errors import DamagedStoreError, StoreError
from scrapy_dedup.store.upkeep.cache import StoredMemos

Function = Callable[[str], Any | Awaitable[Any]]

logger = logging.getLogger(__name__)


async def memo(crawler: Crawler, text: str, function: Function, *, version: str | int) -> Any:
    """Return what a function makes of a text, or what it made of it in this crawl or an earlier one of the project.

    Where the plugin is off, and in commands that only show what a spider does, the function simply runs.

    Args:
        crawler: `self.crawler` in a spider, a pipeline or a middleware.
        text: all that the function is given. Another text is another call, be the difference a blank.
        function: awaited if it is async, else run in a thread. It stands at the top of a module, or is a method of a
            class that does; what else its result depends on (a model, a prompt, the object of a method) belongs into
            the version.
        version: of the function; after a change of it nothing that was kept before is found.

    Returns:
        A value of its own for each caller, made of JSON.

    Raises:
        MemoError: the function has no name by which it could be found again, or its result is not JSON.
        Exception: what the function raises; nothing is kept of that.
    """
    name = function_name(function)
    key = memo_key(name, version, text)
    memos = _memos_of(crawler)
    if memos is None:
        return json.loads(await _make(name, function, text))
    return json.loads(await memos.get(key, name, partial(_make, name, function, text)))


async def _make(name: str, function: Function, text: str) -> str:
    if iscoroutinefunction(function):
        return as_json(await function(text), name)
    made = await run_in_thread(_run, function, text)
    # A function without `async` may call one.
    return as_json(await made if iscoroutine(made) else made, name)


def _run(function: Function, text: str) -> Any:
    try:
        return function(text)
    except StopIteration as error:
        # A future does not take it, and whoever waits for the thread would wait for good.
        raise RuntimeError(f"{function!r} raised StopIteration") from error


class _Memos:
    """The memos of a crawl: those of its project, and calls under way."""

    def __init__(self, runtime: Runtime) -> None:
        self._stored = StoredMemos(runtime.crawl.store, runtime.settings.memo_max_bytes)
        self._max_age = runtime.settings.cache_max_age
        self._count = runtime.count
        self._waiting: dict[bytes, list[Deferred[str]]] = {}
        self._told: set[str] = set()

    async def get(self, key: bytes, name: str, make: Callable[[], Awaitable[str]]) -> str:
        """Return the JSON under a key: kept, being made for somebody else, or made."""
        answer: Deferred[str] = Deferred()
        joins = key in self._waiting
        self._waiting.setdefault(key, []).append(answer)
        if not joins:
            # Apart from who asked first: others wait for it, too, should that one be cancelled.
            deferred_from_coro(self._find_or_make(key, name, make)).addBoth(partial(self._answer, key))
        found = await maybe_deferred_to_future(answer)
        if joins:
            self._count("memo/hits")
        return found

    def _answer(self, key: bytes, made: str | Failure) -> None:
        for answer in self._waiting.pop(key):
            answer.callback(made)

    async def _find_or_make(self, key: bytes, name: str, make: Callable[[], Awaitable[str]]) -> str:
        found = await self._find(key)
        if found is not None:
            self._count("memo/hits")
            return found
        self._count("memo/calls")
        try:
            made = await make()
        except BaseException:
            self._count("memo/errors")
            raise
        try:
            await run_in_thread(self._stored.keep, key, name, made, datetime.now(UTC))
        except StoreError as error:
            self._tell("store/errors", "What %s made could not be kept; it is made again: %s", name, error)
        return made

    async def _find(self, key: bytes) -> str | None:
        since = None if self._max_age is None else datetime.now(UTC) - self._max_age
        try:
            return await run_in_thread(self._stored.find, key, since)
        except DamagedStoreError as error:
            self._tell("memo/damaged", "A memo is damaged; its function runs again: %s", error)
        except StoreError as error:
            self._tell("store/errors", "The store does not answer; functions run again: %s", error)
        return None

    def _tell(self, stat: str, message: str, *values: object) -> None:
        """Count it, and warn once."""
        self._count(stat)
        if stat not in self._told:
            self._told.add(stat)
            logger.warning(message, *values)


def _memos_of(crawler: Crawler) -> _Memos | None:
    runtime = Runtime.of_open(crawler)
    if runtime is None:
        return None
    if not isinstance(runtime.memos, _Memos):
        runtime.memos = _Memos(runtime)
    return runtime.memos

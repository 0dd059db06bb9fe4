"""Asks the store what it knows of requests' pages: one question at a time, for all requests that came meanwhile."""

import logging
from collections.abc import Callable

from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_dedup.service.recrawling import NOTHING_KNOWN, Asked, Known, look_up
from scrapy_dedup.store.errors import StoreError
from scrapy_dedup.store.writer import ProjectStore

logger = logging.getLogger(__name__)


class KnownPages:
    """Answers by batches. Where the store does not answer, nothing is known: the page is fetched."""

    def __init__(self, store: ProjectStore, count: Callable[[str, int], None]) -> None:
        self._store = store
        self._count = count
        self._waiting: dict[Asked, list[Deferred[Known]]] = {}
        self._asking: Deferred[None] | None = None
        self._told = False

    async def of(self, asked: Asked) -> Known:
        """Return what is known of a request's page."""
        answer: Deferred[Known] = Deferred()
        self._waiting.setdefault(asked, []).append(answer)
        if self._asking is None:
            self._asking = deferred_from_coro(self._ask())
        return await maybe_deferred_to_future(answer)

    async def _ask(self) -> None:
        while self._waiting:
            waiting, self._waiting = self._waiting, {}
            known = await self._look_up(waiting)
            for asked, answers in waiting.items():
                for answer in answers:
                    answer.callback(known.get(asked, NOTHING_KNOWN))
        self._asking = None

    async def _look_up(self, waiting: dict[Asked, list[Deferred[Known]]]) -> dict[Asked, Known]:
        try:
            return await run_in_thread(look_up, self._store, list(waiting))
        except StoreError as error:
            self._count("store/errors", 1)
            if not self._told:
                logger.warning("The store does not answer; pages are fetched as if they were new: %s", error)
        except Exception:
            # Nobody would answer the requests that wait.
            self._count("store/errors", 1)
            if not self._told:
                logger.exception("Pages are fetched as if they were new because of a defect in scrapy_dedup")
        self._told = True
        return {}

"""The claims of one worker of a shared run: asked for in batches, one at a time, by all that wait meanwhile."""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_dedup.service.claims import lost_of
from scrapy_dedup.service.crawl import Crawl
from scrapy_dedup.store.claim_records import (
    Claimant,
    ClaimDoneRecord,
    ClaimKey,
    ClaimRecord,
    ClaimReleasedRecord,
    Holder,
    Wanted,
)
from scrapy_dedup.store.errors import StoreError

logger = logging.getLogger(__name__)

RETRY_SECONDS: Final = 0.5
# A statement of so many keys takes some 20 ms; more of them would keep other workers waiting.
_MOST_KEYS: Final = 500
# Links that were noted last: most of a page's are on the pages before it.
_NOTED_REMEMBERED: Final = 50_000


Found = Mapping[ClaimKey, Holder]


@dataclass(frozen=True, slots=True)
class _Asking:
    wanted: Sequence[Wanted]
    since: float
    answer: Deferred[Found]


class Claims:
    """Asks for claims, and notes what becomes of them.

    Strict: who asks waits until the store has written the claim. Else: until it has been read who else has it; the
    claim itself is written behind, so that two workers that want one thing within one write may both have it.
    A store that does not answer is asked again; who has waited for a whole lease has the claim: nothing is lost.
    """

    def __init__(self, crawl: Crawl, claimant: Claimant, count: Callable[[str, float], None]) -> None:
        self._crawl = crawl
        self._claimant = claimant
        self._count = count
        self.is_strict = crawl.settings.strict_shared
        self._lease_seconds = crawl.settings.shared_lease.total_seconds()
        self._waiting: list[_Asking] = []
        self._under_way: list[_Asking] = []
        self._asking: Deferred[None] | None = None
        self._not_before = 0.0
        self._ticks: list[Deferred[None]] = []
        self._told = False
        self._noted: OrderedDict[ClaimKey, None] = OrderedDict()
        self.asked_since_idle = False
        """Whether anything was asked for since somebody set this to False."""

    # Asking.

    async def ask(self, wanted: Sequence[Wanted]) -> Found:
        """Return who has each of some claims; what nobody has is ours, too."""
        if not wanted:
            return {}
        self.asked_since_idle = True
        asking = _Asking(wanted, time.monotonic(), Deferred())
        self._waiting.append(asking)
        self._begin()
        found = await maybe_deferred_to_future(asking.answer)
        lost = lost_of(found)
        self._count("claims/asked", len(wanted))
        self._count("claims/waited_seconds", time.monotonic() - asking.since)
        if lost:
            self._count("claims/lost", len(lost))
        if not self.is_strict:
            self._crawl.rows += [_record(one) for one in wanted if one.claim_key not in lost]
        return found

    def tick(self) -> None:
        """Go on where time has passed: ask again, and let go who waited for a whole lease; call it often."""
        until = time.monotonic() - self._lease_seconds
        for asking in [one for one in (*self._under_way, *self._waiting) if one.since < until]:
            self._give_up(asking)
        ticks, self._ticks = self._ticks, []
        for one in ticks:
            one.callback(None)
        self._begin()

    def _give_up(self, asking: _Asking) -> None:
        if asking in self._waiting:
            self._waiting.remove(asking)
        if not asking.answer.called:
            self._count("claims/given_up", len(asking.wanted))
            asking.answer.callback({})

    async def pause(self) -> None:
        """Wait for the next tick."""
        tick: Deferred[None] = Deferred()
        self._ticks.append(tick)
        await maybe_deferred_to_future(tick)

    def has_lease_passed(self, since: float) -> bool:
        """Say whether a whole lease has passed since an instant of the monotonic clock."""
        return time.monotonic() - since > self._lease_seconds

    def _begin(self) -> None:
        if self._asking is None and self._waiting and time.monotonic() >= self._not_before:
            self._asking = deferred_from_coro(self._ask())

    async def _ask(self) -> None:
        try:
            while self._waiting and time.monotonic() >= self._not_before:
                self._under_way = self._take()
                await self._answer(self._under_way)
        finally:
            self._under_way = []
            self._asking = None

    def _take(self) -> list[_Asking]:
        """Take those that wait, as many as one statement asks for."""
        taken, keys = 0, 0
        while taken < len(self._waiting) and (not taken or keys + len(self._waiting[taken].wanted) <= _MOST_KEYS):
            keys += len(self._waiting[taken].wanted)
            taken += 1
        some, self._waiting = self._waiting[:taken], self._waiting[taken:]
        return some

    async def _answer(self, some: list[_Asking]) -> None:
        self._count("claims/statements", 1)
        wanted = {one.claim_key: one for asking in some for one in asking.wanted}
        try:
            found = await run_in_thread(self._find, list(wanted.values()))
        except StoreError as error:
            self._failed(some, error)
            return
        except Exception:
            logger.exception("Claims count as ours because of a defect in scrapy_dedup")
            found = {}
        if taken_over := sum(holder.taken_over for holder in found.values()):
            self._count("claims/taken_over", taken_over)
        for asking in some:
            if not asking.answer.called:
                own = {one.claim_key: found[one.claim_key] for one in asking.wanted if one.claim_key in found}
                asking.answer.callback(own)

    def _find(self, wanted: list[Wanted]) -> dict[ClaimKey, Holder]:
        """Ask the store; blocks, so call it in a thread."""
        if self.is_strict:
            return self._crawl.store.claim(self._claimant, wanted)
        return self._crawl.store.holders(self._claimant, [one.claim_key for one in wanted])

    def _failed(self, some: list[_Asking], error: StoreError) -> None:
        self._count("store/errors", 1)
        if not self._told:
            self._told = True
            logger.warning("The store does not answer who has which page; it is asked again: %s", error)
        self._not_before = time.monotonic() + RETRY_SECONDS
        if self.is_strict:
            self._waiting = [one for one in some if not one.answer.called] + self._waiting
            return
        for asking in some:
            if not asking.answer.called:
                asking.answer.callback({})

    async def holder(self, key: ClaimKey) -> Holder | None:
        """Return who has something now; None where nobody has, or the store does not say."""
        try:
            return (await run_in_thread(self._crawl.store.holders, self._claimant, [key])).get(key)
        except StoreError:
            self._count("store/errors", 1)
            return None

    # Noting.

    def note(self, wanted: Wanted) -> None:
        """Note a claim without asking; behind it nothing may be written that says it is not needed."""
        key = wanted.claim_key
        if key in self._noted:
            return
        self._noted[key] = None
        if len(self._noted) > _NOTED_REMEMBERED:
            self._noted.popitem(last=False)
        self._crawl.rows.append(_record(wanted))

    def release(self, held: dict[ClaimKey, bytes], keys: Collection[ClaimKey]) -> None:
        """Give back what a page has and does not need."""
        for key in keys:
            if held.pop(key, None) is not None:
                self._crawl.rows.append(ClaimReleasedRecord(*key))

    def over(self, wanted: Collection[Wanted]) -> None:
        """Note that pages need no more be asked for, since nothing came of them."""
        self._crawl.rows += [ClaimDoneRecord(*one.claim_key, one.owner) for one in wanted]


def _record(one: Wanted) -> ClaimRecord:
    return ClaimRecord(one.kind, one.key, one.owner, one.request)

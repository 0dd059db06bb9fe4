import asyncio
from collections import Counter
from collections.abc import Callable, Collection
from datetime import timedelta
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import Deferred

from scrapy_dedup.core.boilerplate.repeats import RepeatPolicy
from scrapy_dedup.core.templates.templates import WINDOW
from scrapy_dedup.plugin.waiting import Loops, ParkingLot, Release, Turn
from scrapy_dedup.service.learning import Learner

MAX_WAIT = timedelta(seconds=30)
LEARNERS = [Learner(f"{name}.example", "html", RepeatPolicy(), 60) for name in "abc"]


class Parked:
    """A parking lot, and what became of the pages in it."""

    def __init__(self, batch_pages: int = 3, max_bytes: int = 2_000_000) -> None:
        self.batches: list[tuple[str, Release, int]] = []
        self.released: list[tuple[int, str]] = []
        self.parked: list[int] = []
        self.lot = ParkingLot(batch_pages, max_bytes, MAX_WAIT, self._on_release)
        self._numbers = count()

    def _on_release(self, learner: Learner, why: Release, pages: Collection[bytes], go_on: Callable[[], None]) -> None:
        self.batches.append((learner.domain, why, len(pages)))
        go_on()

    def park(self, learner: Learner = LEARNERS[0], *, size: int = 10, now: float = 0, key: bytes = b"") -> int:
        number = next(self._numbers)
        deferred: Deferred[str] = self.lot.park(learner, key or str(number).encode(), size, now)
        deferred.addCallback(lambda why: self.released.append((number, why)))
        self.parked.append(number)
        return number

    def tick(self, now: float = 0, *, closing: bool = False, pressure: bool = False, quiet: bool = False) -> None:
        self.lot.tick(now, closing=closing, pressure=pressure, quiet=quiet)


def test_of_a_known_domain_no_more_pages_wait_than_tell_a_redesign():
    known = Learner("known.example", "template", RepeatPolicy(), 60)
    known.known = True
    parked = Parked(batch_pages=16)

    for _ in range(WINDOW):
        parked.park(known)

    assert parked.batches == [("known.example", Release.FULL, WINDOW)]


def test_pages_go_on_once_it_is_known_whether_their_site_was_designed_anew():
    parked = Parked()
    parked.park(LEARNERS[0])
    parked.park(LEARNERS[1])

    parked.lot.settle(LEARNERS[0])
    parked.lot.settle(LEARNERS[2])

    assert parked.batches == [("a.example", Release.JUDGED, 1)]


@pytest.mark.parametrize(
    ("counted", "goes"),
    [
        pytest.param((5, 4, 7), "a.example", id="most-pages-that-can-be-learned-from"),
        pytest.param((4, 1, 1), "c.example", id="else-fewest-siblings-met-last"),
    ],
)
def test_full_lot_and_pressure_let_those_go_who_lose_least(counted, goes):
    learners = [Learner(one.domain, "html", RepeatPolicy(), 60) for one in LEARNERS]
    for learner, pages in zip(learners, counted, strict=True):
        for number in range(pages):
            learner.count(bytes([number]), {})
    full, pressed = Parked(batch_pages=9, max_bytes=3 * 80_000 + 45), Parked(batch_pages=9, max_bytes=10**9)

    for parked in (full, pressed):
        parked.park(learners[0], size=0)
        for learner in learners:
            parked.park(learner, size=0)
    pressed.tick(pressure=True)

    assert [domain for domain, _, _ in full.batches] == [domain for domain, _, _ in pressed.batches] == [goes]


def test_page_counts_with_all_that_it_holds_while_it_waits():
    parked = Parked(batch_pages=9, max_bytes=2 * 80_000 + 4_500)

    parked.park(size=1_000)
    parked.park(size=0)
    assert not parked.batches
    parked.park(size=1)

    assert parked.batches == [("a.example", Release.PRESSURE, 3)]


def test_page_that_parks_another_while_it_is_let_go_breaks_nothing():
    """Without asyncio a released item goes on at once, and makes room for the next one of its response."""
    parked = Parked(batch_pages=2)
    for learner in LEARNERS:
        deferred = parked.lot.park(learner, learner.domain.encode(), 10, 0)
        deferred.addCallback(lambda _: [parked.park(other) for other in LEARNERS])

    parked.tick(closing=True)
    parked.tick(closing=True)

    assert sorted(number for number, _ in parked.released) == parked.parked
    assert parked.lot.size_bytes == len(parked.lot) == 0


PARK = st.tuples(st.just("park"), st.integers(0, 2), st.integers(0, 7), st.integers(0, 300_000))
TICK = st.tuples(st.just("tick"), st.booleans(), st.booleans(), st.booleans())


def test_what_takes_most_of_the_room_goes_before_many_that_take_little():
    large, *small = (Learner(one.domain, "html", RepeatPolicy(), 60) for one in LEARNERS)
    parked = Parked(batch_pages=9, max_bytes=10_000_000)

    large.count(b"known", {})
    parked.park(large, size=2_000_000)
    for learner in small * 3:
        parked.park(learner, size=40_000)

    assert [domain for domain, _, _ in parked.batches] == [large.domain]


@given(st.lists(PARK | TICK, max_size=80), st.integers(1, 6))
def test_every_page_is_let_go_exactly_once(events, batch_pages):
    parked = Parked(batch_pages)

    for now, (event, *values) in enumerate(events):
        if event == "park":
            domain, key, size = values
            parked.park(LEARNERS[domain], key=bytes([domain, key]), size=size, now=now)
        else:
            closing, pressure, quiet = map(bool, values)
            parked.tick(now, closing=closing, pressure=pressure, quiet=quiet)
        assert 80_000 * len(parked.lot) + 4.5 * parked.lot.size_bytes <= 2_000_000
    parked.lot.release_all()

    assert Counter(number for number, _ in parked.released) == Counter(parked.parked)
    assert parked.lot.size_bytes == len(parked.lot) == 0


def test_who_gives_up_waiting_for_a_turn_leaves_it_to_those_behind_when_it_comes():
    inside: list[str] = []
    last: dict[str, Deferred[None]] = {}

    async def take(name: str, ends: asyncio.Event) -> None:
        async with Turn(last, "site"):
            inside.append(name)
            await ends.wait()
            inside.append(f"{name} out")

    async def all_three() -> None:
        ends = asyncio.Event()
        first, second, third = [asyncio.ensure_future(take(name, ends)) for name in ("first", "second", "third")]
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.wait([second])
        await asyncio.sleep(0.01)
        assert inside == ["first"]
        ends.set()
        await asyncio.gather(first, third)

    asyncio.run(all_three())

    assert inside == ["first", "first out", "third", "third out"]
    assert not last


def test_a_call_is_not_begun_while_it_is_under_way_and_the_end_waits_for_it_though_another_fails(caplog):
    async def begin_and_end() -> list[str]:
        loops, said, go_on = Loops(), list[str](), asyncio.Event()

        async def fail() -> None:
            await go_on.wait()
            raise ValueError("odd")

        async def call() -> None:
            said.append("begun")
            await go_on.wait()
            said.append("over")

        for one in (fail, call, call):
            loops.begin(one)
            await asyncio.sleep(0)
        asyncio.get_running_loop().call_soon(go_on.set)
        await loops.end()
        said.append("ended")
        loops.begin(call)
        await loops.end()
        return said

    assert asyncio.run(begin_and_end()) == ["begun", "over", "ended", "begun", "over"]
    assert "odd" in caplog.text

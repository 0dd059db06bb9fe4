from collections.abc import Collection, Iterable, Iterator

from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.plugin.dupefilter import SeenUrls
from scrapy_dedup.store.engine.errors import StoreError
from scrapy_dedup.store.seen_urls import SeenTable
from tests.adapters.extras import needs

needs("rbloom", "seen")


class Table(SeenTable):
    """A table in memory, which can be away."""

    def __init__(self) -> None:
        self.keys: set[bytes] = set()
        self.away = False
        self.asked = 0

    def holds(self, key: bytes) -> bool:
        self._reach()
        self.asked += 1
        return key in self.keys

    def add(self, keys: Collection[bytes]) -> None:
        self._reach()
        self.keys.update(keys)

    def count(self) -> int:
        return len(self.keys)

    def scan(self) -> Iterator[list[bytes]]:
        if self.keys:
            yield sorted(self.keys)

    def _reach(self) -> None:
        if self.away:
            raise StoreError("store: away")


class Always:
    """The worst of all filters: it says "perhaps" of everything."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity

    def add(self, obj: bytes, /) -> None:
        """Note nothing."""

    def update(self, *others: Iterable[bytes]) -> None:
        """Note nothing."""

    def __contains__(self, obj: object, /) -> bool:
        return True


def key(number: int) -> bytes:
    return number.to_bytes(16, "big")


def write(seen: SeenUrls, table: Table) -> None:
    keys = seen.take()
    try:
        table.add(keys)
    except StoreError:
        seen.failed()
    else:
        seen.written()


STEPS = st.lists(st.one_of(st.integers(0, 40), st.just("write")), max_size=120)


@given(STEPS, st.sets(st.integers(0, 120)))
def test_url_that_is_new_passes_also_while_the_store_is_away(steps, away):
    table = Table()
    seen = SeenUrls(table, 1_000, filters=Always, most_waiting=5)
    met: set[int] = set()
    for number, step in enumerate(steps):
        table.away = number in away
        if isinstance(step, str):
            write(seen, table)
        else:
            assert step in met or not seen.meet(key(step))
            met.add(step)
        assert seen.waiting <= 5


def test_what_could_not_be_written_is_written_once_the_store_is_back():
    table = Table()
    seen = SeenUrls(table, 1_000)
    seen.meet(key(1))
    table.away = True
    write(seen, table)
    seen.meet(key(2))
    held = seen.meet(key(1)), seen.meet(key(2))
    table.away = False
    write(seen, table)

    assert held == (True, True)
    assert table.keys == {key(1), key(2)}
    assert seen.unwritten == 0


def test_store_that_is_away_is_asked_again_after_a_write():
    table = Table()
    table.add([key(1), key(2), key(3)])
    seen = SeenUrls(table, 1_000)
    seen.load(lambda _read, _known: None)
    table.away = True
    while_away = seen.meet(key(1)), seen.meet(key(2))
    not_asked = seen.not_asked
    table.away = False
    write(seen, table)

    assert while_away == (False, False)
    assert not_asked == 2
    assert seen.meet(key(3))


def test_long_outage_takes_no_more_memory_and_counts_what_may_come_again():
    table = Table()
    table.away = True
    seen = SeenUrls(table, 1_000, most_waiting=100)
    for number in range(250):
        seen.meet(key(number))
        if number == 99:
            write(seen, table)

    assert seen.waiting == 100
    assert seen.unwritten == 150

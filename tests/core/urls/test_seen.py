from collections.abc import Iterable
from hashlib import blake2b

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_dedup.core.urls.seen import KeyTable, Latest, Layers, key_of

# Keys that share their shard and their first slot, too: they are in each other's way.
keys = st.builds(
    lambda shard, slot, end: bytes([shard]) + slot.to_bytes(8, "big") + bytes([end] * 7),
    st.integers(0, 2),
    st.sampled_from([0, 1, 15, 16, 2**64 - 1]),
    st.integers(0, 9),
)
steps = st.lists(st.tuples(st.sampled_from(["put", "setdefault", "discard"]), keys, st.integers(0, 253)), max_size=150)


class Exact:
    """A filter without false answers, that knows for how many keys it was made."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._keys: set[bytes] = set()

    def add(self, obj: bytes, /) -> None:
        self._keys.add(obj)

    def update(self, *others: Iterable[bytes]) -> None:
        self._keys.update(*others)

    def __contains__(self, obj: object, /) -> bool:
        return obj in self._keys


def key(number: int) -> bytes:
    return number.to_bytes(16, "big")


@pytest.mark.parametrize("urls", [0, 1, 1_000, 1_001, 2_000, 2_001, 12_345])
def test_filter_that_has_grown_holds_what_was_noted_and_nothing_else(urls):
    layers = Layers(Exact, 1_000)
    for number in range(urls):
        layers.add(key(number))

    assert layers.size == urls
    assert all(key(number) in layers for number in range(urls))
    assert not any(key(number) in layers for number in range(urls, urls + 100))


def test_filter_grows_by_a_quarter_and_is_never_larger_than_that():
    made: list[int] = []

    def make(capacity: int) -> Exact:
        made.append(capacity)
        return Exact(capacity)

    layers = Layers(make, 8_000)
    for number in range(8_000):
        layers.add(key(number))
    full = list(made)
    layers.add(key(8_000))
    for number in range(8_001, 12_500):
        layers.add(key(number))

    assert full == [8_000]
    assert made == [8_000, 2_000, 2_500]
    assert layers.capacity == 12_500
    assert len(layers) == 3


def test_key_of_a_hash_is_its_beginning():
    assert key_of(bytes(range(20)), is_hash=True) == bytes(range(16))


@given(st.lists(st.integers(0, 30), max_size=200))
def test_what_was_met_last_is_remembered_and_nothing_that_was_not_met(numbers):
    recent: Latest[int, None] = Latest(5)
    for number in numbers:
        if not recent.meet(number):
            recent[number] = None

    assert [*reversed(recent)] == list(dict.fromkeys(reversed(numbers)))[:5]


@pytest.mark.parametrize("size", ["B", "I", "Q"])
@given(steps=steps)
@example(steps=[("put", bytes(16), 1), ("discard", bytes(16), 0), ("put", bytes(16), 2)])
def test_it_answers_as_a_dict_does(size, steps):
    table, plain = KeyTable(size), dict[bytes, int]()  # one of the three
    for what, key, number in steps:
        if what == "put":
            table.put(key, number)
            plain[key] = number
        elif what == "setdefault":
            assert table.setdefault(key, number) == plain.setdefault(key, number)
        else:
            table.discard(key)
            plain.pop(key, None)

    assert len(table) == len(plain)
    assert {key: table.get(key) for _, key, _ in steps} == {key: plain.get(key) for _, key, _ in steps}
    assert all((key in table) is (key in plain) for _, key, _ in steps)


def test_a_page_takes_at_most_50_bytes():
    table = KeyTable()
    pages = 40_000
    for number in range(pages):
        table.put(blake2b(number.to_bytes(8, "big"), digest_size=16).digest(), number)

    assert sum(len(shard._keys) + len(shard._numbers) * shard._numbers.itemsize for shard in table._shards) / pages < 50
    assert table.get(blake2b((7).to_bytes(8, "big"), digest_size=16).digest()) == 7


def test_what_is_no_page_key_is_refused():
    with pytest.raises(ValueError, match="is no page key: it has 3 bytes"):
        KeyTable().put(b"abc", 1)


def test_filter_takes_many_keys_at_once():
    layers = Layers(Exact, 1_000)
    layers.update([key(1), key(2)])

    assert layers.size == 2
    assert key(2) in layers

from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.key_table import KeyTable

# Keys that share their shard and their first slot, too: they are in each other's way.
keys = st.builds(
    lambda shard, slot, end: bytes([shard]) + slot.to_bytes(8, "big") + bytes([end] * 7),
    st.integers(0, 2),
    st.sampled_from([0, 1, 15, 16, 2**64 - 1]),
    st.integers(0, 9),
)
steps = st.lists(st.tuples(st.sampled_from(["put", "setdefault", "discard"]), keys, st.integers(0, 253)), max_size=150)


@pytest.mark.parametrize("size", ["B", "I", "Q"])
@given(steps=steps)
def test_it_answers_as_a_dict_does(size: str, steps: list[tuple[str, bytes, int]]) -> None:
    table, plain = KeyTable(size), dict[bytes, int]()  # type: ignore[arg-type]  # one of the three
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
    assert sorted(table.numbers()) == sorted(plain.values())


def test_a_page_takes_at_most_50_bytes() -> None:
    table = KeyTable()
    pages = 40_000
    for number in range(pages):
        table.put(blake2b(number.to_bytes(8, "big"), digest_size=16).digest(), number)

    assert sum(len(shard._keys) + len(shard._numbers) * shard._numbers.itemsize for shard in table._shards) / pages < 50
    assert table.get(blake2b((7).to_bytes(8, "big"), digest_size=16).digest()) == 7


def test_what_is_no_page_key_is_refused() -> None:
    with pytest.raises(ValueError, match="is no page key: it has 3 bytes"):
        KeyTable().put(b"abc", 1)

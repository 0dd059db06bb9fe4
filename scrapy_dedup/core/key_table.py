"""A small number for each of millions of page keys, in 30 to 50 bytes a page."""

from array import array
from collections.abc import Iterator
from typing import Final, Literal

KEY_BYTES: Final = 16
"""Of a page key; all of them are held, so that no two pages are ever taken for one."""
_SHARDS: Final = 256
# A table that grows moves all it holds: of a million keys that would stop a crawl for a second, of a shard's 4,000 for
# some milliseconds.
_FIRST_SLOTS: Final = 16
_FULL_AT: Final = 0.75
"""Share of the slots; beyond it a search looks at more than eight of them on average."""
_EMPTY: Final = 0
_REMOVED: Final = 1
_OFFSET: Final = 2
"""Numbers are stored with so much added."""


class KeyTable:
    """Page keys to numbers, as a dict of them is, which takes 130 bytes for a key and 250 with a tuple for its value.

    Source: Knuth, The Art of Computer Programming 3, 6.4 (open addressing with linear probing). Keys are hashes, so
    that they spread over the slots by themselves.
    """

    def __init__(self, size: Literal["B", "I", "Q"] = "Q") -> None:
        """Take how large the numbers may be: up to 253, 4 * 10^9 or 1.8 * 10^19."""
        self._shards = [_Shard(size) for _ in range(_SHARDS)]

    def __len__(self) -> int:
        """Return how many keys there are."""
        return sum(shard.held for shard in self._shards)

    def __contains__(self, key: object) -> bool:
        """Say whether a key has a number."""
        return isinstance(key, bytes) and self.get(key) is not None

    def get(self, key: bytes) -> int | None:
        """Return a key's number; None where it has none."""
        return self._shards[key[0]].get(key)

    def put(self, key: bytes, number: int) -> None:
        """Give a key a number, in place of the one that it has."""
        self._shards[key[0]].put(key, number)

    def setdefault(self, key: bytes, number: int) -> int:
        """Return a key's number, which is the given one from now on where it had none."""
        known = self.get(key)
        if known is not None:
            return known
        self.put(key, number)
        return number

    def discard(self, key: bytes) -> None:
        """Forget a key."""
        self._shards[key[0]].discard(key)

    def numbers(self) -> Iterator[int]:
        """Yield the numbers of all keys, in no order that means something."""
        for shard in self._shards:
            yield from shard.numbers()


class _Shard:
    __slots__ = ("_keys", "_numbers", "_slots", "_used", "held")

    def __init__(self, size: str) -> None:
        self.held = 0
        self._used = 0
        """Slots that are not empty: removed keys still are in the way of a search."""
        self._slots = _FIRST_SLOTS
        self._keys = bytearray(_FIRST_SLOTS * KEY_BYTES)
        self._numbers = array(size, bytes(_FIRST_SLOTS * array(size).itemsize))

    def get(self, key: bytes) -> int | None:
        number = self._numbers[self._slot(key)]
        return number - _OFFSET if number >= _OFFSET else None

    def put(self, key: bytes, number: int) -> None:
        slot = self._slot(key)
        before = self._numbers[slot]
        self._numbers[slot] = number + _OFFSET
        if before >= _OFFSET:
            return
        self.held += 1
        if before == _EMPTY:
            self._keys[slot * KEY_BYTES : (slot + 1) * KEY_BYTES] = key
            self._used += 1
            if self._used > self._slots * _FULL_AT:
                self._grow()

    def discard(self, key: bytes) -> None:
        slot = self._slot(key)
        if self._numbers[slot] >= _OFFSET:
            self._numbers[slot] = _REMOVED
            self.held -= 1

    def numbers(self) -> Iterator[int]:
        return (number - _OFFSET for number in self._numbers if number >= _OFFSET)

    def _slot(self, key: bytes) -> int:
        """Return where a key is, or where it belongs."""
        if len(key) != KEY_BYTES:
            raise ValueError(f"{key!r} is no page key: it has {len(key)} bytes, and needs {KEY_BYTES}")
        keys, numbers, slots = self._keys, self._numbers, self._slots
        slot = int.from_bytes(key[1:9], "big") % slots
        while numbers[slot] and keys[slot * KEY_BYTES : (slot + 1) * KEY_BYTES] != key:
            slot = slot + 1 if slot + 1 < slots else 0
        return slot

    def _grow(self) -> None:
        keys, numbers = self._keys, self._numbers
        # By half: memory is what this table is for. Of removed keys alone it does not grow.
        self._slots = max(_FIRST_SLOTS, self.held * 2)
        self._keys = bytearray(self._slots * KEY_BYTES)
        self._numbers = array(numbers.typecode, bytes(self._slots * numbers.itemsize))
        self._used = self.held
        for at, number in enumerate(numbers):
            if number >= _OFFSET:
                key = bytes(keys[at * KEY_BYTES : (at + 1) * KEY_BYTES])
                slot = self._slot(key)
                self._keys[slot * KEY_BYTES : (slot + 1) * KEY_BYTES] = key
                self._numbers[slot] = number

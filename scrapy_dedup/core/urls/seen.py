"""What of URLs seen is held in memory: filters that say "certainly new", and those that come again and again."""

from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Final, Literal, Protocol, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")

KEY_BYTES: Final = 16
# With a quarter, a filter that has grown is at most a quarter too large. From one million URLs to ten it takes 12
# layers, each of which a new URL asks in 0.1 µs. Growing to twice the size, as sets do, wastes up to half of it.
_GROWTH: Final = 4
_LEAST: Final = 1_000

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


class Filter(Protocol):
    """A Bloom filter: it may say that it holds what was never added, and never the contrary."""

    def add(self, obj: bytes, /) -> None:
        """Note a key."""

    def update(self, *others: Iterable[bytes]) -> None:
        """Note many."""

    def __contains__(self, obj: bytes, /) -> bool:
        """Say whether a key may have been added."""


def key_of(fingerprint: bytes, *, is_hash: bool) -> bytes:
    """Return the 16 bytes by which a fingerprint is known.

    A fingerprint that somebody made without a hash may begin as others do, so it is hashed here. With 16 bytes, the
    odds that any two of 10**9 are equal are 10**-21.
    """
    return fingerprint[:KEY_BYTES] if is_hash else blake2b(fingerprint, digest_size=KEY_BYTES).digest()


class Layers:
    """A filter that grows: where one is full another is added, a quarter as large as all before it.

    Nothing is rebuilt, so growing costs neither time nor twice the memory. Their false answers add up.
    """

    def __init__(self, make: Callable[[int], Filter], capacity: int) -> None:
        """Begin with one filter; `make` returns an empty one for so many keys."""
        self._make = make
        self.capacity = max(_LEAST, capacity)
        """Keys for which there is room."""
        self.size = 0
        """Keys that were noted; one that was noted twice counts twice."""
        self._layers = [make(self.capacity)]

    def __len__(self) -> int:
        """Return the number of filters."""
        return len(self._layers)

    def __contains__(self, key: bytes) -> bool:
        """Say whether a key may have been noted; no means certainly not."""
        for layer in self._layers:  # noqa: SIM110 (a generator costs more than the filters)
            if key in layer:
                return True
        return False

    def add(self, key: bytes) -> None:
        """Note a key."""
        if self.size >= self.capacity:
            self._grow()
        self._layers[-1].add(key)
        self.size += 1

    def update(self, keys: list[bytes]) -> None:
        """Note many keys at once; they should fit into what is left of the capacity."""
        self._layers[-1].update(keys)
        self.size += len(keys)

    def _grow(self) -> None:
        further = max(_LEAST, self.capacity // _GROWTH)
        self._layers.append(self._make(further))
        self.capacity += further


class Latest(OrderedDict[Key, Value]):
    """The entries that were added last, so many of them."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: Key, value: Value) -> None:
        """Add an entry, in the place of the oldest one where there are too many."""
        super().__setitem__(key, value)
        if len(self) > self._most:
            self.popitem(last=False)

    def meet(self, key: Key) -> bool:
        """Say whether there is such an entry; one that is met counts as the last."""
        if key not in self:
            return False
        self.move_to_end(key)
        return True


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

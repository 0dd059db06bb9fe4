"""What of URLs seen is held in memory: filters that say "certainly new", and those that come again and again."""

from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Final, Protocol

KEY_BYTES: Final = 16
# With a quarter, a filter that has grown is at most a quarter too large. From one million URLs to ten it takes 12
# layers, each of which a new URL asks in 0.1 µs. Growing to twice the size, as sets do, wastes up to half of it.
_GROWTH: Final = 4
_LEAST: Final = 1_000


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


class Recent:
    """Remembers the keys that were noted or met last: at least so many, at most twice as many."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._young: set[bytes] = set()
        self._old: set[bytes] = set()

    def __contains__(self, key: bytes) -> bool:
        """Say whether a key is remembered; one that is met stays."""
        if key in self._young:
            return True
        if key in self._old:
            self.add(key)
            return True
        return False

    def add(self, key: bytes) -> None:
        """Remember a key."""
        if len(self._young) >= self._size:
            self._old, self._young = self._young, set()
        self._young.add(key)

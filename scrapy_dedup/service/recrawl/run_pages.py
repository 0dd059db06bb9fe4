"""What one run knows of each of its pages, in 30 to 50 bytes a page: it may have millions."""

from collections import OrderedDict
from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

from scrapy_dedup.core.recrawl.verdicts import VerdictKind
from scrapy_dedup.core.urls.seen import KEY_BYTES, KeyTable

_KINDS: Final = tuple(VerdictKind)


class Given:
    """Keys of the pages that a run gives items of, and which of them an earlier part of the run has given.

    None is ever forgotten: after a kill a page that came again would go out again. Whole keys are held: none is taken
    for another.
    """

    def __init__(self) -> None:
        self._table = KeyTable("B")

    def __len__(self) -> int:
        """Return how many pages there are."""
        return len(self._table)

    def __contains__(self, key: bytes) -> bool:
        """Say whether items of a page are given."""
        return key in self._table

    def add(self, key: bytes, *, earlier: bool = False) -> bool:
        """Add a page; return whether an earlier part of the run has given its items."""
        return bool(self._table.setdefault(key, int(earlier)))

    def discard(self, key: bytes) -> None:
        """Forget a page: its items were lost."""
        self._table.discard(key)


class RecentPages:
    """The keys that came last, so many of them."""

    def __init__(self, most: int) -> None:
        self._keys: OrderedDict[bytes, None] = OrderedDict()
        self._most = most

    def __contains__(self, key: bytes) -> bool:
        """Say whether a key is remembered."""
        return key in self._keys

    def add(self, key: bytes) -> None:
        """Add a key."""
        self._keys[key] = None
        if len(self._keys) > self._most:
            self._keys.popitem(last=False)


class PagesMet:
    """Pages that a run has received, or that what is held stands for, and what they were."""

    def __init__(self) -> None:
        self._table = KeyTable("B")
        self._had: set[VerdictKind] = set()

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._table)

    def __contains__(self, key: object) -> bool:
        """Say whether a page was met."""
        return key in self._table

    def __setitem__(self, key: bytes, kind: VerdictKind) -> None:
        """Note what a page was."""
        self._table.put(key, _KINDS.index(kind))
        self._had.add(kind)

    def get(self, key: bytes) -> VerdictKind | None:
        """Return what a page was; None where it was not met."""
        number = self._table.get(key)
        return _KINDS[number] if number is not None else None

    def had(self, kind: VerdictKind) -> bool:
        """Say whether any page was of a kind."""
        return kind in self._had


class Names:
    """A set of names of any kind, by 128 bits of their hashes: with ten million of them two are one by 10^-25."""

    def __init__(self) -> None:
        self._table = KeyTable("B")

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._table)

    def has(self, *parts: bytes) -> bool:
        """Say whether the name that is made of some parts is there."""
        return _hashed(parts) in self._table

    def add(self, *parts: bytes) -> None:
        """Add the name that is made of some parts."""
        self._table.put(_hashed(parts), 0)


def _hashed(parts: Iterable[bytes]) -> bytes:
    whole = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return blake2b(whole, digest_size=KEY_BYTES).digest()

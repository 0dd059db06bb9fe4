"""What one run knows of each of its pages, in 30 to 50 bytes a page: it may have millions."""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

from scrapy_dedup.core.seen import KEY_BYTES, KeyTable
from scrapy_dedup.core.verdicts import Kind

_CALLBACK_BITS: Final = 24
_KINDS: Final = tuple(Kind)


class Owners:
    """Page key to the visit, and its callback, whose items stand for the page in this run.

    None is ever forgotten: a page that came again would go out again. Whole keys are held: none is taken for another.
    """

    def __init__(self) -> None:
        self._table = KeyTable("Q")
        self._numbers: dict[str, int] = {}
        """Of the callbacks' names, which are few."""
        self._names: list[str] = []

    def __len__(self) -> int:
        """Return how many pages have one."""
        return len(self._table)

    def __contains__(self, key: bytes) -> bool:
        """Say whether a page has one."""
        return key in self._table

    def setdefault(self, key: bytes, owner: tuple[int, str]) -> tuple[int, str]:
        """Return a page's owner, which is the given one from now on where it had none.

        Args:
            key: of the page.
            owner: a visit's serial number, -1 for an earlier part of the run, and the name of its callback.
        """
        serial, name = owner
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = len(self._names)
            self._names.append(name)
        found = self._table.setdefault(key, (serial + 1) << _CALLBACK_BITS | number)
        return (found >> _CALLBACK_BITS) - 1, self._names[found & ((1 << _CALLBACK_BITS) - 1)]

    def discard(self, key: bytes) -> None:
        """Let a page have none any more."""
        self._table.discard(key)


class PagesMet:
    """Pages that a run has received, or that what is held stands for, and what they were."""

    def __init__(self) -> None:
        self._table = KeyTable("B")
        self._had: set[Kind] = set()

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._table)

    def __contains__(self, key: object) -> bool:
        """Say whether a page was met."""
        return key in self._table

    def __setitem__(self, key: bytes, kind: Kind) -> None:
        """Note what a page was."""
        self._table.put(key, _KINDS.index(kind))
        self._had.add(kind)

    def get(self, key: bytes) -> Kind | None:
        """Return what a page was; None where it was not met."""
        number = self._table.get(key)
        return _KINDS[number] if number is not None else None

    def had(self, kind: Kind) -> bool:
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

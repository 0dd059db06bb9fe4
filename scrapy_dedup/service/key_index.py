"""Which pages have something: for the thousands of names that one page alone has, without a set for each."""

from collections.abc import Collection
from typing import Generic, TypeVar

Name = TypeVar("Name")


class KeyIndex(Generic[Name]):
    """Page keys by a name that pages share."""

    def __init__(self) -> None:
        # A page key alone costs the garbage collector nothing; a set of one is looked at each time.
        self._keys: dict[Name, bytes | set[bytes]] = {}

    def add(self, name: Name, key: bytes) -> None:
        """Note that a page has it."""
        held = self._keys.setdefault(name, key)
        if isinstance(held, set):
            held.add(key)
        elif held != key:
            self._keys[name] = {held, key}

    def discard(self, name: Name, key: bytes) -> None:
        """Note that a page has it no more."""
        held = self._keys.get(name)
        if isinstance(held, set):
            held.discard(key)
            if len(held) == 1:
                self._keys[name] = held.pop()
        elif held == key:
            del self._keys[name]

    def of(self, name: Name) -> Collection[bytes]:
        """Return the pages that have it."""
        held = self._keys.get(name)
        if held is None:
            return ()
        return held if isinstance(held, set) else (held,)

"""Blocks of a page as they are shown: so many as there is room for, neighbours with one fate together."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Protocol, TypeVar


class _WithText(Protocol):
    @property
    def text(self) -> str: ...


Block = TypeVar("Block", bound=_WithText)


def neighbours(blocks: Iterable[Block], *names: str) -> Iterator[list[Block]]:
    """Yield blocks in their order, those next to each other together whose attributes of these names are equal."""
    for _, members in groupby(blocks, key=attrgetter(*names)):
        yield list(members)


def fitting(blocks: Sequence[Block], most: int, longest: int, chars: int) -> Sequence[Block]:
    """Return the first blocks, at most so many, which have at most so many characters, `longest` of each."""
    left = chars
    for number, one in enumerate(blocks[:most]):
        left -= min(len(one.text), longest)
        if left < 0:
            return blocks[:number]
    return blocks[:most]

"""Which subtrees the pages of a layout have in common, and which vary."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from msgspec import Struct, field

# A menu marks the page that it stands on, a footer counts visitors: one page in ten may differ.
_SAME: Final = 0.9
# What fewer pages have is neither common nor does it vary: it is an exception.
_USUAL: Final = 0.5
_MOST: Final = 20
# Deeper paths are seen as their beginning: 5,000 nested elements have 5,000 paths of 5,000 steps.
_MOST_STEPS: Final = 40
_64_BITS: Final = (1 << 64) - 1

PageBlocks = Sequence[tuple[str, int, int]]
"""(DOM path, fingerprint, characters) of each block, in order."""


class Subtree(Struct, frozen=True):
    """All blocks under one DOM path."""

    path: str
    pages: int
    """Pages that have it."""
    same: int
    """Pages on which it is what it most often is."""
    chars: int
    """Of text, on a mean page."""


class _Seen(Struct):
    pages: int = 0
    chars: int = 0
    contents: Counter[int] = field(default_factory=Counter)
    """Of a page, to the number of pages."""

    @property
    def is_common(self) -> bool:
        return max(self.contents.values()) >= _SAME * self.pages


def split_subtrees(pages: Sequence[PageBlocks]) -> tuple[tuple[Subtree, ...], tuple[Subtree, ...]]:
    """Return the largest subtrees that are common to the pages, and the largest that vary; most text first, 20 each.

    A subtree that varies is divided where some subtree within is common; no subtree is part of another.
    """
    seen = _seen(pages)
    children: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(seen):
        parent = path.rpartition(">")[0]
        if parent:
            children[parent].append(path)
    usual = {path for path, one in seen.items() if one.pages >= max(2, _USUAL * len(pages))}
    mixed = _above((path for path in sorted(usual) if seen[path].is_common), seen)
    common: list[Subtree] = []
    varying: list[Subtree] = []
    waiting = [path for path in sorted(usual) if not path.rpartition(">")[0]]
    while waiting:
        path = waiting.pop()
        if seen[path].is_common:
            common.append(_subtree(path, seen[path]))
        elif path in mixed:
            waiting += [child for child in children[path] if child in usual]
        else:
            varying.append(_subtree(path, seen[path]))
    # A list that is the same on four pages of five varies, too, but what is new on each page comes first.
    return _first(common, lambda one: one.chars), _first(varying, lambda one: one.chars * (one.pages - one.same))


def _seen(pages: Sequence[PageBlocks]) -> dict[str, _Seen]:
    prefixes: dict[str, list[str]] = {}
    seen: defaultdict[str, _Seen] = defaultdict(_Seen)
    for blocks in pages:
        own: dict[str, tuple[int, int]] = {}
        for path, fingerprint, chars in blocks:
            content, length = own.get(path, (0, 0))
            # Order counts: the same entries in another order are another list.
            own[path] = ((content * 31 + fingerprint) & _64_BITS, length + chars)
        contents: dict[str, tuple[int, int]] = {}
        for path, (own_content, own_length) in own.items():
            if path not in prefixes:
                prefixes[path] = _prefixes(path)
            for prefix in prefixes[path]:
                content, length = contents.get(prefix, (0, 0))
                contents[prefix] = ((content * 31 + own_content) & _64_BITS, length + own_length)
        for prefix, (content, length) in contents.items():
            one = seen[prefix]
            one.pages += 1
            one.chars += length
            one.contents[content] += 1
    return seen


def _prefixes(path: str) -> list[str]:
    steps = path.split(">", _MOST_STEPS)[:_MOST_STEPS]
    return [">".join(steps[: count + 1]) for count in range(len(steps))]


def _above(paths: Iterable[str], seen: dict[str, _Seen]) -> set[str]:
    """Return all ancestors of some paths."""
    above: set[str] = set()
    for path in paths:
        parent = path.rpartition(">")[0]
        while parent and parent not in above and parent in seen:
            above.add(parent)
            parent = parent.rpartition(">")[0]
    return above


def _subtree(path: str, one: _Seen) -> Subtree:
    return Subtree(path, one.pages, max(one.contents.values()), round(one.chars / one.pages))


def _first(subtrees: list[Subtree], weight: Callable[[Subtree], int]) -> tuple[Subtree, ...]:
    return tuple(sorted(subtrees, key=lambda subtree: (-weight(subtree), subtree.path))[:_MOST])

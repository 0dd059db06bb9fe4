"""How long a selector may take on a page: it is told from its form and the page's, before it is run."""

import re
from functools import lru_cache
from math import comb
from typing import Final, NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from scrapy_dedup.core.marking_xpath import WIDE, is_xpath

# A unit is 5 ns: what all selectors of a page may take together ends within two thirds of a second.
_MOST_UNITS: Final = 120_000_000
_UNITS_AN_ELEMENT: Final = 10
# An element that is matched is written on, at 1 to 2 µs.
_UNITS_A_MARK: Final = 400

_QUOTED: Final = re.compile(r"\"[^\"]*\"|'[^']*'|\[[^\]]*\]")
_AROUND_COMBINATOR: Final = re.compile(r"\s*([>+~,()])\s*")
_NTH: Final = re.compile(r":nth-")


class Form(NamedTuple):
    """What makes a selector slow."""

    inner: int
    """Steps from an element to any one above or below it: the parser tries all ways to take them."""
    beside: int
    """Steps to any element beside it."""


class Shape(NamedTuple):
    """What makes a page slow."""

    elements: int
    depth: int
    siblings: int


@lru_cache(maxsize=4_096)
def form_of(selector: str) -> Form:
    """Return what makes a selector slow."""
    if is_xpath(selector):
        return Form(max(0, len(WIDE.findall(selector)) - 1), 0)
    bare = _AROUND_COMBINATOR.sub(r"\1", _QUOTED.sub("_", selector).strip())
    inner = max((len(part.split()) - 1 for part in bare.split(",")), default=0) + bare.count(":has(")
    return Form(inner, bare.count("~") + len(_NTH.findall(bare)))


def units(form: Form, shape: Shape, *, xpath: bool = False) -> int:
    """Return about how much work a selector is, at its worst."""
    n, depth, siblings = shape
    if xpath and form.inner > 0:
        # Each step anywhere joins sets of elements, which takes the square of their size.
        return int((n * n * depth // 10) ** form.inner)
    ways = max(1, comb(depth, form.inner)) * max(1, comb(siblings, form.beside))
    return n * (_UNITS_AN_ELEMENT + ways)


class Costs:
    """What may still be spent on the selectors of one page."""

    def __init__(self, tree: LexborHTMLParser) -> None:
        self._tree = tree
        self._left = _MOST_UNITS
        self._shape: Shape | None = None

    def allow(self, selector: str) -> bool:
        """Say whether a selector may be run, and count it."""
        if self._shape is None:
            self._shape = _shape_of(self._tree)
        return self._spend(units(form_of(selector), self._shape, xpath=is_xpath(selector)))

    def allow_marks(self, elements: int) -> bool:
        """Say whether so many elements may be marked, and count them; after the first that may not no selector runs."""
        allowed = self._spend(elements * _UNITS_A_MARK)
        if not allowed:
            self._left = 0
        return allowed

    def _spend(self, cost: int) -> bool:
        if cost > self._left:
            return False
        self._left -= cost
        return True


def _shape_of(tree: LexborHTMLParser) -> Shape:
    root = tree.root
    elements = deepest = most = 0
    stack: list[tuple[LexborNode, int]] = [(root, 1)] if root is not None else []
    while stack:
        node, depth = stack.pop()
        deepest = max(deepest, depth)
        children = [(child, depth + 1) for child in node.iter()]
        elements += len(children)
        most = max(most, len(children))
        stack += children
    return Shape(elements + 1, deepest, most)

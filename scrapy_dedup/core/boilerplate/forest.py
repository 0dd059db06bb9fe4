"""Boosted trees as Python code: a row goes through two hundred of them in the time of a tenth of a walk through tuples.

Each tree becomes one nested conditional expression over local names, made once a model. Neither numpy nor a compiler is
needed for it.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

Tree = tuple[Any, ...] | float
"""A leaf's odds, or (column, threshold, where what is missing goes, smaller, larger, odds so far)."""

Leaves = tuple[int, ...]
"""Which leaf of each tree a row comes to; numbered through all trees."""

# Trees a function: beyond some hundred constants the interpreter needs longer instructions.
_AT_ONCE: Final = 50


class Forest:
    """Trees over rows of so many columns."""

    def __init__(self, trees: Sequence[Tree], width: int) -> None:
        """Take trees whose columns are integers below *width*, and whose other numbers are finite floats."""
        self._width = width
        self._odds: list[float] = []
        """What each leaf says."""
        self._ways: list[tuple[tuple[int, float], ...]] = []
        """What changed on the way to each leaf, from the root down: (column, odds)."""
        self._functions = [self._function(trees[at : at + _AT_ONCE]) for at in range(0, len(trees), _AT_ONCE)]

    def leaves(self, row: Sequence[float]) -> Leaves:
        """Return to which leaves a row comes; what is missing in it is NaN."""
        found: list[int] = []
        for function in self._functions:
            found += function(row)
        return tuple(found)

    def odds(self, leaves: Leaves) -> float:
        """Return what leaves say together."""
        return sum(map(self._odds.__getitem__, leaves))

    def spoke(self, leaves: Leaves) -> list[float]:
        """Return what each column changed on the ways to leaves."""
        changed, ways = [0.0] * self._width, self._ways
        for leaf in leaves:
            for column, change in ways[leaf]:
                changed[column] += change
        return changed

    def _function(self, trees: Sequence[Tree]) -> Callable[[Sequence[float]], Leaves]:
        """Return what gives for a row one leaf a tree.

        What is compiled holds names that are made here and numbers, as Python writes integers and finite floats: no
        text of a model's file reaches it.
        """
        names = ", ".join(f"c{column}" for column in range(self._width))
        leaves = ", ".join(self._expression(tree, ()) for tree in trees)
        code = compile(f"def leaves(row):\n    {names}, = row\n    return {leaves},\n", "<forest>", "exec")
        made: dict[str, Any] = {}
        exec(code, {"__builtins__": {}}, made)  # noqa: S102 (of numbers alone; see above)
        found: Callable[[Sequence[float]], Leaves] = made["leaves"]
        return found

    def _expression(self, tree: Tree, way: tuple[tuple[int, float], ...]) -> str:
        if not isinstance(tree, tuple):
            self._odds.append(tree)
            self._ways.append(way)
            return str(len(self._odds) - 1)
        column, threshold, missing_left, smaller, larger, here = tree
        less = self._expression(smaller, (*way, (column, _odds_at(smaller) - here)))
        more = self._expression(larger, (*way, (column, _odds_at(larger) - here)))
        # NaN is neither larger nor smaller than any number: so it goes to what stands behind `else`.
        if missing_left:
            return f"({more} if c{int(column)} > {float(threshold)!r} else {less})"
        return f"({less} if c{int(column)} <= {float(threshold)!r} else {more})"


def _odds_at(tree: Tree) -> float:
    return tree[5] if isinstance(tree, tuple) else tree

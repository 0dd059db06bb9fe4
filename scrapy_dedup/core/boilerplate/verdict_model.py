"""The trained model that says how likely what stands on a DOM path is content, and what spoke for that.

Boosted trees of a few steps each, over the figures of `path_features` and the words of a path's names. Trained by
`python -m benchmarks.train`; read and walked here without the libraries that trained it.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from hashlib import blake2b
from math import exp, isfinite, isnan
from operator import itemgetter
from typing import Any, Final, overload

from msgspec import Struct

from scrapy_dedup.core.boilerplate.path_features import FIGURES, DropReason, Figure, PathNode
from scrapy_dedup.core.errors import DedupError

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


VERSION: Final = 1
_TOLD: Final = 3
# Beyond that no tree was trained: a file that has more was not written by the trainer.
_MOST_TREES: Final = 2_000
_MOST_DEPTH: Final = 8
_HOW: Final = "install scrapy_dedup again, or make one with `python -m benchmarks.train`"


class ModelError(DedupError):
    """The model's file is missing, damaged or of another version."""


def kind_of(name: str) -> DropReason:
    """Return of which kind a figure is, or a word of a name."""
    if ":" in name:
        return DropReason.NAMED
    return FIGURES[name].kind if name in FIGURES else _OTHERS[name].kind


# Of what a browser showed, and of what was known before a redesign; no tree asks for them.
_OTHERS: Final = {
    "looks": Figure(DropReason.OUTSIDE, "a browser shows {:.0%} of it as content"),
    "unseen": Figure(DropReason.UNSEEN, "no person sees its text"),
    "surrounds": Figure(DropReason.REPEATS, "{:.0%} of its text surrounded the content before the site's redesign"),
}

Reason = tuple[str, float]
"""A figure's name, or that of a word, and its value."""


class Told(Sequence[Reason]):
    """Reasons that are worked out when somebody asks for them the first time; a page needs those of few of its paths.

    Equal to the tuple of the same reasons, and pickled as that.
    """

    __slots__ = ("_find", "_found")

    def __init__(self, find: Callable[[], tuple[Reason, ...]]) -> None:
        self._find: Callable[[], tuple[Reason, ...]] | None = find
        self._found: tuple[Reason, ...] = ()

    def all(self) -> tuple[Reason, ...]:
        """Return them."""
        find = self._find
        if find is not None:
            # In this order: another thread that asks meanwhile finds the same once more.
            self._found = find()
            self._find = None
        return self._found

    @overload
    def __getitem__(self, place: int) -> Reason: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Reason, ...]: ...
    def __getitem__(self, place: int | slice) -> Reason | tuple[Reason, ...]:
        return self.all()[place]

    def __len__(self) -> int:
        return len(self.all())

    def __eq__(self, other: object) -> bool:
        return self.all() == (other.all() if isinstance(other, Told) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.all())

    def __reduce__(self) -> tuple[type[tuple[Reason, ...]], tuple[tuple[Reason, ...]]]:
        return tuple, (self.all(),)


class JudgedPath(Struct, frozen=True):
    """What the model says of one path."""

    odds: float
    """Log odds that it is content, calibrated on sites that were left out."""
    reasons: Sequence[Reason]
    """The figures that spoke most for where it stands now, strongest first."""

    @property
    def probability(self) -> float:
        """How likely it is content, 0.0 to 1.0."""
        return 1 / (1 + exp(-self.odds))


class VerdictModel(Struct, frozen=True, dict=True):
    """Trees, and what their columns are."""

    columns: tuple[str, ...]
    """Names of figures, or `named:word` and `in:word` for words of a path's own names, and of those above it too."""
    trees: tuple[Tree, ...]
    scale: float
    shift: float
    made: Mapping[str, Any]
    """When, from what, and how; for people."""

    @classmethod
    def from_json(cls, stored: Any) -> "VerdictModel":
        """Return the model that the trainer wrote.

        Raises:
            ModelError: it is of another version, of other figures, or damaged.
        """
        try:
            version, figures = stored["version"], stored["figures"]
            if version != VERSION or figures != figures_hash():
                raise ModelError(
                    f"the model of what is content is of version {version!r} and figures {figures!r}: this program "
                    f"needs version {VERSION} and {figures_hash()}; {_HOW}"
                )
            columns = tuple(map(str, stored["columns"]))
            if not all(name in FIGURES or name.startswith(("named:", "in:")) for name in columns):
                raise ValueError("a column is unknown")  # noqa: TRY301 (as all that is wrong with it)
            trees = tuple(_tree(one, len(columns), 0) for one in stored["trees"])
            if not 0 < len(trees) <= _MOST_TREES:
                raise ValueError(f"{len(trees)} trees")  # noqa: TRY301
            scale, shift = _number(stored["scale"]), _number(stored["shift"])
            made = dict(stored["made"])
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise ModelError(f"the model of what is content cannot be read ({error!r}): {_HOW}") from error
        return cls(columns, trees, scale, shift, made)

    def judge(self, rows: Mapping[PathNode, Sequence[float]]) -> dict[PathNode, JudgedPath]:
        """Return what the model says of each path, given its figures in the order of FIGURES."""
        forest, pick = self._forest, self._pick
        words, words_above = self._words
        found = {}
        for node, figures in rows.items():
            row = [*pick((*figures, 0.0))]
            for word in node.tokens:
                if word in words:
                    row[words[word]] = 1.0
            for word in node.above:
                if word in words_above:
                    row[words_above[word]] = 1.0
            leaves = forest.leaves(row)
            odds = forest.odds(leaves)
            reasons = Told(partial(self._reasons, leaves, row, odds))
            found[node] = JudgedPath(self.scale * odds + self.shift, reasons)
        return found

    @cached_property
    def _forest(self) -> Forest:
        return Forest(self.trees, len(self.columns))

    @cached_property
    def _pick(self) -> Callable[[Sequence[float]], tuple[float, ...]]:
        """Take from figures, and a nought behind them, what the columns are before words are looked at."""
        numbers = {name: place for place, name in enumerate(FIGURES)}
        places = [numbers.get(name, len(numbers)) for name in self.columns]
        return itemgetter(*places) if len(places) > 1 else lambda figures: (figures[places[0]],)

    @cached_property
    def _words(self) -> tuple[dict[str, int], dict[str, int]]:
        """Return the columns of words of a path's own names, and of those above it."""
        of_path, above = (
            {name.removeprefix(begin): at for at, name in enumerate(self.columns) if name.startswith(begin)}
            for begin in ("named:", "in:")
        )
        return of_path, above

    @cached_property
    def _told_of(self) -> list[tuple[str, int, bool]]:
        """Return of each column its name, the number of its kind, and whether it says something where it is nought.

        Numbers, because a look-up by a member of an enumeration calls Python.
        """
        kinds = list(DropReason)
        return [
            (name, kinds.index(kind_of(name)), not (":" in name or name.startswith("in_"))) for name in self.columns
        ]

    def _reasons(self, leaves: Leaves, row: Sequence[float], odds: float) -> tuple[Reason, ...]:
        spoke, about = self._forest.spoke(leaves), self._told_of
        if odds >= 0:
            columns = [column for column, weight in enumerate(spoke) if weight > 0]
        else:
            columns = [column for column, weight in enumerate(spoke) if weight < 0]
        # That something has not a certain name is no reason that a person would give, nor what is not known.
        told = [
            (abs(spoke[column]), about[column][0], value, about[column][1])
            for column in columns
            if ((value := row[column]) or about[column][2]) and not isnan(value)
        ]
        told.sort(reverse=True)
        of_kind: defaultdict[int, float] = defaultdict(float)
        for weight, _, _, kind in told:
            of_kind[kind] += weight
        # What speaks in many figures of one kind leads, by its strongest.
        if told:
            leading = max(of_kind, key=of_kind.__getitem__)
            first = next(one for one in told if one[3] == leading)
            told.remove(first)
            told.insert(0, first)
        return tuple((name, round(value, 3)) for _, name, value, _ in told[:_TOLD])


def figures_hash() -> str:
    """Return what stands for the figures that a model weighs."""
    return blake2b(repr(tuple(FIGURES)).encode(), digest_size=6).hexdigest()


def _tree(stored: Any, columns: int, depth: int) -> Tree:
    if not isinstance(stored, list):
        return _number(stored)
    if depth >= _MOST_DEPTH:
        raise ValueError("a tree is too deep")
    column, threshold, missing_left, smaller, larger, here = stored
    if not 0 <= int(column) < columns:
        raise ValueError("a tree asks for a column that is not there")
    return (
        int(column),
        _number(threshold),
        bool(missing_left),
        _tree(smaller, columns, depth + 1),
        _tree(larger, columns, depth + 1),
        _number(here),
    )


def _number(stored: Any) -> float:
    number = float(stored)
    if not isfinite(number):
        raise ValueError(f"{stored!r} is no number")
    return number


def words_of(name: str, value: float) -> str:
    """Return a figure in words: `68% of its text links`."""
    if name.startswith("named:"):
        return f"it is named {name[6:].lstrip('@%')!r}"
    if name.startswith("in:"):
        return f"it stands in what is named {name[3:].lstrip('@%')!r}"
    return (FIGURES.get(name) or _OTHERS[name]).words.format(value)

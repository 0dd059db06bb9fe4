"""The trained model that says how likely what stands on a DOM path is content, and what spoke for that.

Boosted trees of a few steps each, over the figures of `path_features` and the words of a path's names. Trained by
`python -m benchmarks.train`; read and walked here without the libraries that trained it.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from math import exp, isfinite, isnan
from typing import Any, Final

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.path_features import FIGURES, DropReason, Figure, PathNode

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


Tree = tuple[Any, ...] | float
"""A leaf's odds, or (column, threshold, where what is missing goes, smaller, larger, odds so far)."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What the model says of one path."""

    odds: float
    """Log odds that it is content, calibrated on sites that were left out."""
    reasons: tuple[tuple[str, float], ...]
    """The figures that spoke most for where it stands now, strongest first, as (name, value)."""

    @property
    def probability(self) -> float:
        """How likely it is content, 0.0 to 1.0."""
        return 1 / (1 + exp(-self.odds))


@dataclass(frozen=True, slots=True)
class VerdictModel:
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

    def judge(self, rows: Mapping[PathNode, Sequence[float]]) -> dict[PathNode, Judged]:
        """Return what the model says of each path, given its figures in the order of FIGURES."""
        places, words, words_above = _places(self.columns)
        width = len(self.columns)
        found = {}
        for node, figures in rows.items():
            row = [figures[place] if place >= 0 else 0.0 for place in places]
            for word in node.tokens:
                if word in words:
                    row[words[word]] = 1.0
            for word in node.above:
                if word in words_above:
                    row[words_above[word]] = 1.0
            spoke = [0.0] * width
            odds = sum(_walk(tree, row, spoke) for tree in self.trees)
            found[node] = Judged(self.scale * odds + self.shift, self._reasons(spoke, row, odds))
        return found

    def _reasons(self, spoke: Sequence[float], row: Sequence[float], odds: float) -> tuple[tuple[str, float], ...]:
        sign = 1 if odds >= 0 else -1
        # That something has not a certain name is no reason that a person would give, nor what is not known.
        told = [
            (sign * spoke[column], name, row[column])
            for column, name in enumerate(self.columns)
            if sign * spoke[column] > 0
            and not isnan(row[column])
            and not (row[column] == 0 and (":" in name or name.startswith("in_")))
        ]
        told.sort(reverse=True)
        of_kind: defaultdict[DropReason, float] = defaultdict(float)
        for weight, name, _ in told:
            of_kind[kind_of(name)] += weight
        # What speaks in many figures of one kind leads, by its strongest.
        if told:
            kind = max(of_kind, key=lambda each: of_kind[each])
            first = next(one for one in told if kind_of(one[1]) is kind)
            told.remove(first)
            told.insert(0, first)
        return tuple((name, round(value, 3)) for _, name, value in told[:_TOLD])


def _walk(tree: Tree, row: Sequence[float], spoke: list[float]) -> float:
    """Return what one tree says of a row, and add to each column what it changed on the way."""
    while isinstance(tree, tuple):
        column, threshold, missing_left, smaller, larger, here = tree
        value = row[column]
        tree = smaller if value <= threshold or (missing_left and isnan(value)) else larger
        spoke[column] += (tree[5] if isinstance(tree, tuple) else tree) - here
    return tree


def figures_hash() -> str:
    """Return what stands for the figures that a model weighs."""
    return blake2b(repr(tuple(FIGURES)).encode(), digest_size=6).hexdigest()


def _places(columns: Sequence[str]) -> tuple[list[int], dict[str, int], dict[str, int]]:
    numbers = {name: place for place, name in enumerate(FIGURES)}
    words = {name.removeprefix("named:"): place for place, name in enumerate(columns) if name.startswith("named:")}
    above = {name.removeprefix("in:"): place for place, name in enumerate(columns) if name.startswith("in:")}
    return [numbers.get(name, -1) for name in columns], words, above


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

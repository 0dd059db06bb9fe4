"""The trained model that says how likely what stands on a DOM path is content, and what spoke for that.

Boosted trees of a few steps each, over the figures of `path_features` and the words of a path's names. Trained by
`python -m benchmarks.train`; read and walked here without the libraries that trained it.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from math import exp, isfinite, isnan
from typing import Any, Final

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.path_features import FEATURES, PathNode

VERSION: Final = 1
_TOLD: Final = 3
# Beyond that no tree was trained: a file that has more was not written by the trainer.
_MOST_TREES: Final = 2_000
_MOST_DEPTH: Final = 8
_HOW: Final = "install scrapy_dedup again, or make one with `python -m benchmarks.train`"


class ModelError(DedupError):
    """The model's file is missing, damaged or of another version."""


class DropReason(StrEnum):
    """Of which kind the figure is that spoke most against what stands on a path."""

    REPEATS = "repeats"
    """Its text is that of other pages."""
    LINKS = "links"
    """Its text, or that around it, leads elsewhere."""
    NAMED = "named"
    """By tag, class, id or role it, or what it stands in, is called as what surrounds content."""
    OUTSIDE = "outside"
    """Where it stands, and how much of a page's own text is there."""
    FORM = "form"
    """Fields and buttons stand around it."""
    TEXT = "text"
    """How its text is made: how long, with how many digits and marks."""
    UNSEEN = "unseen"
    """No person sees it, and no click opens it."""


_KINDS: Final[dict[str, DropReason]] = {
    **dict.fromkeys(
        "own_shared own_often shared often parent_shared parent_often most_often own_repeated repeated distinct "
        "distinct_page same_length".split(),
        DropReason.REPEATS,
    ),
    **dict.fromkeys(
        "own_links links parent_links most_links links_before links_behind own_within within parent_within own_away "
        "short_links".split(),
        DropReason.LINKS,
    ),
    **dict.fromkeys("around content arounds contents around_at content_at in_heading".split(), DropReason.NAMED),
    **dict.fromkeys("controls control_rate parent_controls in_form in_label in_fieldset".split(), DropReason.FORM),
    **dict.fromkeys(
        "own_chars own_block own_punctuation own_digits own_capitals own_long own_largest block chars punctuation long "
        "parent_block parent_chars parent_punctuation parent_long title most_title longest_text length_spread".split(),
        DropReason.TEXT,
    ),
    **dict.fromkeys(("hidden", "unseen"), DropReason.UNSEEN),
}


def kind_of(name: str) -> DropReason:
    """Return of which kind a figure is."""
    if ":" in name or (name.startswith("in_") and name not in _KINDS):
        return DropReason.NAMED
    return _KINDS.get(name, DropReason.OUTSIDE)


Tree = tuple[Any, ...] | float
"""A leaf's odds, or (column, threshold, where what is missing goes, smaller, larger, odds so far)."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What the model says of one path."""

    odds: float
    """Log odds that it is content, calibrated; each path above a leaf speaks in it."""
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
            known = {name for name, _ in FEATURES}
            if not all(name in known or name.startswith(("named:", "in:")) for name in columns):
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
        """Return what the model says of each path, given its figures in the order of FEATURES."""
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
    return blake2b(repr(FEATURES).encode(), digest_size=6).hexdigest()


def _places(columns: Sequence[str]) -> tuple[list[int], dict[str, int], dict[str, int]]:
    numbers = {name: place for place, (name, _) in enumerate(FEATURES)}
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
    if name.startswith("in_") and name != "in_heading":
        return f"it stands in <{name[3:]}>"
    words = _WORDS.get(name)
    return words.format(value) if words else f"{name.replace('_', ' ')} {value:g}"


_WORDS: Final = {
    "own_links": "{:.0%} of its text links",
    "links": "{:.0%} of the text in it links",
    "parent_links": "{:.0%} of the text around it links",
    "most_links": "it stands where {:.0%} of the text links",
    "links_before": "{:.0%} of the text before it links",
    "links_behind": "{:.0%} of the text behind it links",
    "own_within": "{:.0%} of its text links within the page",
    "own_away": "{:.0%} of its text links to named hosts",
    "short_links": "{:.0%} of it are short links",
    "own_shared": "{:.0%} of its text is on other pages, too",
    "own_often": "its text is on {:.0%} of the other pages",
    "shared": "{:.0%} of the text in it is on other pages, too",
    "often": "the text in it is on {:.0%} of the other pages",
    "parent_shared": "{:.0%} of the text around it is on other pages, too",
    "parent_often": "the text around it is on {:.0%} of the other pages",
    "most_often": "it stands where the text is on {:.0%} of the other pages",
    "own_repeated": "{:.0f} characters a page of its text repeat",
    "repeated": "{:.0f} characters a page of the text in it repeat",
    "distinct": "{:.0%} of its texts differ",
    "distinct_page": "{:.1f} texts a page are its own",
    "same_length": "one text serves {:.1f} pages",
    "cover": "it holds {:.0%} of what is the page's own",
    "own_cover": "{:.0%} of the page is its own text",
    "cover_site": "it holds {:.0%} of what is the pages' own",
    "parent_cover": "what it stands in holds {:.0%} of what is the page's own",
    "least_cover": "it stands where {:.0%} of what is the page's own is",
    "share": "it holds {:.0%} of the page's text",
    "own_share": "it is {:.0%} of the page's text",
    "share_site": "it holds {:.0%} of the pages' text",
    "parent_share": "what it stands in holds {:.0%} of the page's text",
    "of_parent": "it is {:.0%} of what it stands in",
    "page_share": "it is on {:.0%} of the pages",
    "text_share": "it has text on {:.0%} of the pages",
    "parent_page_share": "what it stands in is on {:.0%} of the pages",
    "own_chars": "{:.0f} characters a page",
    "own_block": "{:.0f} characters a text",
    "own_largest": "{:.0f} characters on the page that has most of it",
    "block": "{:.0f} characters a text in it",
    "chars": "{:.0f} characters in it",
    "parent_chars": "{:.0f} characters in what it stands in",
    "parent_block": "{:.0f} characters a text in what it stands in",
    "own_long": "{:.0%} of its texts are long",
    "long": "{:.0%} of the texts in it are long",
    "parent_long": "{:.0%} of the texts around it are long",
    "longest_text": "it stands where {:.0%} of the texts are long",
    "pages": "it was judged by {:.0f} pages",
    "depth": "it stands {:.0f} elements deep",
    "chars_before": "{:.0f} characters in the three texts before it",
    "chars_behind": "{:.0f} characters in the three texts behind it",
    "own_of_whole": "{:.0%} of the text in it is its own",
    "within": "{:.0%} of the text in it links within the page",
    "parent_within": "{:.0%} of the text around it links within the page",
    "parent_paragraphs": "{:.1f} paragraphs around it",
    "parent_headings": "{:.1f} headings around it",
    "parent_start": "what it stands in begins after {:.0%} of the page",
    "parent_end": "what it stands in ends after {:.0%} of the page",
    "parent_elements": "{:.1f} of what it stands in a page",
    "parent_punctuation": "{:.3f} marks of punctuation a character around it",
    "punctuation": "{:.3f} marks of punctuation a character in it",
    "start_spread": "where it begins differs by {:.0%} of the page",
    "length_spread": "its length differs by {:.0%} from page to page",
    "own_punctuation": "{:.3f} marks of punctuation a character",
    "own_digits": "{:.0%} of its text are digits",
    "own_capitals": "{:.0%} of its texts begin with a capital",
    "controls": "{:.1f} fields and buttons in it",
    "control_rate": "{:.1f} fields and buttons a text",
    "parent_controls": "{:.1f} fields and buttons around it",
    "hidden": "it is not shown on {:.0%} of the pages",
    "in_heading": "it is a heading",
    "headings": "{:.1f} headings in it",
    "paragraphs": "{:.1f} paragraphs in it",
    "items": "{:.1f} list items in it",
    "rows": "{:.1f} table rows in it",
    "pictures": "{:.1f} pictures in it",
    "elements": "{:.1f} of it a page",
    "start": "it begins after {:.0%} of the page",
    "end": "it ends after {:.0%} of the page",
    "position": "it stands after {:.0%} of the page",
    "from_h1": "it stands {:+.0%} of the page from the first heading",
    "from_title": "it stands {:+.0%} of the page from the title",
    "from_column": "it stands {:+.0%} of the page from where the content begins",
    "from_column_end": "it stands {:+.0%} of the page from where the content ends",
    "beside": "{:.0f} steps beside the way to the content",
    "left_at": "it leaves the way to the content after {:.0%} of it",
    "left_before_end": "it leaves the way to the content {:.0f} steps before its end",
    "since": "{:.0f} texts since the last heading",
    "title": "{:.0f} % of its words are the title's",
    "most_title": "{:.0f} % of its words are the title's at most",
    "looks": "a browser shows {:.0%} of it as content",
    "unseen": "no person sees its text",
    "around": "it is named as what surrounds content",
    "arounds": "{:.0f} names of what surrounds content",
    "around_at": "{:.0f} steps below a name of what surrounds content",
    "content": "it is named as content",
    "contents": "{:.0f} names of content",
    "content_at": "{:.0f} steps below a name of content",
}

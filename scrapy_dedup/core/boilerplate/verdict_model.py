"""The trained model that says how likely what stands on a DOM path is content, what spoke for that, and the verdict.

Boosted trees of a few steps each, over the figures of `path_features` and the words of a path's names. Trained by
`python -m benchmarks.train`; read and walked here without the libraries that trained it. The verdict on a path is a
threshold on the model's answer.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property, partial
from hashlib import blake2b
from math import exp, inf, isfinite, isnan, log
from operator import itemgetter
from typing import Any, Final, Protocol, overload

from msgspec import Struct
from msgspec.structs import replace

from scrapy_dedup.core.boilerplate.names import NAVIGATION_TAGS, PathLooks, looks_by_path, tag_of
from scrapy_dedup.core.boilerplate.observations import Observation
from scrapy_dedup.core.boilerplate.path_features import (
    FIGURES,
    DropReason,
    Figure,
    PathNode,
    PathSurvey,
    main_column,
    rows,
    survey,
)
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


# Of titles, labels and states, of what a browser showed, and what was known before a redesign; no tree asks for them.
_OTHERS: Final = {
    "titles": Figure(DropReason.TEXT, "it is the page's own title, and content by {:.0%}"),
    "labels": Figure(DropReason.OUTSIDE, "what it labels is content by {:.0%}"),
    "prices": Figure(DropReason.OUTSIDE, "what it is the price of is content by {:.0%}"),
    "states": Figure(DropReason.OUTSIDE, "what it is the state of is content by {:.0%}"),
    "notices": Figure(DropReason.REPEATS, "all {:.0f} pages that have it say the same there"),
    "lists": Figure(DropReason.OUTSIDE, "with the list or table that it stands in it is content by {:.0%}"),
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
    words = (FIGURES.get(name) or _OTHERS[name]).words
    return words.format(abs(value), "before" if value < 0 else "behind")


class VerdictChange(Struct, frozen=True):
    """A DOM path about which two versions differ: keep, or why it goes, each None where the path is unknown."""

    path: str
    before: str | None
    after: str | None
    evidence: str


class PathVerdict(Struct, frozen=True):
    """Whether what stands on a path is content, with the evidence."""

    keep: bool
    probability: float
    """That it is content, 0.0 to 1.0; where an element has no text of its own, that of what stands in it."""
    pages: int
    """That have the path, of those that it was judged by."""
    of_pages: int
    reasons: Sequence[Reason] = ()
    """The figures that spoke most for it, strongest first; of an element without text of its own, those of the path
    with most text in it."""

    @property
    def reason(self) -> DropReason | None:
        """Of which kind the first figure is; None where it is kept."""
        if self.keep:
            return None
        return kind_of(self.reasons[0][0]) if self.reasons else DropReason.OUTSIDE

    @property
    def evidence(self) -> str:
        """The reasons in words."""
        told = "; ".join(words_of(name, value) for name, value in self.reasons)
        pages = f", on {self.pages} of {self.of_pages} pages" if self.of_pages > 1 else ""
        return f"{told} (content by {self.probability:.0%}){pages}".lstrip()


class SiteVerdicts(Struct, frozen=True):
    """What was learned from some pages of one site, or from a single one."""

    pages: int
    paths: Mapping[str, PathVerdict]
    """By folded path (`names.Folding`), each after the one above it."""
    repeated: Mapping[int, int]
    """Fingerprints of blocks that many pages share, and how many."""
    surrounding: Mapping[int, int]
    """32 bits of texts that are left out of many pages, and of how many."""
    containers: tuple[str, ...]
    """Paths of the main column."""
    caution: float
    """With which they were made."""


class Former(Protocol):
    """What was known of a site."""

    @property
    def verdicts(self) -> Mapping[str, PathVerdict]:
        """By folded path."""

    @property
    def surrounding(self) -> Mapping[int, int]:
        """32 bits of texts that were left out of many pages, and of how many."""


# Of all pages: what so many have is remembered for itself.
_OFTEN: Final = 0.5
_FEWEST_OFTEN: Final = 3
_CLIP: Final = 4.0
# Of a path's text: what surrounded the content before does so in another design.
_SURROUNDS: Final = 0.5
_SUREST: Final = 0.01
# Looks are of what a browser showed: no person sees so much of a path's text.
_UNSEEN: Final = 0.9
# How far the share of the text that looks like content moves the log odds. Chosen by hand: of the marked sites eight
# have style sheets, and what is fitted to seven of them (`benchmarks.teacher`) is no better on the eighth.
LOOKS_SLOPE: Final = 4.0
LOOKS_SHIFT: Final = -1.7


def learn(
    observations: Sequence[Observation],
    model: VerdictModel,
    caution: float = 0.5,
    looks: Sequence[Mapping[str, PathLooks]] = (),
    former: Former | None = None,
) -> SiteVerdicts:
    """Return a verdict for each path of some pages of one site.

    Args:
        observations: one a page; 60 spread over the site are as good as all, and one is a page by itself.
        model: that judges the paths.
        caution: a path is kept where it is content by at least 1 - *caution*; 0.0 to 1.0. By a page alone the model is
            less sure: there it is 1 - *caution* of the F1 that is to be expected.
        looks: how the text on each path looks, for those of the pages that a browser showed.
        former: what was known of the site before it was designed anew.
    """
    found = survey(observations)
    judged = _with_notices(_with_lists(model.judge(rows(found)), found))
    judged = _with_labels(_with_states(_with_prices(_with_titles(judged), found), found), found)
    if looks:
        judged = _with_looks(judged, looks_by_path(looks, found.folding))
    if former is not None:
        judged = _as_before(judged, found, observations, former)
    if found.pages == 1:
        caution = 1 - (1 - caution) * _expected_f1(judged)
    paths = _verdicts(found, judged, caution)
    return SiteVerdicts(
        pages=found.pages,
        paths=paths,
        repeated=_often(found.blocks, found.pages),
        surrounding=_surrounding(observations, found, paths),
        containers=(main_column(found).path,),
        caution=caution,
    )


def _expected_f1(judged: Mapping[PathNode, JudgedPath]) -> float:
    """Return the F1 to be expected of a page's text if the likeliest paths are kept, as many as is best.

    The best is to keep what is likelier than half of that.

    Source: Lipton, Elkan and Naryanaswamy 2014, Optimal Thresholding of Classifiers to Maximize F1 Measure.
    """
    likeliest = sorted(((one.probability, node.own_share) for node, one in judged.items()), reverse=True)
    wanted = sum(likely * share for likely, share in likeliest)
    best = right = kept = 0.0
    for likely, share in likeliest:
        right += likely * share
        kept += share
        best = max(best, 2 * right / (kept + wanted))
    return best


def _with_notices(judged: Mapping[PathNode, JudgedPath]) -> dict[PathNode, JudgedPath]:
    """Let one sentence that several pages have, and no other in its place, be none of theirs: the rules of a board."""
    told = dict(judged)
    for node, one in judged.items():
        own = node.own
        if (
            0 <= one.odds < _NOTICE_ODDS
            and len(node.texts) == 1
            and not node.in_heading
            and own.blocks == node.text_pages >= _NOTICE_PAGES
            and own.chars >= _NOTICE_CHARS * own.blocks
        ):
            told[node] = JudgedPath(-one.odds, (("notices", node.text_pages),))
    return told


# Of 522 such paths of the marked sites 16 are content, all of them headings: these speak for what follows.
_NOTICE_ODDS: Final = 2.0
_NOTICE_PAGES: Final = 8
_NOTICE_CHARS: Final = 50


def _with_titles(judged: Mapping[PathNode, JudgedPath]) -> dict[PathNode, JudgedPath]:
    """Let a first heading that is called as its page is be content: other pages have the text only as a link to it.

    A site's own name in a first heading is the same on its pages.
    """
    told = dict(judged)
    for node, one in judged.items():
        own = node.own
        if (
            node.in_h1
            and one.odds < _TITLE_ODDS
            and node.title >= _TITLE * own.blocks
            and len(node.texts) >= _TITLES_DIFFER * own.blocks
            and own.blocks <= _TITLES_A_PAGE * node.text_pages
            and own.links <= own.chars / 2
        ):
            told[node] = _as_beside("titles", _TITLE_ODDS)
    return told


# Of the pages' words in hundredths, of the texts, a page; of 44 marked sites each h1 that is so is content but one's.
_TITLE: Final = 50
_TITLES_DIFFER: Final = 0.6
_TITLES_A_PAGE: Final = 1.5
_TITLE_ODDS: Final = 2.0


def _with_prices(judged: Mapping[PathNode, JudgedPath], found: PathSurvey) -> dict[PathNode, JudgedPath]:
    """Let a price be content where what stands beside it is: prices of one shop are few, and repeat."""
    priced = {node for node in judged if node.own.prices >= _PRICES * node.own.blocks}
    return _with_others(judged, found, priced, "prices", itemgetter(0))


def _with_states(judged: Mapping[PathNode, JudgedPath], found: PathSurvey) -> dict[PathNode, JudgedPath]:
    """Let one of a few words for all pages, as "in stock" and "sold out", be content where what it stands in is.

    Where the model is sure that it is none, as of a word in a cart or among comments, it stays so.
    """
    inside = f"{main_column(found).path}>"
    states = {
        node
        for node in judged
        if judged[node].odds >= _STATE_ODDS
        and not node.own.links
        and not NAVIGATION_TAGS.intersection(map(tag_of, node.path.split(">")))
        and 1 < len(node.texts) <= min(_STATES, node.text_pages / _PAGES_A_STATE)
        and node.own.blocks <= _STATES_A_PAGE * node.text_pages
        and node.own.chars <= _STATE_CHARS * node.own.blocks
        and node.path.startswith(inside)
    }
    return _with_others(judged, found, states, "states", max)


def _with_others(
    judged: Mapping[PathNode, JudgedPath],
    found: PathSurvey,
    chosen: Collection[PathNode],
    name: str,
    one_of: Callable[[list[float]], float],
) -> dict[PathNode, JudgedPath]:
    """Let some be content where others in the elements above are, by *one_of* their odds, the nearest first."""
    told = dict(judged)
    if not chosen:
        return told
    votes, weights = _votes(found, {node: one for node, one in judged.items() if node not in chosen})
    for node in chosen:
        above, odds = node.parent, list[float]()
        for _ in range(_STEPS_TO_OTHERS):
            if above is None:
                break
            if weights[above]:
                odds.append(votes[above] / weights[above])
            above = above.parent
        if odds and one_of(odds) > judged[node].odds:
            told[node] = _as_beside(name, one_of(odds))
    return told


def _as_beside(name: str, odds: float) -> JudgedPath:
    """Return the verdict on what is as likely content as something else."""
    found = JudgedPath(odds, ())
    return replace(found, reasons=((name, round(found.probability, 3)),))


# Of a path's texts.
_PRICES: Final = 0.5
# States in shops made at random had -0.4 to -2.4, words in carts, among comments and in advertisements less than -2.5.
_STATE_ODDS: Final = -2.5
# Of all pages together; each on several, once a page.
_STATES: Final = 6
_PAGES_A_STATE: Final = 2
_STATES_A_PAGE: Final = 1.2
_STATE_CHARS: Final = 40
# Elements up to those in which something else stands.
_STEPS_TO_OTHERS: Final = 3


def _with_labels(judged: Mapping[PathNode, JudgedPath], found: PathSurvey) -> dict[PathNode, JudgedPath]:
    """Let a label be content where what it labels is: `dt` and its `dd`, heads of rows and of tables and their cells.

    Labels are the same on all pages of a layout; "132 / 5 / No" says nothing without them.
    """
    told = dict(judged)
    # Of each element the surest that stands in it, as far as it is no label; and of its children, by their tag.
    surest: dict[PathNode, float] = {}
    of_tag: dict[tuple[PathNode, str], float] = {}
    for node in reversed(found.nodes):
        if node in judged:
            surest[node] = max(surest.get(node, -inf), judged[node].odds)
        if node in surest and node.parent is not None:
            beside = node.parent, node.tag
            of_tag[beside] = max(of_tag.get(beside, -inf), surest[node])
            if node.tag not in _LABELS:
                surest[node.parent] = max(surest.get(node.parent, -inf), surest[node])
    of_label: dict[PathNode, float] = {}
    for node in found.nodes:
        above = node.parent
        if above is None:
            continue
        if node.tag in _LABELS and (node.tag != "dt" or _per_list(node) >= _SEVERAL_LABELS):
            labelled = (of_tag.get((above, tag), -inf) for tag in _LABELS[node.tag])
            of_label[node] = max(of_label.get(above, -inf), *labelled)
        elif above in of_label:
            of_label[node] = of_label[above]
        if node in judged and of_label.get(node, -inf) > judged[node].odds:
            told[node] = _as_beside("labels", of_label[node])
    return told


def _per_list(term: PathNode) -> float:
    """Return how many of a term a list has."""
    above = term.parent
    while above is not None and above.tag != "dl":
        above = above.parent
    return term.elements / (above.elements or 1) if above is not None else 0.0


# A list with one or two terms is a thing of the design: "Regular price", which most readers never see.
_SEVERAL_LABELS: Final = 2.5
# What labels, and what of its siblings is labelled.
_LABELS: Final[Mapping[str, tuple[str, ...]]] = {
    "dt": ("dd",), "th": ("td",), "thead": ("tbody", "tr"), "caption": ("tbody", "tr")
}  # fmt: skip


def _with_lists(judged: Mapping[PathNode, JudgedPath], found: PathSurvey) -> dict[PathNode, JudgedPath]:
    """Let all that stands in one list or table speak for each part of it, by half; what is nested in it for itself.

    A table that the main column stands in is there for the layout, and of no one kind.
    """
    way: set[PathNode | None] = {main_column(found)}
    lists: dict[PathNode | None, PathNode] = {}
    votes: defaultdict[PathNode, float] = defaultdict(float)
    weights: defaultdict[PathNode, float] = defaultdict(float)
    for node in reversed(found.nodes):
        if node in way:
            way.add(node.parent)
    for node in found.nodes:
        inside = node if node.tag in _LISTS and node not in way else lists.get(node.parent)
        if inside is not None:
            lists[node] = inside
            if node in judged:
                weight = node.own_share**0.5
                votes[inside] += weight * _clipped(judged[node])
                weights[inside] += weight
    told = dict(judged)
    for node in judged.keys() & lists.keys():
        one, inside = judged[node], lists[node]
        odds = (one.odds + votes[inside] / weights[inside]) / 2
        told[node] = replace(one, odds=odds) if odds * one.odds > 0 else _as_beside("lists", odds)
    return told


def _clipped(one: JudgedPath) -> float:
    return min(max(one.odds, -_CLIP), _CLIP)


_LISTS: Final = frozenset("dl ol table ul".split())


def _with_looks(judged: Mapping[PathNode, JudgedPath], looks: Mapping[str, PathLooks]) -> dict[PathNode, JudgedPath]:
    """Let what a browser showed speak, too."""
    found = {}
    for node, one in judged.items():
        there = looks.get(node.path)
        found[node] = one if there is None else _looking(one, there)
    return found


def _looking(one: JudgedPath, there: PathLooks) -> JudgedPath:
    if there.unseen >= _UNSEEN * (there.seen + there.unseen) > 0:
        return JudgedPath(min(one.odds, -_CLIP), (("unseen", 1.0), *one.reasons[:2]))
    if not there.seen:
        return one
    share = there.main / there.seen
    odds = one.odds + LOOKS_SLOPE * share + LOOKS_SHIFT
    speaks = (("looks", round(share, 3)),) if (odds - one.odds) * odds > 0 else ()
    return JudgedPath(odds, (*speaks, *one.reasons)[:3])


def _as_before(
    judged: Mapping[PathNode, JudgedPath], found: PathSurvey, observations: Sequence[Observation], former: Former
) -> dict[PathNode, JudgedPath]:
    """Let what was known before a redesign speak, too: where texts stand that surrounded the content, and paths."""
    chars: dict[str, int] = {}
    surround: dict[str, int] = {}
    for seen in observations:
        folded = [found.folding.path(path) for path in seen.paths]
        for at, text, count in zip(seen.at, seen.texts, seen.chars, strict=True):
            chars[folded[at]] = chars.get(folded[at], 0) + count
            if text in former.surrounding:
                surround[folded[at]] = surround.get(folded[at], 0) + count
    told = {}
    for node, one in judged.items():
        share = surround.get(node.path, 0) / (chars.get(node.path) or 1)
        known = former.verdicts.get(node.path)
        if share >= _SURROUNDS:
            one = JudgedPath(min(one.odds, -_CLIP), (("surrounds", round(share, 3)), *one.reasons[:2]))  # noqa: PLW2901
        elif known is not None and known.pages > node.pages:
            likely = min(max(known.probability, _SUREST), 1 - _SUREST)
            one = replace(one, odds=(one.odds + log(likely / (1 - likely))) / 2)  # noqa: PLW2901
        told[node] = one
    return told


def _votes(
    found: PathSurvey, judged: Mapping[PathNode, JudgedPath]
) -> tuple[dict[PathNode, float], dict[PathNode, float]]:
    """Return of each element the log odds of what stands in it, added up by its share of a page, and these shares."""
    votes = dict.fromkeys(found.nodes, 0.0)
    weights = dict.fromkeys(found.nodes, 0.0)
    for node in reversed(found.nodes):
        one = judged.get(node)
        if one is not None:
            weight = node.own_share**0.5
            votes[node] += weight * _clipped(one)
            weights[node] += weight
        if node.parent is not None:
            votes[node.parent] += votes[node]
            weights[node.parent] += weights[node]
    return votes, weights


def _verdicts(found: PathSurvey, judged: Mapping[PathNode, JudgedPath], caution: float) -> dict[str, PathVerdict]:
    """Return the verdicts; an element without text of its own follows what stands in it, by its share of a page."""
    votes, weights = _votes(found, judged)
    spokesman: dict[PathNode, tuple[float, JudgedPath]] = {}
    for node in reversed(found.nodes):
        one = judged.get(node)
        if one is not None:
            own = node.own_share**0.5, one
            spokesman[node] = max(spokesman.get(node, (0.0, one)), own, key=lambda each: each[0])
        if node.parent is not None and node in spokesman:
            above = spokesman.get(node.parent, spokesman[node])
            spokesman[node.parent] = max(above, spokesman[node], key=lambda each: each[0])
    verdicts = {}
    for node in found.nodes:
        one = judged.get(node)
        if one is not None:
            probability, reasons = one.probability, one.reasons
        else:
            probability = 1 / (1 + exp(-votes[node] / (weights[node] or 1.0)))
            reasons = spokesman[node][1].reasons if node in spokesman else ()
        keep = probability >= 1 - caution
        verdicts[node.path] = PathVerdict(keep, round(probability, 3), node.pages, found.pages, reasons)
    return verdicts


def _often(counts: Mapping[int, int], pages: int) -> dict[int, int]:
    needed = max(_FEWEST_OFTEN, _OFTEN * pages)
    if pages < needed:
        return {}
    return {block: count for block, count in sorted(counts.items()) if count >= needed}


def _surrounding(
    observations: Sequence[Observation], found: PathSurvey, paths: Mapping[str, PathVerdict]
) -> dict[int, int]:
    """Return the texts that many pages have, and that are left out of all of them."""
    left: dict[int, int] = {}
    kept: set[int] = set()
    if found.pages < _FEWEST_OFTEN:
        return left
    for seen in observations:
        keeps = [paths[found.folding.path(path)].keep for path in seen.paths]
        here = {text for at, text in zip(seen.at, seen.texts, strict=True) if not keeps[at]}
        kept.update(text for at, text in zip(seen.at, seen.texts, strict=True) if keeps[at])
        for text in here:
            left[text] = left.get(text, 0) + 1
    return {text: count for text, count in _often(left, found.pages).items() if text not in kept}

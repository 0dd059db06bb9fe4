"""One verdict per DOM path: a threshold on how likely the model says that what stands there is content."""

from collections.abc import Mapping, Sequence
from math import exp, log
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from scrapy_dedup.core.boilerplate.names import PathLooks, looks_by_path
from scrapy_dedup.core.boilerplate.observations import Observation
from scrapy_dedup.core.boilerplate.path_features import DropReason, PathNode, PathSurvey, main_column, rows, survey
from scrapy_dedup.core.boilerplate.verdict_model import JudgedPath, Reason, VerdictModel, kind_of, words_of

__all__ = ["DropReason", "PathVerdict", "SiteVerdicts", "VerdictChange", "learn"]


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
        caution: a path is kept where it is content by at least 1 - *caution*; 0.0 to 1.0.
        looks: how the text on each path looks, for those of the pages that a browser showed.
        former: what was known of the site before it was designed anew.
    """
    found = survey(observations)
    judged = model.judge(rows(found))
    if looks:
        judged = _with_looks(judged, looks_by_path(looks, found.folding))
    if former is not None:
        judged = _as_before(judged, found, observations, former)
    paths = _verdicts(found, judged, caution)
    return SiteVerdicts(
        pages=found.pages,
        paths=paths,
        repeated=_often(found.blocks, found.pages),
        surrounding=_surrounding(observations, found, paths),
        containers=(main_column(found).path,),
        caution=caution,
    )


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
        folded = [found.folded[path] for path in seen.paths]
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


def _verdicts(found: PathSurvey, judged: Mapping[PathNode, JudgedPath], caution: float) -> dict[str, PathVerdict]:
    """Return the verdicts; an element without text of its own follows what stands in it, by its share of a page."""
    votes = dict.fromkeys(found.nodes, 0.0)
    weights = dict.fromkeys(found.nodes, 0.0)
    spokesman: dict[PathNode, tuple[float, JudgedPath]] = {}
    for node in reversed(found.nodes):
        one = judged.get(node)
        if one is not None:
            weight = node.own_share**0.5
            votes[node] += weight * min(max(one.odds, -_CLIP), _CLIP)
            weights[node] += weight
            spokesman[node] = max(spokesman.get(node, (0.0, one)), (weight, one), key=lambda each: each[0])
        if node.parent is not None:
            if node in spokesman:
                above = spokesman.get(node.parent, spokesman[node])
                spokesman[node.parent] = max(above, spokesman[node], key=lambda each: each[0])
            votes[node.parent] += votes[node]
            weights[node.parent] += weights[node]
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
        keeps = [paths[found.folded[path]].keep for path in seen.paths]
        here = {text for at, text in zip(seen.at, seen.texts, strict=True) if not keeps[at]}
        kept.update(text for at, text in zip(seen.at, seen.texts, strict=True) if keeps[at])
        for text in here:
            left[text] = left.get(text, 0) + 1
    return {text: count for text, count in _often(left, found.pages).items() if text not in kept}

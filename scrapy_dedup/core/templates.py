"""What is kept of a site's verdicts, and how a page is cut by it.

Its path says nothing against it, and no verdict on paths can: it is told by its place, behind all that is kept.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from scrapy_dedup.core.blocks import Block, Page
from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.fingerprints import from_hex, to_hex
from scrapy_dedup.core.observations import Observation
from scrapy_dedup.core.path_looks import PathLooks
from scrapy_dedup.core.path_statistics import OWN_TEXT
from scrapy_dedup.core.path_verdicts import DropReason, PathVerdict, SiteVerdicts, learn
from scrapy_dedup.core.template_paths import PathLookup, Why
from scrapy_dedup.core.template_selectors import Selectors, selectors_of

__all__ = [
    "VERSION",
    "Cut",
    "Selectors",
    "Template",
    "TemplateError",
    "Why",
    "cut",
    "part_of",
    "selectors",
    "template_of",
]

# Stored in each template: what another version learned is learned anew.
VERSION: Final = 1
# Of paths, those that most pages have; of blocks, those on most pages: a stored template stays below 100 KB.
_MOST_PATHS: Final = 800
_MOST_REPEATED: Final = 500


# One link behind a text may be its last word.
_FEWEST: Final = 2
# Of what is kept of a page: a page that is made of links has them as its content.
_MINOR: Final = 0.25
# Of the pages that have the path.
_OFTEN: Final = 0.3
_FEWEST_PAGES: Final = 3


class TemplateError(DedupError):
    """A stored template cannot be used."""


@dataclass(frozen=True, slots=True)
class Template:
    """What is kept to cut the pages of a site or of one layout."""

    pages: int
    """From so many it was learned."""
    containers: tuple[str, ...]
    """The paths of the main columns, that of most pages first."""
    verdicts: Mapping[str, PathVerdict]
    """By folded path, each after the one above it; of what stands in something dropped there is none."""
    repeated: Mapping[int, int]
    """Fingerprints of blocks that at least half of the pages share, and on how many they were."""
    tails: Mapping[str, int] = field(default_factory=dict)
    """Folded paths of lists of links that often stand behind the text, and on how many pages they do."""
    version: int = VERSION
    lookup: PathLookup = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lookup", PathLookup(self.verdicts, self.pages))

    def to_json(self) -> dict[str, Any]:
        """Return what JSON can hold: the paths as an outline, one row a step, to be read from above."""
        return {
            "version": self.version,
            "pages": self.pages,
            "containers": list(self.containers),
            "columns": list(_COLUMNS),
            "paths": [_row(path, verdict) for path, verdict in self.verdicts.items()],
            "repeated": {to_hex(block): pages for block, pages in self.repeated.items()},
            "tails": dict(self.tails),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Template":
        """Return the template that was stored.

        Raises:
            TemplateError: it is of another version, or was changed by hand so that it is none.
        """
        if stored.get("version") != VERSION:
            raise TemplateError(
                f"template of version {stored.get('version')!r}: this program reads version {VERSION}; learn it anew"
            )
        try:
            pages = int(stored["pages"])
            if pages < 1:
                raise ValueError(f"learned from {pages} pages")  # noqa: TRY301 (as all that is wrong with it)
            verdicts = _outline(stored["paths"], pages)
            repeated = {from_hex(block): int(count) for block, count in stored["repeated"].items()}
            containers = tuple(map(str, stored["containers"]))
            tails = {str(path): int(count) for path, count in stored.get("tails", {}).items()}
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise TemplateError(
                f"template cannot be read ({error!r}): restore a former version or learn it anew"
            ) from error
        if not containers:
            raise TemplateError("template without containers: restore a former version or learn it anew")
        return cls(pages, containers, verdicts, repeated, tails)


_COLUMNS: Final = ("depth", "step", "verdict", "inside", "pages", "repeated", "links", "coverage")
_KEEP: Final = "keep"


def _row(path: str, verdict: PathVerdict) -> list[Any]:
    steps = path.split(">")
    return [
        len(steps) - 1,
        steps[-1],
        verdict.reason or _KEEP,
        verdict.inside,
        verdict.pages,
        verdict.repeated,
        verdict.links,
        verdict.coverage,
    ]


def _outline(rows: Collection[Collection[Any]], of_pages: int) -> dict[str, PathVerdict]:
    above: list[str] = []
    verdicts: dict[str, PathVerdict] = {}
    for depth, step, verdict, inside, pages, repeated, links, coverage in rows:
        if not 0 <= depth <= len(above):
            raise ValueError(f"row {step!r} has depth {depth} below depth {len(above) - 1}")
        above[depth:] = [str(step)]
        reason = None if verdict == _KEEP else DropReason(verdict)
        verdicts[">".join(above)] = PathVerdict(
            reason is None, reason, int(pages), of_pages, float(repeated), float(links), float(coverage), bool(inside)
        )
    return verdicts


def template_of(learned: SiteVerdicts) -> Template:
    """Return what is kept of verdicts to cut pages."""
    wanted = [path for path in learned.paths if _decides(path, learned.paths)]
    wanted = sorted(wanted, key=lambda path: (-learned.paths[path].pages, path))[:_MOST_PATHS]
    verdicts = {path: _rounded(learned.paths[path]) for path in _from_above(wanted)}
    often = sorted(learned.repeated.items(), key=lambda item: (-item[1], item[0]))[:_MOST_REPEATED]
    return Template(learned.pages, learned.containers, verdicts, dict(sorted(often)))


def _decides(path: str, verdicts: Mapping[str, PathVerdict]) -> bool:
    """Whether a path's verdict says more than that of the path above it."""
    above, _, step = path.rpartition(">")
    if not above:
        return True
    is_as_above = verdicts[path].keep and verdicts[path].inside == verdicts[above].inside
    return verdicts[above].keep and not (step == OWN_TEXT and is_as_above)


def _from_above(paths: Collection[str]) -> list[str]:
    """Return paths as an outline lists them: each element's paths together, after it."""
    return sorted(paths, key=lambda path: path.split(">"))


def _rounded(verdict: PathVerdict) -> PathVerdict:
    """Three digits say all, and read well where a template is shown."""
    return replace(
        verdict,
        repeated=round(verdict.repeated, 3),
        links=round(verdict.links, 3),
        coverage=round(verdict.coverage, 3),
    )


def part_of(template: Template, paths: Collection[str]) -> Template:
    """Return the template of one layout: of the paths given, all above them and all below them."""
    folding = template.lookup.folding
    wanted = {folding.path(path) for path in paths}
    for path in list(wanted):
        steps = path.split(">")
        wanted.update(">".join(steps[:length]) for length in range(1, len(steps)))
    verdicts: dict[str, PathVerdict] = {}
    below: set[str] = {folding.path(path) for path in paths}
    for path, verdict in template.verdicts.items():
        if path.rpartition(">")[0] in below:
            below.add(path)
        if path in wanted or path in below:
            verdicts[path] = verdict
    containers = tuple(path for path in template.containers if path in verdicts) or template.containers[:1]
    return replace(template, verdicts=verdicts, containers=containers)


def selectors(template: Template) -> Selectors:
    """Return a template as CSS; blocks that are dropped for themselves and the page guard are not in it."""
    return selectors_of(template.containers, template.verdicts)


@dataclass(frozen=True, slots=True)
class Cut:
    """What is left out of one page."""

    removed: list[Why | None]
    """One value a block, None where it stays."""
    fit: float
    """Share of the page's text that stands on paths the template knows, or anywhere in its main column, 0 to 1."""
    mild: bool
    """The page guard put back what the verdicts would drop."""


def cut(page: Page, template: Template) -> Cut:
    """Return for each block of a page why it is left out, or None where it stays."""
    lookup = template.lookup
    find, known, repeated = lookup.standing, lookup.known, template.repeated
    removed: list[Why | None] = []
    total = unknown = 0
    inside = [0] * 4
    for block in page.blocks:
        path, text = block.path, block.text
        why, is_inside, is_known = known.get(path) or find(path)
        chars = len(text)
        if why is None and chars >= _LONG_BLOCK and (pages := repeated.get(block.fingerprint, 0)):
            why = _why_repeated(block, pages, template, inside=is_inside)
        removed.append(why)
        total += chars
        if not (is_known or is_inside):
            unknown += chars
        if is_inside:
            inside[_kind(why)] += chars
    fit = 1 - unknown / total if total else 1.0
    back = _put_back(inside)
    if not back:
        return Cut(_without_tail(page, removed, template), fit, mild=False)
    mild = [
        None if why is not None and _kind(why) in back and find(block.path).inside else why
        for block, why in zip(page.blocks, removed, strict=True)
    ]
    return Cut(mild, fit, mild=True)


def _without_tail(page: Page, removed: list[Why | None], template: Template) -> list[Why | None]:
    """Leave out links behind the text too, where the site's pages have them there."""
    if not template.tails:
        return removed
    fold = template.lookup.folding.path
    found = tail_of(
        [
            Row(fold(block.path), len(block.text), block.link_chars, why is None)
            for block, why in zip(page.blocks, removed, strict=True)
        ]
    )
    if found is not None and (pages := template.tails.get(found.path)):
        why = template.lookup.why_behind(found.path, pages)
        for place in found.places:
            removed[place] = why
    return removed


# Only a text as long as a sentence is dropped for itself; shorter ones go or stay with their path.
_LONG_BLOCK: Final = 50
# Of learning pages that have it. Within the main column more must agree: there content repeats.
_OFTEN_OUTSIDE: Final = 0.5
_OFTEN_INSIDE: Final = 0.6


def _why_repeated(block: Block, pages: int, template: Template, *, inside: bool) -> Why | None:
    needed = (_OFTEN_INSIDE if inside else _OFTEN_OUTSIDE) * template.pages
    return template.lookup.why_repeated(block, pages) if pages >= needed else None


# Kinds of text in the main column.
_KEPT, _LISTED, _REPEATED, _OTHER = range(4)


def _kind(why: Why | None) -> int:
    if why is None:
        return _KEPT
    if why.reason is DropReason.REPEATS:
        return _REPEATED
    return _LISTED if why.reason in _MAY_BE_INDEX and not why.is_sitewide else _OTHER


_MAY_BE_INDEX: Final = frozenset([DropReason.LINKS, DropReason.NAMED])
_NEAR_COPY: Final = 0.3


def _put_back(inside: list[int]) -> frozenset[int]:
    """Return which kinds of what was dropped within the main column are its content after all.

    An index page is made of links: where less text is left than stands in lists of links that not the whole site has,
    they are its content. Pages that differ in a name repeat each other in nearly all of their text: where less than a
    third of what repeats is left, it is their content.

    Args:
        inside: characters of the main column by kind.
    """
    found = set()
    if inside[_KEPT] < inside[_LISTED]:
        found.add(_LISTED)
    if inside[_KEPT] < _NEAR_COPY * inside[_REPEATED]:
        found.add(_REPEATED)
    return frozenset(found)


class Row(NamedTuple):
    """One block, as far as it is looked at here."""

    path: str
    """Folded."""
    chars: int
    link_chars: int
    keep: bool


class Tail(NamedTuple):
    """The last kept blocks of a page, where they are links alone, of one path."""

    path: str
    places: tuple[int, ...]


def tail_of(rows: Sequence[Row]) -> Tail | None:
    """Return the links behind a page's text; None where the page ends otherwise, or is made of links."""
    places: list[int] = []
    path = ""
    for place in range(len(rows) - 1, -1, -1):
        row = rows[place]
        if not row.keep:
            continue
        if row.link_chars < row.chars or (places and row.path != path):
            break
        path = row.path
        places.append(place)
    kept = sum(row.chars for row in rows if row.keep)
    if len(places) < _FEWEST or sum(rows[place].chars for place in places) > _MINOR * kept:
        return None
    return Tail(path, tuple(places))


def learn_tails(observations: Sequence[Observation], lookup: PathLookup) -> Mapping[str, int]:
    """Return the paths of lists that often stand behind the text, and on how many pages they do.

    Args:
        observations: one a page.
        lookup: of a template that was learned from them.
    """
    behind: Counter[str] = Counter()
    have: Counter[str] = Counter()
    for seen in observations:
        folded = [lookup.folding.path(path) for path in seen.paths]
        keeps = [lookup.standing(path).why is None for path in seen.paths]
        rows = [
            Row(folded[at], chars, links, keeps[at])
            for at, chars, links in zip(seen.at, seen.chars, seen.link_chars, strict=True)
        ]
        have.update({row.path for row in rows if row.keep})
        found = tail_of(rows)
        if found is not None:
            behind[found.path] += 1
    return {path: pages for path, pages in sorted(behind.items()) if pages >= max(_FEWEST_PAGES, _OFTEN * have[path])}


def learn_template(observations: Sequence[Observation], looks: Sequence[Mapping[str, PathLooks]] = ()) -> Template:
    """Return the template of some pages of one site; their order does not matter.

    Args:
        observations: one a page.
        looks: how the text on each path looks, for those of the pages that a browser showed.
    """
    template = template_of(learn(observations, looks=looks))
    return replace(template, tails=learn_tails(observations, template.lookup))

"""What is kept of a site's verdicts, how a page is cut by it, and whether it still fits the site's pages."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import cache, cached_property
from itertools import compress, repeat
from operator import and_, mul
from typing import Any, Final, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from scrapy_dedup.core.boilerplate.names import Folding, names_in, parts_of
from scrapy_dedup.core.boilerplate.observations import Observation, text_numbers, upper_part
from scrapy_dedup.core.boilerplate.path_features import ROOT, DropReason
from scrapy_dedup.core.boilerplate.verdict_model import PathVerdict, SiteVerdicts, kind_of
from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.pages.blocks import Block, Page
from scrapy_dedup.core.pages.fingerprints import from_hex, to_hex

# A site has some hundred paths; pages of nonsense have any number.
_MOST_KNOWN: Final = 10_000
# Steps below body: what stands beside all that is known of a page is in no part of it.
_INSIDE: Final = 2


class Why(Struct, frozen=True):
    """Why a block was left out. Blocks that one verdict drops have one and the same object."""

    reason: DropReason
    path: str
    """Of the element whose verdict it is."""
    evidence: str
    on_pages: int = 0
    """Learning pages with the element, or with the block's text; 0 where no learning page had it."""
    of_pages: int = 0


class PathStanding(NamedTuple):
    """What is known of one path."""

    why: Why | None
    inside: bool
    """Within what is kept."""
    known: bool
    """All of it stood on learning pages, or stands in something that is left out with all in it."""


class _Reached(NamedTuple):
    """The deepest part of a path that is known."""

    path: str
    """Folded."""
    depth: int
    """In steps below body."""
    is_whole: bool


class PathLookup:
    """Finds the verdict on a path; each path is looked up once."""

    def __init__(self, verdicts: Mapping[str, PathVerdict], pages: int) -> None:
        self.verdicts = verdicts
        self.pages = pages
        self.folding = Folding(names_in(verdicts))
        self._divided = frozenset(path.rpartition(">")[0] for path in verdicts)
        """Of what stands in them something is judged by itself."""
        self.known: dict[str, PathStanding] = {}
        self._reached: dict[str, _Reached] = {}
        self.whys: dict[tuple[str, int], Why] = {}

    def standing(self, path: str) -> PathStanding:
        """Return what is known of a block's path: an unknown one is as what it stands in."""
        known = self.known.get(path)
        if known is None:
            if len(self.known) >= _MOST_KNOWN:
                self.known.clear()
            known = self.known[path] = self._find(upper_part(path))
        return known

    def probability(self, path: str) -> float:
        """Return how likely what stands on a path is content, 0.0 to 1.0."""
        verdict = self.verdicts.get(self._reach(upper_part(path)).path)
        return verdict.probability if verdict is not None else 0.5

    def keeps(self, path: str) -> bool:
        """Return whether what stands on a path stays, without saying why."""
        verdict = self.verdicts.get(self._reach(upper_part(path)).path)
        return verdict is None or verdict.keep

    def why_text(self, block: Block, on_pages: int, *, surrounds: bool = False) -> Why:
        """Return why a text is left out for itself: many pages have it, or it surrounds the content elsewhere."""
        told = f"the same text {'was left out of' if surrounds else 'on'} {on_pages} of {self.pages} pages"
        return self._why(
            (block.path, -2 - on_pages if surrounds else on_pages),
            lambda: Why(DropReason.REPEATS, block.path, told, on_pages=on_pages, of_pages=self.pages),
        )

    def _reach(self, path: str) -> _Reached:
        """Return how far a path, no deeper than MOST_STEPS, is known on the way down."""
        known = self._reached.get(path)
        if known is None:
            above, divides, step = path.rpartition(">")
            known = self._reach(above) if divides else _Reached(ROOT, 0, is_whole=True)
            if divides and known.is_whole:
                below = f"{known.path}>{self.folding.step(step)}"
                is_whole = below in self.verdicts
                known = _Reached(below, known.depth + 1, is_whole=True) if is_whole else known._replace(is_whole=False)
            if len(self._reached) >= _MOST_KNOWN:
                self._reached.clear()
            self._reached[path] = known
        return known

    def _find(self, path: str) -> PathStanding:
        reached, depth, is_whole = self._reach(path)
        verdict = self.verdicts.get(reached)
        is_known = is_whole or (depth > 0 and reached not in self._divided)
        if verdict is None:
            return PathStanding(None, inside=False, known=is_known)
        if verdict.keep:
            return PathStanding(None, depth >= _INSIDE, is_whole)
        return PathStanding(
            self._dropped(reached, verdict, is_known=is_known), inside=False, known=is_known or depth > 0
        )

    def _dropped(self, path: str, verdict: PathVerdict, *, is_known: bool) -> Why:
        reason = verdict.reason or DropReason.OUTSIDE
        new = "" if is_known else "new to the template, and as what it stands in: "
        return self._why(
            (path, -is_known), lambda: Why(reason, path, new + verdict.evidence, verdict.pages, verdict.of_pages)
        )

    def _why(self, key: tuple[str, int], make: Callable[[], Why]) -> Why:
        known = self.whys.get(key)
        if known is None:
            if len(self.whys) >= _MOST_KNOWN:
                self.whys.clear()
            known = self.whys[key] = make()
        return known


class Selectors(Struct, frozen=True):
    """The content is what *content* selects, without what *exclude* selects."""

    content: tuple[str, ...]
    """The main columns, that of most pages first."""
    beside: tuple[str, ...]
    """Other elements that are kept, such as a header with the page's title."""
    exclude: tuple[str, ...]
    """Only the outermost elements that are dropped."""
    without_own_text: tuple[str, ...]
    """Elements that stay, but not the text that stands in them beside their children; CSS cannot select text."""


def _with_above(path: str) -> list[str]:
    steps = path.split(">")
    return [">".join(steps[:length]) for length in range(1, len(steps) + 1)]


def selector(path: str) -> str:
    """Return CSS for a path; it begins at the last element with an id, which stands for all above it."""
    steps = path.split(">")
    start = max((at for at, step in enumerate(steps) if "#" in step), default=0)
    return " > ".join(map(_step, steps[start:]))


_UNSAFE = re.compile(r"[^\w-]|^(?=\d|-)")


def _step(step: str) -> str:
    tag, *names = parts_of(step)
    return _escaped(tag) + "".join(_name(name) for name in names)


def _name(name: str) -> str:
    """Return CSS for an id or class. Digits were masked as 0 there: `col-0` selects all that hold `col-`."""
    stem = max(name[1:].split("0"), key=len)
    if name[0] == "." and "0" in name and stem:
        quoted = stem.replace("\\", r"\\").replace('"', r"\"")
        return f'[class*="{quoted}"]'
    return name[0] + _escaped(name[1:])


def _escaped(name: str) -> str:
    return _UNSAFE.sub(lambda found: f"\\{found[0]}" if found[0] else "\\", name)


# Stored in each template: what another version learned is learned anew.
VERSION: Final = 3
MORE_CAUTION: Final = 0.9
"""One step more: where what is cut would leave next to nothing of a page."""
# Of paths, those that most pages have; of texts, those on most pages: a stored template stays below 200 KB.
_MOST_PATHS: Final = 800
_MOST_REPEATED: Final = 500


class Vision(Struct, frozen=True):
    """What a browser showed of a layout."""

    shown: int
    """Pages."""
    js_share: float
    """Share of the seen text that scripts made, mean of these pages."""
    needs_rendering: bool
    """Scripts made most of it, and next to nothing is there without them."""
    unseen: int = 0
    """Texts that no person sees, on all of them."""
    agreement: float = 1.0
    """Of what the template keeps and what looks like content, in characters: both of either, 0.0 to 1.0."""


class TemplateError(DedupError):
    """A stored template cannot be used."""


class Template(Struct, frozen=True, dict=True):
    """What is kept to cut the pages of a site or of one layout."""

    pages: int
    """From so many it was learned."""
    containers: tuple[str, ...]
    """The paths of the main column."""
    verdicts: Mapping[str, PathVerdict]
    """By folded path, each after the one above it; of what stands in something left out as a whole there is none."""
    repeated: Mapping[int, int]
    """Fingerprints of blocks that at least half of the pages share, and on how many they were."""
    surrounding: Mapping[int, int] = field(default_factory=dict)
    """32 bits of texts that were left out of at least half of the pages, and of how many."""
    surrounded: int = 0
    """So many blocks with such a text nine of ten learning pages have at least."""
    caution: float = 0.5
    """What is kept is content by at least 1 - this."""
    least_caution: float = 0.0
    """With less caution it leaves hardly anything of its pages, whatever the user wants."""
    version: int = VERSION

    @cached_property
    def lookup(self) -> PathLookup:
        """What each path of a page is held against."""
        return PathLookup(self.verdicts, self.pages)

    @cached_property
    def _others(self) -> "dict[float, Template]":
        """The one of another caution that was last asked for."""
        return {}

    def at(self, caution: float) -> "Template":
        """Return the template that cuts with this caution, or the least that it needs, whatever it was learned with."""
        caution = max(caution, self.least_caution)
        if caution == self.caution:
            return self
        if caution not in self._others:
            self._others.clear()
            verdicts = {
                path: replace(verdict, keep=verdict.probability >= 1 - caution)
                for path, verdict in self.verdicts.items()
            }
            # What was left out with less caution may be kept now, and then surrounds nothing.
            surrounding = self.surrounding if caution < self.caution else {}
            self._others[caution] = replace(
                self,
                verdicts=verdicts,
                surrounding=surrounding,
                surrounded=self.surrounded if surrounding else 0,
                caution=caution,
            )
        return self._others[caution]

    def to_json(self) -> dict[str, Any]:
        """Return what JSON can hold: the paths as an outline, one row a step, to be read from above."""
        return {
            "version": self.version,
            "pages": self.pages,
            "containers": list(self.containers),
            "caution": self.caution,
            "least_caution": self.least_caution,
            "columns": list(_COLUMNS),
            "paths": [_row(path, verdict) for path, verdict in self.verdicts.items()],
            "repeated": {to_hex(block): pages for block, pages in self.repeated.items()},
            "surrounding": {to_hex(text): pages for text, pages in self.surrounding.items()},
            "surrounded": self.surrounded,
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
            surrounding = {from_hex(text): int(count) for text, count in stored["surrounding"].items()}
            containers = tuple(map(str, stored["containers"]))
            surrounded = int(stored["surrounded"])
            caution, least = float(stored["caution"]), float(stored["least_caution"])
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise TemplateError(
                f"template cannot be read ({error!r}): restore a former version or learn it anew"
            ) from error
        if not containers:
            raise TemplateError("template without containers: restore a former version or learn it anew")
        return cls(pages, containers, verdicts, repeated, surrounding, surrounded, caution, least)


_COLUMNS: Final = ("depth", "step", "verdict", "probability", "pages", "reasons")
_KEEP, _DROP = "keep", "drop"


def _row(path: str, verdict: PathVerdict) -> list[Any]:
    steps = path.split(">")
    reasons = [[name, value] for name, value in verdict.reasons]
    return [
        len(steps) - 1, steps[-1], _KEEP if verdict.keep else _DROP, verdict.probability, verdict.pages, reasons
    ]  # fmt: skip


def _outline(rows: Collection[Collection[Any]], of_pages: int) -> dict[str, PathVerdict]:
    above: list[str] = []
    verdicts: dict[str, PathVerdict] = {}
    for depth, step, verdict, probability, pages, reasons in rows:
        if not 0 <= depth <= len(above):
            raise ValueError(f"row {step!r} has depth {depth} below depth {len(above) - 1}")
        if verdict not in (_KEEP, _DROP):
            raise ValueError(f"row {step!r} has verdict {verdict!r}")
        above[depth:] = [str(step)]
        told = tuple((name, float(value)) for name, value in reasons if kind_of(name))
        verdicts[">".join(above)] = PathVerdict(verdict == _KEEP, float(probability), int(pages), of_pages, told)
    return verdicts


def template_of(learned: SiteVerdicts, *, least_caution: float = 0.0) -> Template:
    """Return what is kept of verdicts to cut pages, with at least so much caution."""
    gone = _left_out_whole(learned.paths)
    wanted = [path for path in learned.paths if path.rpartition(">")[0] not in gone]
    wanted = sorted(wanted, key=lambda path: (-learned.paths[path].pages, path))[:_MOST_PATHS]
    return Template(
        learned.pages,
        learned.containers,
        {path: learned.paths[path] for path in sorted(wanted, key=lambda path: path.split(">"))},
        _most(learned.repeated),
        _most(learned.surrounding),
        caution=learned.caution,
        least_caution=least_caution,
    )


def surrounded_on(template: Template, observations: Sequence[Observation]) -> int:
    """Return how many blocks with a text that surrounds the content nine of ten pages have at least."""
    met = sorted(sum(text in template.surrounding for text in seen.texts) for seen in observations)
    return met[len(met) // 10] if met else 0


def _left_out_whole(verdicts: Mapping[str, PathVerdict]) -> set[str]:
    """Return the paths that are left out with all that stands in them."""
    keeping: set[str] = set()
    for path, verdict in verdicts.items():
        above = path if verdict.keep else ""
        while above and above not in keeping:
            keeping.add(above)
            above = above.rpartition(">")[0]
    return set(verdicts) - keeping


def _most(counts: Mapping[int, int]) -> dict[int, int]:
    return dict(sorted(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_MOST_REPEATED]))


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
    """Return a template's verdicts as CSS; blocks that are left out for themselves are not in it."""
    containers, verdicts = template.containers, template.verdicts
    ways = {path for container in containers for path in _with_above(container)}
    keeping = {above for path, verdict in verdicts.items() if verdict.keep for above in _with_above(path)}
    whole = [path for path in verdicts if path not in keeping]
    beside = [path for path in verdicts if path in keeping and path not in ways and path.rpartition(">")[0] in ways]
    inside = tuple(f"{container}>" for container in containers)
    return Selectors(
        content=tuple(map(selector, containers)),
        beside=tuple(selector(path) for path in beside if not path.startswith(inside)),
        exclude=tuple(selector(path) for path in whole if path.rpartition(">")[0] in keeping),
        without_own_text=tuple(
            selector(path) for path, verdict in verdicts.items() if path in keeping and not verdict.keep
        ),
    )


def certainty_of(template: Template, observations: Sequence[Observation]) -> float:
    """Return how likely a template's verdicts are right, 0.5 to 1.0: mean of the text of some pages."""
    right = total = 0.0
    # Pages of a layout share most of their paths.
    likely = cache(template.lookup.probability)
    for seen in observations:
        sure = [max(chance, 1 - chance) for chance in map(likely, seen.paths)]
        right += sum(map(mul, seen.chars, map(sure.__getitem__, seen.at)))
        total += sum(seen.chars)
    return round(right / total, 3) if total else 0.5


def is_too_thin(thin: int, pages: int) -> bool:
    """Say whether a template leaves hardly anything of so many pages that it is of no use."""
    return 2 * thin > pages


def thin_pages(template: Template, observations: Sequence[Observation]) -> int:
    """Return of how many pages hardly anything of the main column is left: what they share is their content.

    Links do not count where there is other text: a shop shows more of other products than of the page's own.
    """
    lookup, inside = template.lookup, f"{template.containers[0]}>"
    is_within = cache(lambda path: f"{lookup.folding.path(path)}>".startswith(inside))
    is_kept = cache(lookup.keeps)
    thin = 0
    for seen in observations:
        within, keeps = [*map(is_within, seen.paths)], [*map(is_kept, seen.paths)]
        both = [*map(and_, within, keeps)]
        (total, links), (kept, kept_links) = (
            [sum(compress(counts, map(chosen.__getitem__, seen.at))) for counts in (seen.chars, seen.link_chars)]
            for chosen in (within, both)
        )
        thin += kept < _THIN * total and kept - kept_links <= _THIN * (total - links)
    return thin


# Of the text in the main column. Of 44 sites one has as little on most of its pages: they are near copies.
_THIN: Final = 0.3


class Cut(Struct, frozen=True):
    """What is left out of one page."""

    removed: list[Why | None]
    """One value a block, None where it stays."""
    judged: list[bool]
    """Whether the template knows better than a selector of all sites.

    It does within the main column, too, where content may be new to it, and of what it left out and put back: without
    these two, one site in 24 lost 1.6 % of its text.
    """
    fit: float
    """Share of the page's text that stands on paths the template knows, or in what it keeps, 0 to 1."""
    moved: float
    """Of the texts that surround the content on the site and are on this page, the share that stands where the template
    does not know it; 0.0 where they are few."""
    gone: float
    """Share of the texts that surround the content on nearly all pages and are not on this one; 0.0 where they are
    few."""
    own: float
    """Share that stays of the text that half of the learning pages do not have, 0 to 1; of all text where that is all
    there is."""


def cut(page: Page, template: Template) -> Cut:
    """Return for each block of a page why it is left out, or None where it stays."""
    lookup = template.lookup
    find, known, surrounding = lookup.standing, lookup.known, template.surrounding
    repeated, often = template.repeated, _OFTEN * template.pages
    met_on = [surrounding.get(text, 0) for text in text_numbers(page.blocks)] if surrounding else repeat(0)
    removed: list[Why | None] = []
    judged: list[bool] = []
    total = unknown = moved = met = kept = own_text = own_kept = 0
    shared: list[int] = []
    for block, on_others in zip(page.blocks, met_on, strict=False):
        path = block.path
        why, is_inside, is_known = known.get(path) or find(path)
        judged.append(is_known or is_inside or why is not None)
        chars = len(block.text)
        if on_others:
            met += 1
            if not is_known or why is None:
                moved += 1
                # A word of a menu may be one of a text: on a path that is known it takes a sentence.
                if why is None and (not is_known or chars >= _SENTENCE):
                    why = lookup.why_text(block, on_others, surrounds=True)
        on_pages = repeated.get(block.fingerprint, 0)
        if not on_pages:
            own_text += chars
            own_kept += chars * (why is None)
        if why is None:
            kept += chars
            if chars >= _SENTENCE and on_pages >= often:
                shared.append(len(removed))
        removed.append(why)
        total += chars
        if not (is_known or is_inside):
            unknown += chars
    own = kept - sum(len(page.blocks[place].text) for place in shared)
    # Pages that differ in a name share nearly all of their text: there it is their content.
    if own >= _NEAR_COPY * (kept - own):
        for place in shared:
            block = page.blocks[place]
            removed[place] = lookup.why_text(block, repeated[block.fingerprint])
    fit = 1 - unknown / total if total else 1.0
    return Cut(
        removed,
        judged,
        fit,
        moved=moved / met if met >= _ENOUGH_MET else 0.0,
        gone=max(0.0, 1 - met / template.surrounded) if template.surrounded >= _ENOUGH_GONE else 0.0,
        own=own_kept / own_text if own_text else kept / total if total else 1.0,
    )


# Only a text as long as a sentence goes for itself, whatever is said of its path.
_SENTENCE: Final = 50
# Of the pages that a template was learned from.
_OFTEN: Final = 0.8
_NEAR_COPY: Final = 0.5
# Of fewer texts none says that a site was designed anew.
_ENOUGH_MET: Final = 3
_ENOUGH_GONE: Final = 2


# A redesign is noticed while its fifth page is read, and five pages are what a template is learned from.
WINDOW: Final = 10
ENOUGH: Final = 5


class Drift(Struct, frozen=True):
    """Pages of late that no template fits."""

    layout: int
    """The layout of most of them, 0 where they are of none."""
    what: str
    failed: int
    looked: int
    since: datetime
    pages: frozenset[bytes]
    """Keys of those pages."""
    retired: frozenset[int]
    """Layouts of which no page of late fits."""

    @property
    def cause(self) -> str:
        """What happened, in words."""
        return f"{self.what} on {self.failed} of {self.looked} pages since {self.since:%H:%M}"


class Look(Struct, frozen=True):
    """How one page was found."""

    page_key: bytes
    layout: int
    """0 where it is of no known one."""
    what: str
    """Does not fit, such as `content root lost`; empty where all does."""
    at: datetime
    """When it was received."""
    text: int
    """Stands for all that it says."""


class DriftWatch:
    """The last pages of one domain, and whether they were cut by a template that fits.

    From the first page that is in doubt on the question is open whether the site was designed anew: until five of ten
    pages raise an alarm, or cannot do so any more.
    """

    def __init__(self) -> None:
        self._looks: list[Look] = []
        """No deque: crawls of many small domains hold one watch each, and a deque takes 600 bytes."""
        self.asked = self._doubtful = 0
        """Pages since the question is open, and those of them that are in doubt."""
        self.raised = False
        """An alarm is open."""

    def note(self, look: Look) -> Drift | None:
        """Take in a page; return the alarm that it raises."""
        # What comes again is the same page.
        self._looks = [*(one for one in self._looks if one.page_key != look.page_key), look][-WINDOW:]
        if self.raised:
            return None
        found = self._unfit()
        # A wall or a search's frames, of which all say the same, are no new design.
        if len({one.text for one in found}) < ENOUGH:
            self._ask(is_doubtful=bool(look.what))
            return None
        self.raised = True
        self.asked = self._doubtful = 0
        causes = [(one.layout, one.what) for one in found]
        # Of equally frequent ones the first.
        layout, what = max(causes, key=lambda cause: (causes.count(cause), -causes.index(cause)))
        pages = frozenset(one.page_key for one in found)
        fitting = {one.layout for one in self._looks if one.page_key not in pages}
        since = min(one.at for one in found)
        retired = frozenset({one.layout for one in found} - fitting)
        return Drift(layout, what, len(found), len(self._looks), since, pages, retired)

    def _unfit(self) -> list[Look]:
        """Return the pages that count: those of no layout only if they are most of what came since the first.

        Where half as many fit known layouts, they are one kind of pages more.
        """
        looks = self._looks
        first = next((place for place, one in enumerate(looks) if one.what), None)
        if first is None:
            return []
        new = sum(bool(one.what) and not one.layout for one in looks)
        go_on = sum(bool(one.layout) and not one.what for one in looks[first:])
        return [one for one in looks if one.what and (one.layout or new >= 2 * go_on)]

    def _ask(self, *, is_doubtful: bool) -> None:
        if self.asked or is_doubtful:
            self.asked += 1
            self._doubtful += is_doubtful
        if self._doubtful + WINDOW - self.asked < ENOUGH or self.asked >= WINDOW:
            self.asked = self._doubtful = 0

    def cleared(self) -> bool:
        """Return whether an alarm is over: enough pages fit since; asked once, it is closed."""
        if not self.raised or len(self._looks) < ENOUGH or any(look.what for look in self._looks[-ENOUGH:]):
            return False
        self.raised = False
        return True

    def relearned(self) -> None:
        """Forget the pages that did not fit: what was learned from them is what counts now."""
        self._looks.clear()
        self.asked = self._doubtful = 0

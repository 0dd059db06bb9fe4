"""What a template says of the path of any block, known or not."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from scrapy_dedup.core.blocks import Block
from scrapy_dedup.core.boilerplate_names import NAVIGATION_TAGS, is_comments, is_navigation, is_surroundings
from scrapy_dedup.core.observations import MOST_STEPS
from scrapy_dedup.core.path_names import Folding, names_in, parts_of, tag_of
from scrapy_dedup.core.path_statistics import OWN_TEXT, ROOT
from scrapy_dedup.core.path_verdicts import DropReason, PathVerdict

# A site has some hundred paths; pages of nonsense have any number.
_MOST_KNOWN: Final = 10_000


@dataclass(frozen=True, slots=True)
class Why:
    """Why a block was left out. Blocks that one rule drops have one and the same object."""

    reason: DropReason
    path: str
    """Of the element that was dropped with all in it; OWN_TEXT ends it where only the element's own text was."""
    evidence: str
    is_sitewide: bool = True
    """Whether at least half of the learning pages have it."""
    on_pages: int = field(default=0, compare=False)
    """Learning pages with the element, or with the block's text; 0 where no learning page had it."""
    of_pages: int = field(default=0, compare=False)


class Standing(NamedTuple):
    """What is known of one path."""

    why: Why | None
    inside: bool
    """Within the main column."""
    known: bool
    """All of it stood on learning pages, or stands in something dropped."""


class PathLookup:
    """Finds the verdict on a path; each path is looked up once."""

    def __init__(self, verdicts: Mapping[str, PathVerdict], pages: int) -> None:
        self.verdicts = verdicts
        self.pages = pages
        self.folding = Folding(names_in(verdicts))
        self.known: dict[str, Standing] = {}
        self.whys: dict[tuple[str, int], Why] = {}

    def standing(self, path: str) -> Standing:
        """Return what is known of a block's path."""
        known = self.known.get(path)
        if known is None:
            if len(self.known) >= _MOST_KNOWN:
                self.known.clear()
            known = self.known[path] = self._find(path.split(">", MOST_STEPS)[:MOST_STEPS])
        return known

    def why_repeated(self, block: Block, on_pages: int) -> Why:
        """Return why a long block is dropped that stands on a path which is kept."""
        return self._why(
            (block.path, on_pages),
            lambda: Why(
                DropReason.REPEATS,
                block.path,
                f"the same text on {on_pages} of {self.pages} pages",
                on_pages=on_pages,
                of_pages=self.pages,
            ),
        )

    def why_behind(self, path: str, on_pages: int) -> Why:
        """Return why a list of links is dropped that stands behind all text."""
        return self._why(
            (path, -1),
            lambda: Why(
                DropReason.LINKS,
                path,
                f"links behind all text, as on {on_pages} of {self.pages} pages",
                on_pages=on_pages,
                of_pages=self.pages,
            ),
        )

    def _find(self, steps: list[str]) -> Standing:
        """Walk down the steps as far as they are known, then look at names alone."""
        reached, inside = ROOT, False
        for number, step in enumerate(steps[1:], 1):
            below = f"{reached}>{self.folding.step(step)}"
            verdict = self.verdicts.get(below)
            if verdict is None:
                return Standing(self._by_names(steps, number), inside, known=False)
            if not verdict.keep:
                return Standing(self._dropped(below, verdict), verdict.inside, known=True)
            reached, inside = below, verdict.inside
        path = f"{reached}>{OWN_TEXT}"
        own = self.verdicts.get(path)
        if own is None:
            return Standing(None, inside, known=True)
        return Standing(None if own.keep else self._dropped(path, own), own.inside, known=True)

    def _dropped(self, path: str, verdict: PathVerdict) -> Why:
        assert verdict.reason is not None
        reason, sitewide = verdict.reason, 2 * verdict.pages >= verdict.of_pages
        return self._why(
            (path, 0), lambda: Why(reason, path, verdict.evidence, sitewide, verdict.pages, verdict.of_pages)
        )

    def _by_names(self, steps: list[str], known_steps: int) -> Why | None:
        for number in range(known_steps, len(steps)):
            reason = _reason_in_name(steps[number])
            if reason is not None:
                return self._named(">".join(steps[: number + 1]), reason)
        return None

    def _named(self, path: str, reason: DropReason) -> Why:
        # Not sitewide: no learning page had it.
        return self._why((path, 0), lambda: Why(reason, path, "new to the template, and named so", is_sitewide=False))

    def _why(self, key: tuple[str, int], make: Callable[[], Why]) -> Why:
        known = self.whys.get(key)
        if known is None:
            if len(self.whys) >= _MOST_KNOWN:
                self.whys.clear()
            known = self.whys[key] = make()
        return known


def _reason_in_name(step: str) -> DropReason | None:
    """Return why an element is left out that no learning page had.

    Its id is passed over: sections have theirs from what they are about.
    """
    tag, *names = parts_of(step)
    classes = tag + "".join(name for name in names if name[0] == ".")
    if tag_of(step) in NAVIGATION_TAGS or is_navigation(classes):
        return DropReason.NAVIGATION
    if is_comments(classes):
        return DropReason.COMMENTS
    return DropReason.NAMED if is_surroundings(classes) else None

"""What a template says of the path of any block, known or not."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from msgspec import Struct

from scrapy_dedup.core.boilerplate.names import Folding, names_in
from scrapy_dedup.core.boilerplate.observations import MOST_STEPS
from scrapy_dedup.core.boilerplate.path_features import ROOT, DropReason
from scrapy_dedup.core.boilerplate.path_verdicts import PathVerdict
from scrapy_dedup.core.pages.blocks import Block

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


class PathLookup:
    """Finds the verdict on a path; each path is looked up once."""

    def __init__(self, verdicts: Mapping[str, PathVerdict], pages: int) -> None:
        self.verdicts = verdicts
        self.pages = pages
        self.folding = Folding(names_in(verdicts))
        self._divided = frozenset(path.rpartition(">")[0] for path in verdicts)
        """Of what stands in them something is judged by itself."""
        self.known: dict[str, PathStanding] = {}
        self.whys: dict[tuple[str, int], Why] = {}

    def standing(self, path: str) -> PathStanding:
        """Return what is known of a block's path: an unknown one is as what it stands in."""
        known = self.known.get(path)
        if known is None:
            if len(self.known) >= _MOST_KNOWN:
                self.known.clear()
            known = self.known[path] = self._find(path.split(">", MOST_STEPS)[:MOST_STEPS])
        return known

    def probability(self, path: str) -> float:
        """Return how likely what stands on a path is content, 0.0 to 1.0."""
        reached, _ = self._reach(path.split(">", MOST_STEPS)[:MOST_STEPS])
        verdict = self.verdicts.get(reached)
        return verdict.probability if verdict is not None else 0.5

    def why_text(self, block: Block, on_pages: int, *, surrounds: bool = False) -> Why:
        """Return why a text is left out for itself: many pages have it, or it surrounds the content elsewhere."""
        told = f"the same text {'was left out of' if surrounds else 'on'} {on_pages} of {self.pages} pages"
        return self._why(
            (block.path, -2 - on_pages if surrounds else on_pages),
            lambda: Why(DropReason.REPEATS, block.path, told, on_pages=on_pages, of_pages=self.pages),
        )

    def _reach(self, steps: list[str]) -> tuple[str, int]:
        """Return the deepest path that is known on the way down, and how many steps below body it is."""
        reached = ROOT
        for number, step in enumerate(steps[1:], 1):
            below = f"{reached}>{self.folding.step(step)}"
            if below not in self.verdicts:
                return reached, number - 1
            reached = below
        return reached, len(steps) - 1

    def _find(self, steps: list[str]) -> PathStanding:
        reached, depth = self._reach(steps)
        verdict = self.verdicts.get(reached)
        is_known = depth == len(steps) - 1 or (depth > 0 and reached not in self._divided)
        if verdict is None:
            return PathStanding(None, inside=False, known=is_known)
        if verdict.keep:
            return PathStanding(None, depth >= _INSIDE, depth == len(steps) - 1)
        return PathStanding(
            self._dropped(reached, verdict, is_known=is_known), inside=False, known=is_known or depth > 0
        )

    def _dropped(self, path: str, verdict: PathVerdict, *, is_known: bool) -> Why:
        reason = verdict.reason or DropReason.OUTSIDE
        new = "" if is_known else "new to the template, and as what it stands in: "
        return self._why(
            (path, -is_known),
            lambda: Why(reason, path, new + verdict.evidence, verdict.pages, verdict.of_pages),
        )

    def _why(self, key: tuple[str, int], make: Callable[[], Why]) -> Why:
        known = self.whys.get(key)
        if known is None:
            if len(self.whys) >= _MOST_KNOWN:
                self.whys.clear()
            known = self.whys[key] = make()
        return known

"""What a browser saw of pages: what looks like their content, what nobody sees, and what scripts made."""

import re
from collections import defaultdict
from collections.abc import Sequence
from enum import StrEnum
from statistics import fmean
from typing import Final

from msgspec import Struct, field

from scrapy_dedup.core.boilerplate.names import PathLooks
from scrapy_dedup.core.boilerplate.observations import MOST_BLOCKS, upper_part
from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.teacher.rendered import Box, Flag, NumberedPage, Snapshot, TextRun
from scrapy_dedup.core.teacher.vision_blocks import blocks_around, looks_of

# Menus and slides wait just outside the window; what is to be found by machines alone stands far out.
_FAR: Final = 900
_MOST: Final = 200
_MOST_CHARS: Final = 200
_ZERO_WIDTH: Final = re.compile("[\u200b\u200c\u200d\u2060\ufeff\u00ad\U000e0000-\U000e007f]")

NEEDS_RENDERING: Final = 0.5
"""Share of the seen text that scripts made."""
_NEARLY_EMPTY: Final = 200
_SHOWN: Final = 1_000


class UnseenReason(StrEnum):
    """Why nobody sees a text."""

    OFF_SCREEN = "off_screen"
    CLIPPED = "clipped"
    NO_SIZE = "no_size"
    SAME_COLOUR = "same_colour"
    ZERO_WIDTH = "zero_width"
    NOT_DISPLAYED = "not_displayed"
    """`display: none`, `hidden`, folded to no height: a click, or a script, may open it."""


class Unseen(Struct, frozen=True):
    """A text that nobody sees."""

    place: int
    """Of its block, as an index into the page's blocks."""
    reason: UnseenReason
    text: str
    """Its first 200 characters."""


def unseen_text(page: Page, numbered: NumberedPage, snapshot: Snapshot, *, closed: bool = False) -> list[Unseen]:
    """Return the blocks of a page that no person sees, in order, at most 200.

    What waits to be faded in is none of them: browsers that run no scripts do not show it. A block is listed where
    nobody sees any of it.

    Args:
        page: the page.
        numbered: its elements.
        snapshot: how a browser showed it.
        closed: whether what is not displayed counts, although a click may open it.
    """
    reasons = unseen_elements(numbered, snapshot, closed=closed)
    found = []
    for place, (block, number) in enumerate(zip(page.blocks, numbered.of_blocks, strict=True)):
        reason = UnseenReason.ZERO_WIDTH if not _ZERO_WIDTH.sub("", block.text).strip() else reasons.get(number)
        if reason is not None:
            found.append(Unseen(place, reason, block.text[:_MOST_CHARS]))
            if len(found) == _MOST:
                break
    return found


def unseen_elements(numbered: NumberedPage, snapshot: Snapshot, *, closed: bool = False) -> dict[int, UnseenReason]:
    """Return the block-level elements all of whose text nobody sees."""
    around = blocks_around(numbered)
    reasons: dict[int, UnseenReason | None] = {}
    for run in snapshot.runs:
        number = around.get(run.number)
        if number is not None:
            is_closed = closed and run.flags & Flag.NOT_DISPLAYED
            reason = UnseenReason.NOT_DISPLAYED if is_closed else reason_unseen(run, snapshot)
            reasons[number] = reason if number not in reasons else (reason and reasons[number])
    return {number: reason for number, reason in reasons.items() if reason is not None}


def reason_unseen(run: TextRun, snapshot: Snapshot) -> UnseenReason | None:
    """Return why nobody sees a text; None where somebody does, or may after a click."""
    flags = run.flags
    if flags & (Flag.NOT_DISPLAYED | Flag.INVISIBLE | Flag.TRANSPARENT | Flag.PANEL):
        return None
    if flags & Flag.NO_SIZE:
        return UnseenReason.NO_SIZE
    if flags & Flag.CLIPPED:
        return UnseenReason.CLIPPED
    if flags & Flag.OFF_SCREEN and _is_far(run.box, snapshot):
        return UnseenReason.OFF_SCREEN
    return UnseenReason.SAME_COLOUR if flags & Flag.SAME_COLOUR else None


def _is_far(box: Box, snapshot: Snapshot) -> bool:
    return box.x + box.width <= -_FAR or box.y + box.height <= -_FAR or box.x >= snapshot.width + _FAR


class SeenPage(Struct, frozen=True):
    """One page, without its text; small, and it can be pickled."""

    paths: dict[str, PathLooks] = field(default_factory=dict)
    """By path, as `observe` has it."""
    static_chars: int = 0
    """Of what looks like content and stands in the page as it came."""
    scripted_chars: int = 0
    """Seen text that scripts made."""
    js_share: float = 0.0
    """Share of the seen text that scripts made."""
    unseen: tuple[Unseen, ...] = ()

    @property
    def is_odd(self) -> bool:
        """Whether so much of the text is not to be seen that it is the browser that is odd."""
        unseen = sum(there.unseen for there in self.paths.values())
        return unseen > _MOST_UNSEEN * sum(there.seen + there.unseen for there in self.paths.values())


# Of a page's text.
_MOST_UNSEEN: Final = 0.2


def see(page: Page, numbered: NumberedPage, snapshot: Snapshot) -> SeenPage:
    """Return what a page looked like, by DOM path; of one whose style sheets did not come, only what scripts made."""
    if not snapshot.is_styled:
        return SeenPage(
            static_chars=snapshot.static_chars,
            scripted_chars=snapshot.scripted_chars,
            js_share=round(snapshot.js_share, 3),
        )
    looks = looks_of(page, numbered, snapshot)
    unseen = unseen_text(page, numbered, snapshot)
    hidden = {one.place for one in unseen}
    sums: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    # As many as an observation has, and the same.
    stride = -(-len(page.blocks) // MOST_BLOCKS) or 1
    for place in range(0, len(page.blocks), stride):
        block, number = page.blocks[place], numbered.of_blocks[place]
        chars = len(block.text)
        row = sums[upper_part(block.path)]
        if place in hidden:
            row[2] += chars
        elif number in looks.main:
            row[0] += chars
            row[1] += round(chars * looks.main[number])
    return SeenPage(
        paths={path: PathLooks(*row) for path, row in sums.items() if any(row)},
        static_chars=sum(row[1] for row in sums.values()),
        scripted_chars=snapshot.scripted_chars,
        js_share=round(snapshot.js_share, 3),
        unseen=tuple(unseen),
    )


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


def vision_of(pages: Sequence[SeenPage], agreement: float) -> Vision:
    """Return what is kept of the pages of one layout that a browser showed; at least one."""
    js_share = round(fmean(page.js_share for page in pages), 3)
    is_empty = fmean(page.static_chars for page in pages) < _NEARLY_EMPTY
    return Vision(
        shown=len(pages),
        js_share=js_share,
        needs_rendering=js_share >= NEEDS_RENDERING and is_empty,
        unseen=min(_SHOWN, sum(len(page.unseen) for page in pages)),
        agreement=round(agreement, 3),
    )

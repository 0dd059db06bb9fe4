"""Text that stands on a page and that no person sees there."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from scrapy_dedup.core.blocks import Page
from scrapy_dedup.core.numbering import Numbered
from scrapy_dedup.core.sight import Box, Flag, Sight, TextRun
from scrapy_dedup.core.vision_blocks import blocks_around

# Menus and slides wait just outside the window; what is to be found by machines alone stands far out.
_FAR: Final = 900
_MOST: Final = 200
_MOST_CHARS: Final = 200
_ZERO_WIDTH: Final = re.compile("[\u200b\u200c\u200d\u2060\ufeff\u00ad\U000e0000-\U000e007f]")


class UnseenReason(StrEnum):
    """Why nobody sees a text."""

    OFF_SCREEN = "off_screen"
    CLIPPED = "clipped"
    NO_SIZE = "no_size"
    SAME_COLOUR = "same_colour"
    ZERO_WIDTH = "zero_width"


@dataclass(frozen=True, slots=True)
class Unseen:
    """A text that nobody sees."""

    place: int
    """Of its block, as an index into the page's blocks."""
    reason: UnseenReason
    text: str
    """Its first 200 characters."""


def unseen_text(page: Page, numbered: Numbered, sight: Sight) -> list[Unseen]:
    """Return the blocks of a page that no person sees, in order, at most 200.

    What a click opens (`display: none`, folded to no height) is none of them, nor what waits to be faded in: browsers
    that run no scripts show neither. A block is listed where nobody sees any of it.
    """
    reasons = unseen_elements(numbered, sight)
    found = []
    for place, (block, number) in enumerate(zip(page.blocks, numbered.of_blocks, strict=True)):
        reason = UnseenReason.ZERO_WIDTH if _has_no_width(block.text) else reasons.get(number)
        if reason is not None:
            found.append(Unseen(place, reason, block.text[:_MOST_CHARS]))
            if len(found) == _MOST:
                break
    return found


def unseen_elements(numbered: Numbered, sight: Sight) -> dict[int, UnseenReason]:
    """Return the block-level elements all of whose text nobody sees."""
    around = blocks_around(numbered)
    reasons: dict[int, UnseenReason | None] = {}
    for run in sight.runs:
        number = around.get(run.number)
        if number is not None:
            reason = reason_unseen(run, sight)
            reasons[number] = reason if number not in reasons else (reason and reasons[number])
    return {number: reason for number, reason in reasons.items() if reason is not None}


def reason_unseen(run: TextRun, sight: Sight) -> UnseenReason | None:
    """Return why nobody sees a text; None where somebody does, or may after a click."""
    flags = run.flags
    if flags & (Flag.NOT_DISPLAYED | Flag.INVISIBLE | Flag.TRANSPARENT | Flag.PANEL):
        return None
    if flags & Flag.NO_SIZE:
        return UnseenReason.NO_SIZE
    if flags & Flag.CLIPPED:
        return UnseenReason.CLIPPED
    if flags & Flag.OFF_SCREEN and _is_far(run.box, sight):
        return UnseenReason.OFF_SCREEN
    return UnseenReason.SAME_COLOUR if flags & Flag.SAME_COLOUR else None


def _is_far(box: Box, sight: Sight) -> bool:
    return box.x + box.width <= -_FAR or box.y + box.height <= -_FAR or box.x >= sight.width + _FAR


def _has_no_width(text: str) -> bool:
    return not _ZERO_WIDTH.sub("", text).strip()

"""What changed on a page: the two sides of a unified diff, and the words that differ."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from msgspec import Struct

from scrapy_dedup.report.markup import visible

Line = list[tuple[str, bool]]
"""Pieces of a line, each with whether it differs."""

MOST_HUNKS = 100
MOST_LINES = 400
LONGEST_LINE = 600
"""Lines of `core.recrawl.verdicts.unified_diff` are shorter."""

CHANGES = {
    "content": "The text changed",
    "numbers": "Nothing but numbers changed",
    "title": "The title changed",
    "files": "Pictures, files or addresses changed",
    "volatile": "Dates or counters changed",
    "boilerplate_only": "Boilerplate changed",
}
"""Classes of change, for readers."""

_HEADING_LINES = 2
# To compare pieces takes the product of their numbers; two texts without much in common are better left unmarked.
_MOST_PIECES = 600
_ALIKE = 0.5
_PIECE = re.compile(r"\w+|\s+|[^\w\s]")


class Hunk(Struct, frozen=True):
    """Lines that stand next to each other: those that left, and those that came in their place."""

    was: tuple[str, ...]
    now: tuple[str, ...]


def hunks(diff: str) -> list[Hunk]:
    """Return the hunks of a unified diff in its order; lines that did not change are left out."""
    found: list[tuple[list[str], list[str]]] = [([], [])]
    for line in diff.split("\n")[_HEADING_LINES:]:
        if line[:1] == "-":
            if found[-1][1]:  # what left after something came is a change of its own
                found.append(([], []))
            found[-1][0].append(line[1:])
        elif line[:1] == "+":
            found[-1][1].append(line[1:])
        else:
            found.append(([], []))
    return [Hunk(tuple(was), tuple(now)) for was, now in found if was or now]


def fitting_hunks(found: Sequence[Hunk]) -> list[Hunk]:
    """Return the first hunks, as many as there is room for."""
    lines, shown = 0, []
    for hunk in found[:MOST_HUNKS]:
        lines += len(hunk.was) + len(hunk.now)
        if lines > MOST_LINES:
            break
        shown.append(hunk)
    return shown


def marked(hunk: Hunk) -> tuple[list[Line], list[Line]]:
    """Return both sides of a hunk, cut to what is shown; where they are much alike, with the words that differ told."""
    was, now = ([visible(line, LONGEST_LINE) for line in side] for side in (hunk.was, hunk.now))
    # A line's end is no piece of any line.
    before, after = ([piece for line in side for piece in [*_PIECE.findall(line), "\n"]] for side in (was, now))
    differs: tuple[set[int], set[int]] = (set(), set())
    if was and now and max(len(before), len(after)) <= _MOST_PIECES:
        matcher = SequenceMatcher(None, before, after, autojunk=False)
        if matcher.ratio() >= _ALIKE:
            for tag, start, end, new_start, new_end in matcher.get_opcodes():
                if tag != "equal":
                    differs[0].update(range(start, end))
                    differs[1].update(range(new_start, new_end))
    return _lines(before, differs[0]), _lines(after, differs[1])


def _lines(pieces: Sequence[str], differs: set[int]) -> list[Line]:
    """Return the pieces of each line, neighbours of one kind as one."""
    lines: list[Line] = []
    line: Line = []
    for number, piece in enumerate(pieces):
        if piece == "\n":
            lines.append(line)
            line = []
        elif line and line[-1][1] == (number in differs):
            line[-1] = (line[-1][0] + piece, line[-1][1])
        else:
            line.append((piece, number in differs))
    return lines

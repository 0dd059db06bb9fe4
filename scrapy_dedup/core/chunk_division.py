"""Segments to pieces that fit, and pieces to chunks, at places that an edit far away does not move.

Where a chunk could end in several places between half full and full, it ends before the piece with the least
checksum. Filling each chunk to the brim instead would move every later end when one sentence is added.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final
from zlib import crc32

from scrapy_dedup.core.chunk_segments import ChunkKind, Segment, closes, fence_of

PARAGRAPH: Final = "\n\n"
SENTENCE_END: Final = re.compile(
    r"(?<=[.!?\u2026])[\"'\u00bb\u201d\u2019)\]*_]{0,4}(\s++)(?![a-z])"  # in scripts with spaces
    r"|(?<=[\u3002\uff01\uff1f])"
)
_BLANK: Final = re.compile(r"((?:\n[ \t]*)+\n)")
_LINE: Final = re.compile(r"(\n)")
_SPACE: Final = re.compile(r"(\s+)")
_CODE_BREAKS: Final = (_BLANK, _LINE)
_PROSE_BREAKS: Final = (_BLANK, _LINE, SENTENCE_END)
# Of many places in a row only so many are weighed: lines of one letter must not cost more than others.
_WEIGHED: Final = 32
# Marks that belong to the character before them are few; a text that has nothing else is cut anywhere.
_LONGEST_CHARACTER: Final = 32
_JOINER: Final = "\u200d"


@dataclass(frozen=True, slots=True)
class Ruler:
    """How long a text may be, and what it is measured with."""

    size: int
    measure: Callable[[str], int]

    def fits(self, text: str) -> bool:
        """Whether a text is no longer than that."""
        return self.measure(text) <= self.size


@dataclass(frozen=True, slots=True)
class Piece:
    """What stands together in one chunk."""

    text: str
    kind: ChunkKind
    glue: str | None = PARAGRAPH
    """What stands before it where it is not the first of its chunk; None: it always is."""


def pieces_of(segment: Segment, ruler: Ruler, lead: str = "") -> list[Piece]:
    """Return the segment as one piece, or as few as fit.

    Args:
        segment: any but a heading, unless *lead* is empty.
        ruler: what fits.
        lead: the headings right above; they go in front of the first piece.
    """
    whole = lead + segment.text
    if ruler.fits(whole):
        return [Piece(whole, segment.kind)]
    if segment.kind is ChunkKind.TABLE:
        parts = _table_parts(segment, ruler, lead)
    elif segment.kind is ChunkKind.CODE:
        parts = _code_parts(segment, ruler, lead)
    else:
        parts = [
            Piece(part, segment.kind, glue)
            for before, item in segment.items or ((PARAGRAPH, segment.text),)
            for glue, part in divide(item, ruler, _PROSE_BREAKS, wrap=(lead, ""), glue=before)
        ]
    first = Piece(lead + parts[0].text, parts[0].kind)
    return [first, *parts[1:]]


def pack(pieces: Sequence[Piece], ruler: Ruler) -> list[Sequence[Piece]]:
    """Return the pieces in rows that fit, each of which becomes a chunk."""
    sizes = [ruler.measure(piece.text) for piece in pieces]
    gap = ruler.measure(PARAGRAPH)
    rows: list[Sequence[Piece]] = []
    at = 0
    while at < len(pieces):
        end = _row_end(pieces, sizes, at, ruler.size, gap)
        # Tokens of two texts may be more when the texts are joined.
        while end > at + 1 and not ruler.fits(join(pieces[at:end])):
            end = at + (end - at) // 2
        rows.append(pieces[at:end])
        at = end
    return rows


def join(pieces: Sequence[Piece]) -> str:
    """Return the text of a row."""
    return pieces[0].text + "".join(f"{piece.glue}{piece.text}" for piece in pieces[1:])


def divide(
    text: str,
    ruler: Ruler,
    breaks: Sequence[re.Pattern[str]],
    *,
    wrap: tuple[str, str] = ("", ""),
    glue: str = PARAGRAPH,
) -> list[tuple[str, str]]:
    """Return parts that fit, each with the white space before it, cut at the first kind of place that there is.

    Args:
        text: of any length.
        ruler: what fits.
        breaks: kinds of places, the best first; then spaces, then between any two characters.
        wrap: what will stand before and after each part.
        glue: what stands before the first part.
    """
    before, after = wrap
    parts: list[tuple[str, str]] = []
    units = ruler.measure(f"{before}{text}{after}")
    room = max(1, ruler.size - ruler.measure(before) - ruler.measure(after))
    reach = max(1, room * len(text) // max(1, units - (ruler.size - room))) if units > ruler.size else len(text)
    start = 0
    while start < len(text):
        end = _fitting(text, start, min(len(text), start + reach), lambda part: ruler.fits(f"{before}{part}{after}"))
        cut, onward = (end, end) if end == len(text) else _place(text, start, end, breaks)
        part = text[start:cut]
        if part.strip():
            parts.append((glue, part))
            glue = ""
        # White space that is cut away between two parts comes back where they meet again in one chunk.
        glue = glue or text[cut:onward]
        start = onward
    return parts


def _table_parts(table: Segment, ruler: Ruler, lead: str) -> list[Piece]:
    names, rule, rows = [*table.text.split("\n", 2), ""][:3]
    head = f"{names}\n{rule}\n"
    # A head that leaves no room for rows is not worth repeating.
    if ruler.measure(lead + head) * 2 > ruler.size or not rows:
        return _parts(table, divide(table.text, ruler, (_LINE,), wrap=(lead, "")))
    return [
        Piece(head + part, ChunkKind.TABLE, None if place else PARAGRAPH)
        for place, (_, part) in enumerate(divide(rows, ruler, (_LINE,), wrap=(lead + head, "")))
    ]


def _code_parts(code: Segment, ruler: Ruler, lead: str) -> list[Piece]:
    opening, _, body = code.text.partition("\n")
    fence = fence_of(code)
    body, _, last = body.rpartition("\n") if closes(body.rpartition("\n")[2], fence) else (body, "", fence)
    if ruler.measure(f"{lead}{opening}\n\n{last}") * 2 > ruler.size or not body.strip():
        return _parts(code, divide(code.text, ruler, _CODE_BREAKS, wrap=(lead, "")))
    wrap = (f"{opening}\n", f"\n{last}")
    return [
        Piece(f"{wrap[0]}{part}{wrap[1]}", ChunkKind.CODE, None if place else PARAGRAPH)
        for place, (_, part) in enumerate(divide(body, ruler, _CODE_BREAKS, wrap=(lead + wrap[0], wrap[1])))
    ]


def _parts(segment: Segment, divided: list[tuple[str, str]]) -> list[Piece]:
    return [Piece(part, segment.kind, glue) for glue, part in divided]


def _row_end(pieces: Sequence[Piece], sizes: Sequence[int], at: int, room: int, gap: int) -> int:
    """Return where the row that begins at *at* ends."""
    filled = sizes[at]
    ends: list[int] = []
    end = at + 1
    while end < len(pieces) and pieces[end].glue is not None:
        if 2 * filled >= room:
            ends.append(end)
        filled += sizes[end] + (gap if pieces[end].glue == PARAGRAPH else len(pieces[end].glue or ""))
        if filled > room:
            break
        end += 1
    if end == len(pieces) or pieces[end].glue is None:
        return end
    return min(ends[-_WEIGHED:], key=lambda place: (_weight(pieces[place].text), place), default=end)


def _weight(text: str) -> int:
    """Return a number by which places are chosen: the same for the same text wherever it stands."""
    return crc32(text[:64].encode("utf-8", "surrogatepass"))


def _fitting(text: str, start: int, end: int, fits: Callable[[str], bool]) -> int:
    """Return an end for which the text fits, near the longest; at least one character."""
    while end > start + 1 and not fits(text[start:end]):
        end = start + max(1, (end - start) * 4 // 5)
    return end


def _place(text: str, start: int, end: int, breaks: Sequence[re.Pattern[str]]) -> tuple[int, int]:
    """Return where a part ends that may go to *end*, and where the next begins."""
    for kind in breaks:
        found = [place for match in kind.finditer(text, start + 1, end + 1) if (place := _gap(match))[0] <= end]
        if found:
            late = [place for place in found if 2 * (place[0] - start) >= end - start]
            return min(
                late[-_WEIGHED:], key=lambda place: (_weight(text[place[1] : place[1] + 64]), place), default=found[-1]
            )
    spaces = list(_SPACE.finditer(text, start + 1, end + 1))
    if spaces:
        return spaces[-1].start(), spaces[-1].end()
    cut = _between_characters(text, start, end)
    return cut, cut


def _gap(match: re.Match[str]) -> tuple[int, int]:
    """Return where the white space that a place consists of begins and ends."""
    return (match.start(1) if match[1] else match.end()), match.end()


def _between_characters(text: str, start: int, end: int) -> int:
    for cut in range(end, max(start, end - _LONGEST_CHARACTER), -1):
        if not _continues(text[cut]) and text[cut - 1] != _JOINER:
            return cut
    return end


def _continues(character: str) -> bool:
    return unicodedata.category(character)[0] == "M" or character == _JOINER or "\udc00" <= character <= "\udfff"

"""A page's cleaned content as chunks, the units that are retrieved, each with an id that outlives edits elsewhere.

Where a chunk could end in several places between half full and full, it ends before the piece with the least
checksum. Filling each chunk to the brim instead would move every later end when one sentence is added.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from hashlib import blake2b
from itertools import groupby
from typing import Final, Literal
from zlib import crc32

from msgspec import Struct

from scrapy_dedup.core.pages.fingerprints import content_hash

_HEADING: Final = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?", re.DOTALL)
_FENCE: Final = re.compile(r" {0,3}(`{3,}(?=[^`]*\Z)|~{3,})")
_ITEM: Final = re.compile(r"[ \t]*(?:([-*+])|\d{1,9}([.)]))(?=[ \t]|\Z)")
# Lines that begin with none of these are prose, which most are.
_SIGNS: Final = frozenset("#`~|-*+0123456789 \t")
_RULE: Final = re.compile(r"[\s:|-]+")
_LINK: Final = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")

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


_ID_BYTES: Final = 8
# A section that is at most an eighth of a chunk (a heading and a sentence or two) says too little alone and goes with
# its siblings; a longer one stays alone, so that a section which two documents share is the same chunk in both.
_SMALL_SHARE: Final = 8
# Characters of a unit at most, where the end of a chunk is looked at for an overlap.
_CHARS_A_UNIT: Final = 8


class ChunkKind(StrEnum):
    """What all of a text is; code and tables beside other text are prose."""

    PROSE = "prose"
    CODE = "code"
    TABLE = "table"
    HEADING = "heading"


class Segment(Struct, frozen=True):
    """One piece of structure; lists are prose."""

    kind: ChunkKind
    text: str
    level: int = 0
    """Of a heading, 1 to 6."""
    items: tuple[tuple[str, str], ...] = ()
    """Of a list: each outermost item with all that is nested in it, and the line ends before it."""


def segments_of(content: str) -> list[Segment]:
    """Return the segments in order; all but white space between them stands in exactly one."""
    lines = content.split("\n")
    found: list[Segment] = []
    at = 0
    while at < len(lines):
        if not lines[at].strip():
            at += 1
            continue
        segment, at = _read(lines, at)
        found.append(segment)
    return found


def title_of(heading: Segment) -> str:
    """Return a heading's words, without number signs and without the addresses of links."""
    match = _HEADING.match(heading.text)
    return " ".join(_LINK.sub(r"\1", (match and match[2]) or "").split())


def fence_of(code: Segment) -> str:
    """Return the characters that close a fenced block."""
    match = _FENCE.match(code.text.partition("\n")[0])
    return match[1] if match else ""


def closes(line: str, fence: str) -> bool:
    """Whether a line ends the code that *fence* began."""
    mark = line.strip()
    return mark.startswith(fence) and not mark.strip(fence[0])


def _read(lines: list[str], at: int) -> tuple[Segment, int]:
    line = lines[at]
    if not line[0].isalpha():
        if heading := _HEADING.fullmatch(line):
            return Segment(ChunkKind.HEADING, line.strip(), level=len(heading[1])), at + 1
        if fence := _FENCE.match(line):
            return _read_code(lines, at, fence[1])
        if _begins_table(lines, at):
            end = at + 2
            while end < len(lines) and lines[end].lstrip().startswith("|"):
                end += 1
            return Segment(ChunkKind.TABLE, "\n".join(lines[at:end])), end
        if item := _ITEM.match(line):
            return _read_list(lines, at, item[1] or item[2])
    end = at + 1
    while end < len(lines) and lines[end].strip() and not _interrupts(lines, end):
        end += 1
    return Segment(ChunkKind.PROSE, "\n".join(lines[at:end])), end


def _read_code(lines: list[str], at: int, fence: str) -> tuple[Segment, int]:
    """Return all up to the fence that closes; without one, to the end."""
    end = at + 1
    while end < len(lines) and not closes(lines[end], fence):
        end += 1
    end = min(end + 1, len(lines))
    return Segment(ChunkKind.CODE, "\n".join(lines[at:end]).rstrip()), end


def _begins_table(lines: list[str], at: int) -> bool:
    if not lines[at].lstrip().startswith("|") or at + 1 == len(lines):
        return False
    rule = lines[at + 1]
    return rule.lstrip().startswith("|") and "-" in rule and _RULE.fullmatch(rule) is not None


def _interrupts(lines: list[str], at: int) -> bool:
    """Whether a line ends the paragraph before it without a blank line between.

    A number does not: a line of prose may begin with a year.
    """
    line = lines[at]
    if line[0] not in _SIGNS:
        return False
    item = _ITEM.match(line)
    return bool((item and item[1]) or _HEADING.fullmatch(line) or _FENCE.match(line) or _begins_table(lines, at))


def _read_list(lines: list[str], at: int, mark: str) -> tuple[Segment, int]:
    base = _indent(lines[at])
    starts, ends = [at], []
    last = at
    end = at + 1
    while end < len(lines):
        line = lines[end]
        if not line.strip():
            end += 1
            continue
        item = _ITEM.match(line) if _indent(line) <= base else None
        if item and (item[1] or item[2]) == mark:
            ends.append(last + 1)
            starts.append(end)
        elif _indent(line) <= base and (last + 1 < end or item or _interrupts(lines, end)):
            break
        last = end
        end += 1
    ends.append(last + 1)
    before = [1, *(start - stop for start, stop in zip(starts[1:], ends, strict=False))]
    items = tuple(
        ("\n" * (1 + gap), "\n".join(lines[start:stop])) for start, stop, gap in zip(starts, ends, before, strict=True)
    )
    return Segment(ChunkKind.PROSE, "\n".join(lines[at : last + 1]), items=items), last + 1


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


class Ruler(Struct, frozen=True):
    """How long a text may be, and what it is measured with."""

    size: int
    measure: Callable[[str], int]

    def fits(self, text: str) -> bool:
        """Whether a text is no longer than that."""
        return self.measure(text) <= self.size


class Piece(Struct, frozen=True):
    """What stands together in one chunk."""

    text: str
    kind: ChunkKind
    glue: str | None = PARAGRAPH
    """What stands before it where it is not the first of its chunk; None: it always is."""


def pieces_of(segment: Segment, ruler: Ruler, lead: str = "") -> list[Piece]:
    """Return the segment as one piece, or as few as fit; *lead* are headings right above, for the first piece."""
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

    *breaks* are kinds of places, the best first; then come spaces, then any two characters. *wrap* will stand before
    and after each part, *glue* before the first.
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


class ChunkPolicy(Struct, frozen=True):
    """How long chunks are, in characters or in what the tokenizer counts.

    Raises:
        ValueError: a size below 1, or an overlap that is negative or not below the size.
    """

    size: int = 1500
    """At most; only a single character that measures more is longer."""
    overlap: int = 0
    """At most, of the chunk before; not counted as the chunk's own."""

    def __post_init__(self) -> None:
        if self.size < 1 or not 0 <= self.overlap < self.size:
            raise ValueError(f"size={self.size}, overlap={self.overlap}: needs size >= 1 and 0 <= overlap < size")


class Chunk(Struct, frozen=True):
    """A unit of retrieval."""

    id: str
    """16 hexadecimal digits of document, text and number of the same text before it in the document."""
    position: int
    text: str
    overlap: str
    """Whole sentences or lines of the chunk before, where both are prose of one section."""
    headings: tuple[str, ...]
    """Those that all of it stands under, outermost first; its own too, unless it holds several sections."""
    kind: ChunkKind
    """A heading above code or a table does not make them prose."""
    hash: bytes
    """SHA-256 of the text; white space does not count."""
    size: int


class _Section(Struct, frozen=True):
    """What stands between a heading and the next; headings with nothing between go together."""

    path: tuple[str, ...]
    heads: tuple[Segment, ...]
    body: tuple[Segment, ...]

    @property
    def text(self) -> str:
        return PARAGRAPH.join(segment.text for segment in (*self.heads, *self.body))


class _ChunkRow(Struct, frozen=True):
    """The pieces of one chunk."""

    headings: tuple[str, ...]
    pieces: Sequence[Piece]
    continues: bool
    """The section began in the chunk before."""


def split_into_chunks(
    content: str, document: bytes, policy: ChunkPolicy, measure: Callable[[str], int] = len
) -> list[Chunk]:
    """Return the chunks of a text in order; every character but white space stands in exactly one.

    Cut by structure: sections first; within one between paragraphs, then list items, rows, lines, sentences, words.
    Only the head of a divided table and the fence of divided code are repeated. An edit changes the chunks of its own
    section and of the small ones near it.

    Args:
        content: Markdown, or plain text with blank lines between paragraphs.
        document: what stands for the document in ids.
        policy: sizes.
        measure: length of a text; it need not be additive.
    """
    ruler = Ruler(policy.size, measure)
    chunks: list[Chunk] = []
    seen: Counter[bytes] = Counter()
    for row in _rows(content, ruler):
        text = join(row.pieces)
        key = content_hash(text)
        kind = _kind(row.pieces)
        before = chunks[-1] if row.continues else None
        plain = before is not None and before.kind is kind is ChunkKind.PROSE
        chunks.append(
            Chunk(
                id=_id(document, key, seen[key]),
                position=len(chunks),
                text=text,
                overlap=_tail(before.text, policy.overlap, measure) if before and plain and policy.overlap else "",
                headings=row.headings,
                kind=kind,
                hash=key,
                size=measure(text),
            )
        )
        seen[key] += 1
    return chunks


def _id(document: bytes, key: bytes, number: int) -> str:
    # The length keeps (document, hash) pairs apart.
    framed = len(document).to_bytes(8, "big") + document + key + number.to_bytes(8, "big")
    return blake2b(framed, digest_size=_ID_BYTES).hexdigest()


def _kind(pieces: Sequence[Piece]) -> ChunkKind:
    kinds = {piece.kind for piece in pieces}
    return kinds.pop() if len(kinds) == 1 else ChunkKind.PROSE


def _rows(content: str, ruler: Ruler) -> Iterator[_ChunkRow]:
    for (small, parent), group in groupby(_sized(_sections(content), ruler), key=lambda found: found[:2]):
        sections = [section for _, _, section in group]
        if small:
            pieces = [Piece(section.text, _kind_of(section)) for section in sections]
            paths = iter([section.path for section in sections])
            for row in pack(pieces, ruler):
                own = [next(paths) for _ in row]
                yield _ChunkRow(own[0] if len(own) == 1 else parent, row, continues=False)
            continue
        for section in sections:
            for number, row in enumerate(pack(_pieces(section, ruler), ruler)):
                yield _ChunkRow(section.path, row, continues=number > 0)


def _sized(sections: Sequence[_Section], ruler: Ruler) -> Iterator[tuple[bool, tuple[str, ...], _Section]]:
    """Return each section with whether it goes with its siblings, and what these stand under."""
    for number, section in enumerate(sections):
        following = sections[number + 1].heads if number + 1 < len(sections) else ()
        level = section.heads[-1].level if section.heads else 0
        is_leaf = not following or following[0].level <= level
        # Sections with several headings begin a part of the document: what is above them is not that of a sibling.
        small = len(section.heads) == 1 and is_leaf and ruler.measure(section.text) * _SMALL_SHARE <= ruler.size
        yield small, section.path[:-1] if small else (), section


def _sections(content: str) -> list[_Section]:
    sections: list[_Section] = []
    above: list[tuple[int, str]] = []
    heads: list[Segment] = []
    body: list[Segment] = []

    def close() -> None:
        if heads or body:
            sections.append(_Section(tuple(title for _, title in above), tuple(heads), tuple(body)))

    for segment in segments_of(content):
        if segment.kind is not ChunkKind.HEADING:
            body.append(segment)
            continue
        # A heading directly below one of a higher rank shares its chunk; one beside it leaves it empty.
        if body or (heads and segment.level <= heads[-1].level):
            close()
            heads, body = [], []
        while above and above[-1][0] >= segment.level:
            above.pop()
        above.append((segment.level, title_of(segment)))
        heads.append(segment)
    close()
    return sections


def _kind_of(section: _Section) -> ChunkKind:
    kinds = {segment.kind for segment in section.body} or {ChunkKind.HEADING}
    return kinds.pop() if len(kinds) == 1 else ChunkKind.PROSE


def _pieces(section: _Section, ruler: Ruler) -> list[Piece]:
    lead = PARAGRAPH.join(head.text for head in section.heads)
    pieces: list[Piece] = []
    # Headings that would fill half a chunk stand alone.
    if lead and (not section.body or ruler.measure(lead + PARAGRAPH) * 2 > ruler.size):
        pieces = pieces_of(Segment(ChunkKind.HEADING, lead), ruler)
        lead = ""
    for number, segment in enumerate(section.body):
        pieces += pieces_of(segment, ruler, lead + PARAGRAPH if lead and not number else "")
    return pieces


def _tail(text: str, room: int, measure: Callable[[str], int]) -> str:
    """Return whole sentences or lines from the end of a text, as many as there is room for."""
    begin = max(0, len(text) - room * _CHARS_A_UNIT)
    starts = sorted(
        {match.end() for match in SENTENCE_END.finditer(text, begin)}
        | {begin + at + 1 for at, character in enumerate(text[begin:]) if character == "\n"}
    )
    low, high = 0, len(starts)
    while low < high:
        middle = (low + high) // 2
        if measure(text[starts[middle] :].strip()) <= room:
            high = middle
        else:
            low = middle + 1
    return text[starts[low] :].strip() if low < len(starts) else ""


ChunkState = Literal["added", "kept", "due", "removed"]
GIVEN: Final = ("added", "kept")
"""States of chunks that went out with their page."""
HOLDING: Final = (*GIVEN, "due")
"""States of chunks that other pages leave out: `due` are those that moved here and go out with the next item."""


class StoredChunk(Struct, frozen=True):
    """A chunk of a page.

    Attributes:
        content_hash: first 16 bytes of the SHA-256 of its text.
        holder: the page that gives it in place of this one.
        sample: how its text begins.
    """

    position: int
    chunk_id: str
    content_hash: bytes
    state: ChunkState
    kind: str
    chars: int
    size: int
    sample: str
    language: str | None = None
    layer: str | None = None
    reason: str | None = None
    holder: bytes | None = None

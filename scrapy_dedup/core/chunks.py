"""A page's cleaned content as chunks, the units that are retrieved, each with an id that outlives edits elsewhere."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import groupby
from typing import Final

from scrapy_dedup.core.chunk_division import PARAGRAPH, SENTENCE_END, Piece, Ruler, join, pack, pieces_of
from scrapy_dedup.core.chunk_segments import ChunkKind, Segment, segments_of, title_of
from scrapy_dedup.core.fingerprints import content_hash

__all__ = ["Chunk", "ChunkKind", "ChunkPolicy", "once", "split_into_chunks"]

_ID_BYTES: Final = 8
# A section that is at most an eighth of a chunk (a heading and a sentence or two) says too little alone and goes with
# its siblings; a longer one stays alone, so that a section which two documents share is the same chunk in both.
_SMALL_SHARE: Final = 8
# Characters of a unit at most, where the end of a chunk is looked at for an overlap.
_CHARS_A_UNIT: Final = 8


@dataclass(frozen=True, slots=True)
class ChunkPolicy:
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


@dataclass(frozen=True, slots=True)
class Chunk:
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


@dataclass(frozen=True, slots=True)
class _Section:
    """What stands between a heading and the next; headings with nothing between go together."""

    path: tuple[str, ...]
    heads: tuple[Segment, ...]
    body: tuple[Segment, ...]

    @property
    def text(self) -> str:
        return PARAGRAPH.join(segment.text for segment in (*self.heads, *self.body))


@dataclass(frozen=True, slots=True)
class _Row:
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


def once(chunks: Iterable[Chunk]) -> list[tuple[Chunk, int | None]]:
    """Return each chunk with the position of the first one of the same text; None: it is the first."""
    first: dict[bytes, int] = {}
    marked: list[tuple[Chunk, int | None]] = []
    for chunk in chunks:
        marked.append((chunk, first.get(chunk.hash)))
        first.setdefault(chunk.hash, chunk.position)
    return marked


def _id(document: bytes, key: bytes, number: int) -> str:
    # The length keeps (document, hash) pairs apart.
    framed = len(document).to_bytes(8, "big") + document + key + number.to_bytes(8, "big")
    return blake2b(framed, digest_size=_ID_BYTES).hexdigest()


def _kind(pieces: Sequence[Piece]) -> ChunkKind:
    kinds = {piece.kind for piece in pieces}
    return kinds.pop() if len(kinds) == 1 else ChunkKind.PROSE


def _rows(content: str, ruler: Ruler) -> Iterator[_Row]:
    for (small, parent), group in groupby(_sized(_sections(content), ruler), key=lambda found: found[:2]):
        sections = [section for _, _, section in group]
        if small:
            pieces = [Piece(section.text, _kind_of(section)) for section in sections]
            paths = iter([section.path for section in sections])
            for row in pack(pieces, ruler):
                own = [next(paths) for _ in row]
                yield _Row(own[0] if len(own) == 1 else parent, row, continues=False)
            continue
        for section in sections:
            for number, row in enumerate(pack(_pieces(section, ruler), ruler)):
                yield _Row(section.path, row, continues=number > 0)


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

"""The blocks of one body, gathered from serialised HTML in one pass."""

from collections.abc import Iterator
from html import escape
from typing import NamedTuple

from scrapy_dedup.core.places import BODY, Place, known_place
from scrapy_dedup.core.tables import TABLE_PARTS, Table
from scrapy_dedup.core.tags import LONG_TAG, Role, Tag, Token, known_tag, plain, read_tag

# An element that spans blocks is drawn in each of them; a page has this many at once, and this many characters of them.
_MOST_MARKS = 8
_MOST_REPEATED_CHARS = 1_000_000
# The text of `<br>`; no other text is this object.
_LINE_END = "\r\n"
_BR = Tag("br")
_GONE = Tag("")


class Block(NamedTuple):
    """The smallest piece of visible text with a DOM path."""

    path: str
    """Steps from body, as `body>div#page>ul.menu>li`; volatile classes and digits are masked."""
    text: str
    """White space folded, except within `pre`."""
    fingerprint: int
    """64 bits of path and text."""
    link_chars: int
    """How many characters of *text* stand in links."""
    pieces: tuple[str | Tag, ...]
    """The text as it stood, escaped for HTML, between its inline tags."""


# Looked up once: the loop below runs for every tag of every page.
_PASS, _BLOCK, _BLOCK_END, _VOID = int(Role.PASS), int(Role.BLOCK), int(Role.BLOCK_END), int(Role.VOID)
_MARK, _MARK_END, _BREAK = int(Role.MARK), int(Role.MARK_END), int(Role.BREAK)
_UNSEEN, _RAW = int(Role.UNSEEN), int(Role.RAW)


class Gatherer:
    """Gathers the blocks of one body from what lexbor has serialised: outside raw text, "<" and ">" bound tags alone.

    End tags need not match start tags: foreign elements can hold text that is read as tags when it is serialised.
    """

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.skeleton: list[int | Tag] = []
        self.places = [BODY]
        self.met: dict[Place, None] = {BODY: None}
        """Each place once, in order of first appearance."""
        self.pieces: list[str | Tag] = []
        self.texts: list[str] = []
        self.open_marks: list[Tag] = []
        self.linked = False
        self.repeated_chars = 0
        self.tables: list[Table] = []
        self.has_gone = False

    def over(self, source: str) -> None:
        """Take in the whole body."""
        texts, pieces = self.texts, self.pieces
        parts = iter(source.split("<"))
        text = next(parts)
        while True:
            if text and (texts or not text.isspace()):
                pieces.append(text)
                texts.append(text)
            part = next(parts, None)
            if part is None:
                break
            name, _, text = part.partition(">")
            token = known_tag(name) if len(name) < LONG_TAG else read_tag(name)
            role = token[0]
            if _PASS < role <= _VOID:
                if pieces:
                    self._flush()
                if role == _BLOCK:
                    self._open(name, token)
                elif role == _BLOCK_END:
                    self._close()
            elif role >= _UNSEEN:
                text = self._pass_over(token, part, text, parts)
            elif role:
                self._inline(role, token[1])
        self._flush()
        while len(self.places) > 1:
            self._close()
        if self.has_gone:
            self.skeleton[:] = [event for event in self.skeleton if event is not _GONE]

    def _inline(self, role: int, tag: Tag) -> None:
        """Take in a tag within a block."""
        if role == _BREAK:
            if not self.places[-1].in_pre and self._ends_in_break():
                # A blank line in a text ends a paragraph.
                self._flush()
                return
            self.texts.append("\n" if self.places[-1].in_pre else _LINE_END)
        elif role == _MARK:
            self.open_marks.append(tag)
            self.linked = self.linked or tag.name == "a"
            if len(self.open_marks) > _MOST_MARKS:
                return
        elif role == _MARK_END:
            if not self.open_marks:
                return
            self.open_marks.pop()
            if len(self.open_marks) >= _MOST_MARKS:
                return
        self.pieces.append(tag)

    def _ends_in_break(self) -> bool:
        for text in reversed(self.texts):
            if text is _LINE_END:
                return True
            if plain(text).strip():
                break
        return False

    def _open(self, source: str, token: Token) -> None:
        outer = self.places[-1]
        place = known_place(outer, source) if len(source) < LONG_TAG else outer.child(token)
        self._enter(place)

    def _enter(self, place: Place) -> None:
        self.places.append(place)
        self.met[place] = None
        start = place.start
        if start is None:
            return
        name = start.name
        if name in ("table", "pre"):
            if self.tables:
                self.tables[-1].is_layout = True
            if name == "table":
                self.tables.append(Table())
        if self.tables and name in TABLE_PARTS:
            self.tables[-1].open(start, self.skeleton)
        else:
            self.skeleton.append(start)

    def _close(self) -> None:
        if len(self.places) == 1:
            return
        place = self.places.pop()
        if place.end is None:
            return
        name = place.end.name
        if not (self.tables and name in TABLE_PARTS):
            self.skeleton.append(place.end)
            return
        self.tables[-1].close(place.end, self.skeleton)
        if name == "table":
            table = self.tables.pop()
            if not table.is_drawn:
                self.has_gone = True
                for at in table.places:
                    self.skeleton[at] = _GONE

    def _pass_over(self, token: Token, part: str, text: str, parts: Iterator[str]) -> str:
        """Return the text after a comment, or after an element that is not seen."""
        role, tag = token[0], token[1]
        if role == _RAW:
            raw, after = _raw_text(tag.name, text, parts)
            if tag.name in ("xmp", "plaintext"):
                self._literal(token, raw)
            return after
        if role == _UNSEEN:
            # A control's label is no text to read, except where a heading is one, as accordions have it.
            return text if tag.name == "button" and self.places[-1].in_heading else _after_element(tag.name, parts)
        while "-->" not in part:
            part = next(parts, "-->")
        return part.partition("-->")[2]

    def _literal(self, token: Token, raw: str) -> None:
        """Take in text in which tags are text."""
        self._flush()
        self._enter(self.places[-1].child(token._replace(tag=Tag("pre"), drawn=True)))
        self.texts.append(escape(raw, quote=False))
        self.pieces.extend(self.texts)
        self._flush()
        self._close()

    def _flush(self) -> None:
        """End the block that was being gathered, where it has text."""
        if not self.pieces:
            return
        raw = self.texts[0] if len(self.texts) == 1 else "".join(self.texts)
        if "&" in raw:
            raw = plain(raw)
        folded = " ".join(raw.split())
        if folded:
            while self.pieces[-1] == _BR:
                self.pieces.pop()
            place = self.places[-1]
            self.skeleton.append(len(self.blocks))
            self.blocks.append(
                Block(
                    place.path,
                    raw.strip("\r\n") if place.in_pre else folded,
                    place.fingerprints.of(folded),
                    _link_chars(self.pieces, folded) if self.linked else 0,
                    tuple(self.pieces),
                )
            )
        else:
            self.skeleton += [piece for piece in self.pieces if type(piece) is Tag and piece.name == "img"]
        # `<a><div>one</div><div>two</div></a>`: an inline element that spans blocks is open in each of them.
        self.pieces[:] = self._repeated_marks() if self.open_marks else ()
        self.linked = bool(self.open_marks)
        self.texts.clear()

    def _repeated_marks(self) -> list[str | Tag]:
        marks = self.open_marks[:_MOST_MARKS]
        self.repeated_chars += sum(len(value) for mark in marks for _, value in mark.attributes)
        return list(marks) if self.repeated_chars < _MOST_REPEATED_CHARS else []


def _link_chars(pieces: list[str | Tag], folded: str) -> int:
    """Return how many of a block's characters stand between the tags of links."""
    if len(pieces) == 3 and type(pieces[0]) is Tag and pieces[0].name == "a":
        return len(folded)
    inside = False
    texts: list[str] = []
    for piece in pieces:
        if type(piece) is str:
            if inside:
                texts.append(piece)
        elif piece[0] == "a":
            inside = not piece[2]
    return len(" ".join(plain("".join(texts)).split()))


def _raw_text(name: str, text: str, parts: Iterator[str]) -> tuple[str, str]:
    """Return the text up to an element's end tag, whatever it holds, and the text after it."""
    end = f"/{name}>"
    raw = [text]
    for part in parts:
        if part.startswith(end):
            return "<".join(raw), part.removeprefix(end)
        raw.append(part)
    return "<".join(raw), ""


def _after_element(name: str, parts: Iterator[str]) -> str:
    """Return the text after an element; elements of its name within it are counted."""
    depth = 1
    for part in parts:
        source, _, text = part.partition(">")
        if source == f"/{name}":
            depth -= 1
            if not depth:
                return text
        elif source == name or source.startswith(f"{name} "):
            depth += 1
    return ""

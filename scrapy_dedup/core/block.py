"""A block: the smallest piece of visible text with a DOM path; what only some layers need of it is made when asked."""

import re
from typing import NamedTuple

from scrapy_dedup.core.places import Place
from scrapy_dedup.core.tags import LONG_TAG, Role, Tag, Token, known_tag, plain, read_tag

# An element that spans blocks is drawn in each of them; a page has this many at once.
MOST_MARKS = 8
TAGS = re.compile(r"<([^>]*+)>?")
"""Divides a text with inline tags: text, tag, text, ..., tag, text."""
_BR = Tag("br")


class Block:
    """The smallest piece of visible text with a DOM path."""

    __slots__ = ("fingerprint", "link_chars", "path", "pieces", "text")

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

    def __init__(self, path: str, text: str, fingerprint: int, link_chars: int, pieces: tuple[str | Tag, ...]) -> None:
        self.path = path
        self.text = text
        self.fingerprint = fingerprint
        self.link_chars = link_chars
        self.pieces = pieces

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Block) and self._values() == other._values()

    def __hash__(self) -> int:
        return self.fingerprint

    def __repr__(self) -> str:
        return f"Block{self._values()!r}"

    def __reduce__(self) -> tuple[type["Block"], tuple[object, ...]]:
        return Block, self._values()

    def _values(self) -> tuple[str, str, int, int, tuple[str | Tag, ...]]:
        return self.path, self.text, self.fingerprint, self.link_chars, self.pieces


class Marks(NamedTuple):
    """Inline elements that are open where a block begins."""

    tags: tuple[Tag, ...] = ()
    """Those to draw in it."""
    depth: int = 0


NO_MARKS = Marks()


class FoundBlock(Block):
    """A block as it was found on a page; fingerprint, pieces and characters in links are made when first asked for."""

    __slots__ = ("_marks", "_place", "_source")

    def __init__(self, place: Place, text: str, source: str, marks: Marks = NO_MARKS) -> None:
        """Take a text and its serialised HTML, which holds no tags but inline ones."""
        self.path = place.path
        self.text = text
        self._place = place
        self._source = source
        self._marks = marks

    def __getattr__(self, name: str) -> object:
        """Make what is asked for the first time: an attribute that is set never comes here."""
        if name == "fingerprint":
            self.fingerprint = self._place.fingerprints.of(self._folded())
        elif name in ("pieces", "link_chars"):
            self.forget_source()
        else:
            raise AttributeError(name)
        return object.__getattribute__(self, name)

    def forget_source(self) -> None:
        """Make what is made of the source, which says no more."""
        self.pieces = _pieces(self._source, self._marks)
        self.link_chars = _link_chars(self.pieces, self._folded())
        self._source = ""

    def _folded(self) -> str:
        return " ".join(self.text.split()) if self._place.in_pre else self.text


def inline_token(source: str) -> Token:
    """Return what a tag of a block's source means."""
    return known_tag(source) if len(source) < LONG_TAG else read_tag(source)


# Looked up once: the loop below runs for every inline tag of a page.
_MARK, _MARK_END, _BREAK, _IMAGE = int(Role.MARK), int(Role.MARK_END), int(Role.BREAK), int(Role.IMAGE)


def _pieces(source: str, marks: Marks) -> tuple[str | Tag, ...]:
    if "<" not in source and not marks.tags:
        return (source,)
    pieces: list[str | Tag] = list(marks.tags)
    depth, begun = marks.depth, False
    for place, bit in enumerate(TAGS.split(source)):
        if place % 2 == 0:
            if bit and (begun or not bit.isspace()):
                pieces.append(bit)
                begun = True
            continue
        role, tag, *_ = inline_token(bit)
        if role == _MARK:
            depth += 1
            if depth > MOST_MARKS:
                continue
        elif role == _MARK_END and depth:
            depth -= 1
            if depth >= MOST_MARKS:
                continue
        elif role == _BREAK:
            begun = True
        elif role != _IMAGE:
            continue
        pieces.append(tag)
    while pieces[-1] == _BR:
        pieces.pop()
    return tuple(pieces)


def _link_chars(pieces: tuple[str | Tag, ...], folded: str) -> int:
    """Return how many of a block's characters stand between the tags of links."""
    if len(pieces) == 1:
        return 0
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
    return len(" ".join(plain("".join(texts)).split())) if texts else 0

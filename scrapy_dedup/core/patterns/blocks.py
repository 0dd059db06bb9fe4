"""Which text of which block stands where in a page's Markdown, and blocks that lose a part of theirs."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from scrapy_dedup.core.pages.blocks import Block, Page
from scrapy_dedup.core.pages.render import render, without_permalinks
from scrapy_dedup.core.pages.tags import Tag, plain
from scrapy_dedup.core.patterns.expressions import TextSpan

# No page may hold these, so none is taken for a mark where one does: it has no marks then.
_BEGIN: Final = "\ufdd1"
_END: Final = "\ufdd2"
_MARKS: Final = re.compile(f"[{_BEGIN}{_END}]")
_WORD: Final = re.compile(r"\S")
_SPACE: Final = re.compile(r"\s")
# What a text itself has of this is escaped.
_LINK_END: Final = re.compile(r"[*_~`]*\]\((?:<[^<>\n]*>|[^\s()<>]*(?:\([^\s()]*\)[^\s()]*)*)(?:\s+\"[^\"\n]*\")?\)")
# An address between two characters of a text: what is longer is passed over, and the character stays.
_LONGEST_MARKUP: Final = 10_000


class PlacedBlocks(Struct, frozen=True):
    """A page's Markdown, and where the blocks stand in it."""

    markdown: str
    regions: Mapping[int, tuple[int, int]]
    """By the place of a block: from the first character of its text to behind the last one."""


def place(page: Page, keep: Sequence[bool], base_url: str | None = None) -> PlacedBlocks:
    """Return the Markdown of the kept blocks, with the places of their texts in it."""
    if any(kept and _MARKS.search(block.text) for block, kept in zip(page.blocks, keep, strict=True)):
        return PlacedBlocks(render(page, keep, "markdown", base_url), {})
    marked = [_marked(block) if kept else block for block, kept in zip(page.blocks, keep, strict=True)]
    source = render(replace(page, blocks=marked), keep, "markdown", base_url)
    begins: list[int] = []
    ends: list[int] = []
    parts: list[str] = []
    length = last = 0
    for mark in _MARKS.finditer(source):
        parts.append(source[last : mark.start()])
        length += mark.start() - last
        last = mark.end()
        (begins if mark[0] == _BEGIN else ends).append(length)
    parts.append(source[last:])
    markdown = "".join(parts)
    kept_places = [number for number, kept in enumerate(keep) if kept]
    # A converter that moved or lost a mark leaves nobody to say which block is where: nothing is guessed.
    if not len(begins) == len(ends) == len(kept_places):
        return PlacedBlocks(markdown, {})
    return PlacedBlocks(markdown, dict(zip(kept_places, zip(begins, ends, strict=True), strict=True)))


def _marked(block: Block) -> Block:
    pieces = list(without_permalinks(block)[1])
    texts = [number for number, piece in enumerate(pieces) if isinstance(piece, str) and piece.strip()]
    if texts:
        first, last = str(pieces[texts[0]]), texts[-1]
        begin = len(first) - len(first.lstrip())
        pieces[texts[0]] = f"{first[:begin]}{_BEGIN}{first[begin:]}"
        end = str(pieces[last])
        kept = end.rstrip()
        pieces[last] = f"{kept}{_END}{end[len(kept) :]}"
    return Block(block.path, block.text, block.fingerprint, block.link_chars, tuple(pieces))


class BlockCut(Struct, frozen=True):
    """What a block loses to one pattern."""

    block: int
    pattern: str
    text: str
    """The words that go."""


class Shortened(Struct, frozen=True):
    """A page's blocks once parts of their texts are gone."""

    blocks: list[Block]
    gone: frozenset[int]
    """Places of blocks of which nothing is left."""
    cuts: tuple[BlockCut, ...]


def shorten(page: Page, placed: PlacedBlocks, spans: Sequence[TextSpan]) -> Shortened:
    """Return the blocks without what spans of their Markdown cover; of markup alone nothing is lost."""
    blocks, gone, cuts = list(page.blocks), set(), []
    ends, starts = [span.end for span in spans], [span.start for span in spans]
    for number, (begin, end) in placed.regions.items():
        own = spans[bisect_right(ends, begin) : bisect_left(starts, end)]
        if not own:
            continue
        block = page.blocks[number]
        owners = _owners(block.text, placed.markdown, begin, end, own)
        if not owners:
            continue
        patterns = dict.fromkeys(owners.values())
        cuts += [BlockCut(number, pattern, _text(block.text, owners, pattern)) for pattern in patterns]
        kept = set(range(len(_WORD.findall(block.text)))) - owners.keys()
        if kept:
            blocks[number] = _with(block, kept)
        else:
            gone.add(number)
    return Shortened(blocks, frozenset(gone), tuple(cuts))


def _owners(text: str, markdown: str, begin: int, end: int, spans: Sequence[TextSpan]) -> dict[int, str]:
    """Return which characters of a text (white space not counted) go, with the pattern that takes them.

    Each is looked for in the Markdown behind the one before: between them stand escapes and addresses of links.
    """
    owners: dict[int, str] = {}
    at = begin
    spans_left = iter(spans)
    span: TextSpan | None = next(spans_left)
    for number, word in enumerate(_WORD.finditer(text)):
        letter, begins_word = word[0], word.start() > 0 and text[word.start() - 1].isspace()
        found = _found(markdown, letter, at, min(end, at + _LONGEST_MARKUP), begins_word=begins_word)
        if found < 0:
            continue
        at = found + 1
        while span is not None and span.end <= found:
            span = next(spans_left, None)
        if span is not None and span.start <= found:
            owners[number] = span.pattern
    return owners


def _found(markdown: str, letter: str, at: int, end: int, *, begins_word: bool) -> int:
    """Return where the next character of a text stands, -1 for nowhere; an address of a link is no text."""
    link = _LINK_END.match(markdown, at, end)
    at = link.end() if link else at
    space = _SPACE.search(markdown, at, end) if begins_word else None
    return markdown.find(letter, space.end() if space else at, end)


def _text(text: str, owners: Mapping[int, str], pattern: str) -> str:
    return _only(text, {at for at, owner in owners.items() if owner == pattern})


def _only(text: str, kept: set[int]) -> str:
    """Return the characters of a text at some places, white space not counted; words that stood apart stay apart."""
    parts: list[str] = []
    number, is_apart = 0, False
    for letter in text:
        if letter.isspace():
            is_apart = True
            continue
        if number in kept:
            parts.append(f" {letter}" if is_apart and parts else letter)
            is_apart = False
        number += 1
    return "".join(parts)


def _with(block: Block, kept: set[int]) -> Block:
    """Return a block with some characters of its text; it keeps its fingerprint, by which it is known."""
    is_code = "\n" in block.text
    pieces = tuple(_pieces(block.pieces, kept, is_code=is_code))
    text = "".join(plain(piece) for piece in pieces if isinstance(piece, str))
    shown = text.strip("\n") if is_code else " ".join(text.split())
    return Block(block.path, shown, block.fingerprint, min(block.link_chars, len(shown)), pieces)


def _pieces(pieces: Sequence[str | Tag], kept: set[int], *, is_code: bool) -> Iterator[str | Tag]:
    number, after_space = 0, not is_code
    for piece in pieces:
        if not isinstance(piece, str):
            yield piece
            continue
        letters: list[str] = []
        for letter in plain(piece):
            if letter.isspace():
                if not after_space:
                    letters.append(letter)
                after_space = not is_code
                continue
            if number in kept:
                letters.append(letter)
                after_space = False
            number += 1
        if letters:
            yield escape("".join(letters), quote=False)

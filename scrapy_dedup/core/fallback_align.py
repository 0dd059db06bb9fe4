"""Which blocks of a page an extractor kept, found again in the text that it gave."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

# Punctuation and marks differ between extractors (list signs, table bars, quotes), words do not.
_WORD: Final = re.compile(r"[^\W_]+")
# Three words in a row name a place in a text nearly always; blocks with fewer words than this are looked for between
# their neighbours only.
_GRAM: Final = 3
_LONG: Final = 4
# Paragraphs take their places first: a headline or a caption often stands word for word in one of them.
_PARAGRAPH: Final = 20
# A block is the extractor's when it holds half of the block: links and captions may have been left out of it.
_HELD: Final = 0.5
# Where a gram occurs often, so many occurrences are tried; and so many words around a block whose neighbours moved.
_MOST_TRIED: Final = 3
_NEAR: Final = 30
_MOST_NEAR: Final = 400

_MOST_WORDS: Final = 100_000_000

_Gram = tuple[str, ...]
_Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Aligned:
    """An extractor's text laid against blocks."""

    held: tuple[bool, ...]
    """One value a block: whether the text holds it."""
    words: int
    """Words of the text."""
    placed: int
    """How many of them stand in blocks."""


def align(text: str, blocks: Sequence[str]) -> Aligned:
    """Find the texts of *blocks*, which stand in page order, in the text that an extractor made of the page.

    Texts that moved are found; each word of the text is given to one block only, so that of two equal blocks the one
    is held that stands where the extractor kept it.
    """
    alignment = _Alignment(text)
    return alignment.lay(blocks) if alignment.words else Aligned((False,) * len(blocks), 0, 0)


class _Alignment:
    def __init__(self, text: str) -> None:
        self.words = _words(text)
        self.taken = bytearray(len(self.words))
        self.places: defaultdict[_Gram, list[int]] = defaultdict(list)
        for at, gram in enumerate(_grams(self.words)):
            self.places[gram].append(at)

    def lay(self, blocks: Sequence[str]) -> Aligned:
        texts = [_words(block) for block in blocks]
        spans = self._long_ones(texts)
        held = self._short_ones(texts, spans)
        return Aligned(tuple(held), len(self.words), sum(self.taken))

    def _long_ones(self, texts: list[list[str]]) -> list[_Span | None]:
        """Return where each long block begins and ends in the text."""
        spans: list[_Span | None] = [None] * len(texts)
        for least, most in ((_PARAGRAPH, _MOST_WORDS), (_LONG, _PARAGRAPH)):
            at = 0
            for index, words in enumerate(texts):
                if least <= len(words) < most:
                    spans[index] = self._place(words, at)
                at = span[1] if (span := spans[index]) else at
        return spans

    def _place(self, words: list[str], at: int) -> _Span | None:
        """Take the place of a block, looked for behind *at* first."""
        places = _together(self._places_of(words, at), len(words))
        if len(places) < _HELD * (len(words) - _GRAM + 1):
            return None
        for place in places:
            self.taken[place : place + _GRAM] = b"\1" * _GRAM
        return places[0], places[-1] + _GRAM

    def _places_of(self, words: list[str], at: int) -> list[int]:
        """Return where the grams of a block stand that are not taken, first behind *at*, then anywhere."""
        found = []
        for gram in _grams(words):
            places = self.places.get(gram)
            if places is None:
                continue
            behind = bisect_left(places, at)
            for place in (*places[behind : behind + _MOST_TRIED], *places[:_MOST_TRIED]):
                if not self.taken[place]:
                    found.append(place)
                    at = place
                    break
        return found

    def _short_ones(self, texts: list[list[str]], spans: list[_Span | None]) -> list[bool]:
        """Tell for each block whether it is held; short ones must stand between the long ones around them."""
        held = [span is not None for span in spans]
        begins = [len(self.words)] * len(spans)
        for index in range(len(spans) - 2, -1, -1):
            following = spans[index + 1]
            begins[index] = following[0] if following else begins[index + 1]
        at = 0
        for index, (words, span) in enumerate(zip(texts, spans, strict=True)):
            if span:
                at = span[1]
            elif words and len(words) < _LONG:
                until = begins[index] if begins[index] >= at else at + _NEAR
                found = self._run(words, at, min(until, at + _MOST_NEAR))
                if found is not None:
                    held[index] = True
                    at = found + len(words)
        return held

    def _run(self, words: list[str], start: int, stop: int) -> int | None:
        """Take the first free run of exactly these words, and return where it begins."""
        size = len(words)
        for at in range(start, min(stop, len(self.words)) - size + 1):
            until = at + size
            if self.words[at] == words[0] and self.words[at:until] == words and not any(self.taken[at:until]):
                self.taken[at:until] = b"\1" * size
                return at
        return None


def _together(places: list[int], words: int) -> list[int]:
    """Leave out what stands far from the most: words of a headline stand here and there in an article."""
    if not places:
        return places
    middle = sorted(places)[len(places) // 2]
    return [place for place in places if abs(place - middle) <= words]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _grams(words: list[str]) -> list[_Gram]:
    return list(zip(words, words[1:], words[2:], strict=False))

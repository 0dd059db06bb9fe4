"""Pages that are nearly the same: how much of their text two pages share, and a sketch by which such pages are found.

Two texts are as alike as the Jaccard similarity of their sets of shingles,
which are runs of five words. The sketch only finds candidates; what is said
of two pages is always the exact similarity of their texts. A number is a word
like any other: two long pages that differ in a price or in a version are
nearly the same, and whoever must not lose one of them marks, and drops nothing.

Source: Broder 1997, On the resemblance and containment of documents; for the
bands Leskovec, Rajaraman and Ullman, Mining of Massive Datasets, chapter 3.
"""

import re
import struct
import unicodedata
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache
from hashlib import blake2b
from itertools import islice
from math import comb
from operator import eq
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from msgspec import Struct
from rensa import RMinHash

_SLOTS: Final = 128
_SEED: Final = 1
# Stored with every sketch, and part of every band's key: sketches of two versions never meet. The library's own
# number changes when its signatures do.
VERSION: Final = f"1-{RMinHash.ALGORITHM_VERSION}"

# Of 20 bands of 6 slots two texts share one with odds 1 - (1 - J⁶)²⁰: 0.9977 at J = 0.8, 0.99992 at 0.85. 16 bands of
# 8 give 0.947 and 0.994, and spare four rows a page.
BANDS: Final = 20
_ROWS: Final = 6
# The other 40 bits tell the bands of one domain apart: of a million pages one lookup in 3,000 has a false candidate.
_SCOPE_BYTES: Final = 3

SHINGLE_WORDS: Final = 5
# A shingle is a text of its own, so a hostile page takes up to 160 bytes for each of its characters. A million are a
# book of 500 pages; a longer text has no shingles, and is nobody's near-duplicate.
MAX_CHARS: Final = 1_000_000

# Of two texts that are alike enough, one in 100,000 is not looked at because its signature says otherwise.
_MISSED: Final = 1e-5
# Two unlike slots agree by chance in one byte.
_BY_CHANCE: Final = 1 / 256

_ASCII_WORD: Final = re.compile(r"\w+", re.ASCII)
# Most texts have no letter that is written without spaces, and this is told ten times sooner: what is outside of these
# ranges is none.
_MAY_BE_UNSPACED: Final = re.compile("[\u0e00-\u1cff\u2e80-\U0010ffff]")

Shingles = AbstractSet[str]


class Sketch(Struct, frozen=True):
    """By what pages nearly like this one are found."""

    shingles: int
    signature: bytes
    """128 bytes: the share of equal ones estimates the similarity."""
    bands: tuple[int, ...]
    """Signed 64-bit numbers; pages that are alike share at least one, pages of other scopes or versions share none."""


class Sketched(Protocol):
    """Anything with what of a sketch is needed to estimate."""

    @property
    def shingles(self) -> int:
        """How many different ones there are."""

    @property
    def signature(self) -> bytes:
        """The 128 bytes of the sketch."""


_Other = TypeVar("_Other", bound=Sketched)


class _UnicodePatterns(NamedTuple):
    word: Any
    """Unlike that of `re` it has the marks of Indic scripts and of accents, which else cut words into pieces."""
    unspaced: Any
    """Written without spaces between words: each letter, with its marks, counts as a word."""
    marks: Any
    """Normalising takes time squared in a run of them: 9 s for 100,000. The limit is of Unicode's Stream-Safe Text."""


@cache
def _unicode_patterns() -> _UnicodePatterns:
    # Texts in ASCII need none of them.
    import regex  # noqa: PLC0415

    scripts = "".join(f"\\p{{{name}}}" for name in "Han Hiragana Katakana Thai Lao Khmer Myanmar Tibetan".split())
    return _UnicodePatterns(*map(regex.compile, (r"\w+", rf"[{scripts}]\p{{M}}*+", r"(\p{M}{30})\p{M}++")))


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, in their order; of scripts without spaces, the letters.

    White space, punctuation and marks of Markdown do not count; the target of
    a link would, so that a caller gives the text of a page, not its Markdown.
    """
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    patterns = _unicode_patterns()
    text = unicodedata.normalize("NFC", patterns.marks.sub(r"\1", text))
    if _MAY_BE_UNSPACED.search(text):
        text = patterns.unspaced.sub(r" \g<0> ", text)
    found: list[str] = patterns.word.findall(text.lower())
    return found


def shingles(text: str) -> frozenset[str]:
    """Return the different runs of five words of a text; of fewer words, the one run that they are.

    There are none where there is no word, and none of a text longer than
    MAX_CHARS.
    """
    found = words(text) if len(text) <= MAX_CHARS else []
    if len(found) < SHINGLE_WORDS:
        return frozenset([" ".join(found)] if found else [])
    runs = zip(*(islice(found, start, None) for start in range(SHINGLE_WORDS)), strict=False)
    return frozenset(map(" ".join, runs))


def sketch(text: str, scope: bytes) -> Sketch | None:
    """Return the sketch of a text, None where there are no shingles.

    Args:
        text: of the page, without what its site repeats.
        scope: what pages must have in common to be compared at all: project, domain, language.
    """
    return sketch_of(shingles(text), scope)


def sketch_of(own: Shingles, scope: bytes) -> Sketch | None:
    """Return the sketch of a set of shingles, None of an empty one."""
    if not own:
        return None
    minhash = RMinHash(_SLOTS, _SEED)
    minhash.update(list(own))
    slots = struct.pack(f"<{_SLOTS}I", *minhash.digest())
    # One byte of four is enough to estimate: it makes the standard error 0.036 of 0.035.
    return Sketch(len(own), slots[::4], tuple(_bands(slots, scope)))


def _bands(slots: bytes, scope: bytes) -> Iterable[int]:
    """Yield the bands' keys, which begin with bits of the scope: those of a domain lie in one part of an index.

    A crawl so writes to few pages of the database: with keys spread over all of it, 500 pages of a site are 10,000
    writes to as many places.
    """
    of_scope = blake2b(VERSION.encode() + b"\0" + scope, digest_size=8)
    first = of_scope.digest()[:_SCOPE_BYTES]
    size = 4 * _ROWS
    for number in range(BANDS):
        key = of_scope.copy()
        key.update(bytes([number]) + slots[number * size : (number + 1) * size])
        yield int.from_bytes(first + key.digest()[_SCOPE_BYTES:], "big", signed=True)


def promising(own: Sketched, others: Iterable[_Other], threshold: float, limit: int) -> list[_Other]:
    """Return those whose texts are worth a look, most alike first.

    Left out is what cannot reach the threshold by the numbers of shingles, or,
    as good as surely, by its signature; and what comes after the limit.
    """
    least = _least_equal(threshold)
    looked_at = [(_equal(own.signature, other.signature), other) for other in others if _can(own, other, threshold)]
    # The order in which the others came decides between equals.
    found = sorted((pair for pair in looked_at if pair[0] >= least), key=lambda pair: -pair[0])
    return [other for _, other in found[:limit]]


def _can(own: Sketched, other: Sketched, threshold: float) -> bool:
    """Whether two sets of such sizes can be that alike: no more is shared than the smaller one has."""
    return min(own.shingles, other.shingles) >= threshold * max(own.shingles, other.shingles)


def _equal(one: bytes, other: bytes) -> int:
    return sum(map(eq, one, other))


@lru_cache(maxsize=64)
def _least_equal(threshold: float) -> int:
    """Return how many bytes at least are equal, but for the odds of _MISSED, in signatures of texts that alike."""
    odds = threshold + (1 - threshold) * _BY_CHANCE
    total = 0.0
    for number in range(_SLOTS):
        total += comb(_SLOTS, number) * odds**number * (1 - odds) ** (_SLOTS - number)
        if total > _MISSED:
            return number
    return _SLOTS


def resemblance(one: Shingles, other: Shingles) -> float:
    """Return the Jaccard similarity of two sets of shingles; 0.0 where both are empty."""
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared) if shared else 0.0

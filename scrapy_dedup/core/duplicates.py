"""Whether two pages are one: by title, by text, by most of their text, and by the fields of their items.

Two texts are as alike as the Jaccard similarity of their sets of shingles, which are runs of five words. The sketch
only finds candidates; what is said of two pages is always the exact similarity of their texts. A number is a word like
any other: two long pages that differ in a price or in a version are nearly the same, and whoever must not lose one of
them marks, and drops nothing. A title, a canonical link, or the text that a cut leaves only say where to look: the
uncut text that is a page's own, and the fields of its items, say whether an item went out already.

Source: Broder 1997, On the resemblance and containment of documents; for the bands Leskovec, Rajaraman and Ullman,
Mining of Massive Datasets, chapter 3.
"""

import json
import re
import struct
import unicodedata
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache
from hashlib import blake2b
from html import unescape
from itertools import islice
from math import comb
from operator import eq
from typing import Any, Final, NamedTuple, Protocol, Self, TypeVar

from msgspec import Struct, field
from rensa import RMinHash

from scrapy_dedup.core.boilerplate.repeats import hash_block, split_into_blocks
from scrapy_dedup.core.pages.blocks import EXTENSIONS, FILE, PICTURE
from scrapy_dedup.core.pages.fingerprints import beyond_ascii, from_hex, parts_hash
from scrapy_dedup.core.recrawl.values import KeepLimits, Unkeepable, encode
from scrapy_dedup.core.urls.normal_form import target_of

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

# In UTF-8: what is no letter, digit or underscore of ASCII becomes a space, capitals become small.
_SPACED: Final = "".join(chr(n).lower() if chr(n).isalnum() or n == ord("_") else " " for n in range(128)).encode()
_SPACED_BYTES: Final = _SPACED + bytes(range(128, 256))
# Beside ASCII most texts have but letters that need no normalising, and signs that part words as spaces do.
_PLAIN_LETTERS: Final = "À-ÖØ-öø-ʯΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯ"
_SIGNS: Final = (
    "\x80-\xa9\xab-\xb1\xb4\xb6-\xb8\xbb\xbf\xd7\xf7\u2010-\u2027\u2030-\u203e\u20a0-\u20bf\u2190-\u2328\u2500-\u2adb"
)
_ONLY_PLAIN: Final = re.compile(f"[{_PLAIN_LETTERS}{_SIGNS}]*")
_A_SIGN: Final = re.compile(f"[{_SIGNS}]")
_MOST_SIGNS: Final = 32
# Most texts have no letter that is written without spaces, and this is told ten times sooner: in these ranges is none,
# and they are compiled in a sixth of the time that all others take.
_MAY_BE_UNSPACED: Final = re.compile("[^\0-\u0dff\u1d00-\u2e7f]")

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
    # Most texts need none of them.
    import regex  # noqa: PLC0415

    scripts = "".join(f"\\p{{{name}}}" for name in "Han Hiragana Katakana Thai Lao Khmer Myanmar Tibetan".split())
    return _UnicodePatterns(*map(regex.compile, (r"\w+", rf"[{scripts}]\p{{M}}*+", r"(\p{M}{30})\p{M}++")))


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, in their order; of scripts without spaces, the letters.

    White space, punctuation and marks of Markdown do not count; the target of
    a link would, so that a caller gives the text of a page, not its Markdown.
    """
    others = "" if text.isascii() else beyond_ascii(text.encode("utf-8", "surrogatepass"))
    signs = set(_A_SIGN.findall(others))
    if _ONLY_PLAIN.fullmatch(others) and len(signs) <= _MOST_SIGNS:
        for sign in signs:
            text = text.replace(sign, " ")
        return text.lower().encode().translate(_SPACED_BYTES).decode().split()
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
    # Lists are read faster than iterators that skip their first words.
    runs = zip(*(found[start:] for start in range(SHINGLE_WORDS)), strict=False)
    return frozenset(map(" ".join, runs))


def sketch_of(own: Shingles, scope: bytes) -> Sketch | None:
    """Return the sketch of a set of shingles, None of an empty one.

    *scope* is what pages must have in common to be compared at all: project, domain, language.
    """
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
    # No more is shared than the smaller one has.
    can = (
        other for other in others if min(own.shingles, other.shingles) >= threshold * max(own.shingles, other.shingles)
    )
    looked_at = [(sum(map(eq, own.signature, other.signature)), other) for other in can]
    # The order in which the others came decides between equals.
    found = sorted((pair for pair in looked_at if pair[0] >= least), key=lambda pair: -pair[0])
    return [other for _, other in found[:limit]]


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


TITLE: Final = "title"
DUPLICATE: Final = "duplicate"
NEAR_DUPLICATE: Final = "near_duplicate"
LAYERS: Final = (TITLE, DUPLICATE, NEAR_DUPLICATE)
"""In the order in which they act."""

# Twelve words: pages with less to say, such as pictures with a caption, may well say the same and be others.
LEAST_SHINGLES: Final = 8


class DuplicatePolicy(Struct, frozen=True):
    """When two pages are one."""

    trusts_title: bool = False
    """A title that is not common is enough."""
    title_agreement: float = 0.8
    """Exact Jaccard similarity from which on the texts of two pages with one title agree."""
    title_common: int = 3
    """A title that so many different texts have says nothing."""
    near_at: float = 0.9
    """Exact Jaccard similarity from which on pages are near-duplicates."""


class Text(Struct, frozen=True):
    """A page's clean text, as far as it is compared."""

    page_key: bytes
    text_hash: bytes
    shingles: Shingles | None
    """None: its text is not kept, so that nothing but equality can be told."""
    same_title: bool = False


class Same(Struct, frozen=True):
    """Another page stands for this one."""

    layer: str
    keeper: bytes
    reason: str
    jaccard: float


def stands_for(
    own: Text, others: Sequence[Text], texts_with_title: int, policy: DuplicatePolicy, layers: Collection[str]
) -> Same | None:
    """Return which of the others, earlier ones first, stands for a page, and by which layer; None: none does.

    *texts_with_title* are different texts that pages with this title have, but for the page's own.
    """
    if TITLE in layers and texts_with_title < policy.title_common:
        found = _by_title(own, [other for other in others if other.same_title], policy)
        if found is not None:
            return found
    if own.shingles is None or len(own.shingles) < LEAST_SHINGLES:
        return None
    if DUPLICATE in layers:
        for other in others:
            if other.text_hash == own.text_hash:
                return Same(DUPLICATE, other.page_key, "the same text", 1.0)
    return _nearly(own, others, policy) if NEAR_DUPLICATE in layers else None


def _by_title(own: Text, others: Sequence[Text], policy: DuplicatePolicy) -> Same | None:
    for other in others:
        jaccard = _jaccard(own, other)
        is_long = own.shingles is not None and len(own.shingles) >= LEAST_SHINGLES
        if is_long and jaccard >= policy.title_agreement:
            return Same(TITLE, other.page_key, f"the same title, and texts alike by {jaccard:.3f}", jaccard)
        if policy.trusts_title:
            return Same(TITLE, other.page_key, "the same title, which is trusted", jaccard)
    return None


def _nearly(own: Text, others: Sequence[Text], policy: DuplicatePolicy) -> Same | None:
    """Return the page that is most alike; of equals the one with the smaller key."""
    alike = [(_jaccard(own, other), other.page_key) for other in others]
    enough = [pair for pair in alike if pair[0] >= policy.near_at]
    if not enough:
        return None
    jaccard, keeper = min(enough, key=lambda pair: (-pair[0], pair[1]))
    return Same(NEAR_DUPLICATE, keeper, f"texts alike by {jaccard:.3f}", jaccard)


def _jaccard(own: Text, other: Text) -> float:
    if own.text_hash == other.text_hash:
        return 1.0
    if own.shingles is None or other.shingles is None:
        return 0.0
    return resemblance(own.shingles, other.shingles)


# Fewer say too little: two pictures with one caption are two pages.
LEAST_WORDS: Final = 20
# Of a smaller site nobody knows which texts are the page's own.
LEAST_PAGES: Final = 5
# Items of a page that equal one of those behind these go out.
MOST_ITEMS: Final = 100

ITEM_BYTES: Final = 8
NO_FIELDS: Final = b""
"""Stands for the fields of an item that has none of its own."""
NOT_READ: Final = bytes(ITEM_BYTES)
_NONE: Final = bytes(ITEM_BYTES)
"""In the place of NO_FIELDS, which has no bytes."""
_NOBODY_ASKED: Final = bytes(ITEM_BYTES)
_NUMBER: Final = re.compile(r"\d+")
_BLOCK_BYTES: Final = 8
# Two pages with one text, each with a report of its own to download, are two pages. Searched for from
# its end: most links lead to no file. What is in all that follows looked at first, here and below, tells most places
# apart from it in half the time.
_FILE_END: Final = re.compile(
    rf"""\.(?=[a-zA-Z7][a-zA-Z0-9]{{1,6}}+["'?#])(?i:{EXTENSIONS})(?:[?#][^"'<>]*+)?(?=(["'])?)"""
)
_HREF_START: Final = re.compile(r"""\bhref\s{0,9}=\s{0,9}["']([^"'<>]+)\Z""", re.IGNORECASE)
# Films and pictures; what a list lets choose, what is struck out or raised; and who is written to or called. Each
# begins with a character in one case, which is found ten times as fast.
_SHOWN: Final = re.compile(
    r"""<(?=[aefisvAEFISV])(?i:(?:img|iframe|frame|video|audio|source|embed)\b[^<>]{0,2000}?\s(?:data-)?src\s{0,9}=\s{0,9}["']?([^"'\s>]+))"""
)
_TOLD_APART: Final = re.compile(r"<(?=[dosDOS])((?i:option|del|s|sub|sup))(?=[\s>])[^<>]{0,500}>([^<]{1,200})")
# What is looked back for has one length.
_LABEL_BEFORE_SPACE: Final = "|".join(
    rf"(?<=\s{name}\s{{{spaces}}}=)" for spaces in range(1, 10) for name in ("aria-label", "title")
)
# Of an element without text: three stars of five, the tick of a table. Links and buttons name what they are for.
_LABEL: Final = re.compile(
    rf"""=(?i:(?<=\saria-label=)|(?<=\stitle=)|(?<=\s=)(?:{_LABEL_BEFORE_SPACE}))\s{{0,9}}"""
    r"""["']([^"'<>]{1,200})["'][^<>]{0,500}>\s{0,20}</(?!a\b|button\b)"""
)
_WRITTEN_TO: Final = re.compile(r"""=\s{0,9}+["']?+(?=[mtsMTS])(?i:mailto|tel|sms):([^"'?>\s]+)""")
# Fingerprints know neither case nor white space: `-v` is not `-V`, and code is not what its lines are in another order.
_FLAG: Final = re.compile(r"-(?<![^\s(\[]-)[A-Za-z]\b")
_LONGEST_HREF: Final = 2_000
_MOST_FILES: Final = 1_000

Blocks = Sequence[tuple[int, str]]
"""All of a page, uncut, in their order: fingerprint and text."""


def short_hash(text: str) -> bytes:
    """Return 8 bytes that stand for a text."""
    return parts_hash(text.encode("utf-8", "surrogatepass"), size=ITEM_BYTES)


def fields_hash(fields: Mapping[str, Any]) -> bytes | None:
    """Return what stands for fields, in any order: NO_FIELDS where none has a value, None where one equals nothing."""
    if not any(value is not None and value not in ("", b"", [], (), {}) for value in fields.values()):
        return NO_FIELDS
    kept = encode(dict(fields), _COMPARED)
    return None if isinstance(kept, Unkeepable) else short_hash(json.dumps(kept, sort_keys=True))


# Of what is compared a hash is kept: a table of a million cells, a file of some ten megabytes.
_COMPARED: Final = KeepLimits(values=1_000_000, characters=50_000_000)


class SiteSeen(Struct, frozen=True):
    """What is known of a page's site."""

    common: Collection[int] = frozenset()
    """Blocks that half of its pages have."""
    pages: int = 0


class PageEvidence(Struct):
    """What a page shows, uncut, and which fields its items have."""

    body: bytes
    """Of the HTML, or of the content, as it came; NOT_READ where nothing but the page's items was looked at."""
    blocks: "array[int]"
    """Fingerprints of all its blocks, in their order."""
    fields: list[bytes] = field(default_factory=list)
    numbers: bytes = _NOBODY_ASKED
    """Of the numbers in its text, in their order."""
    files: bytes = _NOBODY_ASKED
    """Of the files that it links to, and of what else it shows that is no text or more than the words of one."""
    cut: bytes = b""
    """For each block 1, where its page's cut left it out, or 0; empty where that is not known."""
    is_site_known: bool = False
    """Whoever cut it knew enough of its site to tell what is a page's own."""

    @classmethod
    def of(cls, source: str, blocks: Blocks, url: str, *, with_numbers: bool) -> Self:
        """Return what a page shows, before any item of it counts."""
        shown = cls(short_hash(source), array("Q", [key for key, _ in blocks]), files=files_hash(source, blocks, url))
        if with_numbers:
            shown.numbers = short_hash(" ".join(_NUMBER.findall("\n".join([text for _, text in blocks]))))
        return shown

    def pack(self) -> bytes:
        """Return it as bytes in this machine's order."""
        start = bytes([len(self.fields), bool(self.cut), self.is_site_known]) + pack_fields(self.fields)
        return start + self.body + self.numbers + self.files + self.blocks.tobytes() + self.cut

    @classmethod
    def unpack(cls, packed: bytes) -> Self:
        """Return what `pack` packed."""
        ends = [3 + (packed[0] + number) * ITEM_BYTES for number in range(4)]
        body, numbers, files = (packed[start : start + ITEM_BYTES] for start in ends[:3])
        count = (len(packed) - ends[3]) // (_BLOCK_BYTES + packed[1])
        blocks, cut = packed[ends[3] :][: count * _BLOCK_BYTES], packed[ends[3] + count * _BLOCK_BYTES :]
        fields = unpack_fields(packed[3 : ends[0]])
        return cls(body, array("Q", blocks), fields, numbers, files, cut, bool(packed[2]))

    def add(self, fields: bytes | None) -> None:
        """Note the fields of an item; None: they cannot be compared."""
        if fields is not None and fields not in self.fields and len(self.fields) < MOST_ITEMS:
            self.fields.append(fields)

    def note_cut(self, removed: Collection[int], site: SiteSeen | None = None) -> None:
        """Note which blocks its page's cut left out, and whether enough was known of its *site*."""
        self.cut = bytes([one in removed for one in self.blocks])
        self.is_site_known = site is not None and site.pages >= LEAST_PAGES

    @property
    def removed(self) -> set[int]:
        """The blocks that its page's cut left out."""
        return {one for one, gone in zip(self.blocks, self.cut, strict=False) if gone}


def best_seen(site: SiteSeen, other: PageEvidence) -> SiteSeen:
    """Return what is known of a site here, or, where that is too little, what the cut of another of its pages tells.

    Of workers that share a run one may have met all pages of a site but two.
    """
    if site.pages >= LEAST_PAGES or not other.is_site_known:
        return site
    return SiteSeen(other.removed, LEAST_PAGES)


def pack_fields(fields: Iterable[bytes]) -> bytes:
    """Return what stands for the fields of items as bytes, eight for each."""
    return b"".join(one or _NONE for one in fields)


def unpack_fields(packed: bytes) -> list[bytes]:
    """Return what `pack_fields` packed."""
    parts = (packed[start : start + ITEM_BYTES] for start in range(0, len(packed), ITEM_BYTES))
    return [NO_FIELDS if one == _NONE else one for one in parts]


def files_hash(source: str, blocks: Blocks, url: str) -> bytes:
    """Return what stands for the files that a page links to or shows, whichever host it has them from.

    Beside them it stands for what can be chosen or is struck out, for mail addresses, for labels of what has no text,
    and for the letters of flags and the lines of code.
    """
    names = {text for _, text in blocks if "\n" in text}
    names.update(_FLAG.findall("\n".join([text for _, text in blocks])))
    names.update(_file_name(shown[1], url) for shown in islice(_SHOWN.finditer(source), _MOST_FILES))
    for kind, text in (found.groups() for found in islice(_TOLD_APART.finditer(source), _MOST_FILES)):
        names.add(f"{kind} {text.strip()}")
    for pattern in (_WRITTEN_TO, _LABEL):
        names.update(found[1] for found in islice(pattern.finditer(source), _MOST_FILES))
    for end in islice(_FILE_END.finditer(source), _MOST_FILES):
        if end[1] and (found := _HREF_START.search(source, max(0, end.start() - _LONGEST_HREF), end.end())):
            names.add(_file_name(found[1], url))
    return short_hash("\n".join(sorted(names))) if names else _NOBODY_ASKED


def _file_name(href: str, url: str) -> str:
    """Return what stands for a file. What follows its name is mostly when it was made, or who asks for it."""
    if href[:5].lower() == "data:":
        return ""
    path, _, query = (target_of(unescape(href), url) or href).partition("#")[0].partition("?")
    is_named = FILE.search(path) or PICTURE.search(path)
    return path.partition("//")[2].partition("/")[2] if is_named else f"{path}?{query}"


def blocks_of_text(text: str) -> Blocks:
    """Return the blocks of a page that is no HTML."""
    return [(from_hex(hash_block(block)), block) for block in split_into_blocks(text, 1)]


def own_words(blocks: Blocks, site: SiteSeen) -> int:
    """Return how many words are a page's own, of all that its site's pages show."""
    return sum(len(words(text)) for key, text in blocks if key not in site.common)


def proves(own: PageEvidence, other: PageEvidence, fields: bytes | None, words: int, site: SiteSeen) -> bool:
    """Say whether an item is one that another page gave.

    Its *fields* are None where they cannot be compared; *words* are those of the blocks that are its page's own.
    """
    if fields is None or fields not in other.fields:
        return False
    if own.body == other.body:
        return True
    if own.files != other.files:
        return False
    is_known = site.pages >= LEAST_PAGES
    # Fields that agree speak for the page as well; without them, and without a site, nothing but bytes do.
    enough = (words >= LEAST_WORDS or (is_known and words > 0)) if fields else (words >= LEAST_WORDS and is_known)
    return enough and _have_the_same_of_their_own(own, other, site)


def proves_near(own: PageEvidence, other: PageEvidence, fields: bytes | None) -> bool:
    """Say whether fields, files and numbers are those of another page; how alike the texts are others say."""
    is_same = own.files == other.files and _NOBODY_ASKED != own.numbers == other.numbers
    return is_same and fields is not None and fields in other.fields


def _have_the_same_of_their_own(own: PageEvidence, other: PageEvidence, site: SiteSeen) -> bool:
    """Say whether two pages show the same, but for what repeats on their site and is cut out of either.

    "Yes" in a table of features is on most pages, too; which of them say so tells two pages apart.
    """
    if own.blocks == other.blocks:
        return True
    left_out = (own.removed | other.removed).intersection(site.common) if own.cut or other.cut else site.common
    ours, theirs = ([block for block in one.blocks if block not in left_out] for one in (own, other))
    return ours == theirs

"""Whether an item is one that went out already: by its own fields, and by the uncut text that is its page's own.

A title, a canonical link, or the text that a cut leaves only say where to look.
"""

import json
import re
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from html import unescape
from itertools import islice
from typing import Any, Final, Self

from msgspec import Struct, field

from scrapy_dedup.core.boilerplate.repeats import hash_block, split_into_blocks
from scrapy_dedup.core.duplicates.near import words
from scrapy_dedup.core.pages.fingerprints import from_hex, parts_hash
from scrapy_dedup.core.recrawl.values import Unkeepable, encode
from scrapy_dedup.core.urls.normal_form import target_of

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
_EXTENSIONS: Final = (
    "pdf|docx?|xlsx?|pptx?|od[tsp]|rtf|epub|csv|tsv|zip|rar|7z|t?gz|bz2|xz|tar|exe|msi|dmg|apk|deb|rpm|iso"
    "|mp3|m4a|ogg|wav|flac|mp4|webm|avi|mov|mkv|ics|torrent"
)
# Two pages with one text, each with a report of its own to download, are two pages. A link to a page is another matter:
# copies of a page link to themselves, to their neighbours and to what shares them. Searched for from its end: most
# links lead to no file.
_FILE_END: Final = re.compile(rf"""\.(?:{_EXTENSIONS})(?:[?#][^"'<>]*+)?(?=(["'])?)""", re.IGNORECASE)
_HREF_START: Final = re.compile(r"""\bhref\s{0,9}=\s{0,9}["']([^"'<>]+)\Z""", re.IGNORECASE)
_FILE: Final = re.compile(rf"\.(?:{_EXTENSIONS})\Z", re.IGNORECASE)
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
    kept = encode(dict(fields))
    return None if isinstance(kept, Unkeepable) else short_hash(json.dumps(kept, sort_keys=True))


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
    """Of the files that it links to."""
    cut: bytes = b""
    """For each block 1, where its page's cut left it out, or 0; empty where that is not known."""

    @classmethod
    def of(cls, source: str, blocks: Blocks, url: str, *, with_numbers: bool) -> Self:
        """Return what a page shows, before any item of it counts."""
        shown = cls(short_hash(source), array("Q", (key for key, _ in blocks)), files=files_hash(source, url))
        if with_numbers:
            shown.numbers = short_hash(" ".join(number for _, text in blocks for number in _NUMBER.findall(text)))
        return shown

    def pack(self) -> bytes:
        """Return it as bytes in this machine's order."""
        start = bytes([len(self.fields), bool(self.cut)]) + pack_fields(self.fields)
        return start + self.body + self.numbers + self.files + self.blocks.tobytes() + self.cut

    @classmethod
    def unpack(cls, packed: bytes) -> Self:
        """Return what `pack` packed."""
        ends = [2 + (packed[0] + number) * ITEM_BYTES for number in range(4)]
        body, numbers, files = (packed[start : start + ITEM_BYTES] for start in ends[:3])
        count = (len(packed) - ends[3]) // (_BLOCK_BYTES + packed[1])
        blocks, cut = packed[ends[3] :][: count * _BLOCK_BYTES], packed[ends[3] + count * _BLOCK_BYTES :]
        return cls(body, array("Q", blocks), unpack_fields(packed[2 : ends[0]]), numbers, files, cut)

    def add(self, fields: bytes | None) -> None:
        """Note the fields of an item; None: they cannot be compared."""
        if fields is not None and fields not in self.fields and len(self.fields) < MOST_ITEMS:
            self.fields.append(fields)

    def note_cut(self, removed: Collection[int]) -> None:
        """Note which blocks its page's cut left out."""
        self.cut = bytes(one in removed for one in self.blocks)

    @property
    def removed(self) -> set[int]:
        """The blocks that its page's cut left out."""
        return {one for one, gone in zip(self.blocks, self.cut, strict=False) if gone}


def pack_fields(fields: Iterable[bytes]) -> bytes:
    """Return what stands for the fields of items as bytes, eight for each."""
    return b"".join(one or _NONE for one in fields)


def unpack_fields(packed: bytes) -> list[bytes]:
    """Return what `pack_fields` packed."""
    parts = (packed[start : start + ITEM_BYTES] for start in range(0, len(packed), ITEM_BYTES))
    return [NO_FIELDS if one == _NONE else one for one in parts]


def files_hash(source: str, url: str) -> bytes:
    """Return what stands for the files that a page links to, whichever host it has them from."""
    names = set()
    for end in islice(_FILE_END.finditer(source), _MOST_FILES):
        found = end[1] and _HREF_START.search(source, max(0, end.start() - _LONGEST_HREF), end.end())
        if not found:
            continue
        href = found[1]
        path, _, query = (target_of(unescape(href), url) or href).partition("#")[0].partition("?")
        # What follows a file's name is mostly the time at which it was made, or who asks for it.
        names.add(path.partition("//")[2].partition("/")[2] if _FILE.search(path) else f"{path}?{query}")
    return short_hash("\n".join(sorted(names))) if names else _NOBODY_ASKED


def blocks_of_text(text: str) -> Blocks:
    """Return the blocks of a page that is no HTML."""
    return [(from_hex(hash_block(block)), block) for block in split_into_blocks(text, 1)]


def own_words(blocks: Blocks, site: SiteSeen) -> int:
    """Return how many words are a page's own, of all that its site's pages show."""
    return sum(len(words(text)) for key, text in blocks if key not in site.common)


def proves(own: PageEvidence, other: PageEvidence, fields: bytes | None, words: int, site: SiteSeen) -> bool:
    """Say whether an item is one that another page gave.

    Args:
        own: of the item's page.
        other: of the page that went out.
        fields: of the item; None: they cannot be compared.
        words: of the blocks that are the item's page's own.
        site: of both.
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

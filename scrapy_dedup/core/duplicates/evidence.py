"""Whether an item is one that went out already: by its own fields, and by the uncut text that is its page's own.

A title, a canonical link, or the text that a cut leaves only say where to look.
"""

import json
import re
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, Self

from msgspec import Struct, field

from scrapy_dedup.core.boilerplate.repeats import hash_block, split_into_blocks
from scrapy_dedup.core.duplicates.near import words
from scrapy_dedup.core.pages.fingerprints import from_hex, parts_hash
from scrapy_dedup.core.recrawl.values import Unkeepable, encode

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


class PageEvidence(Struct):
    """What a page shows, uncut, and which fields its items have."""

    body: bytes
    """Of the HTML, or of the content, as it came; NOT_READ where nothing but the page's items was looked at."""
    blocks: "array[int]"
    """Fingerprints of all its blocks, in their order."""
    fields: list[bytes] = field(default_factory=list)
    numbers: bytes = _NOBODY_ASKED
    """Of the numbers in its text, in their order."""

    @classmethod
    def of(cls, source: str, blocks: Blocks, *, with_numbers: bool) -> Self:
        """Return what a page shows, before any item of it counts."""
        shown = cls(short_hash(source), array("Q", (key for key, _ in blocks)))
        if with_numbers:
            shown.numbers = short_hash(" ".join(number for _, text in blocks for number in _NUMBER.findall(text)))
        return shown

    def pack(self) -> bytes:
        """Return it as bytes in this machine's order."""
        return bytes([len(self.fields)]) + pack_fields(self.fields) + self.body + self.numbers + self.blocks.tobytes()

    @classmethod
    def unpack(cls, packed: bytes) -> Self:
        """Return what `pack` packed."""
        end = 1 + packed[0] * ITEM_BYTES
        body, numbers, blocks = (packed[end + at :] for at in (0, ITEM_BYTES, 2 * ITEM_BYTES))
        return cls(body[:ITEM_BYTES], array("Q", blocks), unpack_fields(packed[1:end]), numbers[:ITEM_BYTES])

    def add(self, fields: bytes | None) -> None:
        """Note the fields of an item; None: they cannot be compared."""
        if fields is not None and fields not in self.fields and len(self.fields) < MOST_ITEMS:
            self.fields.append(fields)


class SiteSeen(Struct, frozen=True):
    """What is known of a page's site."""

    common: Collection[int] = frozenset()
    """Blocks that half of its pages have."""
    pages: int = 0


def pack_fields(fields: Iterable[bytes]) -> bytes:
    """Return what stands for the fields of items as bytes, eight for each."""
    return b"".join(one or _NONE for one in fields)


def unpack_fields(packed: bytes) -> list[bytes]:
    """Return what `pack_fields` packed."""
    parts = (packed[start : start + ITEM_BYTES] for start in range(0, len(packed), ITEM_BYTES))
    return [NO_FIELDS if one == _NONE else one for one in parts]


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
    is_known = site.pages >= LEAST_PAGES
    # Fields that agree speak for the page as well; without them, and without a site, nothing but bytes do.
    enough = (words >= LEAST_WORDS or (is_known and words > 0)) if fields else (words >= LEAST_WORDS and is_known)
    return enough and _own(own, site) == _own(other, site)


def proves_near(own: PageEvidence, other: PageEvidence, fields: bytes | None) -> bool:
    """Say whether fields and numbers are those of another page; how alike the texts are others say."""
    return fields is not None and fields in other.fields and _NOBODY_ASKED != own.numbers == other.numbers


def _own(evidence: PageEvidence, site: SiteSeen) -> list[int]:
    return [one for one in evidence.blocks if one not in site.common]

"""What one page shows to the learner of its site: how much text, of which kind, on which DOM paths."""

from array import array
from dataclasses import dataclass
from typing import Final
from zlib import crc32

from scrapy_dedup.core.blocks import Page

# A page shows at most so many blocks; of a longer page evenly spaced ones, so that shares stay what they are.
MOST_BLOCKS: Final = 500
# What stands deeper counts for the element at this depth: real pages rarely nest 30 block-level elements.
MOST_STEPS: Final = 64
# A longer block counts as one of this length, its links in proportion: two bytes each.
_MOST_CHARS: Final = 0xFFFF


@dataclass(frozen=True, slots=True)
class Observation:
    """The blocks of one page without their text: 18 bytes a block, and a reference a path."""

    paths: tuple[str, ...]
    """Each once, in order of first appearance, no deeper than MOST_STEPS."""
    at: "array[int]"
    """For each block its path, as an index into *paths*; the same for the other four."""
    fingerprints: "array[int]"
    texts: "array[int]"
    """32 bits of each text, wherever it stands."""
    chars: "array[int]"
    link_chars: "array[int]"


def observe(page: Page) -> Observation:
    """Return what a page shows to the learner."""
    stride = -(-len(page.blocks) // MOST_BLOCKS) or 1
    known: dict[str, int] = {}
    at, fingerprints, texts = array("H"), array("Q"), array("I")
    chars, link_chars = array("H"), array("H")
    for block in page.blocks[::stride]:
        length, linked = len(block.text), block.link_chars
        if length > _MOST_CHARS:
            length, linked = _MOST_CHARS, linked * _MOST_CHARS // length
        at.append(known.setdefault(block.path, len(known)))
        fingerprints.append(block.fingerprint)
        texts.append(crc32(block.text.lower().encode("utf-8", "surrogatepass")))
        chars.append(length)
        link_chars.append(min(linked, length))
    return Observation(tuple(map(upper_part, known)), at, fingerprints, texts, chars, link_chars)


def upper_part(path: str) -> str:
    """Return a path no deeper than MOST_STEPS."""
    return path if path.count(">") < MOST_STEPS else ">".join(path.split(">", MOST_STEPS)[:MOST_STEPS])

"""What one page shows to whoever judges its paths: how much text, of which kind, on which DOM paths."""

import re
from array import array
from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from itertools import repeat
from typing import Final
from zlib import crc32

from msgspec import Struct

from scrapy_dedup.core.pages.blocks import Block, Page
from scrapy_dedup.core.pages.declared import Declared
from scrapy_dedup.core.pages.gather import links_of
from scrapy_dedup.core.pages.tags import CURRENCY, Place

# A page shows at most so many blocks; of a longer page evenly spaced ones, so that shares stay what they are.
MOST_BLOCKS: Final = 500
# What stands deeper counts for the element at this depth: real pages rarely nest 30 block-level elements.
MOST_STEPS: Final = 64
# A longer block counts as one of this length, its links in proportion: two bytes each.
_MOST_CHARS: Final = 0xFFFF
# A title has some ten words, and whoever repeats it does so in a short block.
_TITLE_CHARS: Final = 200
_WORD: Final = re.compile(r"\w+")
_DIGIT: Final = re.compile(r"\d")
# A price, a day or a span as much as a number.
_NUMERAL: Final = re.compile(r"\d+(?:[.,:/ -]\d+)*")
_PUNCTUATION: Final = b".,;:!?"
# With those of Chinese, Japanese, Arabic and Indian scripts.
_MORE_PUNCTUATION: Final = "\u3002\u3001\uff0c\uff1b\uff1a\uff01\uff1f\u061f\u060c\u0964"
_CURRENCY: Final = re.compile(CURRENCY, re.IGNORECASE)
# "Regular price: 1,299.00 EUR" is one, a sentence with a sum in it is none.
_PRICE_CHARS: Final = 30
_ASCII_DIGITS: Final = b"0123456789"


class PageKind(StrEnum):
    """What a page declares itself to be."""

    ARTICLE = "article"
    PRODUCT = "product"
    OTHER = "other"


class Observation(Struct, frozen=True):
    """The blocks of one page without their text: 32 bytes a block, and a reference a path."""

    paths: tuple[str, ...]
    """Each once, in order of first appearance, no deeper than MOST_STEPS."""
    elements: "array[int]"
    """How many elements each path has; 0 beyond those that are told apart."""
    controls: "array[int]"
    """How many fields and buttons stand in them, beside the elements in them."""
    hints: tuple[str, ...]
    """What their tags say besides, as `@navigation %price !`: role, property, and that they are not shown."""
    kind: PageKind | None
    """What the page declares itself to be; None where it does not."""
    at: "array[int]"
    """For each block its path, as an index into *paths*; the same for what follows."""
    fingerprints: "array[int]"
    texts: "array[int]"
    """32 bits of each text, wherever it stands."""
    masks: "array[int]"
    """The same of the texts with all numbers alike."""
    chars: "array[int]"
    link_chars: "array[int]"
    within: "array[int]"
    """Of these, those in links to places of the same page."""
    away: "array[int]"
    """Of these, those in links with a scheme and host."""
    punctuation: "array[int]"
    digits: "array[int]"
    capital: "array[int]"
    """1 where it begins with a capital letter."""
    title: "array[int]"
    """How much of it and of the page's title is the same, in hundredths of their words."""
    price: "array[int]"
    """1 where it is a sum of money, and little else."""


def observe(page: Page) -> Observation:
    """Return what a page shows."""
    blocks = page.blocks
    stride = -(-len(blocks) // MOST_BLOCKS) or 1
    title = frozenset(_WORD.findall(page.title.lower()[:_TITLE_CHARS])) if page.title else frozenset()
    shown = blocks[::stride]
    rows = list(map(_row, shown, links_of(shown), repeat(title)))
    paths = [block.path for block in shown]
    known = {path: number for number, path in enumerate(dict.fromkeys(paths))}
    at = array("H", map(known.__getitem__, paths))
    counted, hints = _elements(page)
    for path in counted:
        if len(known) < _MOST_PATHS:
            known.setdefault(path, len(known))
    columns = zip(*rows, strict=True) if rows else ((),) * len(_TYPES)
    return Observation(
        tuple(map(upper_part, known)),
        array("H", [min(counted[path], _MOST_CHARS) for path in known]),
        array("H", [min(page.controls.get(path, 0), _MOST_CHARS) for path in known]),
        tuple([hints.get(path, "") for path in known]),
        _kind(page.declared),
        at,
        *map(array, _TYPES, columns),
    )


_TYPES: Final = "QIIHHHHHHBBB"
_MOST_PATHS: Final = 2_000


def _row(block: Block, links: tuple[int, int, int], title: frozenset[str]) -> tuple[int, ...]:
    text, (linked, within, away) = block.text, links
    chars = len(text)
    if chars > _MOST_CHARS:
        linked, within, away = (count * _MOST_CHARS // chars for count in (linked, within, away))
        chars = _MOST_CHARS
    lower = text.lower()
    alike = 0
    # Most blocks have no word of it, which is seen at a glance.
    if title and chars <= _TITLE_CHARS and any([word in lower for word in title]):  # noqa: C419 (a generator takes twice as long)
        words = set(_WORD.findall(lower))
        alike = 100 * len(words & title) // (len(words | title) or 1)
    raw = lower.encode("utf-8", "surrogatepass")
    # Many times as fast as expressions, which look at each character.
    marks = len(raw) - len(raw.translate(None, _PUNCTUATION))
    if text.isascii():
        digits = len(raw) - len(raw.translate(None, _ASCII_DIGITS))
    else:
        marks += sum(map(text.count, _MORE_PUNCTUATION))
        digits = len(_DIGIT.findall(text))
    number = crc32(raw)
    return (
        block.fingerprint,
        number,
        crc32(_NUMERAL.sub("0", lower).encode("utf-8", "surrogatepass")) if digits else number,
        chars,
        min(linked, chars),
        min(within, chars),
        min(away, chars),
        min(marks, _MOST_CHARS),
        min(digits, _MOST_CHARS),
        text[:1].isupper(),
        alike,
        bool(digits) and chars <= _PRICE_CHARS and _CURRENCY.search(text) is not None,
    )


def text_numbers(blocks: Iterable[Block]) -> list[int]:
    """Return 32 bits of each block's text, whatever its case, by which it is known wherever it stands."""
    return [crc32(block.text.lower().encode("utf-8", "surrogatepass")) for block in blocks]


def _kind(declared: Declared) -> PageKind | None:
    """Return what a page declares itself to be, by Open Graph's `og:type` or by what its JSON-LD is about."""
    said = next((value.strip().lower() for name, value in declared.metas if name == "og:type"), "")
    for kind in (PageKind.PRODUCT, PageKind.ARTICLE):
        if said.removeprefix("og:").startswith(kind):
            return kind
    types = {found for script in declared.json_ld for found in _TYPE.findall(script)}
    # A list of products has each of them in it.
    if "Product" in types and not types & _LISTS:
        return PageKind.PRODUCT
    if any(found.endswith(_ARTICLES) for found in types):
        return PageKind.ARTICLE
    return PageKind.OTHER if types or said else None


# Possessive: blanks are read once.
_TYPE: Final = re.compile(r'"@type"\s*+:\s*+(?:\[\s*+)?+"(\w+)"')
_LISTS: Final = frozenset({"ItemList", "CollectionPage"})
_ARTICLES: Final = ("Article", "Posting", "Recipe")


def _elements(page: Page) -> tuple[Counter[str], dict[str, str]]:
    """Return how many block-level elements stand on each path, and what their tags say besides."""
    counted: Counter[str] = Counter()
    hints: dict[str, str] = {}
    here: Place | None = None
    for step in page.walk.steps:
        if isinstance(step, Place):
            if step.outer is here:
                if step.path not in counted and (found := _hints(step.source)):
                    hints[step.path] = found
                counted[step.path] += 1
            here = step
    return counted, hints


_HINT: Final = re.compile(
    r"""\s(?:(role|itemprop)="([\w-]{3,30})[^"]*"|(hidden)=|(aria-hidden)="true"|style="[^"]*(display)\s*:\s*none)"""
)


def _hints(source: str) -> str:
    if "=" not in source:
        return ""
    found = []
    for name, value, *unseen in _HINT.findall(source):
        found.append("!" if any(unseen) else ("@" if name == "role" else "%") + value.lower())
    return " ".join(dict.fromkeys(found))


def upper_part(path: str) -> str:
    """Return a path no deeper than MOST_STEPS."""
    return path if path.count(">") < MOST_STEPS else ">".join(path.split(">", MOST_STEPS)[:MOST_STEPS])

"""Single pages of many sites whose main content is known as text alone: which of their blocks hold it.

The text was taken from the page by those who marked it, so its words stand on the page in the same order. A page on
which too few of them are found (made by scripts, or written differently) says nothing about its blocks.
"""

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from benchmarks.corpus import decode
from benchmarks.marked_sites import MarkedPage, page_of
from benchmarks.words import FEWESTWORDS, WORD, words
from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.core.urls.normal_form import extract_domain

# Words in a row that stand once on the page and once in the text are the same place.
_ANCHORS: Final = (6, 4, 3)
# Of words on either side, multiplied: so much is compared word by word.
_COMPARED: Final = 40_000
# In a row; one or two words are alike by chance.
_ALIKE: Final = 3
# Of the text's words, found on the page.
_FOUND: Final = 0.9
_MOST_WORDS: Final = 60_000


@dataclass(slots=True)
class MarkedText:
    """A page of a site of which nothing else is known."""

    name: str
    domain: str
    kind: str
    """As its set has it, such as `article` or `product`."""
    found: float
    """Share of the true words that are on the page, in their order."""
    page: MarkedPage

    @property
    def is_aligned(self) -> bool:
        """Whether its blocks are told apart well enough to learn from them."""
        return self.found >= _FOUND


def marked_texts(folder: Path) -> Iterator[MarkedText]:
    """Return the pages of all sets in a folder, each with pages.jsonl."""
    for listed in sorted(folder.glob("*/pages.jsonl")):
        with listed.open(encoding="utf-8") as rows:
            for row in map(json.loads, rows):
                if (found := _marked(row, listed.parent)) is not None:
                    yield found


def _marked(row: Mapping[str, Any], folder: Path) -> MarkedText | None:
    text = row.get("gold_text") or ""
    page = parse_page(decode((folder / row["html_file"]).read_bytes()))
    if not isinstance(page, Page):
        return None
    of_blocks = [WORD.findall(block.text.lower()) for block in page.blocks]
    here, true = [word for block in of_blocks for word in block], WORD.findall(text.lower())
    if len(true) < FEWESTWORDS:
        return None
    is_true = aligned(here, true) if len(here) <= _MOST_WORDS else [False] * len(here)
    main, at = [], 0
    for block in of_blocks:
        main.append(sum(is_true[at : at + len(block)]) / len(block) if block else float("nan"))
        at += len(block)
    url = row.get("url") or f"http://{folder.name}.invalid/{row['id']}"
    domain = extract_domain(url, "registrable") or folder.name
    gold: Counter[str] = words(text)
    found = sum(is_true) / len(true)
    kind = row.get("page_type") or folder.name
    return MarkedText(folder.name, domain, kind, found, page_of(url, page, main, gold, gold))


def aligned(page: Sequence[str], text: Sequence[str]) -> list[bool]:
    """Return for each word of a page whether it is one of the text's, whose order it keeps.

    Patience comparison: what stands once on either side is fixed first, longest rows before shorter ones, and what is
    between is compared in the same way.
    """
    found = [False] * len(page)
    parts = [(0, len(page), 0, len(text), 0)]
    while parts:
        first, last, begin, end, level = parts.pop()
        while first < last and begin < end and page[first] == text[begin]:
            found[first] = True
            first, begin = first + 1, begin + 1
        while first < last and begin < end and page[last - 1] == text[end - 1]:
            last, end = last - 1, end - 1
            found[last] = True
        if (last - first) * (end - begin) < _COMPARED:
            for place, _, size in SequenceMatcher(None, page[first:last], text[begin:end], False).get_matching_blocks():
                if size >= min(_ALIKE, end - begin) > 0:
                    found[first + place : first + place + size] = [True] * size
        elif level < len(_ANCHORS):
            size = _ANCHORS[level]
            anchors = _anchors(page[first:last], text[begin:end], size)
            for here, _ in anchors:
                found[first + here : first + here + size] = [True] * size
            corners = [(-size, -size), *anchors, (last - first, end - begin)]
            for (here, there), (next_here, next_there) in pairwise(corners):
                parts.append(
                    (first + here + size, first + next_here, begin + there + size, begin + next_there,
                     level if anchors else level + 1)
                )  # fmt: skip
    return found


def _anchors(page: Sequence[str], text: Sequence[str], size: int) -> list[tuple[int, int]]:
    """Return where so many words in a row stand that either side has once, in the order of both, none over another."""
    here, there = _once(page, size), _once(text, size)
    pairs = sorted((here[row], place) for row, place in there.items() if row in here)
    found: list[tuple[int, int]] = []
    for place in _rising([place for _, place in pairs]):
        if not found or all(now >= before + size for now, before in zip(pairs[place], found[-1], strict=True)):
            found.append(pairs[place])
    return found


def _once(listed: Sequence[str], size: int) -> dict[tuple[str, ...], int]:
    rows = [tuple(listed[at : at + size]) for at in range(len(listed) - size + 1)]
    counts = Counter(rows)
    return {row: at for at, row in enumerate(rows) if counts[row] == 1}


def _rising(values: Sequence[int]) -> list[int]:
    """Return the places of a longest rising sequence."""
    least: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for place, value in enumerate(values):
        length = bisect_left(least, value)
        least[length : length + 1] = [value]
        ends[length : length + 1] = [place]
        before.append(ends[length - 1] if length else -1)
    found = []
    place = ends[-1] if ends else -1
    while place >= 0:
        found.append(place)
        place = before[place]
    return found[::-1]

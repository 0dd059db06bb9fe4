"""Which blocks of a page stand in elements that a CSS selector matches."""

import re
from collections.abc import Sequence
from itertools import count

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from scrapy_dedup.core.blocks import Page, parse_tree
from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.gather import Gatherer
from scrapy_dedup.core.places import BODY, Place


class SelectorError(DedupError):
    """The text is no CSS selector."""


def check_selector(selector: str) -> None:
    """Raise unless a text is a CSS selector that can be used.

    Raises:
        SelectorError: it is none, or one with what the parser does not know.
    """
    try:
        LexborHTMLParser("<p>").css(selector)
    except (SelectolaxError, ValueError) as error:
        raise SelectorError(f"{selector!r} is no CSS selector that can be used: {error}") from error


def marked_blocks(html: str, page: Page, selectors: Sequence[str]) -> list[frozenset[int]]:
    """Return for each block of a page the selectors that match an element around it, by their place in *selectors*.

    Args:
        html: what *page* was parsed from.
        page: what `parse_page` returned.
        selectors: each checked; those that match elements within a block match nothing.
    """
    tree = parse_tree(html)
    attribute = _unused_name(html)
    for place, selector in enumerate(selectors):
        for node in tree.css(selector):
            node.attrs[attribute] = f"{node.attributes.get(attribute) or ''} {place}"
    body = tree.body
    if body is None:
        return [frozenset()] * len(page.blocks)
    gatherer = Gatherer()
    gatherer.over(body.inner_html or "")
    marks = _Marks(attribute, body.attributes.get(attribute) or "")
    found, here = [], BODY
    for step in gatherer.walk:
        if isinstance(step, Place):
            here = step
        elif isinstance(step, int):
            found.append(marks.of(here))
    # A page so odd that the attributes changed how it reads has no marks: nothing is guessed.
    return found if len(found) == len(page.blocks) else [frozenset()] * len(page.blocks)


def _unused_name(html: str) -> str:
    folded = html.lower()
    return next(name for number in count() if (name := f"data-dedup-mark-{number}") not in folded)


class _Marks:
    """The numbers that an attribute of the elements around a place holds; each place is looked at once."""

    def __init__(self, attribute: str, of_body: str) -> None:
        self._attribute = re.compile(rf' {attribute}="([\d ]+)"')
        self._known: dict[Place, frozenset[int]] = {BODY: _numbers(of_body)}

    def of(self, place: Place) -> frozenset[int]:
        unknown = []
        while place not in self._known and place.outer is not None:
            unknown.append(place)
            place = place.outer
        marks = self._known[place]
        for inner in reversed(unknown):
            found = self._attribute.search(inner.source)
            marks = self._known[inner] = marks | _numbers(found[1]) if found else marks
        return marks


def _numbers(text: str) -> frozenset[int]:
    return frozenset(map(int, text.split()))

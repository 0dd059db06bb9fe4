"""Which blocks of a page stand in elements that a CSS selector matches."""

import re
from collections.abc import Sequence
from itertools import count

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from scrapy_dedup.core.blocks import Page, parse_tree
from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.gather import Gatherer
from scrapy_dedup.core.places import Place
from scrapy_dedup.core.tags import Token


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
    gatherer = _MarkingGatherer(attribute, body.attributes.get(attribute) or "")
    gatherer.over(body.inner_html or "")
    # A page so odd that the attributes changed how it reads has no marks: nothing is guessed.
    return gatherer.marks if len(gatherer.marks) == len(page.blocks) else [frozenset()] * len(page.blocks)


def _unused_name(html: str) -> str:
    folded = html.lower()
    return next(name for number in count() if (name := f"data-dedup-mark-{number}") not in folded)


class _MarkingGatherer(Gatherer):
    """Gathers blocks, and for each the numbers that an attribute of the elements around it holds."""

    def __init__(self, attribute: str, of_body: str) -> None:
        super().__init__()
        self.marks: list[frozenset[int]] = []
        self._attribute = re.compile(rf' {attribute}="([\d ]+)"')
        self._open_marks = [_numbers(of_body)]

    def _open(self, source: str, token: Token) -> None:
        found = self._attribute.search(source)
        self._found = _numbers(found[1]) if found else frozenset()
        super()._open(source, token)

    def _enter(self, place: Place) -> None:
        super()._enter(place)
        self._open_marks.append(self._open_marks[-1] | self._found)
        self._found = frozenset()

    _found: frozenset[int] = frozenset()

    def _close(self) -> None:
        super()._close()
        del self._open_marks[len(self.places) :]

    def _flush(self) -> None:
        super()._flush()
        self.marks += [self._open_marks[-1]] * (len(self.blocks) - len(self.marks))


def _numbers(text: str) -> frozenset[int]:
    return frozenset(map(int, text.split()))

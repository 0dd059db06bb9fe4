"""Which blocks of a page stand in elements that a selector matches."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from scrapy_dedup.core.blocks import Page, parse_tree
from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.gather import Gatherer
from scrapy_dedup.core.marking_costs import Costs
from scrapy_dedup.core.marking_xpath import Numbered, XPathError, check_xpath, is_xpath
from scrapy_dedup.core.places import BODY, Place


class SelectorError(DedupError):
    """The text is no selector."""


def check_selector(selector: str) -> None:
    """Raise unless a text is a CSS selector that can be used.

    Raises:
        SelectorError: it is none, or one with what the parser does not know.
    """
    try:
        LexborHTMLParser("<p>").css(selector)
    except (SelectolaxError, ValueError) as error:
        raise SelectorError(f"{selector!r} is no CSS selector that can be used: {error}") from error


def check_any_selector(selector: str) -> None:
    """Raise unless a text is a CSS selector, or an expression of XPath 1.0, that can be used.

    Raises:
        SelectorError: it is neither.
    """
    if not is_xpath(selector):
        check_selector(selector)
        return
    try:
        check_xpath(selector)
    except XPathError as error:
        raise SelectorError(f"{selector!r} is no XPath 1.0 that can be used: {error}") from error


@dataclass(frozen=True, slots=True)
class Marking:
    """What selectors match on a page."""

    blocks: list[frozenset[int]]
    """For each block the places of the selectors that match an element around it."""
    too_costly: frozenset[int] = frozenset()
    """Of selectors that would take too long on this page; they match nothing."""


def marked_blocks(html: str, page: Page, selectors: Sequence[str]) -> list[frozenset[int]]:
    """Return for each block of a page the selectors that match an element around it, by their place in *selectors*.

    Args:
        html: what *page* was parsed from.
        page: what `parse_page` returned.
        selectors: each checked; those that match elements within a block match nothing.
    """
    return mark(html, page, selectors).blocks


def mark(html: str, page: Page, selectors: Sequence[str]) -> Marking:
    """Return what selectors match on a page, within a bound of time.

    Args:
        html: what *page* was parsed from.
        page: what `parse_page` returned.
        selectors: each checked; those that match elements within a block match nothing.
    """
    tree = parse_tree(html)
    nothing = [frozenset[int]()] * len(page.blocks)
    body = tree.body
    if body is None or not selectors:
        return Marking(nothing)
    attribute = _unused_name(html)
    too_costly = _mark_elements(tree, body, attribute, selectors)
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
    return Marking(found if len(found) == len(page.blocks) else nothing, too_costly)


def _mark_elements(
    tree: LexborHTMLParser, body: LexborNode, attribute: str, selectors: Sequence[str]
) -> frozenset[int]:
    """Write the place of each selector on the elements that it matches; return those that would take too long."""
    costs, too_costly = Costs(tree), set()
    numbered: Numbered | None = None
    marked: dict[int, tuple[LexborNode, list[str]]] = {}
    for place, selector in enumerate(selectors):
        if not costs.allow(selector):
            too_costly.add(place)
            continue
        if is_xpath(selector):
            numbered = numbered or Numbered(tree, f"{attribute}-at")
            nodes = numbered.select(selector)
        else:
            nodes = tree.css(selector)
        if len(nodes) > 1 and any(node.tag in ("html", "body") for node in nodes[:2]):
            nodes = [body]
        if not costs.allow_marks(len(nodes)):
            too_costly.add(place)
            continue
        for node in nodes:
            target = body if node.tag == "html" else node
            marked.setdefault(target.mem_id, (target, []))[1].append(str(place))
    for target, places in marked.values():
        target.attrs[attribute] = " ".join(places)
    return frozenset(too_costly)


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

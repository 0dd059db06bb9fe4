"""A page whose elements carry numbers, so that what a browser shows of it is told of the page that was parsed."""

import re
from itertools import count
from typing import Final

from msgspec import Struct

from scrapy_dedup.core.pages.blocks import Page, parse_tree
from scrapy_dedup.core.pages.gather import Gatherer
from scrapy_dedup.core.pages.places import BODY, Place

NO_ELEMENT: Final = -1
# A browser takes seconds for more, and no text is worth that.
MOST_ELEMENTS: Final = 20_000


class NumberedPage(Struct, frozen=True):
    """A page to be shown by a browser."""

    html: str
    """The page with a number on each element of its body, 0 for the body itself, in document order."""
    attribute: str
    """What holds the number."""
    parents: tuple[int, ...]
    """For each element the one around it; NO_ELEMENT for the body."""
    tags: tuple[str, ...]
    of_blocks: tuple[int, ...]
    """For each block of the page the block-level element that it stands in."""


def numbered(html: str, page: Page) -> NumberedPage | None:
    """Return a page with numbers on its elements; None where it has too many, or reads otherwise with them.

    What stands there for readers without scripts is left out, as a browser with scripts leaves it out; nor does the
    page lead elsewhere by itself.

    Args:
        html: what *page* was parsed from.
        page: what `parse_page` returned.
    """
    tree = parse_tree(html)
    body = tree.body
    if body is None:
        return None
    for node in tree.css("noscript, meta[http-equiv=refresh i]"):
        node.decompose()
    attribute = _unused_name(html)
    parents: list[int] = []
    tags: list[str] = []
    numbers: dict[int, int] = {}
    for node in [node for node in body.traverse(include_text=False) if node.is_element_node]:
        above = node.parent
        parents.append(numbers.get(above.mem_id, 0) if above is not None and numbers else NO_ELEMENT)
        numbers[node.mem_id] = len(tags)
        node.attrs[attribute] = str(len(tags))
        tags.append(node.tag or "")
        if len(tags) > MOST_ELEMENTS:
            return None
    of_blocks = _of_blocks(body.inner_html or "", attribute)
    if len(of_blocks) != len(page.blocks):
        return None
    return NumberedPage(tree.html or "", attribute, tuple(parents), tuple(tags), of_blocks)


def _of_blocks(source: str, attribute: str) -> tuple[int, ...]:
    number = re.compile(rf' {attribute}="(\d+)"')
    gatherer = Gatherer()
    gatherer.over(source)
    found, here = [], 0
    for step in gatherer.walk:
        if isinstance(step, Place):
            match = number.search(step.source) if step is not BODY else None
            here = int(match[1]) if match else 0
        elif isinstance(step, int):
            found.append(here)
    return tuple(found)


def _unused_name(html: str) -> str:
    folded = html.lower()
    return next(name for number in count() if (name := f"data-dedup-n{number}") not in folded)

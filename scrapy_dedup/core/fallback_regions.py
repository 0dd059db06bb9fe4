"""Which regions of a single page are its surroundings, told by their tags, names and links, unless somebody vouches.

A region is everything under one DOM path. What a name says is believed of small parts of a page only, and not where
half of the region's text is what an extractor kept: two voices that have nothing in common.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

from scrapy_dedup.core.gather import Block


class DroppedBy(StrEnum):
    """Why a block is not kept."""

    NAVIGATION = "navigation"
    """In `nav`, `footer` or `aside`."""
    HEADER = "header"
    """In the page's `header`."""
    FORM = "form"
    NAMED = "named"
    """In a part whose class or id is a word for surroundings."""
    LINKS = "links"
    """In a list of short links."""
    OUTSIDE = "outside"
    """Not in the part in which the extractor found the content."""
    EXTRACTOR = "extractor"
    """The extractor left it out of an article."""


@dataclass(slots=True)
class Region:
    """What stands under one path."""

    chars: int = 0
    plain_chars: int = 0
    """Outside links."""
    held_chars: int = 0
    """Outside links, in blocks that the extractor kept."""
    blocks: int = 0


# A part with more of a page's text than this is no surroundings, whatever it is called (measured: 0.25, 0.4, 0.7, 0.9).
_MOST_OF_PAGE: Final = 0.7
_VOUCHED: Final = 0.5
# Menus are many links of few words; teasers and results of a search are links with longer texts.
_LINK_SHARE: Final = 0.75
_FEWEST_LINKS: Final = 4
_MENU_CHARS: Final = 25
_TAGS: Final = {
    "nav": DroppedBy.NAVIGATION,
    "footer": DroppedBy.NAVIGATION,
    "aside": DroppedBy.NAVIGATION,
    "form": DroppedBy.FORM,
}
_CONTENT_TAGS: Final = frozenset(["body", "main", "article"])
# Whole words of classes and ids, in the plain sense of the word; those of HTML, ARIA, and of what is laid over pages.
_NAMED: Final = re.compile(
    r"(?:^|[.#_-])(?:nav\w*|menu|visually-hidden|screen-reader-text|sr-only|sidebar|breadcrumbs?|crumbs?|footer|foot"
    r"|copyright|pagination|pager|related|share|sharing|social|respond|cookies?|consent|newsletter|subscribe"
    r"|widget-area|toc|skip|search|login|signup|modal|popup|dialog|similar|recommend\w*|advert\w*|ads?|promo|banner"
    r"|masthead|prevnext|tags?)(?:$|[._-])",
    re.IGNORECASE,
)


def regions(blocks: Sequence[Block], held: Sequence[bool]) -> dict[str, Region]:
    """Return the region of each path that blocks stand under, the outermost first within each path."""
    by_path: dict[str, list[int]] = {}
    for index, block in enumerate(blocks):
        by_path.setdefault(block.path, []).append(index)
    found: dict[str, Region] = {}
    for path, indexes in by_path.items():
        chars = sum(len(blocks[i].text) for i in indexes)
        plain = chars - sum(blocks[i].link_chars for i in indexes)
        kept = sum(len(blocks[i].text) - blocks[i].link_chars for i in indexes if held[i])
        for outer in _with_ancestors(path):
            region = found.setdefault(outer, Region())
            region.chars += chars
            region.plain_chars += plain
            region.held_chars += kept
            region.blocks += len(indexes)
    return found


def surroundings(blocks: Sequence[Block], found: dict[str, Region]) -> dict[str, DroppedBy | None]:
    """Say of each path with blocks, and of each around it, why it is dropped; None where it is not."""
    total = found["body"].plain_chars if "body" in found else 0
    verdicts: dict[str, DroppedBy | None] = {}
    for block in blocks:
        if block.path in verdicts:
            continue
        outer: DroppedBy | None = None
        in_content = False
        for path in _with_ancestors(block.path):
            step = path[path.rfind(">") + 1 :]
            if path not in verdicts:
                verdicts[path] = outer or _verdict(step, found[path], total, in_content=in_content)
            outer = verdicts[path]
            in_content = in_content or _tag(step) in _CONTENT_TAGS - {"body"}
    return verdicts


def container(found: dict[str, Region]) -> str:
    """Return the innermost path under which nine tenths of what the extractor kept stand."""
    needed = 0.9 * found["body"].held_chars if "body" in found else 0
    # Of two that hold as much the longer path is the inner one.
    holding = [path for path, region in found.items() if region.held_chars >= needed] if needed else []
    return max(holding, key=lambda path: (path.count(">"), path), default="body")


def is_under(path: str, outer: str) -> bool:
    """Tell whether a path is another or leads through it."""
    return path == outer or path.startswith(f"{outer}>")


def _verdict(step: str, region: Region, total: int, *, in_content: bool) -> DroppedBy | None:
    if region.plain_chars > _MOST_OF_PAGE * total or region.held_chars > _VOUCHED * region.plain_chars:
        return None
    reason = _told_by(step)
    if reason is DroppedBy.HEADER and in_content:
        # An article's own header: its title and who wrote it.
        reason = None
    return reason or (DroppedBy.LINKS if _is_menu(region) else None)


@lru_cache(maxsize=8_192)
def _told_by(step: str) -> DroppedBy | None:
    tag = _tag(step)
    if tag == "header":
        return DroppedBy.HEADER
    if tag in _TAGS:
        return _TAGS[tag]
    if tag not in _CONTENT_TAGS and _NAMED.search(step[len(tag) :]):
        return DroppedBy.NAMED
    return None


def _is_menu(region: Region) -> bool:
    return (
        region.blocks >= _FEWEST_LINKS
        and region.chars - region.plain_chars >= _LINK_SHARE * region.chars
        and region.chars < _MENU_CHARS * region.blocks
    )


def _tag(step: str) -> str:
    return step.partition("#")[0].partition(".")[0]


def _with_ancestors(path: str) -> list[str]:
    """Return the paths that lead to a path, the outermost first, and itself."""
    found = []
    at = path.find(">")
    while at >= 0:
        found.append(path[:at])
        at = path.find(">", at + 1)
    return [*found, path]

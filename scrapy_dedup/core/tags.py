"""The tags of serialised HTML, each read once and then known."""

import re
from enum import IntEnum
from functools import lru_cache
from html import unescape
from typing import NamedTuple

from scrapy_dedup.core.paths import element_key

# Never text that a person reads in place.
UNSEEN = frozenset(
    "script style noscript template svg iframe object select textarea head title datalist canvas audio video noembed "
    "noframes button".split()
)
INLINE = frozenset(
    "a abbr acronym b bdi bdo big br cite code data del dfn em font i img ins kbd label link mark math meta mi "
    "mn mo mrow msub msup mtext nobr output picture q rp rt ruby s samp small source span strike strong sub sup time "
    "tt u var wbr".split()
)
# What a reader of Markdown or HTML needs; every other block-level element is only a boundary.
STRUCTURE = frozenset(
    "p h1 h2 h3 h4 h5 h6 ul ol li dl dt dd table caption thead tbody tfoot tr th td pre blockquote figure figcaption "
    "details summary".split()
)
# Inline elements that mean something when they are drawn.
MARKED = frozenset("a b code del em i kbd q s samp strong sub sup var".split())
HEADINGS = frozenset("h1 h2 h3 h4 h5 h6 dt summary".split())
VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
# Without these a table, a list or code would be misread.
_DRAWN_ATTRIBUTES = {
    "a": ("href",),
    "code": ("class",),
    "img": ("src", "alt"),
    "ol": ("start",),
    "pre": ("class",),
    "td": ("colspan", "rowspan"),
    "th": ("colspan", "rowspan"),
}
_NAME = re.compile(r"</?([^\s/>]+)")
_ATTRIBUTE = re.compile(r'\s([^\s=>"]+)="([^"]*)"')


class Tag(NamedTuple):
    """A tag as it is drawn: its name and the attributes that matter, values without escapes."""

    name: str
    attributes: tuple[tuple[str, str], ...] = ()
    closing: bool = False


class Role(IntEnum):
    """What a tag means for the walk."""

    PASS = 0
    BLOCK = 1
    BLOCK_END = 2
    VOID = 3
    MARK = 4
    MARK_END = 5
    BREAK = 6
    IMAGE = 7
    UNSEEN = 8


class Token(NamedTuple):
    """One kind of tag; equal source text gives the same object."""

    role: Role
    tag: Tag
    step: str
    """The element's step in a DOM path; empty for inline elements."""
    drawn: bool
    """A block-level element that shows in the output."""
    heading: bool


@lru_cache(maxsize=65_536)
def read_tag(source: str) -> Token:
    """Return what `<...>` of serialised HTML means. Comments and the like pass."""
    match = _NAME.match(source)
    if match is None or source[1] in "!?":
        return Token(Role.PASS, Tag(""), "", drawn=False, heading=False)
    name = match.group(1).lower()
    closing = source[1] == "/"
    attributes = {} if closing else {key: unescape(value) for key, value in _ATTRIBUTE.findall(source)}
    role = _role(name, closing=closing)
    step = ""
    if role in (Role.BLOCK, Role.VOID):
        step = element_key(name, attributes.get("class", ""), attributes.get("id", ""))
    wanted = _DRAWN_ATTRIBUTES.get(name, ())
    shown = tuple((key, attributes[key]) for key in wanted if attributes.get(key))
    if role is Role.IMAGE and not _is_drawable(attributes.get("src", "")):
        role = Role.PASS
    return Token(role, Tag(name, shown, closing), step, name in STRUCTURE, name in HEADINGS)


_ROLES = dict.fromkeys(UNSEEN, Role.UNSEEN) | dict.fromkeys(INLINE, Role.PASS) | dict.fromkeys(MARKED, Role.MARK)
_ROLES |= dict.fromkeys(VOID - INLINE, Role.VOID) | {"br": Role.BREAK, "img": Role.IMAGE}


def _role(name: str, *, closing: bool) -> Role:
    role = _ROLES.get(name, Role.BLOCK)
    if closing:
        return {Role.BLOCK: Role.BLOCK_END, Role.MARK: Role.MARK_END}.get(role, role)
    return role


def _is_drawable(source: str) -> bool:
    return bool(source) and not source.lower().startswith("data:")

"""The tags of serialised HTML, each read once and then known, and where in a page their elements stand."""

import re
from collections.abc import Iterator
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

# Never text that a person reads in place.
UNSEEN = frozenset(
    "svg object select textarea head title template datalist canvas audio video button script style noscript iframe "
    "noembed noframes".split()
)
# Their text is no markup and is not escaped where it is serialised.
RAW = frozenset("script style noscript iframe noembed noframes xmp plaintext".split())
# Of these, the ones whose text is read as it is.
LITERAL = frozenset({"xmp", "plaintext"})
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
# What designs are made of; the skeletons of layouts know no other elements.
CONTAINERS = frozenset("div main article section header footer nav aside form".split())
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
    "td": ("colspan", "rowspan"),
    "th": ("colspan", "rowspan"),
}
_PICTURE_ATTRIBUTES = ("data-src", "data-lazy-src", "data-original", "src")
CURRENCY = (
    r"(?:[$\u00a2-\u00a5\u20a0-\u20cf]"
    r"|\b(?:eur|usd|gbp|chf|jpy|cny|inr|sek|nok|dkk|pln|czk|huf|cad|aud|nzd|brl|kr|z\u0142)\b)"
)
"""A sign or code of a currency, whatever its case."""
_NAME = re.compile(r"/?([^\s/]+)")
_ATTRIBUTE = re.compile(r'\s([^\s="]+)="([^"]*)"')
# As Prism, highlight.js, Sphinx and GitHub name the language of code.
_LANGUAGE = re.compile(r"(?:^|\s)(?:language|lang|highlight-source|highlight)-([a-zA-Z][\w+#.-]{0,29})(?:\s|$)")
_NO_LANGUAGE = frozenset("default none text plain plaintext".split())
# Some tables say `colspan="1000"` for "all columns"; each column is written for every row.
_MOST_SPANNED = 50
# Longer tags (a picture inside its address) are read each time: known ones must not fill the memory.
LONG_TAG = 500

_DIGITS = re.compile(r"\d+")
# Classes that change from page to page, or with the state of a page: made by build tools (css-1x2y3z, sc-aBcD), states,
# positions, and numbers of single posts and menu items.
_VOLATILE = re.compile(
    r"^(?:css|sc|jsx|svelte|emotion|styles?)-[0-9a-zA-Z]+$"
    r"|^[a-zA-Z]*[0-9][0-9a-zA-Z]{4,}$"
    r"|^(?:is|has|js)-"
    r"|^(?:active|current|selected|open|hover|visible|odd|even|first|last)$"
    r"|^(?:post|postid|page|page-id|page-item|menu-item|category|tag|node)-\d"
)
_MOST_CLASSES = 4
_LONGEST_NAME = 60


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
    LITERAL = 9


class Token(NamedTuple):
    """One kind of tag; equal source text gives the same object."""

    role: Role
    tag: Tag
    step: str = ""
    """The element's step in a DOM path; empty for inline elements."""
    drawn: bool = False
    """A block-level element that shows in the output."""
    heading: bool = False
    language: str = ""
    """Of the code in it."""
    label: str = ""
    """Of a container, its tag and classes; see `core.templates.layouts`."""


def read_tag(source: str) -> Token:
    """Return what a tag of serialised HTML means, given without its angle brackets."""
    match = _NAME.match(source)
    if match is None or source[0] in "!?":
        return Token(Role.PASS, Tag(""))
    name = match.group(1)
    if source[0] == "/":
        return Token(_END_ROLES.get(name, Role.BLOCK_END), Tag(name, (), closing=True))
    attributes = _attributes(source)
    role = _ROLES.get(name, Role.BLOCK)
    # In a long one the search takes the square of its length.
    if role is Role.BLOCK and len(source) < LONG_TAG and "style=" in source and _NEVER_SHOWN.search(source):
        role = Role.UNSEEN
    if role is Role.IMAGE:
        attributes["src"] = next(filter(_is_drawable, _addresses(attributes)), "")
        is_pixel = not _PIXEL.isdisjoint((attributes.get("width"), attributes.get("height")))
        if not attributes["src"] or is_pixel or "hidden" in attributes:
            role = Role.PASS
    shown: tuple[tuple[str, str], ...] = ()
    if attributes and (wanted := _DRAWN_ATTRIBUTES.get(name)):
        values = [(key, _drawn_value(key, plain(attributes.get(key, "")))) for key in wanted]
        shown = tuple(pair for pair in values if pair[1])
    if role is not Role.BLOCK and role is not Role.LITERAL:
        return Token(role, Tag(name, shown))
    classes = plain(attributes.get("class", ""))
    step = element_key(name, classes, plain(attributes.get("id", "")))
    label = element_key(name, classes, "") if name in CONTAINERS else ""
    return Token(role, Tag(name, shown), step, name in STRUCTURE, name in HEADINGS, _language(classes), label)


def name_and_attributes(source: str) -> tuple[str, dict[str, str]]:
    """Return an element's name, and its attributes' values without escapes, by its start tag without angle brackets."""
    match = _NAME.match(source)
    return match.group(1) if match else "", {name: plain(value) for name, value in _attributes(source).items()}


def _attributes(source: str) -> dict[str, str]:
    return dict(_ATTRIBUTE.findall(source)) if " " in source else {}


def plain(source: str) -> str:
    """Return the text behind serialised text or an attribute's value: five characters are escaped there, no others."""
    if "&" not in source:
        return source
    text = source.replace("&nbsp;", "\xa0").replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"')
    return text.replace("&amp;", "&")


known_tag = lru_cache(maxsize=16_384)(read_tag)

_ROLES = dict.fromkeys(UNSEEN, Role.UNSEEN) | dict.fromkeys(LITERAL, Role.LITERAL)
_ROLES |= dict.fromkeys(INLINE, Role.PASS) | dict.fromkeys(MARKED, Role.MARK) | dict.fromkeys(VOID - INLINE, Role.VOID)
_ROLES |= {"br": Role.BREAK, "img": Role.IMAGE}
_END_ROLES = dict.fromkeys(_ROLES, Role.PASS) | dict.fromkeys(MARKED, Role.MARK_END)


def _addresses(attributes: dict[str, str]) -> Iterator[str]:
    """Yield where a picture may be had: what stands in `src` until it is seen may be a placeholder, of one dot."""
    yield from (attributes.get(name, "") for name in _PICTURE_ATTRIBUTES)
    for name in ("srcset", "data-srcset", "data-lazy-srcset"):
        yield attributes.get(name, "").strip().partition(" ")[0].rstrip(",")


# Tabs and accordions are hidden in a weaker way, which scripts undo.
_NEVER_SHOWN = re.compile(
    r'\sstyle="(?:[^"]*;)?\s*+display\s*+:\s*+none\s*+!\s*+important(?![^"]*;\s*+display\s*+:)', re.IGNORECASE
)


# Wide or high: such a picture counts readers.
_PIXEL = frozenset({"0", "1"})


def _is_drawable(source: str) -> bool:
    return bool(source) and not source.lstrip().lower().startswith("data:")


def _drawn_value(name: str, value: str) -> str:
    """Return the value that is drawn, empty where there is none to draw."""
    if name in ("colspan", "rowspan", "start"):
        number = int(value) if value.isascii() and value.isdecimal() and len(value) < 10 else 1
        return (
            ""
            if number == 1
            else str(number if name == "start" else min(number, _MOST_SPANNED if name == "colspan" else 1_000))
        )
    if name == "class":
        return f"language-{language}" if (language := _language(value)) else ""
    return value


def _language(classes: str) -> str:
    found = _LANGUAGE.search(classes) if "-" in classes else None
    return found[1] if found and found[1] not in _NO_LANGUAGE else ""


@lru_cache(maxsize=16_384)
def element_key(tag: str, classes: str, element_id: str) -> str:
    """Return `tag#id.class.class` with what is volatile left out.

    Ids with digits are left out, digits in classes become 0; at most four classes, sorted.
    """
    key = tag
    if element_id and len(element_id) <= _LONGEST_NAME and not _DIGITS.search(element_id):
        key += f"#{_one_word(element_id)}"
    stable = sorted(
        {
            _DIGITS.sub("0", name)
            for name in classes.split()[:20]
            if len(name) <= _LONGEST_NAME and not _VOLATILE.search(name)
        }
    )
    for name in stable[:_MOST_CLASSES]:
        key += f".{name}"
    return key


def _one_word(name: str) -> str:
    """Return an id without white space, so that a path stays one word a step."""
    return "_".join(name.split())


# Structure is drawn to this depth, and a little deeper within what began above it: converters recurse, and each level
# indents every line.
DRAWN_DEPTH = 40
_CONTAINERS = frozenset("ul ol dl table blockquote figure details".split())
_PARTS_DEEPER = 8
_CUT = 1_000
# Markdown writes these on one line.
_LINES = frozenset("h1 h2 h3 h4 h5 h6 dt summary caption figcaption".split())
# Where one of these stands a text begins, and what is around it is the author's, no more the design's.
_PROSE = frozenset("p h2 h3 h4 h5 h6 pre blockquote dl figure".split())
# How many containers deep a skeleton goes; 4 to 8 give the same layouts.
_SKELETON_DEPTH = 6
# Longer paths end in the step where they grew too long, else 5,000 nested elements make 5,000 paths of 5,000 steps.
PATH_CHARS = 4_000


class Place:
    """Where an open element stands. Elements of one kind in one place are alike, on all pages of a site."""

    __slots__ = (
        "after",
        "depth",
        "end",
        "in_heading",
        "in_line",
        "in_pre",
        "is_prose",
        "language",
        "mark",
        "outer",
        "path",
        "source",
        "start",
        "tags",
    )

    def __init__(self, path: str) -> None:
        self.path = path
        self.source = ""
        """The element's start tag without angle brackets."""
        self.outer: Place | None = None
        self.after: dict[str, Place] = {}
        """Which place a tag leads to, for the tags met so far; those of inline elements lead nowhere."""
        self.is_prose = False
        self.tags = ""
        """Of a container: the tags from body to it, as `body/div/nav`; else empty."""
        self.mark = ""
        """The same with its own classes, as `body/div/nav.menu`."""
        self.depth = 0
        self.in_heading = False
        self.in_line = False
        self.in_pre = False
        self.language = ""
        self.start: Tag | None = None
        """As it is drawn; None for an element that is only a boundary."""
        self.end: Tag | None = None

    def past(self, tag: str) -> "Place | None":
        """Return the place behind a tag, given without angle brackets; None where the tag is no boundary of blocks."""
        if ">" in tag:
            # An element whose text is literal is one tag with it.
            return None
        token = known_tag(tag) if len(tag) < LONG_TAG else read_tag(tag)
        if token.role is Role.BLOCK:
            place = self.child(token)
            place.source = tag
        elif token.role is Role.BLOCK_END:
            # End tags need not match start tags: foreign elements can hold text that is read as tags.
            place = self.outer or self
        elif token.role is Role.VOID:
            place = self
        else:
            return None
        if len(tag) < LONG_TAG:
            _known.append(self)
            # Where two threads read pages of one site, the first has made it: a page has each place once.
            return self.after.setdefault(tag, place)
        return place

    def child(self, token: Token) -> "Place":
        """Return the place of an element in this one."""
        _, tag, step, drawn, heading, language, label = token
        place = Place(f"{self.path}>{step}" if len(self.path) < PATH_CHARS else self.path)
        place.in_heading = self.in_heading or heading
        place.in_pre = self.in_pre
        place.language = language or self.language
        place.depth = self.depth
        place.in_line = self.in_line
        place.outer = self
        place.is_prose = tag.name in _PROSE
        if label and self.tags and self.tags.count("/") < _SKELETON_DEPTH:
            place.tags = f"{self.tags}/{tag.name}"
            place.mark = f"{self.tags}/{label}"
        if drawn and not self.in_line:
            place._draw(tag)
        return place

    def _draw(self, tag: Tag) -> None:
        name = tag.name
        if self.in_pre:
            # A fenced block holds text alone: its lines may be rows of a table, or items of a list.
            return
        if self.depth >= (DRAWN_DEPTH if name in _CONTAINERS else DRAWN_DEPTH + _PARTS_DEEPER):
            self.depth = _CUT
            return
        if name == "pre":
            self.in_pre = True
            if self.language:
                tag = Tag("pre", (("class", f"language-{self.language}"),))
        self.depth += 1
        self.in_line = name in _LINES
        self.start = tag
        self.end = Tag(name, (), closing=True)


BODY = Place("body")
BODY.tags = "body"

# So many steps from place to place are known from page to page; a site needs some hundreds.
_MOST_KNOWN = 16_384
_known: list[Place] = []


def forget_many() -> None:
    """Forget all places, where they have become many; only between pages, for one page has each place once."""
    if len(_known) > _MOST_KNOWN:
        for place in _known:
            place.after.clear()
        _known.clear()

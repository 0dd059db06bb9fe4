"""HTML to blocks: one parse, one pass, and everything that all layers need of a page."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace
from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode

from scrapy_dedup.core.pages.declared import Declared, read_declared, read_marks
from scrapy_dedup.core.pages.gather import Block, Gatherer
from scrapy_dedup.core.pages.guard import ParseLimits, UnparsedReason, as_html, refuse
from scrapy_dedup.core.pages.tags import BODY, Place, Tag, plain

TABLE_PARTS = frozenset("table caption thead tbody tfoot tr th td".split())
CELLS = frozenset({"td", "th"})
# Short rows are filled up to the longest.
_MOST_CELLS = 1_000_000
_MOST_FILLED = 20_000


class OpenTable(Struct):
    """What is known of an open table."""

    places: list[int] = field(default_factory=list)
    """Of its own tags in the page's skeleton."""
    is_layout: bool = False
    """It holds a table or code, which no cell can."""
    rows: int = 0
    cells: int = 0
    """Columns of the last row so far."""
    most_cells: int = 0
    filled: int = 0
    spans: Counter[int] = field(default_factory=Counter)
    """Column to the number of rows in which a cell from above still stands."""

    def open(self, tag: Tag, skeleton: list[int | Tag]) -> None:
        """Put one of its start tags into the skeleton, behind an empty cell for each that reaches down from above."""
        if tag.name == "tr":
            self.rows += 1
            self.cells = 0
        elif tag.name in CELLS:
            self._fill(skeleton)
            tag = self._cell(tag)
        self._put(tag, skeleton)

    def close(self, tag: Tag, skeleton: list[int | Tag]) -> None:
        """Put one of its end tags into the skeleton."""
        if tag.name == "tr":
            self._fill(skeleton)
        self._put(tag, skeleton)

    @property
    def is_drawn(self) -> bool:
        """A table of one column lays out, and a vast one would be filled up without end."""
        return not self.is_layout and self.most_cells > 1 and self.rows * self.most_cells < _MOST_CELLS

    def _cell(self, tag: Tag) -> Tag:
        columns = 1
        if tag.attributes:
            attributes = dict(tag.attributes)
            columns = int(attributes.get("colspan", 1))
            if rows := int(attributes.pop("rowspan", 1)) - 1:
                self.spans.update(dict.fromkeys(range(self.cells, self.cells + columns), rows))
            tag = Tag(tag.name, tuple(attributes.items()))
        self.cells += columns
        self.most_cells = max(self.most_cells, self.cells)
        return tag

    def _fill(self, skeleton: list[int | Tag]) -> None:
        while self.spans and self.spans.get(self.cells) and self.filled < _MOST_FILLED:
            self.spans[self.cells] -= 1
            self.cells += 1
            self.filled += 1
            self._put(Tag("td"), skeleton)
            self._put(Tag("td", (), closing=True), skeleton)

    def _put(self, tag: Tag, skeleton: list[int | Tag]) -> None:
        self.places.append(len(skeleton))
        skeleton.append(tag)


_GONE = Tag("")

Step = Place | int | Tag
"""A place that a boundary led to, the index of a block, or a picture without text."""

__all__ = ["Block", "Page", "Unparsed", "parse_page"]


class Walk:
    """The way through a body; what is told from it is made when first asked for."""

    def __init__(self, steps: Sequence[Step] = ()) -> None:
        self.steps = steps
        """Where each boundary led, in order, with what stands between."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Walk) and self.skeleton == other.skeleton

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Walk{self.skeleton!r}"

    @cached_property
    def places(self) -> list[Place]:
        """Where block-level elements stand, each place once, in order of first appearance."""
        return [step for step in dict.fromkeys(self.steps) if isinstance(step, Place)]

    @cached_property
    def skeleton(self) -> list[int | Tag]:
        """Structural tags, pictures without text, and indexes of blocks, in document order."""
        drawing = _Skeleton()
        here = BODY
        for step in self.steps:
            if not isinstance(step, Place):
                drawing.events.append(step)
                continue
            if step.outer is here:
                drawing.enter(step)
            elif here.outer is step:
                drawing.leave(here)
            here = step
        return [event for event in drawing.events if event is not _GONE]


class _Skeleton:
    def __init__(self) -> None:
        self.events: list[int | Tag] = []
        self.tables: list[OpenTable] = []

    def enter(self, place: Place) -> None:
        start = place.start
        if start is None:
            return
        name = start.name
        if name in ("table", "pre"):
            if self.tables:
                self.tables[-1].is_layout = True
            if name == "table":
                self.tables.append(OpenTable())
        if self.tables and name in TABLE_PARTS:
            self.tables[-1].open(start, self.events)
        else:
            self.events.append(start)

    def leave(self, place: Place) -> None:
        if place.end is None:
            return
        name = place.end.name
        if not (self.tables and name in TABLE_PARTS):
            self.events.append(place.end)
            return
        self.tables[-1].close(place.end, self.events)
        if name == "table":
            table = self.tables.pop()
            if not table.is_drawn:
                for at in table.places:
                    self.events[at] = _GONE


class Page(Struct):
    """What is kept of a parsed page. Its tree is gone; blocks and skeleton are enough to draw it again."""

    blocks: list[Block] = field(default_factory=list)
    walk: Walk = field(default_factory=Walk)
    """The way through its elements, from which skeleton and places are told."""
    controls: Mapping[str, int] = field(default_factory=dict)
    """How many fields and buttons stand on each DOM path, in the element itself."""
    around: tuple[tuple[str, Mapping[str, str]], ...] = ()
    """Name and attributes of html and body."""
    is_redrawn: bool = False
    """Its body is the one that readers without scripts see."""
    title: str | None = None
    lang: str | None = None
    base: str | None = None
    canonicals: tuple[str, ...] = ()
    """The raw `href` of each `link rel=canonical` in head."""
    alternates: tuple[tuple[str, str], ...] = ()
    """(hreflang, raw `href`) of each language link in head."""
    links: tuple[str, ...] = ()
    """The raw `href` of each link in body, in order."""
    robots: tuple[str, ...] = ()
    """The `content` of each `meta name=robots` in head."""
    declared: Declared = field(default_factory=Declared)
    """What it says about itself: title, dates, authors, kind."""

    @property
    def fingerprints(self) -> list[int]:
        """The blocks' fingerprints, in order."""
        return [block.fingerprint for block in self.blocks]

    @property
    def chars(self) -> int:
        """Characters of visible text."""
        return sum([len(block.text) for block in self.blocks])


class Unparsed(Struct, frozen=True):
    """The page is left as it came."""

    reason: UnparsedReason


def parse_tree(html: str) -> LexborHTMLParser:
    """Parse HTML that may be parsed (see `core.pages.guard`) as a browser with scripting does.

    Else a `noscript` in head, which holds a counting pixel, would end the head, and canonical links after it would
    stand in body. Without events, else each `selectedcontent` copies an option.
    """
    return LexborHTMLParser(as_html(html), scripting=True, options=LexborDocumentOptions.WO_EVENTS)


def parse_page(html: str, limits: ParseLimits | None = None, *, with_links: bool = True) -> Page | Unparsed:
    """Parse HTML once. Any text parses; what would take too long is refused before it is parsed.

    Without links, which few need, a page takes a tenth less.
    """
    limits = limits or ParseLimits()
    reason = refuse(html, limits)
    if reason is not None:
        return Unparsed(reason)
    tree = parse_tree(html)
    page = Page()
    page.lang = (tree.root.attributes.get("lang") if tree.root else None) or None
    _read_head(tree.head.iter() if tree.head else (), page)
    page.declared = read_declared(tree, html)
    if tree.body is not None:
        if with_links:
            page.links = _links(tree.body)
        page.around = tuple((name, _attributes(node)) for name, node in (("html", tree.root), ("body", tree.body)))
        source = tree.body.inner_html or ""
        if not _gather(source, page, limits):
            return Unparsed(UnparsedReason.TOO_MANY_ELEMENTS)
        if "<noscript" in source:
            _draw_without_scripts(source, page, limits)
    return page


def _attributes(node: LexborNode | None) -> dict[str, str]:
    return {name: value or "" for name, value in node.attributes.items()} if node is not None else {}


_LINKS = "a[href], area[href]"


def _links(body: LexborNode) -> tuple[str, ...]:
    return tuple([href for node in body.css(_LINKS) if (href := node.attributes.get("href"))])


def _gather(source: str, page: Page, limits: ParseLimits) -> bool:
    """Take in what stands in a serialised body; False where the body has grown beyond its limit."""
    # Formatting elements that stay open multiply; a page that did is not worth its walk.
    if len(source) > 2 * limits.elements < source.count("<"):
        return False
    gatherer = Gatherer()
    gatherer.over(source)
    page.blocks, page.walk, page.controls = gatherer.blocks, Walk(gatherer.walk), gatherer.controls
    return True


_NOSCRIPT = re.compile(r"<noscript\b[^>]*>(.*?)</noscript>", re.DOTALL)
# Forums and shells of apps serve their text for readers without scripts only. Where that is so many times the text that
# stands beside it, it is what the page says.
_MORE_WITHOUT_SCRIPTS = 2
_MOST_NOSCRIPTS = 100


def _draw_without_scripts(source: str, page: Page, limits: ParseLimits) -> None:
    """Take in the body with what its `noscript` elements hold, where that is most of the text."""
    raw = "".join(_NOSCRIPT.findall(source)[:_MOST_NOSCRIPTS])
    if len(raw) <= _MORE_WITHOUT_SCRIPTS * page.chars or refuse(raw, limits) is not None:
        return
    links: list[str] = []
    times, marks = [*page.declared.times], [*page.declared.marks]

    def drawn(found: re.Match[str]) -> str:
        tree = LexborHTMLParser(found[1], scripting=True, options=LexborDocumentOptions.WO_EVENTS)
        links.extend(_links(tree.body) if tree.body else ())
        for known, more in zip((times, marks), read_marks(tree, found[1]), strict=True):
            known.extend(more)
        return f"<div>{(tree.body.inner_html if tree.body else '') or ''}</div>"

    whole = Page()
    if (
        _gather(_NOSCRIPT.sub(drawn, source, count=_MOST_NOSCRIPTS), whole, limits)
        and whole.chars > _MORE_WITHOUT_SCRIPTS * page.chars
    ):
        page.blocks, page.walk, page.controls = whole.blocks, whole.walk, whole.controls
        page.is_redrawn = True
        page.links += tuple(links)
        page.declared = replace(page.declared, times=tuple(times), marks=tuple(marks))


def _read_head(nodes: Iterable[LexborNode], page: Page) -> None:
    canonicals: list[str] = []
    alternates: list[tuple[str, str]] = []
    robots: list[str] = []
    for node in nodes:
        if node.tag == "title" and page.title is None:
            page.title = " ".join(node.text().split()) or None
        elif node.tag == "base" and page.base is None:
            page.base = node.attributes.get("href")
        elif node.tag == "meta" and (node.attributes.get("name") or "").strip().lower() == "robots":
            robots.append(node.attributes.get("content") or "")
        elif node.tag == "link":
            attributes = node.attributes
            href = attributes.get("href")
            relation = (attributes.get("rel") or "").lower()
            if href and "canonical" in relation.split():
                canonicals.append(href)
            elif href and "alternate" in relation and (language := attributes.get("hreflang")):
                alternates.append((language.strip().lower(), href))
    page.canonicals = tuple(canonicals)
    page.alternates = tuple(alternates)
    page.robots = tuple(robots)


EXTENSIONS: Final = (
    "pdf|docx?|xlsx?|pptx?|od[tsp]|rtf|epub|csv|tsv|zip|rar|7z|t?gz|bz2|xz|tar|exe|msi|dmg|apk|deb|rpm|iso"
    "|mp3|m4a|ogg|wav|flac|mp4|webm|avi|mov|mkv|ics|torrent"
)
"""Of files. A link to a page is another matter: pages link to themselves, their neighbours and to what shares them."""
FILE: Final = re.compile(rf"\.(?:{EXTENSIONS})\Z", re.IGNORECASE)
PICTURE: Final = re.compile(r"\.(?:avif|gif|jpe?g|png|svg|webp)\Z", re.IGNORECASE)
_ADDRESS_STARTS: Final = ("mailto:", "tel:", "sms:")
_STRUCK_OUT: Final = frozenset({"del", "s"})
_SHOWN: Final = re.compile("<(?:img|del|s)[ >]")
_LINKED_FILE: Final = re.compile(rf'\.(?:{EXTENSIONS})[?#"]')


def shown_in(block: Block) -> Iterable[str]:
    """Return what a block shows, as Markdown would have it, whichever host or copy it comes from."""
    source = block.unread
    return () if source is not None and not _may_show(source) else _shown_by(block.pieces)


def _shown_by(pieces: Iterable[str | Tag]) -> Iterator[str]:
    struck: list[str] | None = None
    for piece in pieces:
        if isinstance(piece, str):
            if struck is not None:
                struck.append(plain(piece))
        elif piece.name == "img":
            yield from picture(piece)
        elif piece.name == "a":
            yield from _target(piece)
        elif piece.name in _STRUCK_OUT:
            if struck is not None:
                yield f"~~{' '.join(''.join(struck).split())}~~"
            struck = None if piece.closing else []


def all_shown(page: Page) -> Iterator[tuple[str, str]]:
    """Yield path and form of all that a page shows beside its words."""
    here = BODY
    for step in page.walk.steps:
        if isinstance(step, Place):
            here = step
        elif isinstance(step, Tag):
            yield from ((here.path, text) for text in picture(step))
        else:
            block = page.blocks[step]
            for text in shown_in(block):
                yield block.path, text


def _may_show(source: str) -> bool:
    """Tell for most texts that they show nothing, before they are read tag by tag."""
    if "<" not in source:
        return False
    if _SHOWN.search(source) is not None:
        return True
    # In lower case: a search without regard to case takes ten times as long.
    source = source.lower()
    is_link = 'href="' in source
    return is_link and (
        "mailto:" in source or "tel:" in source or "sms:" in source or _LINKED_FILE.search(source) is not None
    )


def picture(tag: Tag) -> Sequence[str]:
    """Return what a picture shows; none where neither its name nor a description says that it is more than a pixel."""
    attributes = dict(tag.attributes)
    name, described = named(attributes.get("src", "")), " ".join(attributes.get("alt", "").split())
    return [f"![{described}]({name})"] if described or PICTURE.search(name) else []


def named(address: str) -> str:
    """Return folder and name of a picture or file, whichever host has it, or an address that names neither, whole.

    What follows a name is mostly when the file was made, or who asks for it.
    """
    path, _, query = address.strip().partition("#")[0].partition("?")
    host, divides, rest = path.partition("//")
    if divides and (not host or host.endswith(":")):
        path = rest.partition("/")[2]
    if query and not (FILE.search(path) or PICTURE.search(path)):
        return f"{path}?{query}"
    return "/".join([part for part in path.split("/") if part not in ("", ".", "..")][-2:])


def _target(tag: Tag) -> Iterator[str]:
    for _, address in tag.attributes:
        if address.strip().lower().startswith(_ADDRESS_STARTS):
            yield f"<{address.partition('?')[0].strip()}>"
        elif FILE.search(address.partition("#")[0].partition("?")[0]):
            yield f"<{named(address)}>"

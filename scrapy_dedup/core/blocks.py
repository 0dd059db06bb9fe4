"""HTML to blocks: one parse, one pass, and everything that all layers need of a page."""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from scrapy_dedup.core.fingerprints import block_fingerprint
from scrapy_dedup.core.guard import ParseLimits, UnparsedReason, refuse
from scrapy_dedup.core.tags import Role, Tag, Token, read_tag

# A comment, an element whose text is no markup, or a tag whose quoted values may hold ">". Only ever applied to what
# lexbor has serialised, which is well formed: every quote and every element is closed.
_TAG = re.compile(
    r"(<!--.*?-->|<script\b.*?</script>|<style\b.*?</style>|<iframe\b.*?</iframe>|<noframes\b.*?</noframes>"
    r'|<noembed\b.*?</noembed>|<[^>"]*(?:"[^"]*"[^>"]*)*>)',
    re.DOTALL,
)
# Structure is drawn to this depth: converters recurse.
DRAWN_DEPTH = 60
# Deeper elements share their ancestor's path, else 5,000 nested elements make 5,000 paths of 5,000 steps.
PATH_DEPTH = 200


class Block(NamedTuple):
    """The smallest piece of visible text with a DOM path."""

    path: str
    """Steps from body, as `body>div#page>ul.menu>li`; volatile classes and digits are masked."""
    text: str
    """White space folded, except within `pre`."""
    fingerprint: int
    """64 bits of path and text."""
    link_chars: int
    """How many characters of *text* stand in links."""
    pieces: tuple[str | Tag, ...]
    """The text as it stood, between its inline tags."""


@dataclass(slots=True)
class Page:
    """What is kept of a parsed page. Its tree is gone; blocks and skeleton are enough to draw it again."""

    blocks: list[Block] = field(default_factory=list)
    skeleton: list[int | Tag] = field(default_factory=list)
    """In document order: structural tags, and indexes into *blocks*."""
    title: str | None = None
    lang: str | None = None
    base: str | None = None
    canonicals: tuple[str, ...] = ()
    """The raw `href` of each `link rel=canonical` in head."""
    alternates: tuple[tuple[str, str], ...] = ()
    """(hreflang, raw `href`) of each language link in head."""

    @property
    def fingerprints(self) -> list[int]:
        """The blocks' fingerprints, in order."""
        return [block.fingerprint for block in self.blocks]

    @property
    def chars(self) -> int:
        """Characters of visible text."""
        return sum(len(block.text) for block in self.blocks)


@dataclass(frozen=True, slots=True)
class Unparsed:
    """The page is left as it came."""

    reason: UnparsedReason


def parse_page(html: str, limits: ParseLimits | None = None) -> Page | Unparsed:
    """Parse HTML once. Any text parses; what would take too long is refused before it is parsed."""
    reason = refuse(html, limits or ParseLimits())
    if reason is not None:
        return Unparsed(reason)
    tree = LexborHTMLParser(html)
    page = Page()
    if tree.root is not None:
        page.lang = tree.root.attributes.get("lang") or None
    if tree.head is not None:
        _read_head(tree.head, page)
    if tree.body is not None:
        _Gatherer(page).over(_TAG.split(tree.body.inner_html or ""))
    return page


def _read_head(head: LexborNode, page: Page) -> None:
    canonicals: list[str] = []
    alternates: list[tuple[str, str]] = []
    for node in head.iter():
        if node.tag == "title" and page.title is None:
            page.title = " ".join(node.text().split()) or None
        elif node.tag == "base" and page.base is None:
            page.base = node.attributes.get("href")
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


# Looked up once: the loop below runs for every tag of every page.
_BLOCK, _BLOCK_END, _VOID = int(Role.BLOCK), int(Role.BLOCK_END), int(Role.VOID)
_MARK, _MARK_END, _BREAK, _IMAGE, _UNSEEN = (
    int(role) for role in (Role.MARK, Role.MARK_END, Role.BREAK, Role.IMAGE, Role.UNSEEN)
)


class _Gatherer:
    """Gathers the blocks of one body from its texts and tags, which alternate."""

    def __init__(self, page: Page) -> None:
        self.blocks = page.blocks
        self.skeleton = page.skeleton
        # Open block-level elements: path, depth, name under which it is drawn, within pre, within a heading.
        self.elements: list[tuple[str, int, str, bool, bool]] = [("body", 0, "", False, False)]
        self.pieces: list[str | Tag] = []
        self.texts: list[str] = []
        self.link_texts: list[str] = []
        self.open_marks: list[Tag] = []
        self.links = 0
        self.paths: dict[tuple[str, str], str] = {}

    def over(self, sources: list[str]) -> None:
        """Take in the whole body; texts stand at even places, tags at odd ones."""
        texts, pieces = self.texts, self.pieces
        unseen = ""
        for text, source in zip(sources[::2], [*sources[1::2], ""], strict=True):
            if unseen:
                if source == unseen:
                    unseen = ""
                continue
            if text and (texts or not text.isspace()):
                plain = _plain(text) if "&" in text else text
                pieces.append(plain)
                texts.append(plain)
                if self.links:
                    self.link_texts.append(plain)
            if not source:
                continue
            token = read_tag(source)
            role = token[0]
            if role == _BLOCK:
                self._flush()
                self._open(token)
            elif role == _BLOCK_END:
                self._flush()
                name = self.elements.pop()[2]
                if name:
                    self.skeleton.append(token.tag)
            elif role >= _MARK:
                unseen = self._inline(token)
            elif role == _VOID:
                self._flush()
        self._flush()

    def _inline(self, token: Token) -> str:
        """Take in a tag within a block; return the end tag up to which nothing is seen, or nothing."""
        role, tag, _, _, _ = token
        if role == _UNSEEN:
            # A control's label is no text to read, except where a heading is one, as accordions have it.
            in_heading = tag.name == "button" and self.elements[-1][4]
            return "" if tag.closing or in_heading else f"</{tag.name}>"
        self.pieces.append(tag)
        if role == _MARK:
            self.open_marks.append(tag)
            self.links += tag.name == "a"
        elif role == _MARK_END:
            self.open_marks.pop()
            self.links -= tag.name == "a"
        elif role == _BREAK:
            self.texts.append("\n")
        return ""

    def _open(self, token: Token) -> None:
        _, tag, step, drawn, heading = token
        path, depth, _, in_pre, in_heading = self.elements[-1]
        if depth < PATH_DEPTH:
            known = self.paths.get((path, step))
            path = known or self.paths.setdefault((path, step), f"{path}>{step}")
        name = tag.name if drawn and depth < DRAWN_DEPTH else ""
        if name:
            self.skeleton.append(tag)
        self.elements.append((path, depth + 1, name, in_pre or name == "pre", in_heading or heading))

    def _flush(self) -> None:
        """End the block that was being gathered, where it has text."""
        if not self.pieces:
            return
        path, _, _, in_pre, _ = self.elements[-1]
        raw = "".join(self.texts)
        words = raw.split()
        if words:
            text = raw.strip("\r\n") if in_pre else " ".join(words)
            link_chars = min(len(text), len("".join(self.link_texts).strip())) if self.link_texts else 0
            self.skeleton.append(len(self.blocks))
            self.blocks.append(Block(path, text, block_fingerprint(path, text), link_chars, tuple(self.pieces)))
            self.pieces[:] = self.open_marks
        else:
            # A picture without text waits for the next block that has some.
            pictures = [piece for piece in self.pieces if type(piece) is Tag and piece.name == "img"]
            self.pieces[:] = [*pictures[-1:], *self.open_marks]
        # `<a><div>one</div><div>two</div></a>`: an inline element that spans blocks is open in each of them.
        self.texts.clear()
        self.link_texts.clear()


def _plain(source: str) -> str:
    """Return the text behind serialised text: four characters are escaped there, and no others."""
    plain = source.replace("&nbsp;", "\xa0").replace("&lt;", "<").replace("&gt;", ">")
    return plain.replace("&amp;", "&")

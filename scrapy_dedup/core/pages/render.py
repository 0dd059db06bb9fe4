"""Kept blocks to text, HTML or Markdown."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from html import escape, unescape
from typing import Literal, NamedTuple

from scrapy_dedup.core.pages.blocks import CELLS, Block, Page, Step
from scrapy_dedup.core.pages.gather import RAISED
from scrapy_dedup.core.pages.tags import BODY, Place, Tag
from scrapy_dedup.core.urls.normal_form import base_of, target_of

Output = Literal["markdown", "text", "html"]

# Elements whose text stands in them without a paragraph of its own, and those in which no paragraph may stand.
_HOLDERS = frozenset("p h1 h2 h3 h4 h5 h6 pre caption figcaption summary li dt dd td th blockquote".split())
_PHRASING = frozenset("p h1 h2 h3 h4 h5 h6 caption summary dt".split())
_CLOSE_TOGETHER = frozenset("li dt dd td th".split())

# Relative links grow by the page's address; behind so many characters the rest of a page's links is drawn as text.
_MOST_LINK_CHARS = 4_000_000

_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
# A character that no page may hold stands for a backslash, which the converter would escape.
_BACKSLASH = "\ufdd0"
# Code is literal as it is. In other text these begin a tag, an entity, a link's address, emphasis or code.
_MEANT_LITERALLY = re.compile(
    r"<(?P<code>code|kbd|samp)\b[^>]*>.*?</(?P=code)>|<[^>]*>|&lt;(?![\s\d=])|&amp;(?=#?\w{1,31};)|\](?:<[^>]*>)*[(:]"
    r"|\*(?=\S)|\*(?<=\S\*)|_(?![^\W_])|_(?<![^\W_]_)|`|~~|\\(?![\w\s]|\Z)",
    re.DOTALL,
)
# What is longer is no prose: it keeps its tags and links literal, not its asterisks.
_LONG_TEXT = 500_000
_SPECIAL = re.compile(r"[<&\]*_`~\\]")


# What themes show as the link of a heading to itself; some show a space without width.
_PERMALINK_MARKS = frozenset(("", *"¶#§🔗⚓"))
_UNSEEN = "\u200b\ufe0f\ufeff \t\n\r\f\xa0"
# A link to a place on its own page that shows no word.
_PERMALINK = re.compile(r' href="#[^>]*+>(?:[^<\w&]|&[a-z]*+;|<(?!/?a[ >])[^>]*+>)*+</a>')


def render(page: Page, keep: Sequence[bool], output: Output, base_url: str | None = None) -> str:
    """Return the blocks of a page for which *keep*, in their order, says so; with a base URL links become absolute."""
    return _OUTPUTS[output](page, keep, base_url)


def _as_text(page: Page, keep: Sequence[bool], _base_url: str | None) -> str:
    """One paragraph a block; items of lists and cells of tables one line each."""
    parts: list[str] = []
    last_step = ""
    for block, kept in zip(page.blocks, keep, strict=True):
        if not kept:
            continue
        step = block.path.rpartition(">")[2].partition(".")[0].partition("#")[0]
        if parts:
            parts.append("\n" if step == last_step and step in _CLOSE_TOGETHER else "\n\n")
        source = block.unread
        may_lead_here = source is None or (' href="#' in source and _PERMALINK.search(source) is not None)
        parts.append(without_permalinks(block)[0] if may_lead_here else block.text)
        last_step = step
    return "".join(parts)


def without_permalinks(block: Block) -> tuple[str, Sequence[str | Tag]]:
    """Return a block's text and pieces less the link at its end, or at its beginning, by which it leads to itself."""
    source, text, pieces = block.unread, block.text, block.pieces
    # Beside the link, its tags and what it shows stands a text.
    if len(pieces) < 4 or (source and ' href="#' not in source) or not any(map(_leads_here, pieces)):
        return text, pieces
    texts = [place for place, piece in enumerate(pieces) if isinstance(piece, str) and not piece.isspace()]
    for end, trim in ((-1, str.removesuffix), (0, str.removeprefix)):
        place = texts[end] if len(texts) > 1 else 0
        if place and _is_permalink(pieces[place - 1 : place + 2]):
            text = trim(text, " ".join(unescape(str(pieces[place])).split()))
            text = text.rstrip() if end else text.lstrip()
            pieces = tuple("" if abs(n - place) <= 1 else piece for n, piece in enumerate(pieces))
            texts.pop(end)
    return text, pieces


def _leads_here(piece: str | Tag) -> bool:
    """Say whether a piece is the start tag of a link to a place on its own page."""
    attributes = piece.attributes if isinstance(piece, Tag) and piece.name == "a" else ()
    return any(name == "href" and value.startswith("#") for name, value in attributes)


def _is_permalink(pieces: Sequence[str | Tag]) -> bool:
    if len(pieces) < 3 or not _leads_here(pieces[0]) or pieces[2] != Tag("a", closing=True):
        return False
    return unescape(str(pieces[1])).strip(_UNSEEN) in _PERMALINK_MARKS


def _as_html(page: Page, keep: Sequence[bool], base_url: str | None) -> str:
    """Plain HTML: structure, links, code and pictures; no scripts, styles, classes or comments."""
    return _HtmlDrawing(base_url, page.base).draw(page, keep)


_NAMED_OPTIONS = (
    "heading_style list_indent_type highlight_style whitespace_mode newline_style code_block_style inline_data_media "
    "hidden_content url_escape_style link_style output_format tier_strategy"
).split()


@cache
def _converter() -> Callable[[str], str]:
    # A crawl that only knows its pages again never draws one.
    import html_to_markdown as converter  # noqa: PLC0415

    headings = ["h1", "h2", "h3", "h4", "h5", "h6"]
    options = converter.ConversionOptions(extract_metadata=False, compact_tables=True, keep_inline_images_in=headings)
    # A name would be looked up in each call, in twice the time of a short page.
    named = {
        name: getattr(getattr(converter, name.title().replace("_", "")), getattr(options, name).upper())
        for name in _NAMED_OPTIONS
    }
    options = replace(options, **named)

    def converted(html: str) -> str:
        try:
            return converter.convert(html, options).content or ""
        except converter.InvalidInputError:
            # It takes what is control characters by a third for no text.
            return converter.convert(_CONTROLS.sub("", html), options).content or ""

    return converted


def _as_markdown(page: Page, keep: Sequence[bool], base_url: str | None) -> str:
    html = _HtmlDrawing(base_url, page.base, for_markdown=True).draw(page, keep)
    if not html:
        return ""
    return _converter()(html).strip().replace(_BACKSLASH, "\\")


_OUTPUTS: dict[str, Callable[[Page, Sequence[bool], str | None], str]] = {
    "markdown": _as_markdown,
    "text": _as_text,
    "html": _as_html,
}


def _literal(html: str) -> str:
    """Return a block's HTML with a mark at each character of its text that Markdown would take for more."""
    if len(html) > _LONG_TEXT:
        return html.replace("&lt;", f"{_BACKSLASH}&lt;").replace("](", f"]{_BACKSLASH}(")
    return _MEANT_LITERALLY.sub(_marked, html)


def _marked(found: re.Match[str]) -> str:
    source = found[0]
    if source[0] == "<":
        return source
    if source == "\\":
        # Some versions of the converter escape it themselves.
        return _BACKSLASH * 2
    return source[:-1] + _BACKSLASH + source[-1] if source[0] == "]" else _BACKSLASH + source


def kept_pictures(page: Page, keep: Sequence[bool]) -> Iterator[bool]:
    """Yield for each picture without text of its own, in order, whether it is kept: as the text beside it is.

    Of the blocks before and after it counts the one with which it shares the deeper element, else the one after it: the
    photographs at the end of an article are the article's, whatever is left out below it. With what shares nothing but
    the body with the element of a picture, as an article with a footer of pictures, it does not go.
    """
    after = [*_beside(reversed(page.walk.steps), keep)][::-1]
    for before, behind in zip(_beside(page.walk.steps, keep), after, strict=True):
        shared, is_kept, depth = before
        yield is_kept if shared > behind[0] and (shared or not depth) else behind[1]


def _beside(steps: Iterable[Step], keep: Sequence[bool]) -> Iterator[tuple[int, bool, int]]:
    """Yield for each picture how deep an element holds it and the block met last, whether that is kept, and its depth.

    A depth of 0 is the body's.
    """
    here, depth, lowest, is_kept = BODY, 0, -1, False
    for step in steps:
        if isinstance(step, Place):
            depth += (step.outer is here) - (here.outer is step)
            lowest, here = min(lowest, depth), step
        elif isinstance(step, Tag):
            yield lowest, is_kept, depth
        else:
            lowest, is_kept = depth, keep[step]


class _Complete(NamedTuple):
    """An element with its end tag that waits for a kept block, as an empty cell does, or is drawn for its pictures."""

    html: str
    has_picture: bool


class _HtmlDrawing:
    """HTML with no element that holds nothing: start tags wait for the first block that is kept."""

    def __init__(self, base_url: str | None, base: str | None, *, for_markdown: bool = False) -> None:
        self.parts: list[str] = []
        self.base_url = base_of(base_url, base)
        self.for_markdown = for_markdown
        self.link_chars = 0
        # Start tags that are not written yet; among them empty cells, so that a row keeps its columns, and pictures.
        self.pending: list[str | _Complete] = []
        self.names: list[str] = []
        self.filled: list[bool] = []
        self.pres = 0

    def draw(self, page: Page, keep: Sequence[bool]) -> str:
        """Return the kept blocks in the structure that holds them."""
        if len(keep) != len(page.blocks):
            raise ValueError(f"{len(keep)} values for {len(page.blocks)} blocks")
        pictures = kept_pictures(page, keep)
        for event in page.walk.skeleton:
            if isinstance(event, int):
                if keep[event]:
                    self.block(page.blocks[event])
            elif event.closing:
                self.close(event.name)
            elif event.name == "img":
                if next(pictures):
                    self.pending.append(_Complete(self.start_tag(event), has_picture=True))
            else:
                self.open(event)
        return "".join(
            [*self.parts, *(one.html for one in self.pending if isinstance(one, _Complete) and one.has_picture)]
        )

    def open(self, tag: Tag) -> None:
        self.pending.append(self.start_tag(tag) if tag.attributes else f"<{tag.name}>")
        self.names.append(tag.name)
        self.filled.append(False)
        self.pres += tag.name == "pre"

    def close(self, name: str) -> None:
        """End an element: a cell stays where it is empty, others stay for their pictures."""
        self.names.pop()
        self.filled.pop()
        self.pres -= name == "pre"
        pending = self.pending
        if not pending:
            self.parts.append(f"</{name}>")
            return
        if isinstance(pending[-1], str) and name not in CELLS:
            pending.pop()
            return
        inner: list[_Complete] = []
        while pending and isinstance(last := pending[-1], _Complete):
            inner.append(last)
            pending.pop()
        pictures = any(one.has_picture for one in inner)
        shown = "".join(one.html for one in reversed(inner)) if pictures or name == "tr" else ""
        end = f"</{name}>"
        if not pending:
            self.parts.append(shown + end)
            return
        start = pending.pop()
        if name in CELLS:
            pending.append(_Complete(f"{start}{shown}{end}", pictures))
        elif pictures:
            pending.append(_Complete(f"{start}{shown}{end}", has_picture=True))

    def block(self, block: Block) -> None:
        parts = self.parts
        if self.for_markdown and self.pending and self.pending[-1] == "<pre>":
            self.pending[-1] = f"<pre{_language_of(block)}>"
        if self.pending:
            parts.extend([one if isinstance(one, str) else one.html for one in self.pending])
            self.pending.clear()
        inner = self.inner(block)
        holder = self.names[-1] if self.names else ""
        if holder not in _HOLDERS:
            parts.append(f"<p>{inner}</p>")
        elif not self.filled[-1]:
            self.filled[-1] = True
            parts.append(inner)
        elif holder == "pre":
            parts.append(f"\n{inner}")
        else:
            parts.append(f"<br><br>{inner}" if holder in _PHRASING else f"<p>{inner}</p>")

    def inner(self, block: Block) -> str:
        """Return a block's pieces as HTML in which every tag is closed."""
        _, pieces = without_permalinks(block)
        html = pieces[0] if len(pieces) == 1 else self.drawn(pieces)
        if self.pres or not isinstance(html, str):
            return str(html)
        if self.for_markdown and "<sup>" in html:
            html = RAISED.sub("^<sup>", html)
        if self.for_markdown and _SPECIAL.search(block.text):
            html = _literal(html.replace(_BACKSLASH, ""))
        # A line that begins within a text could begin a list.
        return " ".join(html.split()) if "\n" in html else html.strip()

    def drawn(self, pieces: Iterable[str | Tag]) -> str:
        parts: list[str] = []
        # Open inline elements: name, place of the start tag, how much stood before it.
        still_open: list[tuple[str, int, int]] = []
        seen = 0
        # A fenced block holds text alone.
        code = self.for_markdown and self.pres > 0
        for piece in pieces:
            if isinstance(piece, str):
                parts.append(piece)
                seen += not piece.isspace()
                continue
            name, attributes, closing = piece
            if code:
                parts.append("\n" if name == "br" else "")
            elif closing:
                if still_open and still_open[-1][0] == name:
                    _end(parts, still_open.pop(), seen)
            else:
                start = self.start_tag(piece) if attributes or name == "a" else f"<{name}>"
                if name == "img":
                    seen += 1
                elif start and name != "br":
                    still_open.append((name, len(parts), seen))
                parts.append(start)
        while still_open:
            _end(parts, still_open.pop(), seen)
        return "".join(parts)

    def start_tag(self, tag: Tag) -> str:
        """Return a start tag; nothing for links that lead nowhere, pictures that are none, and all beyond the most."""
        name = tag.name
        if not tag.attributes or self.link_chars > _MOST_LINK_CHARS:
            return "" if name in ("a", "img") else f"<{name}>"
        written = _written(tag, self.base_url)
        self.link_chars += len(written)
        if self.for_markdown and name == "img":
            # In a description, too, "<" would begin a tag.
            written = written.replace("&lt;", f"{_BACKSLASH}&lt;")
        return written


def _language_of(block: Block) -> str:
    """Return as an attribute what the code that a block begins with is written in."""
    first = next((piece for piece in block.pieces if not isinstance(piece, str) or piece.strip()), None)
    names = [value for name, value in first.attributes if name == "class"] if isinstance(first, Tag) else []
    return f' class="{escape(names[0])}"' if names else ""


def _end(parts: list[str], opened: tuple[str, int, int], seen: int) -> None:
    """End an inline element, or take its start away where it holds nothing."""
    name, place, seen_before = opened
    if seen == seen_before:
        parts[place] = ""
    else:
        parts.append(f"</{name}>")


# Menus and cross references repeat within a page and, on one level of a site, across pages.
@lru_cache(maxsize=8_192)
def _written(tag: Tag, base_url: str | None) -> str:
    written = []
    for name, value in tag.attributes:
        shown = target_of(value, base_url) if name in ("href", "src") else value
        if shown is None:
            return ""
        written.append(f' {name}="{escape(shown)}"')
    return f"<{tag.name}{''.join(written)}>"


# The target of a link, or of a picture, behind its text. A target holds no white space.
_TARGETS = re.compile(r"\]\([^\s()]*(?:\([^\s()]*\)[^\s()]*)*(?: \"[^\"\n]*\")?\)")
_TAGS = re.compile(r"<[^<>]*>")


def plain(content: str, output: Output) -> str:
    """Return the words of a page's clean text, whatever its form: link targets and tags are none.

    The words of pages whose texts are equal but for links come out equal.
    """
    if output == "markdown":
        return _TARGETS.sub("] ", content)
    if output == "html":
        return unescape(_TAGS.sub(" ", content))
    return content

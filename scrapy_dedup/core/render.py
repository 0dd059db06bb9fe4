"""Kept blocks to text, HTML or Markdown."""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from html import escape
from typing import Literal
from urllib.parse import urljoin

from html_to_markdown import convert

from scrapy_dedup.core.blocks import Block, Page
from scrapy_dedup.core.tags import Tag

Output = Literal["markdown", "text", "html"]

# Elements whose text stands in them without a paragraph of its own.
_HOLDERS = frozenset("p h1 h2 h3 h4 h5 h6 pre caption figcaption summary li dt dd td th blockquote".split())
_CELLS = frozenset({"td", "th"})
_CLOSE_TOGETHER = frozenset("li dt dd td th".split())
_EMPTY_CELL = "<td></td>"


def render(page: Page, keep: Sequence[bool], output: Output, base_url: str | None = None) -> str:
    """Return the kept blocks of a page.

    Args:
        page: what `parse_page` returned.
        keep: one value a block, in the order of `page.blocks`.
        output: the form.
        base_url: with it links become absolute.
    """
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
        parts.append(block.text)
        last_step = step
    return "".join(parts)


def _as_html(page: Page, keep: Sequence[bool], base_url: str | None) -> str:
    """Plain HTML: structure, links, code and pictures; no scripts, styles, classes or comments."""
    if base_url:
        base_url = _join(base_url, page.base or "").partition("#")[0]
    drawing = _Drawing(base_url)
    for event in page.skeleton:
        if isinstance(event, int):
            if keep[event]:
                drawing.block(page.blocks[event])
        elif event.closing:
            drawing.close(event.name)
        else:
            drawing.open(event)
    return "".join(drawing.parts)


def _as_markdown(page: Page, keep: Sequence[bool], base_url: str | None) -> str:
    html = _as_html(page, keep, base_url)
    if not html:
        return ""
    return (convert(html).content or "").strip()


_OUTPUTS: dict[str, Callable[[Page, Sequence[bool], str | None], str]] = {
    "markdown": _as_markdown,
    "text": _as_text,
    "html": _as_html,
}


class _Drawing:
    """HTML with no element that holds nothing: start tags wait for the first block that is kept."""

    def __init__(self, base_url: str | None) -> None:
        self.parts: list[str] = []
        self.base_url = base_url
        # Start tags not written yet, and empty cells among them: a row keeps its columns.
        self.pending: list[str] = []
        self.names: list[str] = []
        self.filled: list[bool] = []

    def open(self, tag: Tag) -> None:
        self.pending.append(_start_tag(tag, self.base_url))
        self.names.append(tag.name)
        self.filled.append(False)

    def close(self, name: str) -> None:
        self.names.pop()
        self.filled.pop()
        while self.pending and self.pending[-1] == _EMPTY_CELL and name not in _CELLS:
            self.pending.pop()
        if not self.pending:
            self.parts.append(f"</{name}>")
            return
        self.pending.pop()
        if name in _CELLS:
            (self.pending if self.pending else self.parts).append(_EMPTY_CELL)

    def block(self, block: Block) -> None:
        self.parts.extend(self.pending)
        self.pending.clear()
        inner = _inline(block.pieces, self.base_url, pre="pre" in self.names)
        holder = self.names[-1] if self.names else ""
        if holder not in _HOLDERS:
            self.parts.append(f"<p>{inner}</p>")
            return
        if self.filled[-1]:
            self.parts.append("<br>" if holder in _CELLS else "\n" if holder == "pre" else "<br><br>")
        self.filled[-1] = True
        self.parts.append(inner)


def _inline(pieces: Iterable[str | Tag], base_url: str | None, *, pre: bool) -> str:
    """Return a block's pieces as HTML in which every tag is closed."""
    parts: list[str] = []
    still_open: list[str] = []
    for piece in pieces:
        if isinstance(piece, str):
            parts.append(escape(piece, quote=False))
        elif not piece.closing:
            parts.append(_start_tag(piece, base_url))
            if piece.name not in ("br", "img"):
                still_open.append(piece.name)
        elif piece.name in still_open:
            while still_open.pop() != piece.name:
                pass
            parts.append(f"</{piece.name}>")
    parts.extend(f"</{name}>" for name in reversed(still_open))
    html = "".join(parts)
    return html if pre else html.strip()


def _start_tag(tag: Tag, base_url: str | None) -> str:
    if not tag.attributes:
        return f"<{tag.name}>"
    written = []
    for name, value in tag.attributes:
        if name in ("href", "src"):
            target = _target(value, base_url)
            if target is None:
                continue
            written.append(f' {name}="{escape(target)}"')
        else:
            written.append(f' {name}="{escape(value)}"')
    return f"<{tag.name}{''.join(written)}>"


def _target(href: str, base_url: str | None) -> str | None:
    """Return where a link leads; None where following it would run or hold something."""
    if href.startswith(("https://", "http://")):
        return href
    if href.strip().lower().startswith(("javascript:", "vbscript:", "data:")):
        return None
    if not base_url:
        return href
    if href.startswith("#"):
        return base_url + href
    return _join(base_url, href)


# Menus and cross references repeat within a page and, on one level of a site, across pages.
@lru_cache(maxsize=16_384)
def _join(base_url: str, href: str) -> str:
    try:
        return urljoin(base_url, href)
    except ValueError:
        return href

"""A picture of a page with boxes: what of it is content, what is left out and why; as SVG, and as a page of its own.

Colours and patterns both tell the kinds apart. A label stands above its box where the page has nothing written there,
else beside the picture: it hides no text.
"""

import base64
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from typing import Final, NamedTuple
from unicodedata import east_asian_width

from scrapy_dedup.report.markup import ELLIPSIS, Html, joined, visible
from scrapy_dedup.report.values import BoxKind, LayoutPicture, PictureBox

GUTTER: Final = 380
"""Pixels beside the picture, for labels."""
LABEL_HEIGHT: Final = 17
MOST_BOXES: Final = 200
_LABEL_CHARS: Final = 64
_COLUMN_CHARS: Final = 53
# Of a label's letters, on average; the widest fonts have 7.
_CHAR_WIDTH: Final = 6.6
_MARGIN: Final = 14
_MOST_TOLD: Final = 40
LEGEND_HEIGHT: Final = 58
"""Pixels above the picture, for what the boxes mean."""
_FONT: Final = 'font-family="system-ui, Arial, sans-serif" font-size="12"'
# What XML does not allow although it may stand in a text.
_NOT_IN_XML: Final = re.compile("[\ufffe\uffff]")


class _Look(NamedTuple):
    colour: str
    dashes: str
    width: int
    name: str
    pattern: str = ""
    """What is drawn within, in a square of 10."""


_LOOKS: Final = {
    BoxKind.CONTENT: _Look("#0b6b3a", "", 4, "content"),
    BoxKind.BOILERPLATE: _Look("#b3261e", "8 4", 2, "left out", '<path d="M0 10L10 0" stroke-width="1.2"/>'),
    BoxKind.OVERLAY: _Look(
        "#8a3ffc", "2 3", 3, "lies over the page", '<path d="M0 10L10 0M0 0L10 10" stroke-width="1"/>'
    ),
    BoxKind.UNSEEN: _Look("#5a6169", "1 4", 2, "not to be seen", '<path d="M4.5 5h1" stroke-width="1.5"/>'),
    BoxKind.TITLE: _Look("#0b57d0", "", 2, "title"),
    BoxKind.DATE: _Look("#9a5b00", "12 3 2 3", 2, "date"),
    BoxKind.AUTHOR: _Look("#a0157b", "5 2", 2, "author"),
}


class Strip(NamedTuple):
    """Where a label stands, in pixels of the picture; all are equally high."""

    x: int
    y: int
    width: int

    def meets(self, other: "Strip") -> bool:
        """Whether two labels would lie over each other."""
        beside = self.x >= other.x + other.width or other.x >= self.x + self.width
        return not beside and abs(self.y - other.y) < LABEL_HEIGHT


class _Label(NamedTuple):
    box: PictureBox
    strip: Strip
    is_beside: bool


def layout_svg(picture: LayoutPicture, *, name: str = "p") -> str:
    """Return a whole SVG file; it asks for nothing.

    Args:
        picture: what is drawn.
        name: a word that no other picture of the same document has.
    """
    boxes = picture.boxes[:MOST_BOXES]
    width, height = size_of(picture)
    # In a report it is cut to its upper part while it is small.
    role = f'preserveAspectRatio="xMinYMin slice" role="img" aria-label="{escape(_shown(_summary(picture), 400))}"'
    href = f"data:image/png;base64,{base64.b64encode(picture.png).decode()}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {role} {_FONT}>',
        _patterns(name),
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<g transform="translate(0 {LEGEND_HEIGHT})">',
        f'<image width="{picture.width}" height="{picture.height}" href="{href}"/>',
        *(_box(each, name) for each in boxes),
        *(_label(each, picture.width) for each in _placed(boxes, picture)),
        "</g>",
        _legend(boxes, name),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def size_of(picture: LayoutPicture) -> tuple[int, int]:
    """Return width and height of a drawing, in pixels."""
    return picture.width + GUTTER, picture.height + LEGEND_HEIGHT


def boxes_told(boxes: Iterable[PictureBox]) -> list[tuple[str, str, int]]:
    """Return (kind, why, number of boxes) of what stands on a picture, most frequent first, content before all."""
    found = Counter((each.kind, each.label) for each in boxes)
    order = list(_LOOKS)
    ranked = sorted(found.items(), key=lambda item: (order.index(item[0][0]), -item[1], item[0][1]))
    return [(_LOOKS[kind].name, label, number) for (kind, label), number in ranked]


def _summary(picture: LayoutPicture) -> str:
    kinds = Counter(each.kind for each in picture.boxes)
    told = ", ".join(f"{kinds[kind]} {look.name}" for kind, look in _LOOKS.items() if kinds[kind])
    return f"Picture of {picture.url[:200]} with boxes: {told or 'none'}"


def _patterns(name: str) -> str:
    drawn = [
        f'<pattern id="{name}-{kind}" width="10" height="10" patternUnits="userSpaceOnUse">'
        f'<g stroke="{look.colour}" fill="none">{look.pattern}</g></pattern>'
        for kind, look in _LOOKS.items()
        if look.pattern
    ]
    return f"<defs>{''.join(drawn)}</defs>"


def _box(box: PictureBox, name: str) -> str:
    return _rectangle(box, box.kind, name, f"<title>{escape(_shown(box.label, 400))}</title>")


def _rectangle(box: PictureBox, kind: BoxKind, name: str, inside: str = "") -> str:
    look = _LOOKS[kind]
    # Around what stands there, and not over its first letters.
    out = look.width // 2
    size = f'width="{max(box.width, 1) + 2 * out}" height="{max(box.height, 1) + 2 * out}"'
    place = f'x="{box.x - out}" y="{box.y - out}" {size}'
    # Light, so that what stands there can be read.
    fill = f'fill="url(#{name}-{kind})" fill-opacity="0.35"' if look.pattern else 'fill="none"'
    dashes = f' stroke-dasharray="{look.dashes}"' if look.dashes else ""
    number = f' data-number="{box.number}"' if inside else ""
    return f'<rect {place} {fill} stroke="{look.colour}" stroke-width="{look.width}"{dashes}{number}>{inside}</rect>'


def _placed(boxes: Iterable[PictureBox], picture: LayoutPicture) -> list[_Label]:
    """Return where labels stand: above their box, or one below the other beside the picture."""
    above: list[_Label] = []
    beside: list[PictureBox] = []
    for box in boxes:
        strip = label_strip(box, picture.width)
        if box.is_clear and not any(strip.meets(other.strip) for other in above):
            above.append(_Label(box, strip, is_beside=False))
        else:
            beside.append(box)
    return above + _column(sorted(beside, key=lambda each: (each.y, each.x, each.number)), picture)


def _column(boxes: Sequence[PictureBox], picture: LayoutPicture) -> list[_Label]:
    """Return labels each as near to the height of its box as there is room; what there is no room for has none."""
    free, rows = 0, []
    for place, box in enumerate(boxes):
        lowest = picture.height - (len(boxes) - place) * LABEL_HEIGHT
        top = max(free, min(box.y, lowest))
        free = top + LABEL_HEIGHT
        if free <= picture.height:
            width = _width(_fitted(box.label, _COLUMN_CHARS))
            rows.append(_Label(box, Strip(picture.width + _MARGIN, top, width), is_beside=True))
    return rows


def label_strip(box: PictureBox, picture_width: int) -> Strip:
    """Return where a label above a box would stand."""
    width = _width(_fitted(box.label, _LABEL_CHARS))
    return Strip(max(0, min(box.x, picture_width - width)), box.y - LABEL_HEIGHT, width)


def _label(label: _Label, edge: int) -> str:
    box, strip, colour = label.box, label.strip, _LOOKS[label.box.kind].colour
    shown = _fitted(box.label, _COLUMN_CHARS if label.is_beside else _LABEL_CHARS)
    line = ""
    if label.is_beside:
        right, top, middle = min(box.x + box.width, edge), max(box.y, 0) + 2, strip.y + LABEL_HEIGHT // 2
        line = (
            f'<path d="M{right} {top}H{edge}L{strip.x} {middle}" fill="none" stroke="{colour}" stroke-width="1" '
            'stroke-opacity="0.45"/>'
        )
    # Fonts differ: the text is made to fit what is behind it.
    return (
        f'{line}<rect x="{strip.x}" y="{strip.y}" width="{strip.width}" height="{LABEL_HEIGHT - 2}" fill="{colour}"/>'
        f'<text x="{strip.x + 5}" y="{strip.y + 11}" fill="#ffffff" textLength="{strip.width - 10}" '
        f'lengthAdjust="spacingAndGlyphs" direction="ltr" unicode-bidi="isolate">{escape(shown)}</text>'
    )


def _fitted(label: str, cells: int) -> str:
    """Return as much of a label as has room in so many letters of usual width."""
    shown = _shown(label, cells)
    if _cells(shown) <= cells:
        return shown
    while _cells(shown) >= cells:
        shown = shown[:-1]
    return shown + ELLIPSIS


def _cells(shown: str) -> int:
    return len(shown) + sum(east_asian_width(letter) in "WF" for letter in shown)


def _width(shown: str) -> int:
    return round(_cells(shown) * _CHAR_WIDTH) + 10


def _legend(boxes: Iterable[PictureBox], name: str) -> str:
    """Return what colours and patterns mean, of those that occur."""
    present = {each.kind for each in boxes}
    x, parts = _MARGIN, []
    for kind, look in _LOOKS.items():
        if kind not in present:
            continue
        sample = PictureBox(0, x, 18, 34, 22, kind, "")
        parts.append(f'{_rectangle(sample, kind, name)}<text x="{x + 44}" y="34" font-size="14">{look.name}</text>')
        x += 44 + round(len(look.name) * 8) + 26
    return "\n".join(parts) or f'<text x="{_MARGIN}" y="34" font-size="14">nothing to show</text>'


def _shown(label: str, limit: int) -> str:
    """Return a label as XML can hold it, in one line."""
    return _NOT_IN_XML.sub("?", visible(" ".join(label[: 4 * limit].split()), limit)) or "-"


def layout_figure(picture: LayoutPicture, *, name: str) -> Html:
    """Return a picture for a report: small, and as large as there is room once it is opened."""
    return Html(
        '<details class="picture"><summary><span>How a page of it looks</span>\n'
        f'<span class="frame">{layout_svg(picture, name=name)}</span></summary>\n{boxes_list(picture.boxes)}</details>'
    )


def boxes_list(boxes: Iterable[PictureBox]) -> Html:
    """Return what stands on a picture as a list, for who does not see it."""
    told = boxes_told(boxes)
    rows = joined(
        Html(
            f"<li><strong>{kind}</strong> <bdi>{escape(_shown(label, 300))}</bdi>"
            f"{f' ({number} times)' if number > 1 else ''}</li>"
        )
        for kind, label, number in told[:_MOST_TOLD]
    )
    more = f'<p class="more">… and {len(told) - _MOST_TOLD} more</p>' if len(told) > _MOST_TOLD else ""
    return Html(f'<ul class="rules">\n{rows}\n</ul>\n{more}')

"""A picture of a page with boxes: what of it is content, what is left out and why; as SVG, and as a page of its own.

Colours and patterns both tell the kinds apart. A label stands above its box where the page has nothing written there,
else beside the picture: it hides no text.
"""

import base64
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple
from unicodedata import east_asian_width

from msgspec.structs import replace

from scrapy_dedup.report.markup import ELLIPSIS, visible
from scrapy_dedup.report.values import BoxKind, PictureBox, ReportPicture

GUTTER: Final = 380
"""Pixels beside the picture, for labels."""
LABEL_HEIGHT: Final = 17
MOST_BOXES: Final = 200
_LABEL_CHARS: Final = 64
_COLUMN_CHARS: Final = 53
# Of a label's letters, on average; the widest fonts have 7.
_CHAR_WIDTH: Final = 6.6
_MARGIN: Final = 14
LEGEND_HEIGHT: Final = 58
"""Pixels above the picture, for what the boxes mean."""
# What XML does not allow although it may stand in a text.
_NOT_IN_XML: Final = re.compile("[\ufffe\uffff]")


class _Look(NamedTuple):
    colour: str
    dashes: str
    width: int
    name: str
    pattern: str = ""
    """The path that is drawn within, in a square of 10."""
    pattern_width: float = 1


_LOOKS: Final = {
    BoxKind.CONTENT: _Look("#0b6b3a", "", 4, "content"),
    BoxKind.BOILERPLATE: _Look("#b3261e", "8 4", 2, "left out", "M0 10L10 0", 1.2),
    BoxKind.OVERLAY: _Look("#8a3ffc", "2 3", 3, "lies over the page", "M0 10L10 0M0 0L10 10", 1),
    BoxKind.UNSEEN: _Look("#5a6169", "1 4", 2, "not to be seen", "M4.5 5h1", 1.5),
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


class Label(NamedTuple):
    """A label as it is drawn, with the line that leads to its box from beside the picture; "" for none."""

    text: str
    strip: Strip
    colour: str
    line: str


class Drawing(NamedTuple):
    """A picture with its boxes as it is drawn.

    Attributes:
        label: what it shows, in a line.
        looks: by kind.
        boxes: each as it is drawn: around what stands there, and not over its first letters.
        legend: (box, where its name stands, name) of the kinds that occur.
    """

    width: int
    height: int
    label: str
    source: str
    looks: dict[BoxKind, _Look]
    boxes: list[PictureBox]
    labels: list[Label]
    legend: list[tuple[PictureBox, int, str]]


def drawing_of(picture: ReportPicture) -> Drawing:
    """Return how a picture is drawn; what it holds is bounded."""
    boxes = picture.boxes[:MOST_BOXES]
    return Drawing(
        *size_of(picture.width, picture.height),
        xml(_summary(picture), 400),
        f"data:image/png;base64,{base64.b64encode(picture.png).decode()}",
        _LOOKS,
        [_drawn(replace(each, label=xml(each.label, 400))) for each in boxes],
        _placed(boxes, picture),
        _legend(boxes),
    )


def size_of(width: int, height: int) -> tuple[int, int]:
    """Return width and height of the drawing of a picture, in pixels."""
    return width + GUTTER, height + LEGEND_HEIGHT


def boxes_told(boxes: Iterable[PictureBox]) -> list[tuple[str, str, int]]:
    """Return (kind, why, number of boxes) of what stands on a picture, most frequent first, content before all."""
    found = Counter((each.kind, each.label) for each in boxes)
    order = list(_LOOKS)
    ranked = sorted(found.items(), key=lambda item: (order.index(item[0][0]), -item[1], item[0][1]))
    return [(_LOOKS[kind].name, label, number) for (kind, label), number in ranked]


def _summary(picture: ReportPicture) -> str:
    kinds = Counter(each.kind for each in picture.boxes)
    told = ", ".join(f"{kinds[kind]} {look.name}" for kind, look in _LOOKS.items() if kinds[kind])
    return f"Picture of {picture.url[:200]} with boxes: {told or 'none'}"


def _drawn(box: PictureBox) -> PictureBox:
    out = _LOOKS[box.kind].width // 2
    width, height = max(box.width, 1) + 2 * out, max(box.height, 1) + 2 * out
    return replace(box, x=box.x - out, y=box.y - out, width=width, height=height)


def _placed(boxes: Iterable[PictureBox], picture: ReportPicture) -> list[Label]:
    """Return labels above their box, or one below the other beside the picture."""
    above: list[Label] = []
    beside: list[PictureBox] = []
    for box in boxes:
        strip = label_strip(box, picture.width)
        if box.is_clear and not any(strip.meets(other.strip) for other in above):
            above.append(Label(_fitted(box.label, _LABEL_CHARS), strip, _LOOKS[box.kind].colour, ""))
        else:
            beside.append(box)
    return above + _column(sorted(beside, key=lambda each: (each.y, each.x, each.number)), picture)


def _column(boxes: Sequence[PictureBox], picture: ReportPicture) -> list[Label]:
    """Return labels each as near to the height of its box as there is room; what there is no room for has none."""
    free, rows, edge = 0, [], picture.width
    for place, box in enumerate(boxes):
        lowest = picture.height - (len(boxes) - place) * LABEL_HEIGHT
        top = max(free, min(box.y, lowest))
        free = top + LABEL_HEIGHT
        if free <= picture.height:
            text = _fitted(box.label, _COLUMN_CHARS)
            strip = Strip(edge + _MARGIN, top, _width(text))
            line = f"M{min(box.x + box.width, edge)} {max(box.y, 0) + 2}H{edge}L{strip.x} {top + LABEL_HEIGHT // 2}"
            rows.append(Label(text, strip, _LOOKS[box.kind].colour, line))
    return rows


def label_strip(box: PictureBox, picture_width: int) -> Strip:
    """Return where a label above a box would stand."""
    width = _width(_fitted(box.label, _LABEL_CHARS))
    return Strip(max(0, min(box.x, picture_width - width)), box.y - LABEL_HEIGHT, width)


def _fitted(label: str, cells: int) -> str:
    """Return as much of a label as has room in so many letters of usual width."""
    shown = xml(label, cells)
    if _cells(shown) <= cells:
        return shown
    while _cells(shown) >= cells:
        shown = shown[:-1]
    return shown + ELLIPSIS


def _cells(shown: str) -> int:
    return len(shown) + sum(east_asian_width(letter) in "WF" for letter in shown)


def _width(shown: str) -> int:
    return round(_cells(shown) * _CHAR_WIDTH) + 10


def _legend(boxes: Iterable[PictureBox]) -> list[tuple[PictureBox, int, str]]:
    """Return what colours and patterns mean, of those that occur."""
    present = {each.kind for each in boxes}
    x, parts = _MARGIN, []
    for kind, look in _LOOKS.items():
        if kind in present:
            parts.append((_drawn(PictureBox(0, x, 18, 34, 22, kind, "")), x + 44, look.name))
            x += 44 + round(len(look.name) * 8) + 26
    return parts


def xml(label: str, limit: int) -> str:
    """Return a label as XML can hold it, in one line."""
    return _NOT_IN_XML.sub("?", visible(" ".join(label[: 4 * limit].split()), limit)) or "-"

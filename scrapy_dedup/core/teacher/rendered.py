"""What one page looked like in a browser: boxes, type, and what hides text."""

import re
from enum import IntFlag
from itertools import count
from typing import Final, NamedTuple

from msgspec import Struct, field

from scrapy_dedup.core.errors import DedupError
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


VERSION: Final = 1
# Elements and text nodes together are as many as the browser looks at.
_MOST_ROWS: Final = MOST_ELEMENTS
_MOST_PIXELS: Final = 1_000_000
_MOST_CHARS: Final = 16_000_000
_MOST_TENTHS: Final = 100_000
_MOST_WEIGHT: Final = 1_000


class SnapshotError(DedupError):
    """A browser's answer is not what was asked for: with its scripts on, a page can answer anything."""


class Flag(IntFlag):
    """How an element, or what is around it, stands on the page. `teacher/look.js` has the same."""

    FIXED = 1
    STICKY = 2
    ABSOLUTE = 4
    NOT_DISPLAYED = 8
    """Nor what is folded to no height, or stands in `details` that are closed."""
    INVISIBLE = 16
    TRANSPARENT = 32
    CLIPPED = 64
    """To a pixel or less, or its text indented out of sight."""
    OFF_SCREEN = 128
    """Outside the page, to the left, above or to the right."""
    SAME_COLOUR = 256
    """As the background; not where a picture may lie behind."""
    NO_SIZE = 512
    """Type of less than two pixels."""
    IN_LINK = 1024
    IN_BUTTON = 2048
    PANEL = 4096
    """Something on the page opens it: a tab, an accordion, a link to it."""


_ALL_FLAGS: Final = (1 << 13) - 1
HIDDEN: Final = (
    Flag.NOT_DISPLAYED
    | Flag.INVISIBLE
    | Flag.TRANSPARENT
    | Flag.CLIPPED
    | Flag.OFF_SCREEN
    | Flag.SAME_COLOUR
    | Flag.NO_SIZE
)
"""Any of these, and a text is not seen when the page opens."""


class Box(NamedTuple):
    """Pixels from the page's upper left corner."""

    x: int
    y: int
    width: int
    height: int


class SeenElement(NamedTuple):
    """An element that has a number."""

    number: int
    box: Box
    flags: int
    """Bits of `Flag`."""
    font_size: float
    """Pixels."""
    weight: int
    """400 is normal, 700 bold."""


class TextRun(NamedTuple):
    """One text node."""

    number: int
    """Of the element that holds it; NO_ELEMENT where scripts made that."""
    box: Box
    flags: int
    """Bits of `Flag`."""
    font_size: float
    weight: int
    chars: int
    """White space folded."""

    @property
    def is_seen(self) -> bool:
        """Whether a person sees it when the page opens."""
        return not self.flags & HIDDEN


class Snapshot(Struct, frozen=True):
    """What one page looked like."""

    width: int
    """Of the window, pixels."""
    height: int
    """Of the whole page."""
    elements: dict[int, SeenElement] = field(default_factory=dict)
    """By number."""
    runs: tuple[TextRun, ...] = ()
    """In document order."""
    static_chars: int = 0
    """Seen characters in elements that the page came with."""
    scripted_chars: int = 0
    """Seen characters in elements that scripts made."""
    """It was too large to be looked at whole."""
    is_styled: bool = True
    """Style sheets were there: else boxes and type are those of any page."""

    @property
    def js_share(self) -> float:
        """Share of the seen text that scripts made, 0.0 to 1.0."""
        return self.scripted_chars / max(1, self.static_chars + self.scripted_chars)

    @classmethod
    def from_json(cls, value: object) -> "Snapshot":
        """Read what `teacher/look.js` answered.

        Raises:
            SnapshotError: it is anything else.
        """
        if not isinstance(value, dict) or value.get("version") != VERSION:
            raise SnapshotError("what the browser said of a page: needs the answer of look.js, version 1")
        elements: dict[int, SeenElement] = {}
        for row in _rows(value, "elements", 8):
            one = _element(row)
            elements.setdefault(one.number, one)
        runs = tuple(map(_run, _rows(value, "runs", 9)))
        scripted = sum(one.chars for one in runs if one.is_seen and one.number == NO_ELEMENT)
        return cls(
            width=_whole(value.get("width"), 0, _MOST_PIXELS),
            height=_whole(value.get("height"), 0, _MOST_PIXELS),
            elements=elements,
            runs=runs,
            static_chars=sum(one.chars for one in runs if one.is_seen) - scripted,
            scripted_chars=scripted,
            is_styled=_is_styled(value),
        )


# A page that holds its design in itself has this much of it, in characters.
_DESIGN: Final = 2_000


def _is_styled(value: dict[str, object]) -> bool:
    wanted = _whole(value.get("sheets_wanted"), 0, _MOST_CHARS)
    came = _whole(value.get("sheets_came"), 0, _MOST_CHARS)
    written = _whole(value.get("css_chars"), 0, _MOST_CHARS)
    return 2 * came >= wanted if came else not wanted and written >= _DESIGN


def _rows(value: dict[str, object], name: str, length: int) -> list[list[object]]:
    rows = value.get(name)
    if not isinstance(rows, list) or len(rows) > _MOST_ROWS:
        raise SnapshotError(f"what the browser said of a page: {name!r} needs a list of at most {_MOST_ROWS} rows")
    for row in rows:
        if not isinstance(row, list) or len(row) != length:
            raise SnapshotError(f"what the browser said of a page: a row of {name!r} needs {length} numbers")
    return rows


def _element(row: list[object]) -> SeenElement:
    number = _whole(row[0], 0, MOST_ELEMENTS)
    return SeenElement(number, _box(row), *_type(row))


def _run(row: list[object]) -> TextRun:
    number = _whole(row[0], NO_ELEMENT, MOST_ELEMENTS)
    return TextRun(number, _box(row), *_type(row), _whole(row[8], 1, _MOST_CHARS))


def _box(row: list[object]) -> Box:
    x, y = (_whole(side, -_MOST_PIXELS, _MOST_PIXELS) for side in row[1:3])
    width, height = (_whole(side, 0, _MOST_PIXELS) for side in row[3:5])
    return Box(x, y, width, height)


def _type(row: list[object]) -> tuple[int, float, int]:
    flags = _whole(row[5], 0, _ALL_FLAGS)
    return flags, _whole(row[6], 0, _MOST_TENTHS) / 10, _whole(row[7], 0, _MOST_WEIGHT)


def _whole(value: object, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise SnapshotError(f"what the browser said of a page: {value!r:.80} needs a whole number, {least} to {most}")
    return value

"""What a browser showed of a page: boxes and type, which text looks like content, and which nobody sees."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import IntFlag, StrEnum
from statistics import fmean
from typing import Annotated, Final, Literal, NamedTuple

from msgspec import Meta, Struct, ValidationError, convert, field

from scrapy_dedup.core.boilerplate.names import NAVIGATION_TAGS, PathLooks, around_words, parts_of, tag_of
from scrapy_dedup.core.boilerplate.observations import MOST_BLOCKS, MOST_STEPS, upper_part
from scrapy_dedup.core.boilerplate.path_features import HEADINGS
from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.pages.blocks import Page, parse_tree
from scrapy_dedup.core.pages.gather import Gatherer
from scrapy_dedup.core.pages.marking import unused_name
from scrapy_dedup.core.pages.tags import BODY, Place
from scrapy_dedup.core.templates.templates import Vision

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

    *page* is what `parse_page` made of *html*. What stands there for readers without scripts is left out, as a browser
    with scripts leaves it out; nor does the page lead elsewhere by itself.
    """
    tree = parse_tree(html)
    body = tree.body
    if body is None:
        return None
    for node in tree.css("noscript, meta[http-equiv=refresh i]"):
        node.decompose()
    attribute = unused_name(html, "data-dedup-n")
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


class TextRun(NamedTuple):
    """One text node."""

    number: int
    """Of the element that holds it; NO_ELEMENT where scripts made that."""
    box: Box
    flags: int
    """Bits of `Flag`."""
    font_size: float
    chars: int
    """White space folded."""

    @property
    def is_seen(self) -> bool:
        """Whether a person sees it when the page opens."""
        return not self.flags & HIDDEN


# Elements and text nodes together are as many as the browser looks at.
_Rows = Meta(max_length=MOST_ELEMENTS)
_Place = Annotated[int, Meta(ge=-1_000_000, le=1_000_000)]
_Length = Annotated[int, Meta(ge=0, le=1_000_000)]
_Count = Annotated[int, Meta(ge=0, le=16_000_000)]
_Flags = Annotated[int, Meta(ge=0, lt=1 << 13)]
_Tenths = Annotated[int, Meta(ge=0, le=100_000)]
_Weight = Annotated[int, Meta(ge=0, le=1_000)]
_Number = Annotated[int, Meta(ge=0, le=MOST_ELEMENTS)]
_Holder = Annotated[int, Meta(ge=NO_ELEMENT, le=MOST_ELEMENTS)]
_Chars = Annotated[int, Meta(ge=1, le=16_000_000)]


class _ShownPage(Struct):
    """What `teacher/look.js` answers."""

    version: Literal[1]
    width: _Length
    height: _Length
    elements: Annotated[list[tuple[_Number, _Place, _Place, _Length, _Length, _Flags, _Tenths, _Weight]], _Rows]
    runs: Annotated[list[tuple[_Holder, _Place, _Place, _Length, _Length, _Flags, _Tenths, _Weight, _Chars]], _Rows]
    sheets_wanted: _Count
    sheets_came: _Count
    css_chars: _Count


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
        try:
            told = convert(value, _ShownPage)
        except ValidationError as error:
            raise SnapshotError(f"what the browser said of a page: {error}") from error
        elements: dict[int, SeenElement] = {}
        for number, x, y, width, height, flags, tenths, _ in told.elements:
            elements.setdefault(number, SeenElement(number, Box(x, y, width, height), flags, tenths / 10))
        runs = tuple(
            TextRun(number, Box(x, y, width, height), flags, tenths / 10, chars)
            for number, x, y, width, height, flags, tenths, _, chars in told.runs
        )
        scripted = sum(one.chars for one in runs if one.is_seen and one.number == NO_ELEMENT)
        came, wanted = told.sheets_came, told.sheets_wanted
        return cls(
            width=told.width,
            height=told.height,
            elements=elements,
            runs=runs,
            static_chars=sum(one.chars for one in runs if one.is_seen) - scripted,
            scripted_chars=scripted,
            is_styled=2 * came >= wanted if came else not wanted and told.css_chars >= _DESIGN,
        )


# A page that holds its design in itself has this much of it, in characters.
_DESIGN: Final = 2_000


# How much of a text counts that stands so; docs/methods.md tells what each is worth.
_STICKY: Final = 0.15
_SURROUNDED: Final = 0.25
_FORM: Final = 0.25
_OTHER_COLUMN: Final = 0.2
_LINKED: Final = 0.25
_LINKS: Final = 0.4
_OUTSIDE: Final = 0.3
# Body holds all, and says nothing: another element is the container where it is nearly as good.
_BODY: Final = 0.95
# Of a text: with more of it in links, it is a list of them.
_MOSTLY_LINKS: Final = 0.6
# Of the seen text: what holds more is no navigation, whatever its name.
_LARGE: Final = 0.5
# Of the seen text: a form with more holds the page, and is none to be filled in.
_LARGE_FORM: Final = 0.3
_FIELDS: Final = frozenset(["input", "textarea", "select"])
# Columns whose sides differ by less are one, pixels.
_GRID: Final = 20


class _Text(Struct, frozen=True):
    """The seen text of one block-level element."""

    chars: int
    links: float
    """Share in links; that of headings is none, for they are links on many pages."""
    size: int
    """Characters beside links, each as many times as its type is pixels high."""
    flags: int
    left: int
    right: int


def looks_of(page: Page, numbered: NumberedPage, snapshot: Snapshot) -> dict[int, float]:
    """Return how far the text of each block-level element looks like content, 0.0 to 1.0, by the element's number.

    Elements whose text nobody sees at first are left out.

    Main text stands where most text stands: in the column with most characters, larger type counting more. What is
    fixed over the page, in another column, in a form to be filled in or in navigation counts less, and links do. The
    container is the element whose text is nearest to the main text; what is outside counts less again.
    """
    texts = _texts(numbered, snapshot)
    surrounded = _surrounded(page, numbered, texts)
    column = _column(text for number, text in texts.items() if number not in surrounded)
    beside = {number for number, text in texts.items() if _is_beside(text, column)}
    places = {number: _by_place(text) for number, text in texts.items()}
    for numbers, share in ((surrounded, _SURROUNDED), (_in_forms(numbered, texts), _FORM)):
        for number in numbers & texts.keys():
            places[number] *= share
    in_columns = {number: share * (_OTHER_COLUMN if number in beside else 1) for number, share in places.items()}
    inside = _below(numbered, _container(numbered, texts, in_columns))
    main = {number: _OUTSIDE * share for number, share in in_columns.items()}
    for number in inside & texts.keys():
        # Cards stand in columns, and are content; a list of links beside the text is none.
        is_list = texts[number].links > _MOSTLY_LINKS
        main[number] = in_columns[number] if is_list else places[number]
    return main


def _texts(numbered: NumberedPage, snapshot: Snapshot) -> dict[int, _Text]:
    """Return what is seen of each block-level element; text in elements that scripts made stands in none."""
    around = blocks_around(numbered)
    runs: defaultdict[int, list[TextRun]] = defaultdict(list)
    for run in snapshot.runs:
        if run.is_seen and (number := around.get(run.number, NO_ELEMENT)) in snapshot.elements:
            runs[number].append(run)
    return {number: _text(number, found, numbered, snapshot) for number, found in runs.items()}


def blocks_around(numbered: NumberedPage) -> dict[int, int]:
    """Return for each element the block-level element whose text it holds; those around all blocks are left out."""
    blocks = frozenset(numbered.of_blocks)
    around: dict[int, int] = {}
    for number, above in enumerate(numbered.parents):
        if number in blocks:
            around[number] = number
        elif above in around:
            around[number] = around[above]
    return around


def _text(number: int, runs: list[TextRun], numbered: NumberedPage, snapshot: Snapshot) -> _Text:
    chars = sum(run.chars for run in runs)
    unlinked = [run for run in runs if not run.flags & Flag.IN_LINK]
    is_heading = numbered.tags[number] in HEADINGS
    box = snapshot.elements[number].box
    return _Text(
        chars=chars,
        links=0.0 if is_heading else 1 - sum(run.chars for run in unlinked) / chars,
        size=round(sum(run.chars * run.font_size for run in unlinked)),
        flags=runs[0].flags,
        left=box.x,
        right=box.x + box.width,
    )


def _surrounded(page: Page, numbered: NumberedPage, texts: Mapping[int, _Text]) -> frozenset[int]:
    """Return the block-level elements that stand in navigation, by tag or by name; names of large parts mislead."""
    paths = {number: block.path for block, number in zip(page.blocks, numbered.of_blocks, strict=True)}
    parts = {path: _named_part(path) for path in dict.fromkeys(paths.values())}
    chars: Counter[str] = Counter()
    for number, text in texts.items():
        chars[parts[paths[number]]] += text.chars
    most = _LARGE * chars.total()
    small = {
        path
        for path, part in parts.items()
        if part and (chars[part] <= most or any(tag_of(step) in NAVIGATION_TAGS for step in path.split(">")))
    }
    return frozenset(number for number, path in paths.items() if path in small)


def _named_part(path: str) -> str:
    """Return the path of the innermost element of navigation on a path; empty where there is none."""
    steps = path.split(">", MOST_STEPS)[:MOST_STEPS]
    for depth in range(len(steps), 0, -1):
        if tag_of(steps[depth - 1]) in NAVIGATION_TAGS or any(map(around_words, parts_of(steps[depth - 1])[1:])):
            return ">".join(steps[:depth])
    return ""


def _in_forms(numbered: NumberedPage, texts: Mapping[int, _Text]) -> frozenset[int]:
    """Return the block-level elements in forms that a person fills in, but not in one around much of the page."""
    forms: list[int] = []
    filled: set[int] = set()
    for number, (tag, above) in enumerate(zip(numbered.tags, numbered.parents, strict=True)):
        around = forms[above] if above != NO_ELEMENT else NO_ELEMENT
        forms.append(number if tag == "form" else around)
        if tag in _FIELDS and around != NO_ELEMENT:
            filled.add(around)
    chars: Counter[int] = Counter()
    for number, text in texts.items():
        chars[forms[number]] += text.chars
    small = {form for form in filled if chars[form] < _LARGE_FORM * chars.total()}
    return frozenset(number for number in texts if forms[number] in small)


def _column(texts: Iterable[_Text]) -> tuple[int, int]:
    """Return the left and right side of the column in which most text stands, in steps of the grid."""
    sizes: Counter[tuple[int, int]] = Counter()
    for text in texts:
        if not text.flags & (Flag.FIXED | Flag.STICKY):
            sizes[text.left // _GRID, text.right // _GRID] += text.size
    return min(sizes, key=lambda sides: (-sizes[sides], sides), default=(0, 0))


def _by_place(text: _Text) -> float:
    if text.flags & Flag.FIXED:
        return 0.0
    return _STICKY if text.flags & Flag.STICKY else 1.0


def _is_beside(text: _Text, column: tuple[int, int]) -> bool:
    left, right = column[0] * _GRID, (column[1] + 1) * _GRID
    common = min(text.right, right) - max(text.left, left)
    return 2 * common < min(text.right - text.left, right - left)


def _container(numbered: NumberedPage, texts: Mapping[int, _Text], places: Mapping[int, float]) -> int:
    """Return the element whose text is nearest to the main text: F1 of the two; of equals the outer."""
    seen, main = [0.0] * len(numbered.tags), [0.0] * len(numbered.tags)
    for number, text in texts.items():
        share = (1 - (1 - _LINKED) * text.links) * (_LINKS if text.links > _MOSTLY_LINKS else 1)
        seen[number], main[number] = text.chars, text.chars * places[number] * share
    for number in range(len(numbered.tags) - 1, 0, -1):
        above = numbered.parents[number]
        seen[above] += seen[number]
        main[above] += main[number]
    scores = [
        (_BODY if above == NO_ELEMENT else 1) * part / max(1, chars + main[0])
        for part, chars, above in zip(main, seen, numbered.parents, strict=True)
    ]
    return max(range(len(scores)), key=lambda number: (scores[number], -number))


def _below(numbered: NumberedPage, container: int) -> set[int]:
    below = {container}
    for number, above in enumerate(numbered.parents):
        if above in below:
            below.add(number)
    return below


# Menus and slides wait just outside the window; what is to be found by machines alone stands far out.
_FAR: Final = 900
_MOST: Final = 200
_SHOWN_CHARS: Final = 200
_ZERO_WIDTH: Final = re.compile("[\u200b\u200c\u200d\u2060\ufeff\u00ad\U000e0000-\U000e007f]")

NEEDS_RENDERING: Final = 0.5
"""Share of the seen text that scripts made."""
_NEARLY_EMPTY: Final = 200
_SHOWN: Final = 1_000


class UnseenReason(StrEnum):
    """Why nobody sees a text."""

    OFF_SCREEN = "off_screen"
    CLIPPED = "clipped"
    NO_SIZE = "no_size"
    SAME_COLOUR = "same_colour"
    ZERO_WIDTH = "zero_width"
    NOT_DISPLAYED = "not_displayed"
    """`display: none`, `hidden`, folded to no height: a click, or a script, may open it."""


class Unseen(Struct, frozen=True):
    """A text that nobody sees."""

    place: int
    """Of its block, as an index into the page's blocks."""
    reason: UnseenReason
    text: str
    """Its first 200 characters."""


def unseen_text(page: Page, numbered: NumberedPage, snapshot: Snapshot, *, closed: bool = False) -> list[Unseen]:
    """Return the blocks of a page that no person sees, in order, at most 200.

    What waits to be faded in is none of them: browsers that run no scripts do not show it. A block is listed where
    nobody sees any of it. With *closed* what is not displayed counts, although a click may open it.
    """
    reasons = unseen_elements(numbered, snapshot, closed=closed)
    found = []
    for place, (block, number) in enumerate(zip(page.blocks, numbered.of_blocks, strict=True)):
        reason = UnseenReason.ZERO_WIDTH if not _ZERO_WIDTH.sub("", block.text).strip() else reasons.get(number)
        if reason is not None:
            found.append(Unseen(place, reason, block.text[:_SHOWN_CHARS]))
            if len(found) == _MOST:
                break
    return found


def unseen_elements(numbered: NumberedPage, snapshot: Snapshot, *, closed: bool = False) -> dict[int, UnseenReason]:
    """Return the block-level elements all of whose text nobody sees."""
    around = blocks_around(numbered)
    reasons: dict[int, UnseenReason | None] = {}
    for run in snapshot.runs:
        number = around.get(run.number)
        if number is not None:
            is_closed = closed and run.flags & Flag.NOT_DISPLAYED
            reason = UnseenReason.NOT_DISPLAYED if is_closed else reason_unseen(run, snapshot)
            reasons[number] = reason if number not in reasons else (reason and reasons[number])
    return {number: reason for number, reason in reasons.items() if reason is not None}


def reason_unseen(run: TextRun, snapshot: Snapshot) -> UnseenReason | None:
    """Return why nobody sees a text; None where somebody does, or may after a click."""
    flags = run.flags
    if flags & (Flag.NOT_DISPLAYED | Flag.INVISIBLE | Flag.TRANSPARENT | Flag.PANEL):
        return None
    if flags & Flag.NO_SIZE:
        return UnseenReason.NO_SIZE
    if flags & Flag.CLIPPED:
        return UnseenReason.CLIPPED
    if flags & Flag.OFF_SCREEN and (
        run.box.x + run.box.width <= -_FAR or run.box.y + run.box.height <= -_FAR or run.box.x >= snapshot.width + _FAR
    ):
        return UnseenReason.OFF_SCREEN
    return UnseenReason.SAME_COLOUR if flags & Flag.SAME_COLOUR else None


class SeenPage(Struct, frozen=True):
    """One page, without its text; small, and it can be pickled."""

    paths: dict[str, PathLooks] = field(default_factory=dict)
    """By path, as `observe` has it."""
    static_chars: int = 0
    """Of what looks like content and stands in the page as it came."""
    scripted_chars: int = 0
    """Seen text that scripts made."""
    js_share: float = 0.0
    """Share of the seen text that scripts made."""
    unseen: tuple[Unseen, ...] = ()

    @property
    def is_odd(self) -> bool:
        """Whether so much of the text is not to be seen that it is the browser that is odd."""
        unseen = sum(there.unseen for there in self.paths.values())
        return unseen > _MOST_UNSEEN * sum(there.seen + there.unseen for there in self.paths.values())


# Of a page's text.
_MOST_UNSEEN: Final = 0.2


def see(page: Page, numbered: NumberedPage, snapshot: Snapshot) -> SeenPage:
    """Return what a page looked like, by DOM path; of one whose style sheets did not come, only what scripts made."""
    if not snapshot.is_styled:
        return SeenPage(
            static_chars=snapshot.static_chars,
            scripted_chars=snapshot.scripted_chars,
            js_share=round(snapshot.js_share, 3),
        )
    looks = looks_of(page, numbered, snapshot)
    unseen = unseen_text(page, numbered, snapshot)
    hidden = {one.place for one in unseen}
    sums: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    # As many as an observation has, and the same.
    stride = -(-len(page.blocks) // MOST_BLOCKS) or 1
    for place in range(0, len(page.blocks), stride):
        block, number = page.blocks[place], numbered.of_blocks[place]
        chars = len(block.text)
        row = sums[upper_part(block.path)]
        if place in hidden:
            row[2] += chars
        elif number in looks:
            row[0] += chars
            row[1] += round(chars * looks[number])
    return SeenPage(
        paths={path: PathLooks(*row) for path, row in sums.items() if any(row)},
        static_chars=sum(row[1] for row in sums.values()),
        scripted_chars=snapshot.scripted_chars,
        js_share=round(snapshot.js_share, 3),
        unseen=tuple(unseen),
    )


def vision_of(pages: Sequence[SeenPage], agreement: float) -> Vision:
    """Return what is kept of the pages of one layout that a browser showed; at least one."""
    js_share = round(fmean(page.js_share for page in pages), 3)
    is_empty = fmean(page.static_chars for page in pages) < _NEARLY_EMPTY
    return Vision(
        shown=len(pages),
        js_share=js_share,
        needs_rendering=js_share >= NEEDS_RENDERING and is_empty,
        unseen=min(_SHOWN, sum(len(page.unseen) for page in pages)),
        agreement=round(agreement, 3),
    )

"""How far each text of a page looks like its content, by where and how a browser showed it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct

from scrapy_dedup.core.boilerplate.names import NAVIGATION_TAGS, is_around, parts_of, tag_of
from scrapy_dedup.core.boilerplate.observations import MOST_STEPS
from scrapy_dedup.core.boilerplate.path_features import HEADINGS
from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.teacher.rendered import NO_ELEMENT, Flag, NumberedPage, Snapshot, TextRun

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


class Looks(Struct, frozen=True):
    """What a page's text looks like, by the number of the block-level element that it stands in."""

    main: dict[int, float]
    """How far it looks like content, 0.0 to 1.0; elements whose text nobody sees at first are left out."""
    container: int
    """The element that holds most of what does, and little else."""


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


def looks_of(page: Page, numbered: NumberedPage, snapshot: Snapshot) -> Looks:
    """Return how far the text of each block-level element looks like content.

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
    container = _container(numbered, texts, in_columns)
    inside = _below(numbered, container)
    main = {number: _OUTSIDE * share for number, share in in_columns.items()}
    for number in inside & texts.keys():
        # Cards stand in columns, and are content; a list of links beside the text is none.
        is_list = texts[number].links > _MOSTLY_LINKS
        main[number] = in_columns[number] if is_list else places[number]
    return Looks(main, container)


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
    small = {path for path, part in parts.items() if part and (chars[part] <= most or _is_in_navigation(path))}
    return frozenset(number for number, path in paths.items() if path in small)


def _named_part(path: str) -> str:
    """Return the path of the innermost element of navigation on a path; empty where there is none."""
    steps = path.split(">", MOST_STEPS)[:MOST_STEPS]
    for depth in range(len(steps), 0, -1):
        if tag_of(steps[depth - 1]) in NAVIGATION_TAGS or _is_named(steps[depth - 1]):
            return ">".join(steps[:depth])
    return ""


def _is_in_navigation(path: str) -> bool:
    return any(tag_of(step) in NAVIGATION_TAGS for step in path.split(">"))


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


def _is_named(step: str) -> bool:
    return any(map(is_around, parts_of(step)[1:]))

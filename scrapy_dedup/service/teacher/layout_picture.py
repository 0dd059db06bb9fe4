"""A page that a browser showed: the boxes on its picture, and how far what it looks like agrees with how it is cut."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from scrapy_dedup.core.boilerplate.path_features import DropReason
from scrapy_dedup.core.boilerplate.repeats import RemovalRule
from scrapy_dedup.core.locators import LONGEST_LINE, LONGEST_TITLE, Field, comparable, value_in
from scrapy_dedup.core.metadata import Metadata, is_heading
from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.teacher import NO_ELEMENT, Box, Flag, NumberedPage, Snapshot, Unseen, looks_of, unseen_text
from scrapy_dedup.core.templates.templates import selector
from scrapy_dedup.report.layout_picture import LABEL_HEIGHT, label_strip
from scrapy_dedup.report.values import BoxKind, PictureBox
from scrapy_dedup.service.cut.site_cleaning import How, SiteCut, cut_page
from scrapy_dedup.service.cut.site_patterns import SitePatterns
from scrapy_dedup.service.templates.layout_figures import name_of
from scrapy_dedup.service.templates.site_knowledge import LayoutTemplate, SiteKnowledge
from scrapy_dedup.service.templates.site_records import readable
from scrapy_dedup.settings import Settings

# More boxes than this are none that a person looks at: what is left out is then told by its kind alone.
MANY: Final = 60
_FIELDS: Final = {Field.TITLE: BoxKind.TITLE, Field.DATE: BoxKind.DATE, Field.AUTHOR: BoxKind.AUTHOR}
_LEAST_PIXELS: Final = 2
_GENERAL: Final = {BoxKind.CONTENT: "content", BoxKind.UNSEEN: "not to be seen"}
# Of the areas of two boxes, for one around both.
_MOST_SPREAD: Final = 1.5
# Of a label and what is written on the page: letters reach beyond their boxes.
_CLEARANCE: Final = 2


class _Verdict(NamedTuple):
    kind: BoxKind
    label: str


def boxes_of(
    page: Page, numbered: NumberedPage, snapshot: Snapshot, found: SiteCut, *, height: int
) -> tuple[PictureBox, ...]:
    """Return the boxes of a page; each is that of an element of the page as it was sent.

    Neighbours of one verdict are one box: the outermost element that holds nothing else.

    *height* is that of the picture: what stands below has no box.
    """
    drawing = _PageDrawing(page, numbered, snapshot, height)
    verdicts = drawing.verdicts(reasons_of(page, found))
    boxes = drawing.merged(verdicts)
    if len(boxes) > MANY:
        boxes = drawing.merged([each and _Verdict(each.kind, _GENERAL.get(each.kind, "left out")) for each in verdicts])
    fields = [box for field, at in places_of(page, found.metadata).items() if (box := drawing.field(field, at, found))]
    return tuple(drawing.cleared(sorted(boxes, key=lambda box: (-box.width * box.height, box.number)) + fields))


def reasons_of(page: Page, found: SiteCut) -> list[RemovalRule | None]:
    """Return for each block of a page why it was left out; None where it stays."""
    rules = {one.removal.fingerprint: one.removal.rule for one in found.cleaned.removed}
    kept = found.cleaned.kept or (True,) * len(page.blocks)
    unknown = RemovalRule("left out", "")
    return [
        None if stays else rules.get(block.fingerprint, unknown) for stays, block in zip(kept, page.blocks, strict=True)
    ]


def places_of(page: Page, metadata: Metadata) -> dict[Field, int]:
    """Return which block shows a page's title, date and author; fields that no block shows are left out."""
    found: dict[Field, int] = {}
    title = _place_of(page, Field.TITLE, metadata.title, is_heading)
    if title is not None:
        found[Field.TITLE] = title
    for field, value in ((Field.DATE, metadata.date), (Field.AUTHOR, metadata.author)):
        place = _place_of(page, field, value, lambda _: False, near=title or 0)
        if place is not None:
            found[field] = place
    return found


def _place_of(
    page: Page, field: Field, value: str | None, is_better: Callable[[str], bool], *, near: int = 0
) -> int | None:
    """Return the block that shows a value, the nearest to another block; better ones before others."""
    if value is None:
        return None
    wanted, most = comparable(field, value), LONGEST_TITLE if field is Field.TITLE else LONGEST_LINE
    places = [
        place
        for place, block in enumerate(page.blocks)
        if len(block.text) <= most and (seen := value_in(field, block.text)) and comparable(field, seen) == wanted
    ]
    return min(places, key=lambda at: (not is_better(page.blocks[at].path), abs(at - near), at), default=None)


class _Area(NamedTuple):
    number: int
    parent: int
    verdict: _Verdict
    box: Box


class _PageDrawing:
    """One page, and where its elements are."""

    def __init__(self, page: Page, numbered: NumberedPage, snapshot: Snapshot, height: int) -> None:
        self.page = page
        self.numbered = numbered
        self.snapshot = snapshot
        self.height = min(height, snapshot.height) if snapshot.height else height
        self._holders = frozenset(numbered.of_blocks)
        self._runs: defaultdict[int, list[Box]] = defaultdict(list)
        """Where text stands, by the block-level element around it."""
        self._flags: defaultdict[int, Counter[int]] = defaultdict(Counter)
        self._written = [run.box for run in snapshot.runs if run.is_seen]
        for run in snapshot.runs:
            holder = self._holder(run.number)
            self._flags[holder][int(run.flags)] += run.chars
            if run.box.width and run.box.height:
                self._runs[holder].append(run.box)

    def _holder(self, number: int) -> int:
        """Return the element with blocks of its own that an element is, or stands in."""
        while number not in self._holders and 0 < number < len(self.numbered.parents):
            number = self.numbered.parents[number]
        return number

    def verdicts(self, reasons: Sequence[RemovalRule | None]) -> list[_Verdict | None]:
        """Return what each block is; None where nothing of it can be drawn."""
        return [self._verdict(number, reason) for number, reason in zip(self.numbered.of_blocks, reasons, strict=True)]

    def _verdict(self, number: int, reason: RemovalRule | None) -> _Verdict | None:
        counts = self._flags.get(number)
        flags = min(counts, key=lambda each: (-counts[each], each)) if counts else 0
        if flags & Flag.NOT_DISPLAYED:
            return None
        if (hidden := _hidden(flags)) and (reason is None or reason.name.endswith(DropReason.UNSEEN)):
            return _Verdict(BoxKind.UNSEEN, hidden)
        if reason is None:
            return _Verdict(BoxKind.CONTENT, "content")
        if hidden:
            return None  # menus that open, left out with all that is around them
        return _Verdict(BoxKind.OVERLAY if flags & Flag.FIXED else BoxKind.BOILERPLATE, _told(reason))

    def merged(self, verdicts: Sequence[_Verdict | None]) -> list[PictureBox]:
        """Return one box for each outermost element whose blocks have one verdict, neighbours in one.

        What stands side by side within one element has that element's number.
        """
        parents = self.numbered.parents
        areas: list[_Area] = []
        for number, verdict, area in self._areas(verdicts):
            last = areas[-1] if areas else None
            is_next = last and last.verdict == verdict and last.parent == parents[number] != NO_ELEMENT
            if last and is_next and _stand_together(last.box, area):
                areas[-1] = _Area(last.parent, last.parent, verdict, _union((last.box, area)))
            else:
                areas.append(_Area(number, parents[number], verdict, area))
        told = {(each.number, each.verdict): each.box for each in areas}
        boxes = (self._box(each.number, each.verdict, each.box) for each in areas if not self._is_told(each, told))
        return [box for box in boxes if box is not None]

    def _is_told(self, area: _Area, told: Mapping[tuple[int, _Verdict], Box]) -> bool:
        """Whether an area lies in the box of an element around it, which says the same."""
        boxes = (told.get((around, area.verdict)) for around in self._around(self.numbered.parents[area.number]))
        return any(box is not None and _union((box, area.box)) == box for box in boxes)

    def _areas(self, verdicts: Sequence[_Verdict | None]) -> Iterator[tuple[int, _Verdict, Box]]:
        """Iterate over the outermost elements of one verdict, in document order, with where they are."""
        below = self._below(verdicts)
        for number in sorted(below):
            one, above = _only(below[number]), self.numbered.parents[number]
            verdict, area = one, None
            if one is not None and (above == NO_ELEMENT or _only(below[above]) is None):
                # Of what cannot be seen the element may hold something else that can.
                area = self._area(number) if one.kind is not BoxKind.UNSEEN else self._text_area(number)
            elif one is None and number in self._holders:
                verdict, area = self._own(number, verdicts), _around_all(self._runs[number])
            if verdict is not None and area is not None:
                yield number, verdict, area

    def _below(self, verdicts: Sequence[_Verdict | None]) -> Mapping[int, Collection[_Verdict]]:
        """Return the verdicts that stand in each element that holds blocks."""
        below: dict[int, set[_Verdict]] = {}
        for number, verdict in zip(self.numbered.of_blocks, verdicts, strict=True):
            if verdict is None:
                continue
            for around in self._around(number):
                held = below.setdefault(around, set())
                if verdict in held:
                    break
                held.add(verdict)
        return below

    def _around(self, number: int) -> Iterator[int]:
        """Iterate over an element and all those around it."""
        while number != NO_ELEMENT:
            yield number
            number = self.numbered.parents[number]

    def _own(self, number: int, verdicts: Sequence[_Verdict | None]) -> _Verdict | None:
        """Return what most of an element's own text is, where others stand in it, too."""
        chars: Counter[_Verdict] = Counter()
        for holder, verdict, block in zip(self.numbered.of_blocks, verdicts, self.page.blocks, strict=True):
            if holder == number and verdict is not None:
                chars[verdict] += len(block.text)
        return max(chars, key=lambda each: (chars[each], each), default=None)

    def _area(self, number: int) -> Box | None:
        """Return where an element is; one whose children all float has no height of its own."""
        seen = self.snapshot.elements.get(number)
        if seen is not None and min(seen.box.width, seen.box.height) >= _LEAST_PIXELS:
            return seen.box
        return self._text_area(number)

    def _text_area(self, number: int) -> Box | None:
        """Return where the text in an element is."""
        inside = [box for holder in self._runs if number in self._around(holder) for box in self._runs[holder]]
        return _around_all(inside)

    def _box(self, number: int, verdict: _Verdict, area: Box | None) -> PictureBox | None:
        """Return a box within the picture; None where nothing of it is there."""
        if area is None:
            return None
        left, top = max(0, area.x), max(0, area.y)
        right, bottom = min(self.snapshot.width, area.x + area.width), min(self.height, area.y + area.height)
        if min(right - left, bottom - top) < _LEAST_PIXELS:
            return None
        return PictureBox(number, left, top, right - left, bottom - top, verdict.kind, verdict.label)

    def field(self, field: Field, place: int, found: SiteCut) -> PictureBox | None:
        """Return the box of a title, date or author."""
        number = self.numbered.of_blocks[place]
        source = found.metadata.sources.get(field, "")
        return self._box(number, _Verdict(_FIELDS[field], f"{field}, from {source}"), self._area(number))

    def cleared(self, boxes: Iterable[PictureBox]) -> list[PictureBox]:
        """Return boxes with whether the page has nothing written where their labels would stand."""
        return [replace(box, is_clear=self._is_clear(box)) for box in boxes]

    def _is_clear(self, box: PictureBox) -> bool:
        strip = label_strip(box, self.snapshot.width)
        top, bottom = strip.y - _CLEARANCE, strip.y + LABEL_HEIGHT - _CLEARANCE
        return not any(
            run.y < bottom
            and run.y + run.height > top
            and run.x < strip.x + strip.width
            and run.x + run.width > strip.x
            for run in self._written
        )


def _told(reason: RemovalRule) -> str:
    """Return a reason in one line; that nothing is known of the site is told once, and not in each box."""
    by, _, name = reason.name.rpartition(": ")
    return f"{name}, by the fallback" if by == "fallback" else ": ".join(filter(None, (name, reason.evidence)))


def _only(verdicts: Collection[_Verdict]) -> _Verdict | None:
    return next(iter(verdicts)) if len(verdicts) == 1 else None


def _hidden(flags: int) -> str:
    """Say how a text is hidden; empty where it is not."""
    ways = {
        Flag.INVISIBLE: "invisible",
        Flag.TRANSPARENT: "transparent",
        Flag.CLIPPED: "clipped",
        Flag.OFF_SCREEN: "off the screen",
        Flag.SAME_COLOUR: "of the colour of its ground",
        Flag.NO_SIZE: "of no size",
    }
    return ", ".join(name for flag, name in ways.items() if flags & flag)


def _around_all(boxes: Sequence[Box]) -> Box | None:
    return _union(boxes) if boxes else None


def _stand_together(one: Box, other: Box) -> bool:
    """Say whether one box around both holds little else: a column and a footer stand around all that is between."""
    both = _union((one, other))
    return both.width * both.height <= _MOST_SPREAD * (one.width * one.height + other.width * other.height)


def _union(boxes: Sequence[Box]) -> Box:
    left, top = min(box.x for box in boxes), min(box.y for box in boxes)
    right, bottom = max(box.x + box.width for box in boxes), max(box.y + box.height for box in boxes)
    return Box(left, top, right - left, bottom - top)


# Of a block: what looks more like content than this is taken for it.
_LOOKS_MAIN: Final = 0.5


class ShownPage(Struct, frozen=True):
    """A page, and how a browser showed it.

    Attributes:
        height: of the picture.
        js_share: share of the text that scripts made; None where nobody looked with scripts.
    """

    url: str
    html: str
    page: Page
    numbered: NumberedPage
    snapshot: Snapshot
    height: int
    js_share: float | None = None


class FoundField(Struct, frozen=True):
    """A title, date or author.

    Attributes:
        source: where the value was declared or stood: json-ld, h1, locator ...
        selector: of the element that shows it; empty where none does.
        number: of that element; None where none does.
    """

    name: str
    value: str | None
    source: str
    selector: str = ""
    number: int | None = None


class AnalyzedPage(Struct, frozen=True):
    """What is known of a page after it was looked at.

    Attributes:
        agreement: between what was kept and what looks like content, 0.0 to 1.0: F1 by characters.
        template: by which the page was cut; None: by no template.
        is_known: whether something was learned of its site before.
    """

    shown: ShownPage
    cut: SiteCut
    boxes: tuple[PictureBox, ...]
    fields: tuple[FoundField, ...]
    agreement: float
    unseen: tuple[Unseen, ...]
    template: LayoutTemplate | None
    is_known: bool

    @property
    def how(self) -> str:
        """By what the page was cut, in words."""
        if self.template is not None:
            return f"template of layout {name_of(self.template.layout)}, version {self.template.version or 'new'}"
        why = f": {self.cut.misfit}" if self.cut.misfit else ": nothing is known of its site"
        return f"{'fallback' if self.cut.how is How.FALLBACK else 'kept whole'}{why}"

    def to_json(self) -> dict[str, Any]:
        """Return all but the picture as plain values."""
        shown, template = self.shown, self.template
        body = template.to_json() | {"selectors": readable(template)} if template is not None else None
        return {
            "url": shown.url,
            "cut_by": str(self.cut.how),
            "how": self.how,
            "layout": name_of(self.cut.layout),
            "site_known": self.is_known,
            "chars_in": self.cut.cleaned.chars_in,
            "chars_out": self.cut.cleaned.chars_out,
            "agreement": round(self.agreement, 3),
            "js_share": shown.js_share,
            "fields": {field.name: to_builtins(field) | {"name": field.name} for field in self.fields},
            "unseen": [{"reason": str(one.reason), "text": one.text} for one in self.unseen],
            "size": {"width": shown.snapshot.width, "height": shown.height},
            "boxes": to_builtins(self.boxes),
            "template": body,
        }


def analyze_page(
    shown: ShownPage, site: SiteKnowledge | None, settings: Settings, patterns: SitePatterns | None = None
) -> AnalyzedPage:
    """Return what is to be told of a page that was shown.

    *site* is None where nothing is known of it; *patterns* None: those of the settings alone.
    """
    page, found = shown.page, cut_page(shown.html, shown.page, shown.url, site, settings, patterns)
    template = site.template_for(found.layout, shown.url) if site is not None and found.how is How.TEMPLATE else None
    kept = [reason is None for reason in reasons_of(page, found)]
    return AnalyzedPage(
        shown=shown,
        cut=found,
        boxes=boxes_of(page, shown.numbered, shown.snapshot, found, height=shown.height),
        fields=tuple(_fields(shown, found)),
        agreement=agreement(page, shown.numbered, shown.snapshot, kept),
        unseen=tuple(unseen_text(page, shown.numbered, shown.snapshot, closed=True)),
        template=template,
        is_known=site is not None and bool(site.templates),
    )


def agreement(page: Page, numbered: NumberedPage, snapshot: Snapshot, kept: Sequence[bool]) -> float:
    """Return how far what is kept of a page is what looks like content: F1 by characters, of text that is seen."""
    main = looks_of(page, numbered, snapshot)
    both = ours = theirs = 0
    for block, number, stays in zip(page.blocks, numbered.of_blocks, kept, strict=True):
        if number not in main:
            continue  # nobody sees it: a browser has no opinion of it
        looks, chars = main[number] >= _LOOKS_MAIN, len(block.text)
        both += chars * (looks and stays)
        ours += chars * stays
        theirs += chars * looks
    return 2 * both / (ours + theirs) if ours + theirs else 1.0


def _fields(shown: ShownPage, found: SiteCut) -> Iterable[FoundField]:
    metadata = found.metadata
    places = places_of(shown.page, metadata)
    values: Mapping[Field, str | None] = {
        Field.TITLE: metadata.title,
        Field.DATE: metadata.date,
        Field.AUTHOR: metadata.author,
    }
    for field, value in values.items():
        one = FoundField(str(field), value, metadata.sources.get(field, ""))
        if (place := places.get(field)) is not None:
            path = shown.page.blocks[place].path
            one = replace(one, selector=selector(path), number=shown.numbered.of_blocks[place])
        yield one

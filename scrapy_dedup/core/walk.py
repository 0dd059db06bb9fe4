"""The skeleton of a page: what is drawn around its blocks, told from the way through its places."""

from collections.abc import Sequence

from scrapy_dedup.core.places import BODY, Place
from scrapy_dedup.core.tables import TABLE_PARTS, Table
from scrapy_dedup.core.tags import Tag

_GONE = Tag("")

Step = Place | int | Tag
"""A place that a boundary led to, the index of a block, or a picture without text."""


class Walk:
    """The way through a body; what is told from it is made when first asked for."""

    __slots__ = ("_skeleton", "_steps")

    def __init__(self, steps: Sequence[Step] = ()) -> None:
        self._steps = steps
        self._skeleton: list[int | Tag] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Walk) and self.skeleton == other.skeleton

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Walk{self.skeleton!r}"

    @property
    def skeleton(self) -> list[int | Tag]:
        """Structural tags, pictures without text, and indexes of blocks, in document order."""
        if self._skeleton is None:
            self._skeleton = _skeleton_of(self._steps)
        return self._skeleton

    @property
    def places(self) -> tuple[Place, ...]:
        """Each place once, in order of first appearance."""
        return tuple(step for step in dict.fromkeys(self._steps) if isinstance(step, Place))


def _skeleton_of(walk: Sequence[Step]) -> list[int | Tag]:
    drawing = _Skeleton()
    here = BODY
    for step in walk:
        if not isinstance(step, Place):
            drawing.events.append(step)
            continue
        if step.outer is here:
            drawing.enter(step)
        elif here.outer is step:
            drawing.leave(here)
        here = step
    while here.outer is not None:
        drawing.leave(here)
        here = here.outer
    return [event for event in drawing.events if event is not _GONE]


class _Skeleton:
    def __init__(self) -> None:
        self.events: list[int | Tag] = []
        self.tables: list[Table] = []

    def enter(self, place: Place) -> None:
        start = place.start
        if start is None:
            return
        name = start.name
        if name in ("table", "pre"):
            if self.tables:
                self.tables[-1].is_layout = True
            if name == "table":
                self.tables.append(Table())
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

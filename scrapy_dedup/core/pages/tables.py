"""Which tables are drawn as tables, and with which empty cells."""

from collections import Counter

from msgspec import Struct, field

from scrapy_dedup.core.pages.tags import Tag

TABLE_PARTS = frozenset("table caption thead tbody tfoot tr th td".split())
CELLS = frozenset({"td", "th"})
# Short rows are filled up to the longest.
_MOST_CELLS = 1_000_000
_MOST_FILLED = 20_000


class OpenTable(Struct):
    """What is known of an open table."""

    places: list[int] = field(default_factory=list)
    """Of its own tags in the page's skeleton."""
    is_layout: bool = False
    """It holds a table or code, which no cell can."""
    rows: int = 0
    cells: int = 0
    """Columns of the last row so far."""
    most_cells: int = 0
    filled: int = 0
    spans: Counter[int] = field(default_factory=Counter)
    """Column to the number of rows in which a cell from above still stands."""

    def open(self, tag: Tag, skeleton: list[int | Tag]) -> None:
        """Put one of its start tags into the skeleton, behind an empty cell for each that reaches down from above."""
        if tag.name == "tr":
            self.rows += 1
            self.cells = 0
        elif tag.name in CELLS:
            self._fill(skeleton)
            tag = self._cell(tag)
        self._put(tag, skeleton)

    def close(self, tag: Tag, skeleton: list[int | Tag]) -> None:
        """Put one of its end tags into the skeleton."""
        if tag.name == "tr":
            self._fill(skeleton)
        self._put(tag, skeleton)

    @property
    def is_drawn(self) -> bool:
        """A table of one column lays out, and a vast one would be filled up without end."""
        return not self.is_layout and self.most_cells > 1 and self.rows * self.most_cells < _MOST_CELLS

    def _cell(self, tag: Tag) -> Tag:
        columns = 1
        if tag.attributes:
            attributes = dict(tag.attributes)
            columns = int(attributes.get("colspan", 1))
            if rows := int(attributes.pop("rowspan", 1)) - 1:
                self.spans.update(dict.fromkeys(range(self.cells, self.cells + columns), rows))
            tag = Tag(tag.name, tuple(attributes.items()))
        self.cells += columns
        self.most_cells = max(self.most_cells, self.cells)
        return tag

    def _fill(self, skeleton: list[int | Tag]) -> None:
        while self.spans and self.spans.get(self.cells) and self.filled < _MOST_FILLED:
            self.spans[self.cells] -= 1
            self.cells += 1
            self.filled += 1
            self._put(Tag("td"), skeleton)
            self._put(Tag("td", (), closing=True), skeleton)

    def _put(self, tag: Tag, skeleton: list[int | Tag]) -> None:
        self.places.append(len(skeleton))
        skeleton.append(tag)

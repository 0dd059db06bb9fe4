"""Templates as HTML: nothing that a page says can act, hide or reorder what a reader sees.

Whatever a template shows is escaped, and what nobody sees of it is written as ⟨U+202E⟩. Here alone text is said to be
HTML already (a test looks), so that no template and no view can let a page's text through.
"""

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from difflib import SequenceMatcher
from functools import cache
from importlib.resources import files
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from msgspec import Struct, field

from scrapy_dedup.core.domains import STATUSES, is_blacklisted, present_status
from scrapy_dedup.report import charts, layout_picture, numbers
from scrapy_dedup.report.markup import is_web, told, visible
from scrapy_dedup.report.values import ExplainedPage, Report, ReportLocator, ReportPicture, boxes_from

Line = list[tuple[str, bool]]
"""Pieces of a line, each with whether it differs."""

MOST_HUNKS = 100
MOST_LINES = 400
LONGEST_LINE = 600
"""Lines of `core.recrawl.verdicts.unified_diff` are shorter."""

CHANGES = {
    "content": "The text changed",
    "numbers": "Nothing but numbers changed",
    "title": "The title changed",
    "files": "Pictures, files or addresses changed",
    "links": "Links lead elsewhere",
    "volatile": "Nothing but its age or its views changed",
    "boilerplate_only": "Boilerplate changed",
}
"""Classes of change, for readers."""

_HEADING_LINES = 2
# To compare pieces takes the product of their numbers; two texts without much in common are better left unmarked.
_MOST_PIECES = 600
_ALIKE = 0.5
_PIECE = re.compile(r"\w+|\s+|[^\w\s]")


class Hunk(Struct, frozen=True):
    """Lines that stand next to each other: those that left, and those that came in their place."""

    was: tuple[str, ...]
    now: tuple[str, ...]


def hunks(diff: str) -> list[Hunk]:
    """Return the hunks of a unified diff in its order; lines that did not change are left out."""
    found: list[tuple[list[str], list[str]]] = [([], [])]
    for line in diff.split("\n")[_HEADING_LINES:]:
        if line[:1] == "-":
            if found[-1][1]:  # what left after something came is a change of its own
                found.append(([], []))
            found[-1][0].append(line[1:])
        elif line[:1] == "+":
            found[-1][1].append(line[1:])
        else:
            found.append(([], []))
    return [Hunk(tuple(was), tuple(now)) for was, now in found if was or now]


def fitting_hunks(found: Sequence[Hunk]) -> list[Hunk]:
    """Return the first hunks, as many as there is room for."""
    lines, shown = 0, []
    for hunk in found[:MOST_HUNKS]:
        lines += len(hunk.was) + len(hunk.now)
        if lines > MOST_LINES:
            break
        shown.append(hunk)
    return shown


def marked(hunk: Hunk) -> tuple[list[Line], list[Line]]:
    """Return both sides of a hunk, cut to what is shown; where they are much alike, with the words that differ told."""
    was, now = ([visible(line, LONGEST_LINE) for line in side] for side in (hunk.was, hunk.now))
    # A line's end is no piece of any line.
    before, after = ([piece for line in side for piece in [*_PIECE.findall(line), "\n"]] for side in (was, now))
    differs: tuple[set[int], set[int]] = (set(), set())
    if was and now and max(len(before), len(after)) <= _MOST_PIECES:
        matcher = SequenceMatcher(None, before, after, autojunk=False)
        if matcher.ratio() >= _ALIKE:
            for tag, start, end, new_start, new_end in matcher.get_opcodes():
                if tag != "equal":
                    differs[0].update(range(start, end))
                    differs[1].update(range(new_start, new_end))
    return _lines(before, differs[0]), _lines(after, differs[1])


def _lines(pieces: Sequence[str], differs: set[int]) -> list[Line]:
    """Return the pieces of each line, neighbours of one kind as one."""
    lines: list[Line] = []
    line: Line = []
    for number, piece in enumerate(pieces):
        if piece == "\n":
            lines.append(line)
            line = []
        elif line and line[-1][1] == (number in differs):
            line[-1] = (line[-1][0] + piece, line[-1][1])
        else:
            line.append((piece, number in differs))
    return lines


class LayoutPage(Struct, frozen=True):
    """What the file about a page and its picture says.

    Attributes:
        how: by what the page was cut.
        figures: large ones, name to figure.
        fields: (name, value or empty, where it was found) of title, date and author.
        content, left_out: of the template.
        generated_at: aware; shown in UTC.
    """

    picture: ReportPicture
    how: str
    generated_at: datetime
    figures: Mapping[str, str] = field(default_factory=dict)
    fields: Sequence[tuple[str, str, str]] = ()
    content: Sequence[ReportLocator] = ()
    left_out: Sequence[ReportLocator] = ()


def render_report(report: Report) -> str:
    """Return the whole document; the same report gives the same bytes."""
    return draw("report.html", report=report)


def render_explanation(page: ExplainedPage) -> str:
    """Return the whole document; the same page gives the same bytes."""
    return draw("explained.html", page=page)


def layout_svg(picture: ReportPicture) -> str:
    """Return a whole SVG file; it asks for nothing."""
    return draw("layout.svg", picture=picture)


def draw(template: str, **values: Any) -> str:
    """Return what a template of `templates/` says of values; StrictUndefined: a value that is not there is an error."""
    return _environment().get_template(template).render(values)


@cache
def css() -> str:
    """Return the style of all files: light and dark, phone to wide screen; the dashboard has it, too."""
    return files("scrapy_dedup.report").joinpath("report.css").read_text(encoding="utf-8")


def foreign(text: str, limit: int = 300) -> Markup:
    """Return foreign text as an element of its own, whose direction cannot leak into its surroundings."""
    return Markup(f"<bdi>{escape(visible(str(text), limit))}</bdi>")  # noqa: S704 (escaped)


def page_link(url: str, limit: int = 200) -> Markup:
    """Return a link to a page that does not tell the page where the reader came from.

    Only http and https URLs become links; whatever else a page calls its URL
    (javascript:, data:, a broken, disguised or endless one) is shown as text.
    """
    if not is_web(str(url)):
        return foreign(url, limit)
    link = f'<a href="{escape(str(url))}" rel="noopener noreferrer">{foreign(url, limit)}</a>'
    return Markup(link)  # noqa: S704 (escaped)


def typed(text: str) -> Markup:
    """Return the value of a field, which comes back as it was: also what nobody sees of it."""
    return escape(str(text))


def one_line(text: str, limit: int = 300) -> str:
    """Return foreign text for an attribute or a title, where no element can stand."""
    return visible(" ".join(str(text)[: 4 * limit].split()), limit)


def utc(at: datetime) -> datetime:
    """Return an instant in UTC."""
    return at.astimezone(UTC)


def neighbours(blocks: Iterable[Any], *names: str) -> Iterator[list[Any]]:
    """Yield blocks in their order, those next to each other together whose attributes of these names are equal."""
    for _, members in groupby(blocks, key=attrgetter(*names)):
        yield list(members)


def fitting(blocks: Sequence[Any], most: int, longest: int, chars: int) -> Sequence[Any]:
    """Return the first blocks, at most so many, which have at most so many characters, `longest` of each."""
    left = chars
    for number, one in enumerate(blocks[:most]):
        left -= min(len(one.text), longest)
        if left < 0:
            return blocks[:number]
    return blocks[:most]


def list_query(choice: Any, **changed: str | bool) -> dict[str, str]:
    """Return the query of a list of domains, without what it needs not say; another order or filter begins at the top.

    *choice* has pattern, status, sort and descending.
    """
    said = {"q": choice.pattern, "status": choice.status, "sort": choice.sort, "descending": choice.descending}
    asked = said | changed
    shown = {name: str(asked[name]) for name in ("q", "status", "after") if asked.get(name)}
    if asked["sort"] != "name" or asked["descending"]:
        shown |= {"sort": str(asked["sort"]), "order": "down" if asked["descending"] else "up"}
    return shown


def _shown(value: Any) -> Any:
    """Return what stands in the place of `{{ value }}`, before it is escaped."""
    return told(value) if isinstance(value, str) and not isinstance(value, Markup) else value


_FILTERS: Final = (
    foreign,
    page_link,
    typed,
    one_line,
    utc,
    numbers.whole,
    numbers.short,
    numbers.count,
    numbers.lasting,
    numbers.number,
    layout_picture.xml,
)
_FUNCTIONS: Final = (
    fitting,
    list_query,
    neighbours,
    fitting_hunks,
    hunks,
    marked,
    charts.bars,
    charts.heights,
    charts.width,
    layout_picture.boxes_told,
    layout_picture.drawing_of,
    layout_picture.size_of,
    numbers.amounts_of,
    numbers.figures_of,
    numbers.tokens_line,
    numbers.percent,
    is_blacklisted,
    present_status,
    boxes_from,
)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("scrapy_dedup.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {one.__name__: one for one in _FILTERS}
    environment.globals |= {one.__name__: one for one in _FUNCTIONS}
    digest = base64.b64encode(hashlib.sha256(css().encode()).digest()).decode()
    environment.globals |= {
        "NONE": numbers.NONE,
        "STATUSES": STATUSES,
        "CHANGES": CHANGES,
        "LEDGER_COLUMNS": numbers.COLUMNS,
        "css": Markup(css()),  # noqa: S704 (a file of this package)
        "css_digest": digest,
    }
    return environment

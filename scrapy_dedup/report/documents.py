"""The files that are written: the report, one page explained, one page with its picture. No script, no request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from scrapy_dedup.report.drawing import draw
from scrapy_dedup.report.values import ExplainedPage, Report, ReportLocator, ReportPicture


@dataclass(frozen=True, slots=True)
class LayoutPage:
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


def render_layout_page(page: LayoutPage) -> str:
    """Return the whole file; the same page gives the same bytes."""
    return draw("layout_page.html", page=page)


def layout_svg(picture: ReportPicture) -> str:
    """Return a whole SVG file; it asks for nothing."""
    return draw("layout.svg", picture=picture)


def layout_drawing(picture: ReportPicture) -> str:
    """Return a page that holds a picture and nothing else, to be drawn by a browser."""
    return draw("layout_drawing.html", picture=picture)

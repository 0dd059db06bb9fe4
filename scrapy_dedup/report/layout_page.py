"""One page and its picture as an HTML file: what is content, what is left out and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from scrapy_dedup.report.document import document, numbers, section
from scrapy_dedup.report.layout_picture import boxes_list, layout_svg
from scrapy_dedup.report.layouts import rules_panes
from scrapy_dedup.report.markup import Html, isolated, joined, page_link
from scrapy_dedup.report.values import LayoutPicture, Rule

_NOT_FOUND = "not found"


@dataclass(frozen=True, slots=True)
class LayoutPage:
    """What the file says.

    Attributes:
        how: by what the page was cut.
        figures: large ones, name to figure.
        fields: (name, value or empty, where it was found) of title, date and author.
        content, left_out: of the template.
        generated_at: aware; shown in UTC.
    """

    picture: LayoutPicture
    how: str
    generated_at: datetime
    figures: Mapping[str, str] = field(default_factory=dict)
    fields: Sequence[tuple[str, str, str]] = ()
    content: Sequence[Rule] = ()
    left_out: Sequence[Rule] = ()


def render_layout_page(page: LayoutPage) -> str:
    """Return the whole file; the same page gives the same bytes."""
    sections = [_picture(page), _fields(page), _template(page)]
    return document(f"{page.picture.url[:100]}: layout", _opening(page), sections, page.generated_at)


def drawing(picture: LayoutPicture) -> str:
    """Return a page that holds a picture and nothing else, to be drawn by a browser."""
    return (
        f"<!doctype html><meta charset=utf-8><style>body{{margin:0}}svg{{display:block}}</style>{layout_svg(picture)}"
    )


def _opening(page: LayoutPage) -> Html:
    return Html(
        '<header class="page-head">\n<p class="eyebrow"><strong>Layout of a page</strong> · as a browser shows it</p>\n'
        f'<h1 class="of-page">{page_link(page.picture.url, limit=160)}</h1>\n'
        f'<p class="summary">Cut by the {isolated(page.how)}.</p>\n{numbers(page.figures.items())}\n</header>'
    )


def _picture(page: LayoutPage) -> Html:
    shown = Html(f'<div class="shown picture"><div class="frame">{layout_svg(page.picture)}</div></div>')
    lead = "What is content is framed in green; what is left out is hatched, with the reason."
    told = Html(f"<details><summary>The same in words</summary>\n{boxes_list(page.picture.boxes)}</details>")
    return section("The page", lead, joined([shown, told]))


def _fields(page: LayoutPage) -> Html:
    rows = joined(
        Html(
            f"<div><dt>{isolated(name.capitalize(), 40)}</dt><dd>{isolated(value or _NOT_FOUND, 500)}"
            f'<span class="note">{isolated(where, 300)}</span></dd></div>'
        )
        for name, value, where in page.fields
    )
    return section("Title, date, author", "What the page declares comes first.", Html(f'<dl class="facts">{rows}</dl>'))


def _template(page: LayoutPage) -> Html:
    if not page.content and not page.left_out:
        return Html("")
    return section(
        "The template", "By which all pages of this layout are cut.", rules_panes(page.content, page.left_out)
    )

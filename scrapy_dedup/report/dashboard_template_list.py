"""The templates of a project, or of one domain, on the dashboard."""

from html import escape
from typing import Final

from scrapy_dedup.report.dashboard_frame import NOTHING, empty, page_head, scrolling
from scrapy_dedup.report.dashboard_parts import (
    number_cells,
    state_badge,
    table_heads,
    template_path,
    when,
)
from scrapy_dedup.report.dashboard_template_values import TemplateList, TemplateRow
from scrapy_dedup.report.markup import Html, isolated, joined
from scrapy_dedup.report.numbers import count, whole

MOST_ROWS: Final = 200


def list_content(view: TemplateList) -> Html:
    """Return what stands in the frame of the list of templates."""
    lead = Html("How the pages of each layout are cut: learned from many pages, open to what people decide.")
    field = Html(
        '<label class="field grow"><span>Domain</span><input type="search" name="domain" maxlength="300" '
        f'value="{escape(view.domain)}" spellcheck="false"></label><button class="button">Show</button>'
    )
    choose = Html(f'<form class="fields" method="get" action="{escape(view.base)}templates">{field}</form>')
    if not view.rows:
        of = Html(f" of {isolated(view.domain, 120)}") if view.domain else NOTHING
        told = Html(f"Nothing is learned{of} yet: run a crawl, or <code>scrapy dedup analyze</code>.")
        return joined([page_head(Html("Templates"), lead), choose, empty("No templates", told)])
    heads = table_heads(
        "Layout", "State", "Version", "Confidence", "Learned from", "Decisions", "Since", numbers_from=2
    )
    rows = joined(_row(view.base, each) for each in view.rows[:MOST_ROWS])
    table = Html(
        '<table class="listing wide">\n<caption class="unseen">Templates, by domain and layout</caption>\n'
        f"{heads}\n<tbody>\n{rows}\n</tbody>\n</table>"
    )
    told = Html('<p class="more">… and more: name a domain to see its own.</p>')
    more = told if view.has_more or len(view.rows) > MOST_ROWS else NOTHING
    return joined([page_head(Html("Templates"), lead), choose, scrolling("Templates", table), more])


def _row(base: str, each: TemplateRow) -> Html:
    kind = isolated(each.kind.capitalize() or "Page", 40)
    note = f'<span class="note"><code>{isolated(each.url_pattern, 120)}</code></span>' if each.url_pattern else ""
    path = template_path(base, each.domain, each.layout)
    cells = number_cells(
        ("Version", f"{whole(each.version)} of {whole(each.versions)}"),
        ("Confidence", f"{each.confidence:.2f}"),
        ("Learned from", count(each.pages, "page")),
        ("Decisions", whole(each.overrides)),
        ("Since", when(each.state_at)),
    )
    return Html(
        f'<tr><th scope="row"><a href="{escape(path)}">{isolated(each.domain, 120)} · {kind} '
        f"<code>{isolated(each.layout, 40)}</code></a>{note}</th>"
        f'<td class="status">{state_badge(each.state)}</td>{cells}</tr>'
    )

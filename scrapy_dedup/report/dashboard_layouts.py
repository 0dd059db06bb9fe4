"""The layouts of one domain as cards: which pages they have, how these are cut, and how one of them looks."""

from html import escape

from scrapy_dedup.report.charts import share_bar, trend
from scrapy_dedup.report.dashboard_domain_values import DomainView, LayoutCard
from scrapy_dedup.report.dashboard_frame import NOTHING, empty, panel
from scrapy_dedup.report.dashboard_parts import and_more, picture_path, state_badge, template_path
from scrapy_dedup.report.layout_picture import GUTTER, LEGEND_HEIGHT, boxes_list
from scrapy_dedup.report.markup import Html, attribute, isolated, joined, page_link
from scrapy_dedup.report.numbers import count, percent, whole


def layout_cards(view: DomainView) -> Html:
    """Return the layouts of a domain, those with most pages first."""
    if not view.layouts:
        told = Html("A domain is learned from DEDUP_MIN_PAGES pages on; until then the fallback cuts its pages.")
        return panel("Layouts", empty("No layout is known", told), name="layouts")
    pages = sum(each.pages for each in view.layouts)
    cards = joined(_card(view, each, pages) for each in view.layouts)
    more = and_more(view.all_layouts - len(view.layouts), "more")
    lead = Html("The designs from which the site builds its pages. The columns are pages a run, oldest first.")
    return panel(
        "Layouts", joined([Html(f'<div class="layout-cards">\n{cards}\n</div>'), more]), lead=lead, name="layouts"
    )


def _card(view: DomainView, each: LayoutCard, pages: int) -> Html:
    label = Html(f"{escape(percent(each.pages, pages))} of the pages")
    kind = isolated(each.kind.capitalize() or "Page", 40)
    name = Html(f"{kind} <code>{isolated(each.layout, 40)}</code>")
    if each.state:
        name = Html(f'<a href="{escape(template_path(view.base, view.domain, each.layout))}">{name}</a>')
    facts = [_template(each), _urls(each), _picture(view, each)]
    return Html(
        f'<article class="card layout-card">\n<h3>{name} {state_badge(each.state)}</h3>\n'
        f'<p class="figures">{trend(each.pages_by_run)}<span>{count(each.pages, "page")} · '
        f"<strong>{escape(percent(each.pages, pages))}</strong></span></p>\n"
        f"{share_bar(each.pages, pages, label)}\n{joined(fact for fact in facts if fact)}\n</article>"
    )


def _template(each: LayoutCard) -> Html:
    if not each.state:
        return NOTHING
    reason = f": {isolated(each.reason)}" if each.reason else ""
    told = f"Template version {whole(each.version)}, confidence {each.confidence:.2f}{reason}"
    return Html(f'<p class="meta">{told}</p>')


def _urls(each: LayoutCard) -> Html:
    pattern = f"URLs like <code>{isolated(each.url_pattern, 200)}</code>" if each.url_pattern else ""
    example = page_link(each.example_url, limit=100) if each.example_url else NOTHING
    parts = [part for part in (pattern, example) if part]
    return Html(f'<p class="meta">{", such as ".join(parts)}</p>') if parts else NOTHING


def _picture(view: DomainView, each: LayoutCard) -> Html:
    if each.picture is None:
        return NOTHING
    path = picture_path(view.base, view.domain, each.layout)
    label = attribute(f"A page of layout {each.layout}, with what is content and what is left out", 200)
    return Html(
        f'<details class="picture"><summary>How a page of it looks</summary>\n'
        f'<div class="frame" tabindex="0" role="region" aria-label="Picture of layout {attribute(each.layout, 40)}">'
        f'<img src="{escape(path)}" alt="{label}" loading="lazy" width="{each.picture.width + GUTTER}" '
        f'height="{each.picture.height + LEGEND_HEIGHT}"></div>\n{boxes_list(each.picture.boxes)}</details>'
    )

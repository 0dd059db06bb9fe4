"""Templates on the dashboard, as HTML."""

from dataclasses import replace

from scrapy_dedup.core.path_verdicts import VerdictChange
from scrapy_dedup.report.dashboard_templates import MOST_ROWS, confirm_content, list_content, template_content
from scrapy_dedup.report.dashboard_values import (
    Decided,
    TemplateDiffView,
    TemplateList,
    TemplateRow,
    TemplateTrial,
    TemplateView,
    TrialEffect,
    VersionRow,
)
from scrapy_dedup.report.markup import Html
from scrapy_dedup.report.values import Rule
from tests.report.builders import NOON
from tests.report.hostile import ALL, HOSTILE, without_values

BASE = "/p/1/"


def a_version(version: int = 2, state: str = "live", **other: object) -> VersionRow:
    return replace(VersionRow(version, state, "static", "", 0.9, 20, 0, NOON, NOON), **other)  # type: ignore[arg-type]


def a_view(**other: object) -> TemplateView:
    view = TemplateView(
        BASE,
        "shop.example",
        "05b8c1d2e3f40718",
        "article",
        "/notes/[^/]+",
        2,
        a_version(),
        (a_version(), a_version(1, "retired")),
        (Rule("main", "0.9 of a page's own text"),),
        (Rule("nav", "navigation by its name"),),
        (("title", "h1"),),
        (Decided("drop", "aside", "2026-03-01T12:00:00", "Ann"),),
    )
    return replace(view, **other)  # type: ignore[arg-type]


def test_hostile_template_is_escaped_and_bounded() -> None:
    long = "s" * 10_000_000
    diff = TemplateDiffView(
        1, 2, ((ALL, long),) * 500, ((ALL, ALL),) * 500, (VerdictChange(ALL, ALL, ALL, long),) * 500
    )
    view = a_view(
        domain=ALL,
        layout=ALL,
        kind=ALL,
        url_pattern=long,
        shown=a_version(state=ALL, reason=ALL),
        versions=(a_version(state=ALL, source=ALL, reason=long),) * 20,
        content=(Rule(long, long),) * 1_000,
        left_out=(Rule(ALL, ALL),) * 1_000,
        fields=((ALL, ALL),),
        decided=(Decided(ALL, ALL, ALL, ALL),),
        diff=diff,
        error=ALL,
        typed=("keep", f'">{HOSTILE}'),
    )

    html = template_content(view, "token")

    assert HOSTILE not in html
    assert "<script" not in html
    assert "\u202e" not in without_values(html)
    assert len(html) < 2_500_000


def test_versions_but_the_live_one_can_be_gone_back_to() -> None:
    html = template_content(a_view(), "token")

    assert "rollback?version=1" in html
    assert "rollback?version=2" not in html


def test_trial_says_how_many_pages_would_change() -> None:
    trial = TemplateTrial(20, (TrialEffect("http://shop.example/", ("gone",), ("back",)),))

    html = confirm_content(a_view(), trial, Html("Go back?"), Html(""))

    assert "Of 20 stored pages of this layout <em>1</em> would change." in html
    assert '<span class="unseen">would go: </span><bdi>gone</bdi>' in html
    assert '<span class="unseen">would come back: </span><bdi>back</bdi>' in html


def test_list_is_bounded_and_says_what_is_left() -> None:
    row = TemplateRow(ALL, ALL, ALL, "live", 1, 1, 0.9, 20, ALL, 0, NOON)

    html = list_content(TemplateList(BASE, (row,) * 500, has_more=True, domain=ALL[:300]))

    assert HOSTILE not in html
    assert html.count("<tr>") == MOST_ROWS + 1
    assert "and more: name a domain" in html
    assert "No templates" in list_content(TemplateList(BASE, (), domain="x.example"))

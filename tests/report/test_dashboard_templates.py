"""Templates on the dashboard, as HTML."""

from dataclasses import replace

from scrapy_dedup.report.dashboard_values import (
    Decided,
    TemplateList,
    TemplateRow,
    TemplateTrial,
    TemplateView,
    TrialEffect,
    VersionRow,
)
from scrapy_dedup.report.values import Rule
from tests.report.builders import NOON
from tests.report.dashboard import drawn
from tests.report.hostile import ALL


def a_version(version: int = 2, state: str = "live", **other: object) -> VersionRow:
    return replace(VersionRow(version, state, "static", "", 0.9, 20, 0, NOON, NOON), **other)  # type: ignore[arg-type]


def a_view(**other: object) -> TemplateView:
    view = TemplateView(
        "shop.example",
        "05b8c1d2e3f40718",
        "article",
        "/notes/[^/]+",
        2,
        a_version(),
        (a_version(), a_version(1, "retired")),
        (Rule("main", "0.9 of a page's own text"),),
        (Rule("nav", "navigation by its name"),),
        (Rule("h1", "title"),),
        (Decided("drop", "aside", "2026-03-01T12:00:00", "Ann"),),
    )
    return replace(view, **other)  # type: ignore[arg-type]


def test_versions_but_the_live_one_can_be_gone_back_to() -> None:
    html = drawn("template.html", view=a_view())

    assert "rollback?version=1" in html
    assert "rollback?version=2" not in html


def test_trial_says_how_many_pages_would_change() -> None:
    trial = TemplateTrial(20, (TrialEffect("http://shop.example/", ("gone",), ("back",)),))

    html = drawn("confirm.html", view=a_view(), trial=trial, version="1")

    assert "Of 20 stored pages of this layout <em>1</em> would change." in html
    assert '<span class="unseen">would go: </span><bdi>gone</bdi>' in html
    assert '<span class="unseen">would come back: </span><bdi>back</bdi>' in html


def test_list_is_bounded_and_says_what_is_left() -> None:
    row = TemplateRow(ALL, ALL, ALL, "live", 1, 1, 0.9, 20, ALL, 0, NOON)

    html = drawn("templates.html", view=TemplateList((row,) * 500, has_more=True, domain=ALL[:300]))

    assert html.count("<tr>") == 201
    assert "and more: name a domain" in html
    assert "No templates" in drawn("templates.html", view=TemplateList((), domain="x.example"))

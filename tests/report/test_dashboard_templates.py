"""Templates on the dashboard, as HTML."""

from dataclasses import replace
from typing import Any

from scrapy_dedup.service.stored.template_upkeep import SelectorLine, ShownTemplate, TemplateTrial, TrialEffect
from scrapy_dedup.store.records.stored import StoredTemplate
from scrapy_dedup.web.dashboard.templates import TemplateList, TemplateView
from tests.report.builders import NOON
from tests.report.dashboard import drawn
from tests.report.hostile import ALL
from tests.report.test_dashboard_domain import FIGURES, LAYOUT


def a_version(version: int = 2, **other: Any) -> StoredTemplate:
    decided = {"action": "drop", "selector": "aside", "at": "2026-03-01T12:00:00", "by": "Ann"}
    values: dict[str, Any] = {"domain": "shop.example", "layout": 7, "structure": 7, "body": {}, "created_at": NOON}
    values |= {"state": "live", "kind": "article", "confidence": 0.9, "pages": 20, "overrides": (decided,)}
    return StoredTemplate(**(values | {"version": version, "state_at": NOON, "fingerprint": LAYOUT} | other))


def a_view(stored: StoredTemplate | None = None, **other: Any) -> TemplateView:
    shown = ShownTemplate(
        stored or a_version(), (), (SelectorLine("main", "0.9"),), (SelectorLine("nav", "nav"),), {"title": ("h1",)}
    )
    return replace(TemplateView(LAYOUT, shown, (a_version(), a_version(1, state="retired"))), **other)


def test_versions_but_the_live_one_can_be_gone_back_to_and_two_are_compared() -> None:
    html = drawn("template.html", view=a_view())

    assert "rollback?version=1" in html
    assert "rollback?version=2" not in html
    assert html.count("selected>version 1, retired") == html.count("selected>version 2, live") == 1


def test_decisions_of_people_are_told_and_what_is_none_is_passed_over() -> None:
    html = drawn("template.html", view=a_view(a_version(overrides=("none", *a_version().overrides, {}))))

    assert "2026-03-01 12:00 by Ann" in html
    assert html.count("> the decision about ") == 2


def test_trial_says_how_many_pages_would_change() -> None:
    trial = TemplateTrial(20, (TrialEffect("http://shop.example/", ("gone",), ("back",)),))

    html = drawn("confirm.html", view=a_view(), trial=trial, version="1")

    assert "Of 20 stored pages of this layout <em>1</em> would change." in html
    assert '<span class="unseen">would go: </span><bdi>gone</bdi>' in html
    assert '<span class="unseen">would come back: </span><bdi>back</bdi>' in html


def test_list_is_bounded_and_says_what_is_left() -> None:
    row = (ALL, replace(FIGURES, domain=ALL, kind=ALL, url_pattern=ALL), 3)

    html = drawn("templates.html", view=TemplateList((row,) * 500, has_more=True, domain=ALL[:300]))

    assert html.count("<tr>") == 201
    assert "and more: name a domain" in html
    assert "No templates" in drawn("templates.html", view=TemplateList((), domain="x.example"))

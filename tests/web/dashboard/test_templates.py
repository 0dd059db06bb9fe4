"""Templates on the dashboard: figures, versions, going back to one, and what people decide."""

import pytest
from playwright.sync_api import Locator, expect

from scrapy_dedup.service.cut.reading import read_again
from scrapy_dedup.service.cut.site_patterns import patterns_of
from scrapy_dedup.service.patterns import Cutter
from scrapy_dedup.service.views.explain import explain
from tests.web.dashboard.filled import HARBOUR
from tests.web.dashboard.looking import a_changed_page, layout_of
from tests.web.dashboard.serving import Dashboard, seen

pytestmark = pytest.mark.browser
HEADING = "main > h1"


def test_list_and_template_say_what_the_command_says(browser, dashboard):
    listed = dashboard.json("templates", "list")["templates"]
    layout = layout_of(dashboard)
    told = dashboard.json("templates", "show", HARBOUR, layout)["templates"][0]

    with seen(browser, dashboard, dashboard.path("templates")) as shown:
        rows = [row.inner_text() for row in shown.page.locator("tbody tr").all()]
        assert len(rows) == len(listed)
        for row, one in zip(rows, listed, strict=True):
            assert one["domain"] in row
            assert f"{one['version']} of {one['versions']}" in row
            assert f"{one['confidence']:.2f}" in row
            assert f"{one['pages']} page" in row
        shown.go(dashboard.path("templates", HARBOUR, layout))
        kept, left_out = shown.page.locator("#rules .pane").all()
        assert [each for one in told["content"] for each in one.values()] == _lines(kept.locator(".scroll").first)
        assert [each for one in told["exclude"] for each in one.values()] == _lines(left_out.locator(".scroll"))
        assert shown.page.locator("#versions tbody tr").count() == len(told["versions"])


def test_decision_is_tried_made_and_rolled_back_and_the_next_cut_follows(browser, own_dashboard):
    layout = layout_of(own_dashboard)
    title = _title(own_dashboard)
    assert title in _cut(own_dashboard)

    with seen(browser, own_dashboard, own_dashboard.path("templates", HARBOUR, layout), with_script=False) as shown:
        shown.page.get_by_label("Decision").select_option("drop")
        shown.page.get_by_label("CSS selector").fill(HEADING)
        shown.page.get_by_role("button", name="See what it changes").click()
        foreseen = own_dashboard.json("templates", "override", HARBOUR, layout, "--drop", HEADING, "--dry-run")
        number = len(foreseen["trial"]["effects"])
        assert number > 0
        assert (
            f"Of {foreseen['trial']['pages']} stored pages of this layout {number} would"
            in shown.page.locator("h1 + p").inner_text()
        )
        assert title in _cut(own_dashboard)
        shown.page.get_by_role("button", name="Decide so").click()
        assert "has the decision" in shown.page.locator(".told").inner_text()
        assert title not in _cut(own_dashboard)

        shown.page.locator("#versions a[href$='rollback?version=2']").click()
        assert title not in _cut(own_dashboard)
        shown.page.get_by_role("button", name="Go back to version 2").click()

        assert "Version 2 is live again" in shown.page.locator(".told").inner_text()
        assert title in _cut(own_dashboard)


def test_wrong_selector_is_named_at_its_field(browser, dashboard):
    path = dashboard.path("templates", HARBOUR, layout_of(dashboard))

    with seen(browser, dashboard, path) as shown:
        shown.page.get_by_label("CSS selector").fill("p[<script>window.__ran=1</script>")
        shown.page.get_by_role("button", name="See what it changes").click()

        field = shown.page.get_by_label("CSS selector")
        expect(field).to_have_attribute("aria-invalid", "true")
        assert field.input_value() == "p[<script>window.__ran=1</script>"
        assert shown.page.locator("#selector-wrong").inner_text()
        assert not shown.has_run


def test_what_there_is_not_is_said(dashboard):
    templates = dashboard.path("templates")

    assert dashboard.refused(f"{templates}/nowhere.example/rest", 404)
    assert dashboard.refused(f"{templates}/{HARBOUR}/zzzz", 404)
    assert dashboard.refused(f"{templates}/{HARBOUR}/rest?version=99", 409)
    assert dashboard.refused(f"{templates}/{HARBOUR}/rest?version=x", 422)


def _lines(part: Locator) -> list[str]:
    return [
        line
        for row in part.locator("li").all()
        for line in (row.locator("code").inner_text(), *row.locator(".note").all_inner_texts())
    ]


def _title(dashboard: Dashboard) -> str:
    page = a_changed_page(dashboard)
    return (page.title or "").partition(" · ")[0]


def _cut(dashboard: Dashboard) -> str:
    """Return a page of the harbour as the next crawl would cut it."""
    page, settings = a_changed_page(dashboard), dashboard.server.settings
    found = explain(dashboard.project, page.url, settings)
    assert found.source
    reading = read_again(found.source, settings)
    assert reading
    return Cutter(dashboard.project, HARBOUR, settings).cut(reading, patterns_of(settings)).content

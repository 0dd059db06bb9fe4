import pytest
from playwright.sync_api import Locator, expect

from scrapy_dedup.service.domains.registry import DomainService
from scrapy_dedup.store.domains.layouts import StoredPicture
from scrapy_dedup.store.records.records import AlarmRecord, from_digits
from tests.report.pictures import a_png
from tests.service.stored_pages import NOON
from tests.web.dashboard.filled import HARBOUR
from tests.web.dashboard.looking import violations
from tests.web.dashboard.serving import Dashboard, seen

pytestmark = pytest.mark.browser


def test_figures_are_those_of_the_commands(browser, dashboard):
    layouts = dashboard.json("templates", "layouts", HARBOUR)["domains"][0]
    told = dashboard.json("domains", "show", HARBOUR)

    with seen(browser, dashboard, dashboard.path("domains", HARBOUR)) as shown:
        cards = shown.page.locator(".layout-card").all()
        assert len(cards) == len(layouts["layouts"])
        for card, one in zip(cards, layouts["layouts"], strict=True):
            text = card.inner_text()
            name = (one["layout"].strip("0") and one["layout"]) or "rest"
            assert name in text
            assert f"{one['visits']} visit" in text
            assert f"version {one['template']['version']}" in text
            assert one["template"]["state"] in text
        figures = _figures(shown.page.locator(".numbers"))
        domain = told.get("domain", told)
        assert figures["pages"] == f"{domain['pages']:,}"
        assert figures["characters came in"] == f"{domain['chars_in']:,}"
        assert figures["errors"] == str(domain["errors"])


def test_domain_is_blacklisted_with_its_reason_and_taken_off(browser, own_dashboard):
    with seen(browser, own_dashboard, own_dashboard.path("domains", HARBOUR), with_script=False) as shown:
        shown.page.locator("summary", has_text="Blacklist").click()
        shown.page.get_by_label("Why").fill("<b>Copies</b> \u202e others")
        shown.page.get_by_label("Until").fill("2099-01-31")
        shown.page.get_by_role("button", name="Blacklist this domain").click()
        told = shown.page.locator(".notice.wrong").inner_text()
        assert "By dashboard" in told
        assert "<b>Copies</b> ⟨U+202E⟩ others" in told
        assert "2099-" in told
        assert _status(own_dashboard) == "BLACKLISTED"
        shown.page.get_by_role("button", name="Take it off the blacklist").click()

        assert _status(own_dashboard) == "DISCOVERED"
        assert shown.page.locator(".notice.wrong").count() == 0
        shown.assert_clean()


def test_layout_has_its_picture_and_alarms_are_told(browser, own_dashboard):
    project = own_dashboard.project
    layout = from_digits(own_dashboard.json("templates", "layouts", HARBOUR)["domains"][0]["layouts"][0]["layout"])
    boxes = [{"number": 1, "x": 1, "y": 1, "width": 50, "height": 20, "kind": "content", "label": "<script>"}]
    project.put_picture(StoredPicture(HARBOUR, layout, "http://x.example/", NOON, 400, 300, boxes, a_png()))
    project.write([AlarmRecord(HARBOUR, layout, "content root lost", 9, 10, NOON, raised_at=NOON)])

    with seen(browser, own_dashboard, own_dashboard.path("domains", HARBOUR)) as shown:
        shown.page.get_by_text("How a page of it looks").click()
        picture = shown.page.locator(".picture img")
        expect(picture).to_be_visible()
        picture.scroll_into_view_if_needed()
        shown.page.wait_for_function("document.querySelector('.picture img').naturalWidth > 0")
        assert "content root lost" in shown.page.locator(".alarms").inner_text()
        assert violations(shown.page) == []
        shown.assert_clean()


def _figures(numbers: Locator) -> dict[str, str]:
    names, found = numbers.locator("dt").all_inner_texts(), numbers.locator("dd").all_inner_texts()
    return dict(zip(names, found, strict=True))


def _status(dashboard: Dashboard) -> str:
    found = DomainService(dashboard.project, dashboard.server.settings).find_by_domain_name(HARBOUR)
    assert found
    return str(found.status)

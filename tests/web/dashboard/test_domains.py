"""The registry in a browser: sorted, filtered, paged, and changed in bulk with a look before and a way back."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Page
from selectolax.lexbor import LexborHTMLParser

from scrapy_dedup.report.numbers import whole
from scrapy_dedup.service.domains.registry import DomainService
from tests.web.dashboard.reading import text_of
from tests.web.dashboard.serving import Dashboard, seen

pytestmark = pytest.mark.browser
THREE = ("buoy1.example", "quay2.example", "tide3.example")
STATUSES = {
    "discovered": "DISCOVERED",
    "high quality": "PROCESSED_HIGH_QUALITY",
    "low quality": "PROCESSED_LOW_QUALITY",
}


def names(page: Page) -> list[str]:
    return page.locator(".listing tbody th a").all_inner_texts()


def everything(dashboard: Dashboard, *options: str) -> list[dict[str, Any]]:
    return list(dashboard.json("domains", "list", "--limit", "1000", *options)["domains"])


def status_of(dashboard: Dashboard, name: str) -> str:
    service = DomainService(dashboard.project, dashboard.server.settings)
    found = service.find_by_domain_name(name)
    assert found
    return found.status


def test_headings_sort_as_the_command_does(dashboard):
    def listed(page: LexborHTMLParser) -> list[str]:
        return [link.text(strip=True) for link in page.css(".listing tbody th a")]

    def links(page: LexborHTMLParser) -> dict[str, str]:
        return {link.text(strip=True): link.attributes["href"] or "" for link in page.css("main a")}

    with dashboard.client() as client:

        def opened(path: str) -> LexborHTMLParser:
            return LexborHTMLParser(client.get(path).text)

        headings = links(opened(dashboard.path("domains")))
        for heading, by in (("Pages", "pages"), ("Last crawled", "crawled"), ("Status", "status")):
            options = ["--sort", by] if by == "status" else ["--sort", by, "--descending"]
            expected = [one["domain_name"] for one in everything(dashboard, *options)]
            first = opened(headings[heading])
            second = opened(links(first)["Next"])

            assert listed(first) == expected[:50], heading
            assert listed(second) == expected[50:], heading
            sorted_by = "ascending" if by == "status" else "descending"
            assert first.css(f"th[aria-sort={sorted_by}]")[0].text(strip=True).startswith(heading)
            assert listed(opened(links(second)["From the top"])) == expected[:50]


def test_filter_takes_parts_patterns_and_statuses(browser, dashboard):
    listed = everything(dashboard)

    with seen(browser, dashboard, dashboard.path("domains")) as shown:
        counts = dict(text.rsplit(" ", 1) for text in shown.page.locator(".tabs a").all_inner_texts())
        assert counts["all"] == whole(len(listed))
        assert text_of(shown, "h1") == f"{whole(len(listed))} domains"
        for label, status in STATUSES.items():
            assert counts[label] == whole(sum(one["status"] == status for one in listed))

        shown.page.get_by_label("Part of a name").fill("rope")
        shown.page.get_by_role("button", name="Filter").click()
        assert names(shown.page) == [one["domain_name"] for one in listed if "rope" in one["domain_name"]]

        shown.page.get_by_label("Part of a name").fill("*2.example")
        shown.page.get_by_role("button", name="Filter").click()
        assert names(shown.page) == [one["domain_name"] for one in listed if one["domain_name"].endswith("2.example")]

        shown.page.get_by_role("link", name="Clear").click()
        shown.page.get_by_role("link", name="high quality").click()
        assert names(shown.page) == [one["domain_name"] for one in listed if one["status"] == "PROCESSED_HIGH_QUALITY"]


def test_three_are_blacklisted_in_bulk_and_freed_again_without_script(browser, own_dashboard):
    """With script: the next test, and test_blacklist_in_crawls."""
    dashboard = own_dashboard
    with seen(browser, dashboard, dashboard.path("domains"), with_script=False) as shown:
        shown.page.check(f'input[value="{THREE[0]}"]')
        shown.page.get_by_role("button", name="Blacklist…", exact=True).click()
        assert text_of(shown, "h1") == "Blacklist 1 domain?"
        assert status_of(dashboard, THREE[0]) == "DISCOVERED"

        shown.go(dashboard.path("domains") + "?sort=name&order=up&q=*.example&status=DISCOVERED")
        shown.page.get_by_text("Paste a list of domains").click()
        shown.page.get_by_label("Names or URLs").fill("\n".join([*THREE, "no domain at all!", "spam.example"]))
        shown.page.get_by_label("What to do").select_option("blacklist")
        shown.page.get_by_role("button", name="Look at what would happen").click()
        assert text_of(shown, "h1") == "Blacklist 4 domains?"
        told = text_of(shown, "main")
        assert "no domain at all! is no domain" in told
        assert "spam.example is blacklisted already; reason and end are replaced" in told
        assert [status_of(dashboard, name) for name in THREE] == ["DISCOVERED"] * 3

        shown.page.get_by_label("Reason").fill("<b>Mirrors</b> other sites")
        shown.page.get_by_role("button", name="Blacklist 4 domains").click()
        assert "4 domains blacklisted." in text_of(shown, ".told")
        assert [status_of(dashboard, name) for name in THREE] == ["BLACKLISTED"] * 3
        shown.go(dashboard.path("domains") + "?status=BLACKLISTED")
        assert "<b>Mirrors</b> other sites" in text_of(shown, "main")
        shown.page.go_back()

        shown.page.get_by_role("button", name="Undo").click()
        assert "4 domains as before." in text_of(shown, ".told")
        assert [status_of(dashboard, name) for name in THREE] == ["DISCOVERED"] * 3
        service = DomainService(dashboard.project, dashboard.server.settings)
        spam = service.find_by_domain_name("spam.example")
        assert spam
        assert (spam.status, spam.blacklist_reason, spam.blacklisted_by) == ("BLACKLISTED", "Sells links", "editor")
        assert shown.failed == []
        assert not shown.complaints


def test_blacklist_ends_at_a_date_that_is_still_to_come_and_a_change_is_taken_back_once(browser, own_dashboard):
    dashboard = own_dashboard
    today = datetime.now(UTC).date()
    with seen(browser, dashboard, dashboard.path("domains") + "?q=rope1") as shown:
        shown.page.check('input[value="rope1.example"]')
        shown.page.get_by_role("button", name="Blacklist…", exact=True).click()
        shown.page.get_by_label("Until").fill(str(today))
        shown.page.get_by_role("button", name="Blacklist 1 domain").click()
        assert "that day has begun already" in text_of(shown, "[role=alert]")
        assert status_of(dashboard, "rope1.example") == "DISCOVERED"

        shown.page.get_by_label("Until").fill(str(today + timedelta(days=30)))
        shown.page.get_by_role("button", name="Blacklist 1 domain").click()

        assert "1 domain blacklisted." in text_of(shown, ".told")
        service = DomainService(dashboard.project, dashboard.server.settings)
        found = service.find_by_domain_name("rope1.example")
        assert found
        assert found.blacklist_expires_at
        assert found.blacklist_expires_at.date() == today + timedelta(days=30)

        shown.go(dashboard.path("domains") + "?status=BLACKLISTED")
        shown.page.check('input[value="rope1.example"]')
        shown.page.get_by_role("button", name="Take off the blacklist…").click()
        shown.page.get_by_role("button", name="Take 1 domain off the blacklist").click()
        address = shown.page.url
        assert status_of(dashboard, "rope1.example") == "DISCOVERED"
        shown.page.get_by_role("button", name="Undo").click()
        assert status_of(dashboard, "rope1.example") == "BLACKLISTED"
        shown.page.goto(address)
        shown.page.get_by_role("button", name="Undo").click()

        assert "cannot be taken back any more" in text_of(shown, "[role=alert]")
        assert status_of(dashboard, "rope1.example") == "BLACKLISTED"


def test_pasted_names_are_registered_and_patterns_stand_for_registered_ones(browser, own_dashboard):
    dashboard = own_dashboard
    with seen(browser, dashboard, dashboard.path("domains")) as shown:
        shown.page.get_by_text("Paste a list of domains").click()
        shown.page.get_by_label("Names or URLs").fill("https://New.example/page?q=1\nmünchen.example\nrope.example")
        shown.page.get_by_role("button", name="Look at what would happen").click()
        assert "rope.example is registered already" in text_of(shown, "main")
        shown.page.get_by_role("button", name="Register 2 domains").click()
        assert "2 domains registered." in text_of(shown, ".told")
        assert status_of(dashboard, "new.example") == "DISCOVERED"

        shown.page.get_by_text("Paste a list of domains").click()
        shown.page.get_by_label("Names or URLs").fill("rope?.example")
        shown.page.get_by_label("What to do").select_option("blacklist")
        shown.page.get_by_role("button", name="Look at what would happen").click()
        assert text_of(shown, "h1") == "Blacklist 3 domains?"


def test_nothing_chosen_and_a_lost_place_in_the_list_are_told(browser, dashboard):
    with seen(browser, dashboard, dashboard.path("domains"), with_script=False) as shown:
        shown.page.get_by_role("button", name="Blacklist…", exact=True).click()
        assert "No domain was chosen." in text_of(shown, "[role=alert]")
        shown.go(dashboard.path("domains") + "?after=nonsense")
        assert "That part of the list is gone." in text_of(shown, "[role=alert]")

"""What holds for every page of the dashboard's first part; the second part's pages have tests of their own."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser

from scrapy_dedup.report.numbers import whole
from tests.browser import Scheme
from tests.tables import table
from tests.web.dashboard.looking import violations
from tests.web.dashboard.reading import text_of, unfold
from tests.web.dashboard.serving import Dashboard, Seen, seen

pytestmark = pytest.mark.browser


def run_path(dashboard: Dashboard, hostile: bool = False) -> str:  # noqa: FBT001, FBT002 (a flag of a table below)
    project = dashboard.hostile if hostile else dashboard.project
    return dashboard.path("runs", str(project.last_runs(1)[0].id), project=project)


PAGES: dict[str, Callable[[Dashboard], str]] = {
    "overview": lambda dashboard: dashboard.path(),
    "domains": lambda dashboard: dashboard.path("domains"),
    "some domains": lambda dashboard: dashboard.path("domains") + "?q=rope&status=DISCOVERED&sort=pages&order=down",
    "no domain": lambda dashboard: dashboard.path("domains") + "?q=there-is-none",
    "runs": lambda dashboard: dashboard.path("runs"),
    "a run": run_path,
    "hostile overview": lambda dashboard: dashboard.path(project=dashboard.hostile),
    "hostile domains": lambda dashboard: dashboard.path("domains", project=dashboard.hostile),
    "hostile runs": lambda dashboard: dashboard.path("runs", project=dashboard.hostile),
    "a hostile run": lambda dashboard: run_path(dashboard, hostile=True),
    "empty overview": lambda dashboard: dashboard.path(project=dashboard.store.project("empty")),
    "empty domains": lambda dashboard: dashboard.path("domains", project=dashboard.store.project("empty")),
    "empty runs": lambda dashboard: dashboard.path("runs", project=dashboard.store.project("empty")),
}

AXE = ((1280, "light"), (390, "dark"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_page_opens_is_accessible_fits_and_asks_nobody_else(
    browser: Browser, dashboard: Dashboard, width: int, scheme: Scheme
) -> None:
    with seen(browser, dashboard, width=width, scheme=scheme) as shown:
        for name, path in PAGES.items():
            shown.go(path(dashboard))
            unfold(shown)

            shown.assert_clean()
            assert shown.page.locator("h1").count() == 1, name
            # Each theme and each width once: axe takes most of the time.
            if (width, scheme) in AXE:
                assert violations(shown.page) == [], name
    assert shown.asked


def test_page_without_script_has_the_same_text(browser: Browser, dashboard: Dashboard) -> None:
    def texts(shown: Seen) -> dict[str, str]:
        found = {}
        for name, path in PAGES.items():
            shown.go(path(dashboard))
            text = text_of(shown, "h1") + text_of(shown, "main .numbers, main table, main .empty, main p")
            # Of the minute in which it was asked for.
            found[name] = re.sub(r"as of \S+ \S+ UTC", "", text)
        return found

    with seen(browser, dashboard) as with_script, seen(browser, dashboard, with_script=False) as without:
        assert texts(without) == texts(with_script)
        assert without.failed == []


def test_whoever_uses_the_keyboard_gets_everywhere(browser: Browser, dashboard: Dashboard) -> None:
    with seen(browser, dashboard, dashboard.path("domains")) as shown:
        page = shown.page
        page.keyboard.press("Tab")
        assert text_of(shown, ":focus") == "Skip to the content"
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")

        reached = []
        for _ in range(40):
            reached.append(str(page.evaluate("document.activeElement.innerText || document.activeElement.name")))
            outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert outline != "none" or reached[-1] == ""
            page.keyboard.press("Tab")

        assert reached[0].startswith("all ")
        assert "q" in reached
        assert "Pages" in reached
        assert "domain" in reached


def test_other_projects_are_a_menu_that_needs_no_script(browser: Browser, dashboard: Dashboard) -> None:
    with seen(browser, dashboard, with_script=False) as shown:
        shown.page.locator(".project summary").click()
        shown.page.locator(".project a", has_text="hostile").click()

        assert "hostile </title><script>" in shown.page.title()
        assert not shown.failed


@table("dashboard/what_is_not_there_is_told_in_words")
def test_what_is_not_there_is_told_in_words(browser: Browser, dashboard: Dashboard, path: str) -> None:
    with seen(browser, dashboard) as shown:
        answer = shown.page.goto(dashboard.origin + path.format(dashboard.project.id))

        assert answer
        assert answer.status in (200, 404)  # a browser folds the parents away by itself
        assert "Traceback" not in answer.text()
        assert "root:" not in answer.text()


def test_figures_are_those_of_the_commands(browser: Browser, dashboard: Dashboard) -> None:
    told, listed = dashboard.json("stats"), dashboard.json("domains", "list")

    with seen(browser, dashboard, dashboard.path()) as shown:
        assert text_of(shown, "h1").startswith(f"{whole(told['total']['pages'])} pages")
        shown.go(dashboard.path("domains"))
        assert text_of(shown, "h1") == f"{whole(listed['total'])} domains"

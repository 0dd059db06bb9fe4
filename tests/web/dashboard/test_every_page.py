import re
from collections.abc import Callable, Iterator

import pytest

from tests.web.dashboard.filled import HARBOUR
from tests.web.dashboard.looking import a_changed_page, layout_of, page_path, violations
from tests.web.dashboard.reading import text_of, unfold
from tests.web.dashboard.serving import LOOKS, TABLET, Dashboard, Seen, seen

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

OTHERS: dict[str, Callable[[Dashboard], str]] = {
    "a domain": lambda dashboard: dashboard.path("domains", HARBOUR),
    "a page": lambda dashboard: page_path(dashboard, a_changed_page(dashboard)),
    "templates": lambda dashboard: dashboard.path("templates"),
    "a template": lambda dashboard: dashboard.path("templates", HARBOUR, layout_of(dashboard)),
    "two versions": lambda dashboard: (
        f"{dashboard.path('templates', HARBOUR, layout_of(dashboard))}?version=2&against=1"
    ),
    "going back": lambda dashboard: f"{dashboard.path('templates', HARBOUR, layout_of(dashboard))}/rollback?version=1",
}


# Of each template the page with most in it; test_domain, test_runs, test_config and test_page have the others.
CHECKED = ("overview", "some domains", "a run", "a page", "templates", "two versions", "going back")


@pytest.fixture(scope="module")
def watched(browser, dashboard) -> Iterator[Seen]:
    """A page that leads from one address to the next: one of its own for each takes half a second."""
    with seen(browser, dashboard) as shown:
        yield shown


@pytest.mark.parametrize("name", PAGES | OTHERS)
def test_page_opens_is_accessible_fits_and_asks_nobody_else(watched, dashboard, name):
    shown = watched
    for noted in (shown.asked, shown.failed, shown.complaints):
        noted.clear()
    shown.go((PAGES | OTHERS)[name](dashboard))

    assert shown.page.locator("h1").count() == 1
    unfold(shown)
    if shown.page.locator("iframe.stored").count():
        # It is fetched when it comes into view.
        shown.page.locator("iframe.stored").scroll_into_view_if_needed()
        shown.page.frame_locator("iframe.stored").locator("body").wait_for()

    for width, scheme in LOOKS:
        shown.look(width, scheme)
        shown.assert_clean()
    shown.look(TABLET, "light")
    assert shown.folded_names == []
    if name in CHECKED:
        # Most of the time is axe's: one look a page, in turn.
        shown.look(*LOOKS[CHECKED.index(name) % len(LOOKS)])
        assert violations(shown.page) == []
    assert shown.asked


def test_page_without_script_has_the_same_text_fits_and_asks_nobody_else(browser, dashboard):
    def text(shown: Seen, path: str) -> str:
        shown.go(path)
        found = text_of(shown, "h1") + text_of(shown, "main .numbers, main table, main .empty, main p")
        # Of the minute in which it was asked for.
        return re.sub(r"as of \S+ \S+ UTC", "", found)

    with seen(browser, dashboard) as with_script, seen(browser, dashboard, with_script=False) as without:
        for name in ("overview", "some domains", "a run", "a domain", "a page"):
            path = (PAGES | OTHERS)[name](dashboard)
            assert text(without, path) == text(with_script, path), name
            for width, scheme in LOOKS:
                without.look(width, scheme)
                without.assert_clean()


def test_whoever_uses_the_keyboard_gets_everywhere(browser, dashboard):
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


def test_other_projects_are_a_menu_that_needs_no_script(browser, dashboard):
    with seen(browser, dashboard, with_script=False) as shown:
        shown.page.locator(".project summary").click()
        shown.page.locator(".project a", has_text="hostile").click()

        assert "hostile </title><script>" in shown.page.title()
        assert not shown.failed


def test_what_is_not_there_is_told_in_words(browser, dashboard):
    project = dashboard.path()

    for path in ("runs/there-is-none", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "runs/%00%e2%80%ae"):
        told = dashboard.refused(project + path, 404)
        assert "Traceback" not in told
        assert "root:" not in told
    assert dashboard.refused("/p/there-is-none/", 404)
    with seen(browser, dashboard) as shown:
        # A browser folds the parents away by itself.
        shown.go(f"{project}runs/../../..")
        assert shown.page.url == dashboard.origin + project
        answer = shown.page.request.get(f"{dashboard.origin}/static/%2e%2e/app.py")
        assert answer.status == 404

"""Pages that a browser fetched: compared by their text; validators are for servers, and not sent."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser import ARGUMENTS, chromium_path, required_chromium
from tests.end_to_end.crawling import ADDON, Project
from tests.end_to_end.recrawl_site import HOME, ChangingSite, rows, statuses, verdicts
from tests.server import Answer, WebServer, redirect, serving
from tests.sites import prose

pytestmark = pytest.mark.browser

HANDLER = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"
SETTINGS: dict[str, Any] = {
    **ADDON,
    "DOWNLOAD_HANDLERS": {"http": HANDLER, "https": HANDLER},
    "PLAYWRIGHT_LAUNCH_OPTIONS": {"executable_path": chromium_path(), "args": list(ARGUMENTS)},
    "DOWNLOAD_TIMEOUT": 30,
}
SHELL = (
    "<!doctype html><title>{0}</title><main></main><script>document.querySelector('main').innerHTML = {1!r}</script>"
)


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    required_chromium()
    with serving(1, lambda _: {}) as running:
        yield running


def written_by_script(site: ChangingSite, name: str, version: int) -> dict[str, Answer]:
    """Return a page whose HTML is empty before its script has run; its ETag is that of the empty page."""
    body = SHELL.format(name, f"<p>{prose((name, version))}</p>")
    return {f"/{name}": Answer(body, headers={"ETag": '"the shell"'})}


def test_pages_of_a_browser_are_asked_for_without_validators(server, tmp_path):
    """The server would say 304 to each of them, also to the one whose text is another."""
    site, project = ChangingSite(server, 2), Project(tmp_path / "project", SETTINGS)
    found = []
    for version in (1, 2):
        site.publish(menu=["app"], others=written_by_script(site, "app", version) | {"/p1": redirect("/p0")})
        found.append(site.crawl(project, "browses"))
        asked = site.asked[site.url("app")]
    first, second = found

    # Twice what links or scripts lead back to, as without the plugin.
    assert set(site.names_of(first.stored)) == {HOME, "app", "p0"}
    assert prose(("app", 1)) in first.items[site.url("app")]["cleaned_content"]
    assert "304" not in statuses(first) | statuses(second)
    assert asked == 1
    assert set(second.yielded) == set(first.yielded)
    assert verdicts(second)["changed"] == 1
    assert "new" not in verdicts(second)
    assert rows(project, "SELECT count(*) FROM documents WHERE url LIKE '%p1'") == [(0,)]

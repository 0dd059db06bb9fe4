"""What is blacklisted in the browser is not asked by the next crawl, by whatever way it is found."""

import pytest

from tests.end_to_end.crawling import ADDON, Project
from tests.server import Answer, Site, redirect, serving
from tests.sites import prose
from tests.web.dashboard.filled import PROJECT
from tests.web.dashboard.reading import text_of
from tests.web.dashboard.serving import seen

pytestmark = [pytest.mark.browser, pytest.mark.crawl]


def page(name: str, *links: str) -> Answer:
    anchors = "".join(f'<a href="{link}">to {link}</a>' for link in links)
    return Answer(f"<!doctype html><title>{name}</title><main><p>{prose(name, sentences=9)}</p>{anchors}</main>")


def a_site(origins: list[str]) -> Site:
    """The first origin leads to the others: by links, by redirects, by its sitemap."""
    good, *bad = origins
    locations = "".join(f"<url><loc>{one}/listed</loc></url>" for one in (*bad, good))
    xml = f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{locations}</urlset>"
    site: Site = {
        f"{good}/": page("home", "/next", *(f"{one}/linked" for one in bad), *(f"/away{n}" for n in range(len(bad)))),
        f"{good}/next": page("next"),
        f"{good}/listed": page("listed"),
        f"{good}/robots.txt": Answer(f"Sitemap: {good}/sitemap.xml\n", content_type="text/plain"),
        f"{good}/sitemap.xml": Answer(xml, content_type="application/xml"),
    }
    for number, one in enumerate(bad):
        site[f"{good}/away{number}"] = redirect(f"{one}/moved")
        site |= {f"{one}/{path}": page(path) for path in ("", "linked", "moved", "listed")}
    return site


def test_three_that_were_blacklisted_in_bulk_are_asked_nothing(browser, own_dashboard):
    dashboard = own_dashboard
    settings = {**ADDON, "DEDUP_PROJECT": PROJECT, "DEDUP_RESILIENCE": {"enabled": True}, "ROBOTSTXT_OBEY": True}
    project = Project(dashboard.folder, settings)
    with serving(4, a_site) as server:
        good, *bad = server.origins
        with seen(browser, dashboard, dashboard.path("domains")) as shown:
            shown.page.get_by_text("Paste a list of domains").click()
            shown.page.get_by_label("Names or URLs").fill("\n".join(bad))
            shown.page.get_by_label("What to do").select_option("blacklist")
            shown.page.get_by_role("button", name="Look at what would happen").click()
            shown.page.get_by_role("button", name="Blacklist 3 domains").click()
            assert "3 domains blacklisted." in text_of(shown, ".told")

        crawled = project.crawl("crosses", "-a", f"start={good}/ {' '.join(f'{one}/' for one in bad)}")

        asked = [url for url in server.requests if not url.startswith(f"{good}/")]
        assert asked == []
        assert {line["id"].removeprefix(good) for line in crawled.stored} == {"/", "/next", "/listed"}
        # What a sitemap names elsewhere is not even considered; three starts, three links, three redirects are refused.
        assert crawled.count("domain/dropped") == 9

import json

import pytest

from tests.end_to_end.crawling import ADDON, Project
from tests.end_to_end.recrawl_site import rows
from tests.server import Answer, Site, redirect
from tests.sites import html_page


def site(origins: list[str]) -> Site:
    here = origins[0]
    pages: Site = {f"{here}/p{n}": Answer(html_page(f"p{n}")) for n in range(4)}
    return {**pages, f"{here}/moved": redirect("/p0")}


SERVED = 1, site


@pytest.fixture(scope="module")
def crawled_project(server, tmp_path_factory) -> Project:
    project = Project(tmp_path_factory.mktemp("stored"), dict(ADDON))
    project.crawl("grouped", "-a", f"start={' '.join(server.site)}", "-s", "DEDUP_PROJECT=shop")
    return project


def test_every_url_is_known_with_what_it_stands_for(crawled_project):
    """Also p2, which gave no item."""
    columns = "status, http_status, alias_kind, document_key IS NOT NULL"
    found = {url[-2:]: row for url, *row in rows(crawled_project, f"SELECT url, {columns} FROM crawled_urls")}

    assert found == {
        "p0": ["crawled", 200, None, 1],
        "p1": ["crawled", 200, None, 1],
        "p2": ["crawled", 200, None, 1],
        "p3": ["crawled", 200, None, 1],
        "ed": ["alias", None, "redirect", 1],
    }


def test_pages_are_stored_as_they_came_with_their_group(crawled_project):
    """Those that gave no item are kept to be compared with later versions alone."""
    columns = "substr(url, -2), source_group, title, content_type"
    found = rows(crawled_project, f"SELECT {columns} FROM sources WHERE field = 'html' ORDER BY url")
    bare = rows(crawled_project, "SELECT substr(url, -2), cleaned_content FROM sources WHERE field = 'bare'")

    assert found == [
        ("p0", "from the spider", "p0", "text/html"),
        ("p1", "from the item", "p1", "text/html"),
        ("p3", "from the spider", "p3", "text/html"),
    ]
    assert bare == [("p2", None)]


def test_run_is_finished_and_has_its_stats(crawled_project):
    ((project, spider, status, reason, stats),) = rows(
        crawled_project,
        "SELECT p.name, r.spider, r.status, r.reason, r.stats FROM crawl_runs r JOIN projects p ON p.id = r.project_id",
    )

    assert (project, spider, status, reason) == ("shop", "grouped", "finished", "finished")
    # The page to which a start URL redirects is given twice, as without the plugin.
    assert json.loads(stats)["dedup/items/out"] == 4

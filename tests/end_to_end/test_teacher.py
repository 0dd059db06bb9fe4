"""Crawls in which a browser looks at pages, and crawls in which it cannot."""

import json
from typing import Any

import pytest

from tests.browser import required_chromium
from tests.end_to_end.crawling import ADDON, Crawled, Project
from tests.end_to_end.recrawl_site import rows
from tests.server import Answer, Site, WebServer, serving
from tests.service.learned_site import FOOTER, WORDS, post
from tests.tables import table

pytestmark = pytest.mark.browser

POSTS = [f"{word}-{number}" for word in WORDS for number in (1, 2)]
SHEET = """
body { margin: 0; font: 16px serif; }
header { background: #ddd; font-size: 12px; } header li { display: inline; }
main { width: 900px; float: left; } aside { width: 300px; float: right; font-size: 11px; }
footer { clear: both; font-size: 11px; }
.secret { position: absolute; left: -9999px; }
"""
SECRET = "Cheap watches and cheaper watches for whoever reads what nobody sees."


def site(origins: list[str]) -> Site:
    """Posts with a style sheet of their own, and one that another host would have to give."""
    (origin,) = origins
    link = '<link rel=stylesheet href="/site.css"><link rel=stylesheet href="http://10.0.0.1/private.css">'
    pages: Site = {
        f"{origin}/posts/{name}": Answer(
            post(name)
            .replace("</head>", f"{link}</head>")
            .replace("</h1>", f'</h1><p class="secret">{SECRET} {name}</p>')
        )
        for name in POSTS
    }
    return pages | {f"{origin}/site.css": Answer(SHEET, content_type="text/css")}


SERVED = 1, site


def crawl(project: Project, server: WebServer, **settings: Any) -> Crawled:
    start = " ".join(url for url in server.site if "/posts/" in url)
    server.requests.clear()
    return project.crawl("in-order", "-a", f"start={start}", DEDUP_TEACHER="new", **settings)


@pytest.fixture(scope="module")
def browser() -> str:
    return required_chromium()


@pytest.fixture(scope="module")
def school(tmp_path_factory) -> Project:
    """The project of the crawl that is taught."""
    return Project(tmp_path_factory.mktemp("taught"), dict(ADDON))


@pytest.fixture(scope="module")
def lesson(school, server, browser) -> tuple[Crawled, list[str]]:
    """A crawl that is taught, and what it asked the server for."""
    return crawl(school, server, DEDUP_BROWSER={"path": browser}), list(server.requests)


@pytest.fixture(scope="module")
def taught(lesson) -> Crawled:
    return lesson[0]


def test_a_few_pages_are_shown_and_a_visual_template_goes_live(school, lesson, server):
    taught, asked = lesson

    assert 1 <= taught.count("teacher/pages") <= 2
    assert taught.count("teacher/lessons") >= 1
    assert rows(school, "SELECT DISTINCT source, state FROM layout_templates WHERE state = 'live'") == [
        ("visual", "live")
    ]
    assert len(taught.stored) == len(POSTS)
    # Style sheets come through Scrapy, once, and nothing private is asked for.
    assert asked.count(f"{server.origins[0]}/site.css") == 1
    assert taught.count("teacher/resources/refused") >= 1
    assert "10.0.0.1" not in " ".join(asked)


def test_what_was_seen_is_kept_with_its_picture(school, taught):
    ((boxes, width, picture),) = rows(school, "SELECT boxes, width, picture FROM layout_pictures")

    assert picture.startswith(b"\x89PNG")
    assert width == 1366
    kinds = {box["kind"] for box in json.loads(boxes)}
    assert {"content", "boilerplate"} <= kinds
    assert taught.count("teacher/errors") == 0


def test_the_next_crawl_profits_and_shows_nothing_again(school, taught, server, browser):
    again = crawl(school, server, DEDUP_BROWSER={"path": browser}, DEDUP_LAYERS={"unchanged": False})

    assert taught.count("teacher/pages") >= 1
    assert again.count("teacher/pages") == 0
    texts = [line["cleaned"] for line in again.stored]
    assert len(texts) == len(POSTS)
    assert not any(FOOTER in text or SECRET in text for text in texts)


@table("end_to_end/without_a_browser_the_crawl_goes_on_and_says_so_once")
def test_without_a_browser_the_crawl_goes_on_and_says_so_once(project, server, why, settings):
    crawled = crawl(project, server, **settings)

    assert len(crawled.stored) == len(POSTS), why
    assert crawled.count("teacher/unavailable") == 1
    assert crawled.log.count("No browser looks at pages any more") == 1
    assert crawled.errors == []
    assert rows(project, "SELECT DISTINCT source FROM layout_templates") == [("static",)]


NOTES = 8
SHELL = """<!doctype html><html><head><title>Notes {number}</title></head><body><div id="root" class="app"></div>
<script>
fetch("/api/{number}.json").then(answer => answer.json()).then(found => {{
  const root = document.getElementById("root");
  const head = document.createElement("h1");
  head.textContent = found.title;
  root.append(head, ...found.texts.map(text => {{
    const one = document.createElement("p");
    one.textContent = text;
    return one;
  }}));
}});
</script></body></html>"""


def app(origins: list[str]) -> Site:
    (origin,) = origins
    found: Site = {}
    for number in range(NOTES):
        texts = [f"Paragraph {place} of note {number} says {WORDS[(number + place) % 16]}." * 3 for place in range(6)]
        answer = json.dumps({"title": f"Note {number}", "texts": texts})
        found[f"{origin}/notes/{number}"] = Answer(SHELL.format(number=number))
        found[f"{origin}/api/{number}.json"] = Answer(answer, content_type="application/json")
    return found


def test_pages_whose_text_is_made_by_scripts_are_rendered_once_that_is_known(project, browser):
    with serving(1, app) as server:
        start = " ".join(url for url in server.site if "/notes/" in url)
        settings: dict[str, Any] = {
            "DEDUP_TEACHER": "unsure",
            "DEDUP_BROWSER": {"path": browser},
            "DEDUP_LAYERS": {"duplicate": False, "title": False, "unchanged": False},
        }
        first = project.crawl("in-order", "-a", f"start={start}", **settings)
        second = project.crawl("in-order", "-a", f"start={start}", **settings)

    assert first.count("teacher/pages") >= 1
    assert rows(project, "SELECT count(*) FROM layout_templates WHERE state = 'live'") != [(0,)]
    assert second.count("teacher/rendered") == NOTES
    assert len(second.stored) == NOTES
    for line in second.stored:
        number = line["id"].rpartition("/")[2]
        assert f"Paragraph 5 of note {number} says" in line["cleaned"]
        assert "data-dedup" not in line["cleaned"]


def test_a_site_of_three_pages_has_a_template_for_the_next_crawl(project, server, browser):
    pages = [url for url in server.site if "/posts/" in url][:3]
    settings: dict[str, Any] = {"DEDUP_BROWSER": {"path": browser}, "DEDUP_LAYERS": {"unchanged": False}}
    arguments = ("in-order", "-a", f"start={' '.join(pages)}")
    first = project.crawl(*arguments, DEDUP_TEACHER="new", **settings)
    second = project.crawl(*arguments, **settings)

    assert first.count("teacher/pages") == 2
    assert second.count("pages/by_template") == 3
    assert not any(FOOTER in line["cleaned"] or SECRET in line["cleaned"] for line in second.stored)

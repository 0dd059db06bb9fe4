"""The first crawl of ours after a seeding: what an earlier crawl paid for is not paid for again."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from scrapy_dedup.service.seeding_deltafetch import keys_of
from scrapy_dedup.service.seeding_pages import FoundPage
from tests.commands.running import scrapy
from tests.end_to_end.crawling import ADDON, Crawled, Project
from tests.server import Answer, Site, WebServer, serving
from tests.service.stored_pages import NOON
from tests.sites import html_page

PAGES = 12
CHANGED = 3
pytestmark = pytest.mark.crawl


def site_of(origins: Sequence[str]) -> Site:
    origin = origins[0]
    urls = [f"{origin}/p{number}" for number in range(PAGES)]
    pages = {url: Answer(html_page(url, links=urls[number + 1 : number + 2])) for number, url in enumerate(urls)}
    return {f"{origin}/hub": Answer(html_page("hub", links=urls[:2])), **pages}


@dataclass
class Week:
    """A site, and what an earlier crawl left: a feed with HTML, one without, an HTTP cache, the URLs."""

    web: WebServer
    folder: Path

    @property
    def start(self) -> str:
        return f"{self.web.origins[0]}/hub"

    def url(self, number: int) -> str:
        return f"{self.web.origins[0]}/p{number}"


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Week]:
    folder = tmp_path_factory.mktemp("earlier")
    with serving(1, site_of) as web:
        week = Week(web, folder)
        settings = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(folder / "cache")}
        crawled = Project(folder / "project", settings).crawl("pages", "-a", f"start={week.start}")
        assert len(crawled.fed) == PAGES
        _items(folder / "whole.jsonl", [{**item, "paid": True} for item in crawled.fed])
        _items(folder / "texts.jsonl", [{"url": item["url"], "content": "x", "paid": True} for item in crawled.fed])
        (folder / "urls.txt").write_text("".join(f"{item['url']}\n" for item in crawled.fed))
        _deltafetch(folder / "site.db", [item["url"] for item in crawled.fed])
        yield week


def _items(path: Path, items: Sequence[dict[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(item)}\n" for item in items), encoding="utf-8")


def _deltafetch(path: Path, urls: Sequence[str]) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE Dict (key BLOB UNIQUE NOT NULL, value BLOB NOT NULL)")
        keys = [(keys_of(FoundPage("", url, NOON))[0], str(NOON.timestamp())) for url in urls]
        connection.executemany("INSERT INTO Dict VALUES (?, ?)", keys)
        connection.commit()


@pytest.fixture
def project(earlier: Week, tmp_path: Path) -> Project:
    store = {"DEDUP_DATABASE_URL": f"sqlite:///{tmp_path}/seeded.db", "DEDUP_PROJECT": "shop"}
    # The probe for soft 404s is a request, too.
    return Project(tmp_path / "project", {**ADDON, **store, "DEDUP_SOFT_404": False})


def seed(project: Project, earlier: Week, files: Sequence[str]) -> None:
    arguments = [name if name.startswith("--") else str(earlier.folder / name) for name in files]
    named = [f"-s{name}={value}" for name, value in project.settings.items() if name.startswith("DEDUP_")]
    told = scrapy("dedup", "seed", *arguments, *named, folder=project.folder.parent)
    assert (told.code, told.err) == (0, "")


def crawl(project: Project, earlier: Week, **settings: Any) -> Crawled:
    """Crawl; what the callback yields is not all stored, so not all of it is accounted for."""
    crawled = project.crawl("pages", "-a", f"start={earlier.start}", clean=False, **settings)
    assert crawled.errors == []
    return crawled


@pytest.fixture
def changed(earlier: Week) -> Iterator[str]:
    """The URL of a page that is not what the earlier crawl saw."""
    url = earlier.url(CHANGED)
    before = earlier.web.site[url]
    links = [earlier.url(CHANGED + 1)]
    earlier.web.site[url] = Answer(html_page(url, links=links, body="<h1>Another</h1><p>Now for 4 euros.</p>"))
    yield url
    earlier.web.site[url] = before


WITH_HTML = [
    pytest.param(["whole.jsonl"], id="items-with-html"),
    pytest.param(["cache"], id="http-cache"),
    pytest.param(["cache", "whole.jsonl"], id="http-cache-and-items"),
]
WITHOUT = [
    pytest.param(["urls.txt"], id="urls"),
    pytest.param(["texts.jsonl"], id="items-with-text"),
    pytest.param(["site.db", "--urls", "urls.txt"], id="deltafetch"),
]


@pytest.mark.parametrize("files", [*WITH_HTML[:2], *WITHOUT])
def test_known_pages_count_as_seen_and_their_links_are_followed(
    project: Project, earlier: Week, files: list[str]
) -> None:
    seed(project, earlier, files)
    asked = len(earlier.web.requests)

    first, second = crawl(project, earlier), crawl(project, earlier)

    assert (first.stored, second.stored) == ([], [])
    assert set(earlier.web.requests[asked:]) == {earlier.start, *map(earlier.url, range(PAGES))}
    assert (len(first.yielded), second.yielded) == (PAGES, [])


@pytest.mark.parametrize("files", WITH_HTML)
def test_a_page_that_changed_since_is_found_by_the_first_crawl(
    project: Project, earlier: Week, changed: str, files: list[str]
) -> None:
    seed(project, earlier, files)

    assert crawl(project, earlier).stored_ids == [changed]


@pytest.mark.parametrize("files", WITHOUT)
def test_without_html_the_first_crawl_is_the_baseline(
    project: Project, earlier: Week, changed: str, files: list[str]
) -> None:
    seed(project, earlier, files)
    first = crawl(project, earlier)
    earlier.web.site[changed] = Answer(html_page(changed, body="<h1>Another</h1><p>Now for 5 euros.</p>"))

    assert first.stored == []
    assert crawl(project, earlier).stored_ids == [changed]


@pytest.mark.parametrize(
    "files",
    [
        pytest.param(["cache", "whole.jsonl"], id="http-cache-and-items"),
        pytest.param(["site.db", "--urls", "texts.jsonl"], id="deltafetch-and-items"),
    ],
)
def test_items_of_earlier_crawls_are_replayed(project: Project, earlier: Week, files: list[str]) -> None:
    seed(project, earlier, files)

    for _ in range(2):
        crawled = crawl(project, earlier, DEDUP_UNCHANGED="replay", FEEDS={"feed.jsonl": {"format": "jsonlines"}})

        assert sorted(item["url"] for item in crawled.fed) == sorted(map(earlier.url, range(PAGES)))
        assert all(item["paid"] for item in crawled.fed)

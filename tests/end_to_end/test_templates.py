"""Crawls that learn templates, cut by them, keep them, and obey what a person decided about them."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.commands.running import Outcome, scrapy
from tests.end_to_end.crawling import ADDON, Crawled, Lines, Project
from tests.end_to_end.recrawl_site import copied, rows
from tests.server import Answer, Site, WebServer, redirect
from tests.service.learned_site import ADVERT, FOOTER, WORDS, listing, post

POSTS, LISTINGS = [f"{word}-{number}" for word in WORDS for number in (1, 2)][:24], WORDS[:8]
BYLINE = "Seen by"


def site(origins: list[str]) -> Site:
    posts: Site = {f"{origins[0]}/posts/{name}": Answer(post(name)) for name in POSTS}
    return posts | {f"{origins[0]}/tools/{name}": Answer(listing(name)) for name in LISTINGS}


SERVED = 1, site


def crawl(project: Project, server: WebServer, **settings: Any) -> Crawled:
    """Ask for the pages of the site one after the other."""
    return project.crawl("in-order", "-a", f"start={' '.join(server.site)}", **settings)


@pytest.fixture(scope="module")
def learned(server, tmp_path_factory) -> tuple[Project, Crawled, Crawled]:
    """A project that gives all items in each crawl, and its first two."""
    project = Project(tmp_path_factory.mktemp("learned"), {**ADDON, "DEDUP_LAYERS": {"unchanged": False}})
    return project, crawl(project, server), crawl(project, server, DEDUP_ITEM_DETAILS=["removed"])


def texts(crawled: Crawled) -> dict[str, str]:
    return {line["id"]: line["cleaned"] for line in crawled.stored}


def posts_of(crawled: Crawled) -> list[str]:
    return [text for url, text in texts(crawled).items() if "/posts/" in url]


# Two crawls are compared: each must meet its pages in one order, and learn from the same ones before each is cut. So no
# page is asked for before the items of the one before it have left.
IN_ORDER: dict[str, Any] = {"CONCURRENT_REQUESTS": 1, "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1, "DEDUP_BATCH": {"pages": 1}}
# Of two pages with one text that are in work at once, the one that is compared first stands for the other.
BY_ITSELF = dict.fromkeys(("title", "duplicate", "near_duplicate", "chunk"), False)


class TestTemplates:
    def test_are_learned_by_the_first_crawl_and_used_by_the_next(self, learned):
        project, first, second = learned

        assert first.count("items/parked") > 0
        assert second.count("items/parked") == 0
        assert second.count("pages/by_template") == len(POSTS) + len(LISTINGS)
        assert second.count("pages/by_fallback") == 0
        states = rows(project, "SELECT layout, state FROM layout_templates WHERE state = 'live' AND layout != 0")
        assert len(states) == 2
        for text in texts(second).values():
            assert FOOTER not in text
            assert "About us" not in text
        assert all(ADVERT not in text and "are what a rope maker works with" in text for text in posts_of(second))
        # Every removed block has a rule in words.
        removed = [block for report in second.reports.values() for block in report["removed"]]
        assert {block["reason"].split(":")[0] for block in removed} == {"template"}
        assert not [block for block in removed if not block["path"].startswith("body")]
        # Nothing is an alarm on a site that stays as it is.
        assert [one.count("drift/alarms") for one in (first, second)] == [0, 0]
        assert rows(project, "SELECT * FROM layout_alarms") == []
        # By default no browser looks at anything.
        assert first.sum("teacher/") == 0


def comparable(lines: Lines) -> list[str]:
    """Return a feed without what tells one run from another: items that waited together leave in any order."""
    return sorted(json.dumps({**line, "dedup": _timeless(line["dedup"])}) for line in lines)


def _timeless(report: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in report.items() if name not in ("run", "fetched_at", "previous_seen_at")}


class TestShadow:
    @pytest.fixture
    def odd(self, server) -> Iterator[WebServer]:
        """The site with a page that names another one as canonical, one under two spellings, and one that moved."""
        origin = server.origins[0]
        page = f"{origin}/posts/{POSTS[0]}"
        alias = post(POSTS[0]).replace("<head>", f'<head><link rel="canonical" href="{page}">')
        more: Site = {f"{origin}/print": Answer(alias), f"{page}?utm_source=x": Answer(post(POSTS[0]))}
        before = dict(server.site)
        # Last: where a redirect leads to a page that was asked for, Scrapy drops it, and the spider ends.
        server.site = {**dict(list(before.items())[16:]), page: before[page], **more, f"{origin}/old": redirect(page)}
        yield server
        server.site = before

    @pytest.mark.parametrize(
        "would",
        [
            pytest.param({"boilerplate": "blocks", "url": ""}, id="boilerplate-and-url"),
            pytest.param({"canonical": "items", "unchanged": "unchanged"}, id="canonical-and-unchanged"),
        ],
    )
    def test_feeds_are_those_of_the_layers_switched_off(self, would, odd, make_project):
        settings = {**ADDON, **IN_ORDER}
        shadowed = make_project("shadowed", **settings, DEDUP_LAYERS=BY_ITSELF, DEDUP_SHADOW=list(would))
        off = make_project("off", **settings, DEDUP_LAYERS=BY_ITSELF | dict.fromkeys(would, False))

        seen = Counter[str]()
        for number in (1, 2):
            there, here = crawl(shadowed, odd), crawl(off, odd)
            seen += Counter({layer: there.sum(f"shadow/{layer}/{what}") for layer, what in would.items()})

            assert comparable(there.fed) == comparable(here.fed), f"crawl {number}"
            assert here.sum("shadow/") == 0
        assert seen.keys() == would.keys()

    def test_the_decisions_tell_what_would_have_been_removed(self, project, server, make_project):
        # Selectors of all sites would take the footer where no template does.
        crawled = crawl(project, server, **IN_ORDER, DEDUP_SHADOW=["boilerplate"], DEDUP_GENERIC_SELECTORS=False)
        acting = crawl(make_project("acting", **ADDON, **IN_ORDER), server)

        assert crawled.count("boilerplate/blocks") == 0
        assert all(FOOTER in text for text in texts(crawled).values())
        assert crawled.count("shadow/boilerplate/pages") >= len(POSTS)
        for what in ("pages", "blocks", "chars"):
            assert crawled.count(f"shadow/boilerplate/{what}") == acting.count(f"boilerplate/{what}")
        query = "SELECT page_key, reason, detail FROM decisions WHERE layer = 'boilerplate' ORDER BY page_key"
        assert rows(project, query) == rows(Project(project.folder.parent / "acting"), query)


class TestDecisions:
    """What a person decides acts in the next crawl, and is taken back as if it had never been."""

    def templates(self, project: Project, server: WebServer, verb: str, *options: str) -> Outcome:
        domain = server.origins[0].removeprefix("http://")
        listed = scrapy("dedup", "templates", "list", domain, "--json", folder=project.folder)
        assert listed.code == 0, listed.err
        (layout,) = [
            one["layout"] for one in listed.json["templates"] if one["url_pattern"] and "posts" in one["url_pattern"]
        ]
        told = scrapy("dedup", "templates", verb, domain, layout, *options, folder=project.folder)
        assert told.code == 0, told.err
        return told

    def test_act_in_the_next_crawl_and_are_taken_back_byte_for_byte(self, learned, server, tmp_path):
        project, before = copied(learned[0], tmp_path / "copy"), texts(learned[2])
        self.templates(project, server, "override", "--drop", "p.lead", "--keep", "aside.bar")

        after = crawl(project, server)

        assert all(BYLINE in text for url, text in before.items() if "/posts/" in url)
        assert all(BYLINE not in text and ADVERT in text for text in posts_of(after))
        listings = {url: text for url, text in before.items() if "/tools/" in url}
        assert listings.items() <= texts(after).items()

        self.templates(project, server, "rollback")

        assert texts(crawl(project, server)) == before

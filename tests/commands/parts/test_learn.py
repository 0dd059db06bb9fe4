"""`scrapy dedup templates learn` with a real Chromium, on a site of our own with style sheets."""

from pathlib import Path
from typing import Any

import pytest

from tests.commands.running import Outcome, Shop
from tests.commands.shown import ARTICLES, NO_BROWSER, server
from tests.server import Answer, WebServer, redirect, serving
from tests.service.stored_pages import put
from tests.shown_site import article, publish
from tests.tables import table

__all__ = ["server"]
# All of them need a Chromium, which the site asks for.
pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("server")]

CHOSEN = ["-s", 'DEDUP_BROWSER={"layout_pages": 1}']


@pytest.fixture
def asked(server) -> list[str]:
    """URLs that were asked for in this test."""
    server.requests.clear()
    return server.requests


def domain_of(server: WebServer) -> str:
    return server.origins[0].removeprefix("http://")


def stored(server: WebServer, folder: Path) -> Shop:
    """Return a project that has the pages, and has learned nothing of them."""
    shop = Shop(folder)
    pages = {f"{server.origins[0]}/ropes/{number}": article(number, ARTICLES) for number in range(ARTICLES)}
    with shop.open() as store:
        put(shop.project(store), pages)
    return shop


def learn(shop: Shop, target: str, *arguments: str, **environment: str) -> Outcome:
    return shop.run("templates", "learn", target, "--json", *CHOSEN, *arguments, **environment)


def paths(asked: list[str], server: WebServer) -> list[str]:
    return sorted(url.removeprefix(server.origins[0]) for url in asked)


def templates(shop: Shop, server: WebServer) -> list[Any]:
    with shop.open() as store:
        return shop.project(store).templates(domain_of(server))


Learned = tuple[Shop, Outcome, list[str]]


@pytest.fixture(scope="module")
def learned(server, tmp_path_factory) -> Learned:
    shop = Shop(tmp_path_factory.mktemp("unknown"))
    server.requests.clear()
    told = learn(shop, f"{server.origins[0]}/ropes/3")
    return shop, told, paths(server.requests, server)


class TestAUrlOfAnUnknownDomain:
    def test_page_and_those_like_it_are_fetched_once_and_the_style_sheet_too(self, learned):
        _, told, asked = learned

        assert (told.code, told.err) == (0, "")
        assert [path for path in asked if path.startswith("/ropes/")] == [f"/ropes/{n}" for n in range(3, 10)]
        assert asked.count("/style.css") == asked.count("/robots.txt") == 1
        assert len(told.json["fetched"]) == 7

    def test_template_that_was_seen_is_stored_with_its_evidence(self, learned, server):
        shop, told, _ = learned
        layout = told.json["layouts"][0]

        assert (layout["why"], layout["before"], len(layout["shown"])) == ("nothing is known of its domain", None, 1)
        assert layout["after"]["state"] == "live"
        assert layout["after"]["reason"].startswith("by its own estimate right on ")
        assert layout["after"]["shown_pages"] == 1
        assert told.json["browser"].startswith("Chromium")
        kept = {one.fingerprint: one for one in templates(shop, server)}
        assert kept[layout["layout"]].source == layout["after"]["source"]

    def test_picture_stands_in_the_report(self, learned, server):
        shop = learned[0]
        with shop.open() as store:
            pictures = shop.project(store).pictures(domain_of(server))

        assert len(pictures) == 1
        picture = next(iter(pictures.values()))
        assert picture.picture.startswith(b"\x89PNG")
        assert {box["kind"] for box in picture.boxes} >= {"content", "title", "boilerplate"}


class TestADomainWhosePagesAreStored:
    def test_only_style_sheets_are_fetched(self, server, asked, tmp_path):
        shop = stored(server, tmp_path)

        told = learn(shop, domain_of(server))

        assert (told.code, told.err) == (0, "")
        assert paths(asked, server) == ["/robots.txt", "/style.css"]
        assert told.json["fetched"] == []
        layout = told.json["layouts"][0]
        assert (layout["pages"], len(layout["shown"])) == (ARTICLES, 1)
        assert layout["after"]["state"] == "live"
        report = shop.run("report", "--json", "--html", "report.html")
        assert report.code == 0, report.err
        page = (tmp_path / "report.html").read_text(encoding="utf-8")
        assert page.count("<image ") == 1
        assert "A browser showed 1 page" in page
        found = report.json["layouts"][0]["layouts"]
        assert sum(one["picture"] is not None for one in found) == 1

    def test_a_dry_run_says_what_would_be_shown_and_does_nothing(self, server, asked, tmp_path):
        shop = stored(server, tmp_path)

        told = learn(shop, domain_of(server), "--dry-run", **NO_BROWSER)

        layout = told.json["layouts"][0]
        assert (told.code, told.json["dry_run"], len(layout["shown"]), layout["after"]) == (0, True, 1, None)
        assert (templates(shop, server), asked) == ([], [])


def test_a_page_that_cannot_be_shown_is_told_and_nothing_is_stored(server, tmp_path):
    shop = stored(server, tmp_path)
    # A file that is no browser, and can be run.
    broken = tmp_path / "broken-browser"
    broken.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    broken.chmod(0o755)

    told = learn(shop, domain_of(server), "-s", f'DEDUP_BROWSER={{"path": "{broken}"}}')

    assert told.code == 1
    assert [one["reason"] for one in told.json["layouts"][0]["not_shown"]] == ["no_launch"]
    assert templates(shop, server) == []


@table("wrong_calls/learn")
def test_what_cannot_be_done_is_told_with_a_way_out_and_leaves_nothing_behind(
    server, tmp_path, target, environment, code, message
):
    told = learn(Shop(tmp_path), target.format(origin=server.origins[0]), **environment)

    assert (told.code, told.out) == (code, "")
    assert message in told.err
    assert told.err.count("\n") == 1
    assert not Shop(tmp_path).file.exists()


def test_style_sheets_from_elsewhere_on_private_addresses_are_asked_for_only_where_that_is_allowed(tmp_path):
    """Shown is one page: what holds for it holds for both verbs."""
    with serving(3, lambda _: {}) as server:
        own, other, named = server.origins
        publish(server, ARTICLES)
        url = f"{own}/ropes/0"
        more = f'<link rel="stylesheet" href="/moved.css"><link rel="stylesheet" href="{named}/style.css"></head>'
        page = article(0, ARTICLES).replace("/style.css", f"{other}/style.css").replace("</head>", more)
        style = Answer("p { color: red }", content_type="text/css")
        server.site = {url: Answer(page), f"{other}/style.css": style, f"{named}/style.css": style}
        server.site[f"{own}/moved.css"] = redirect(f"{other}/style.css")
        allowed = ["-s", f'DEDUP_BROWSER={{"hosts": "{named[7:]}"}}']

        told = Shop(tmp_path).run("templates", "analyze-layout", url, "--json", *allowed)

    assert told.code == 0, told.err
    elsewhere = {one for one in server.requests if not one.startswith(own)}
    assert elsewhere == {f"{named}/robots.txt", f"{named}/style.css"}
    assert sorted(told.json["refused"]) == sorted([f"{other}/style.css", f"{own}/moved.css"])

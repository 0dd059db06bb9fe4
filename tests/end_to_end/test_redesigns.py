"""Crawls that know a site which has another design now: pages wait until that is seen, and go out by the new one."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.end_to_end.crawling import ADDON, Crawled, Project
from tests.end_to_end.recrawl_site import copied, rows
from tests.server import Answer, WebServer
from tests.service.site_pages import article, own_text, words

KNOWN, ALL = range(1, 31), range(1, 41)
OLD_CHROME = ("Harbour", "We use cookies", "All rights reserved", "Related")
NEW_CHROME = ("Pier", "This page keeps", "Nobody may copy", "More of this")
Design = Callable[[int], str]


def in_new_elements(number: int) -> str:
    """Return an article with its old menu, notice and footer in other elements."""
    return _with(
        article(number),
        ('<div class="consent"><p>', '<section class="notice"><div>'),
        ("on our site.</p></div>", "on our site.</div></section>"),
        ('<header><nav class="menu"><ul>', '<div class="top"><div class="bar"><div>'),
        ("</ul></nav></header>", "</div></div></div>"),
        ('<div class="side"><h3>Related</h3><ul>', '<section class="beside"><div>Related</div><div>'),
        ("</ul></div></div>", "</div></section></div>"),
        ("<li>", '<div class="one">'),
        ("</li>", "</div>"),
        ("<footer><p>", '<section class="end"><div>'),
        ("</p></footer>", "</div></section>"),
    )


def with_new_chrome(number: int) -> str:
    """Return an article with other names and texts around it."""
    html = re.sub(r'<li><a href="/(\w+)">\w+</a>', r'<li><a href="/\1">Pier \1</a>', article(number))
    return _with(
        html,
        ('class="consent"', 'class="notice"'),
        ("We use cookies to give you the best experience on our site.", "This page keeps small files for you."),
        ('<header><nav class="menu">', '<header class="top"><nav class="bar">'),
        ('class="side"><h3>Related', 'class="beside"><h3>More of this'),
        ("<footer><p>All rights reserved by the site and its makers.", '<footer class="end"><p>Nobody may copy it.'),
    )


def in_new_wrapper(number: int) -> str:
    """Return an article in other elements, with nothing new around them."""
    return _with(
        article(number),
        ('<div class="page"><article class="post">', '<main class="sheet"><div><article class="story">'),
        ("</div><footer>", "</div></main><footer>"),
    )


def odd(number: int) -> str:
    """Return a page like no other."""
    return f"<html><body><pre class=x{number}>{' '.join(own_text(number))}</pre></body></html>"


def _with(html: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert old in html
        html = html.replace(old, new)
    return html


def crawl(project: Project, server: WebServer, pages: Sequence[tuple[int, Design]], **settings: Any) -> Crawled:
    """Ask for pages in their order, each in a design."""
    server.site = {f"{server.origins[0]}/a/{number}": Answer(design(number)) for number, design in pages}
    chosen: dict[str, Any] = {"DEDUP_OUTPUT": "text", "CONCURRENT_REQUESTS": 1} | settings
    return project.crawl("in-order", "-a", f"start={' '.join(server.site)}", **chosen)


@pytest.fixture(scope="module")
def seen(server, tmp_path_factory) -> Project:
    """A project that knows the site as it was; tests work on copies."""
    project = Project(tmp_path_factory.mktemp("seen") / "project", {**ADDON, "DEDUP_LAYERS": {"unchanged": False}})
    crawl(project, server, [(number, article) for number in KNOWN])
    return project


@pytest.fixture
def known(seen, tmp_path) -> Project:
    return copied(seen, tmp_path / "project")


@pytest.mark.parametrize("design", [in_new_elements, with_new_chrome, in_new_wrapper])
def test_a_redesign_costs_no_item_its_text_and_leaves_none_with_chrome(known, server, design):
    crawled = crawl(known, server, [(number, design) for number in ALL])

    assert crawled.count("drift/alarms") == 1
    assert 0 < crawled.count("release/judged") <= 10
    assert crawled.stored_ids == list(server.site)
    for number, line in zip(ALL, crawled.stored, strict=True):
        assert line["cleaned"].split("\n\n")[-5:] == own_text(number)
        assert not [text for text in (*OLD_CHROME, *NEW_CHROME) if text in line["cleaned"]]
    ((looked, cleared),) = rows(known, "SELECT pages_looked, cleared_at FROM layout_alarms")
    assert looked <= 10
    assert cleared is not None
    assert crawled.sum("pages/by_") == len(ALL)


def test_pages_of_a_site_that_stays_as_it_is_do_not_wait(known, server):
    crawled = crawl(known, server, [(number, article) for number in ALL])

    assert (crawled.count("drift/alarms"), crawled.count("items/parked")) == (0, 0)


def test_an_odd_page_waits_for_few_others_and_all_leave_in_order(known, server):
    pages = [(number, odd if number in (50, 70) else article) for number in range(41, 80)]

    crawled = crawl(known, server, pages)

    assert crawled.count("drift/alarms") == 0
    assert 0 < crawled.count("items/parked") <= 2 * 10
    assert crawled.stored_ids == list(server.site)
    assert {line["id"][-2:]: words(5_000, 30) in line["cleaned"] for line in crawled.stored}["50"]


@pytest.mark.parametrize(
    ("closing", "pages"),
    [
        pytest.param({"CLOSESPIDER_PAGECOUNT": 7}, 3, id="pages"),
        pytest.param({"CLOSESPIDER_ITEMCOUNT": 4}, 2, id="items"),
        pytest.param({"CLOSESPIDER_PAGECOUNT_NO_ITEM": 4}, 2, id="pages without an item"),
    ],
)
def test_no_more_pages_wait_than_let_the_spider_go_on_and_none_is_lost(known, server, closing, pages):
    crawled = crawl(known, server, [(number, in_new_elements) for number in ALL], **closing)

    assert crawled.stored_ids == list(server.site)[: len(crawled.stored)]
    assert len(crawled.stored) >= min(closing.values())
    assert len(crawled.yielded) == len(crawled.stored)
    assert crawled.count("release/judged") <= pages


def test_what_is_learned_later_changes_no_text_of_a_page_that_did_not_change(project, server):
    """Also where its bytes did; `refine` does it."""
    project.settings["DEDUP_FALLBACK"] = "whole"
    first = crawl(project, server, [(number, article) for number in KNOWN], DEDUP_BATCH={"pages": 1})
    again = crawl(project, server, [(number, lambda one: f"{article(one)}<!-- {one * 7} -->") for number in KNOWN])

    assert {line["id"]: line["cleaned"] for line in again.stored} == {
        line["id"]: line["cleaned"] for line in first.stored
    }
    assert "All rights reserved" in first.stored[0]["cleaned"]
    assert "All rights reserved" not in first.stored[-1]["cleaned"]

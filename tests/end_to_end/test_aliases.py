"""Pages that have several addresses go out once; pages that wrongly say so are not swallowed."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from tests.alias_site import alias_site, canonical, chain
from tests.end_to_end.crawling import Crawled
from tests.server import Answer, Site, WebServer, redirect, serving
from tests.sites import html_page
from tests.tables import table

RULES = {"DEDUP_URL": {"index_page": True}, "RETRY_ENABLED": False}


@pytest.fixture(scope="module")
def forward() -> Iterator[WebServer]:
    with serving(2, alias_site) as running:
        yield running


@pytest.fixture(scope="module")
def backward() -> Iterator[WebServer]:
    """Each alias is met after its page."""
    with serving(2, partial(alias_site, reverse=True)) as running:
        yield running


UNLINKED = Counter(["only from a canonical page", "the one"])
"""Titles of pages to which canonical links alone lead: the spider asks for none of them."""


def titles_of(server: WebServer) -> Counter[str]:
    bodies = [str(answer.body) for answer in server.site.values() if isinstance(answer, Answer)]
    return Counter({title for body in bodies for title in re.findall("<title>(.*?)</title>", body)})


def stored_titles(*crawls: Crawled) -> Counter[str]:
    return Counter(re.findall("<title>(.*?)</title>", item["html"])[0] for crawl in crawls for item in crawl.fed)


@table("end_to_end/once_by_any_way")
def test_every_page_goes_out_exactly_once(make_project, request, order, modes, way):
    """In each crawl, or in the first alone where unchanged pages are skipped."""
    server: WebServer = request.getfixturevalue(order)
    project = make_project("project", **RULES, **way)

    expected = titles_of(server) - UNLINKED
    for mode in modes:
        crawled = project.crawl("pages", "-a", f"start={server.origins[0]}/start", DEDUP_UNCHANGED=mode)
        found = stored_titles(crawled)
        if "DEDUP_LAYERS" in way:
            # Nobody knows which texts are a page's own: only equal bytes are one page, and none is lost.
            found = Counter(set(found))
        assert found == (expected if mode == "emit" else Counter())
    assert f"{server.origins[1]}/foreign" not in server.requests


def test_resumed_crawl_remembers_the_addresses_of_its_pages(project, forward):
    server = forward
    project.settings |= {**RULES, "JOBDIR": "job"}
    start = f"start={server.origins[0]}/start"

    first = project.crawl("pages", "-a", start, "-a", "close_after=25", CONCURRENT_REQUESTS=4)
    second = project.crawl("pages", "-a", start)

    assert first.stats["finish_reason"] == "enough"
    assert stored_titles(first, second) == titles_of(server) - UNLINKED


OTHERS = tuple(f"other-{number}" for number in range(5))
"""Enough pages for their site to be known."""


def surroundings(origin: str) -> dict[str, Answer]:
    return {f"{origin}/{name}": Answer(html_page(f"{name} {origin}")) for name in OTHERS}


ORDERS = ("abc", "acb", "bac", "bca", "cba")


def test_chain_of_canonical_links_is_one_page(project):
    """In the order c, a, b two go out: nothing says that a is c until b has come."""
    with serving(
        len(ORDERS), lambda origins: {u: p for at in origins for u, p in (chain([at]) | surroundings(at)).items()}
    ) as (server):
        start = [f"{at}/{path}" for at, order in zip(server.origins, ORDERS, strict=True) for path in order]
        start += [url for at in server.origins for url in surroundings(at)]
        crawled = project.crawl("pages", "-a", f"start={' '.join(start)}", CONCURRENT_REQUESTS=1)

        in_chain = [url for url in crawled.stored_ids if "/other-" not in url]
        assert Counter(url.rpartition("/")[0] for url in in_chain) == Counter(server.origins)


def test_all_items_of_an_alias_share_its_fate(project):
    """Also where their bytes are others and their text is not, so that nothing is compared of the one that goes out."""

    def two(origins: list[str], nonce: int) -> Site:
        found: Site = {}
        for here in origins:
            heads = {"a": canonical("/b"), "b": ""} | dict.fromkeys(OTHERS, "")
            for name, head in heads.items():
                title = f"{name} {here}" if name in OTHERS else f"page {here}"
                found[f"{here}/{name}"] = Answer(html_page(title, head=f"{head}<meta name=nonce content={nonce}>"))
        return found

    with serving(2, lambda _: {}) as server:
        one, other = server.origins
        others = [f"{here}/{name}" for here in (one, other) for name in OTHERS]
        start = " ".join([*others, f"{one}/a {one}/b {other}/b {other}/a"])
        settings: dict[str, Any] = {"CONCURRENT_REQUESTS": 1, "DEDUP_IGNORE_FIELDS": ["id"]}
        for nonce in range(2):
            server.site = two(server.origins, nonce)
            crawled = project.crawl("several-items", "-a", f"start={start}", **settings)

            of_pages = [item["url"] for item in crawled.fed if "/other-" not in item["url"]]
            assert len(of_pages) == 10
            assert crawled.count("items/dropped") == 10
            assert len(set(of_pages)) == 2


def test_redirects_that_a_spider_copies_to_other_requests_make_no_aliases(project):
    """`meta=response.meta` is what many spiders write."""

    def site(origins: list[str]) -> Site:
        here = origins[0]
        return {
            f"{here}/old": redirect("/new"),
            f"{here}/new": Answer(html_page("new", links=["/next"])),
            f"{here}/next": Answer(html_page("next", links=["/old?page=2"])),
            f"{here}/old?page=2": Answer(html_page("second")),
        }

    with serving(1, site) as server:
        crawled = project.crawl("copies-meta", "-a", f"start={server.origins[0]}/old")

    assert stored_titles(crawled) == Counter(["new", "next", "second"])
    assert crawled.count("canonical/redirects") == 1

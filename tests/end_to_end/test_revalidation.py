"""What is held stands for a 304, and nobody but the server can tell: the feed is the one without the plugin."""

import pytest

from tests.end_to_end.crawling import ADDON, Project, lines_of
from tests.end_to_end.recrawl_site import HOME, ChangingSite, rows, statuses, validators_of
from tests.end_to_end.shop_code import price_of, prices, write
from tests.server import Answer, Site, WebServer, serving
from tests.sites import html_page

PAGES = 5
PRODUCTS = PAGES - 1
AROUND = "tests.end_to_end.company"

STATES = "SELECT url, content_hash, visits_count, last_seen_at FROM documents"


@pytest.fixture
def project(project, site) -> Project:
    write(project)
    prices(site, 10, 11, 12, 13)
    return project


def conditions(server: WebServer) -> list[dict[str, str]]:
    names = ("If-None-Match", "If-Modified-Since")
    found = [
        {name: headers[name] for name in names if name in headers}
        for url, headers in server.asked_with
        if not url.endswith("/robots.txt")
    ]
    server.asked_with.clear()
    return found


def with_headers(site: ChangingSite, **headers: str) -> None:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    others = {f"/{name}": Answer(site.html(name), headers=given) for name in (HOME, *site.names)}
    site.publish(others=others)


MODIFIED = "Sat, 14 Jun 2025 12:00:00 GMT"


def test_answer_for_other_headers_that_vary_names_is_another(project, site):
    found = []
    for language, price in (("en", 10), ("de", 20), ("de", 30)):
        prices(site, *[price] * PRODUCTS)
        with_headers(site, ETag='"1"', Vary="Accept-Language, User-Agent")
        crawled = site.crawl(project, "shop", DEFAULT_REQUEST_HEADERS={"Accept-Language": language})
        found.append((set(price_of(crawled, site).values()), len(conditions(site.server)) - PAGES))
        assert statuses(crawled) == ({"304": PAGES} if price == 30 else {"200": PAGES})

    assert [price for price, _ in found] == [{10}, {20}, {20}]


def test_cookies_of_the_site_count_for_dates_alone(project, site):
    """An ETag tells visitors apart, a date does not."""
    found = []
    for currency, price in (("EUR", 10), ("USD", 20)):
        prices(site, *[price] * PRODUCTS)
        dated = {"Set-Cookie": f"currency={currency}", "Last-Modified": MODIFIED}
        tagged = {**dated, "ETag": '"1"'}
        headers = {name: tagged if name in {"p2", "p3"} else dated for name in (HOME, *site.names)}
        site.publish(others={f"/{name}": Answer(site.html(name), headers=headers[name]) for name in headers})
        found.append(price_of(site.crawl(project, "shop"), site))

    assert found == [dict.fromkeys(site.names, 10), {"p0": 20, "p1": 20, "p2": 10, "p3": 10}]


OWN = """
OWN = [
    {"cookies": {"currency": "EUR"}},
    {"headers": {"Cookie": "currency=EUR"}},
    {"headers": {"Authorization": "Bearer 1"}},
    {"headers": {"If-None-Match": "mine"}},
    {"headers": {"Range": "bytes=0-"}},
]


class Shop("""


def test_requests_for_one_visitor_or_with_conditions_of_their_own_are_left_alone(project, server):
    site = ChangingSite(server, 5)
    prices(site, *range(5))
    write(project, ("class Shop(", OWN), ("self.product)", "self.product, **OWN[int(link.attrib['href'][-1])])"))
    site.crawl(project, "shop")
    conditions(site.server)

    crawled = site.crawl(project, "shop")

    assert [one for one in conditions(site.server) if one.get("If-None-Match") not in (None, "mine")] == [
        {"If-None-Match": validators_of(site.html(HOME))["ETag"]}
    ]
    assert statuses(crawled) == {"200": 5, "304": 1}
    assert rows(project, "SELECT url FROM responses") == [(site.url(HOME),)]


def test_304_has_the_last_word_and_no_cookie_is_handed_out_twice(project, site):
    project.settings |= {"DOWNLOADER_MIDDLEWARES": {f"{AROUND}.Watcher": 940}, "COOKIES_ENABLED": False}
    for age in ("10", "20"):
        with_headers(site, ETag='"1"', Set_Cookie=f"visit={age}", Age=age, X_First=age)
        if age == "20":
            headers = {"ETag": '"1"', "Age": age}
            others = {f"/{name}": Answer(site.html(name), headers=headers) for name in (HOME, *site.names)}
            site.publish(others=others)
            (project.folder / "watched.jsonl").unlink()
        site.crawl(project, "shop")

    seen = [one for one in lines_of(project.folder / "watched.jsonl") if not one["url"].endswith("robots.txt")]
    assert [one["status"] for one in seen] == [200] * PAGES
    for one in seen:
        assert one["headers"]["age"] == ["20"]
        assert one["headers"]["x-first"] == ["10"]
        assert one["headers"]["content-type"] == ["text/html; charset=utf-8"]
        assert "set-cookie" not in one["headers"]


def test_bodies_that_are_not_whole_or_too_large_are_not_held(project, site):
    site.publish(notes={**site.notes, "p2": f"{site.notes['p2']}{'<p>large</p>' * 2_000}"})
    headers = {"ETag": '"1"', "Content-Length": "100000", "Connection": "close"}
    site.publish(others={"/p1": Answer(site.html("p1"), headers=headers)})

    crawled = site.crawl(project, "shop", DOWNLOAD_FAIL_ON_DATALOSS=False, DEDUP_MAX_PAGE_BYTES=20_000)

    assert len(crawled.fed) == PRODUCTS
    held = {url for (url,) in rows(project, "SELECT url FROM responses")}
    assert held == {site.url(name) for name in ("", "p0", "p3")}


# The delta feed.


def test_delta_feed_does_not_take_the_place_of_a_whole_one(project, site):
    project.settings["FEEDS"] = {}
    site.crawl(project, "shop", "-O", "out.jsonl")
    before = (project.folder / "out.jsonl").read_text()
    asked = len(site.server.requests)

    refused = site.crawl(project, "shop", "-O", "out.jsonl", clean=False, DEDUP_UNCHANGED="skip")
    after = (project.folder / "out.jsonl").read_text()
    assert len(site.server.requests) == asked
    appended = site.crawl(project, "shop", "-o", "out.jsonl", DEDUP_UNCHANGED="skip")
    whole = site.crawl(project, "shop", "-O", "out.jsonl", DEDUP_UNCHANGED="emit")

    assert before == after
    assert "out.jsonl would lose what it holds" in refused.log
    assert "-o in place of -O" in refused.log
    assert "DEDUP_UNCHANGED=emit" in refused.log
    assert refused.exit_code != 0
    assert appended.exit_code == whole.exit_code == 0
    assert len((project.folder / "out.jsonl").read_text().splitlines()) == PRODUCTS


def test_only_what_came_from_the_server_is_held(project, site):
    """A middleware of the user's made an answer, with a validator, and is gone in the next crawl."""
    site.crawl(project, "shop", DOWNLOADER_MIDDLEWARES={f"{AROUND}.Maker": 560})
    held = [url for (url,) in rows(project, "SELECT url FROM responses")]
    second = site.crawl(project, "shop")

    assert site.url("p1") not in held
    assert site.url("p2") in held
    assert price_of(second, site)["p1"] == 11


def test_page_of_which_a_title_alone_is_known_is_not_judged(make_project):
    """It is not asked for, and what stands in its place is no version of it."""
    text = "".join(f"<p>Word {number} of a text that two pages have under one title.</p>" for number in range(9))

    def a_site(origins: list[str]) -> Site:
        here = origins[0]
        links = "".join(f'<a href="{here}/{name}">{name}</a>' for name in ("a", "b", *(f"o{n}" for n in range(6))))
        others = {f"{here}/o{n}": Answer(html_page(f"other {n}")) for n in range(6)}
        twins = {f"{here}/{name}": Answer(f"<title>Twins</title><main>{text}</main>") for name in "ab"}
        return {f"{here}/": Answer(f"<title>Home</title><main>{links}</main>"), **twins, **others}

    project = make_project("trusting", **ADDON, DEDUP_TITLE={"trust": "always"}, DEDUP_KEEP_PAGES="none")
    with serving(1, a_site) as server:
        first = project.crawl("pages", "-a", f"start={server.origins[0]}/", CONCURRENT_REQUESTS=1)
        before = rows(project, STATES)
        server.requests.clear()
        second = project.crawl("pages", "-a", f"start={server.origins[0]}/", CONCURRENT_REQUESTS=1)

    (left_out,) = {f"{server.origins[0]}/{name}" for name in "ab"} - set(server.requests)
    assert (first.count("title/dropped"), second.count("title/skipped")) == (1, 1)
    assert [row for row in rows(project, STATES) if row[0] == left_out] == [row for row in before if row[0] == left_out]

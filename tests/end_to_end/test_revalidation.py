"""What is held stands for a 304, and nobody but the server can tell: the feed is the one without the plugin."""

import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.end_to_end.crawling import ADDON, Crawled, Project, lines_of
from tests.end_to_end.recrawl_site import HOME, ChangingSite, rows, statuses, validators_of
from tests.end_to_end.shop_code import own, price_of, prices, write
from tests.server import Answer, Site, WebServer, serving
from tests.sites import html_page

pytestmark = pytest.mark.crawl

PAGES = 5
PRODUCTS = PAGES - 1
AROUND = "tests.end_to_end.shop_middlewares"

STATES = "SELECT url, content_hash, visits_count, last_seen_at FROM documents"

Bare = Callable[..., Crawled]


@pytest.fixture
def bare(make_project: Callable[..., Project], site: ChangingSite) -> Bare:
    """Crawls without the plugin."""

    def crawl(project: Project, spider: str = "shop", **settings: Any) -> Crawled:
        other = make_project("bare", **{name: value for name, value in project.settings.items() if name != "ADDONS"})
        (other.folder / "shop.py").write_text((project.folder / "shop.py").read_text())
        (other.folder / "feed.jsonl").unlink(missing_ok=True)
        return site.crawl(other, spider, **settings)

    return crawl


@pytest.fixture
def project(project: Project, site: ChangingSite) -> Project:
    write(project)
    prices(site, 10, 11, 12, 13)
    return project


KINDS: dict[str, tuple[str, str]] = {
    "text": ("<p class=text>{}</p>", ".text::text"),
    "number": ("<p>It weighs <b class=number>{}</b> kg</p>", ".number::text"),
    "json-ld": ('<script type="application/ld+json">{{"price": "{}"}}</script>', "script[type*=ld]::text"),
    "meta": ("<meta name=price content='{}'>", "meta[name=price]::attr(content)"),
    "data-sku": ("<div class=sku data-sku='{}'></div>", ".sku::attr(data-sku)"),
    "src": ("<img class=photo src='/{}.png'>", ".photo::attr(src)"),
    "href": ("<a class=more href='#{}'>more</a>", ".more::attr(href)"),
    "alt": ("<img class=alt alt='{}'>", ".alt::attr(alt)"),
    "srcset": ("<img class=set srcset='/{}.png 2x'>", ".set::attr(srcset)"),
    "datetime": ("<time class=time datetime='2026-01-{}'>January</time>", ".time::attr(datetime)"),
    "option": ("<select><option class=size value='{}'>large</option></select>", ".size::attr(value)"),
    "input": ("<input class=stock type=hidden value='{}'>", ".stock::attr(value)"),
    "script": ("<script class=state>var price = {};</script>", ".state::text"),
    "noscript": ("<noscript class=no><i>{}</i></noscript>", ".no *::text, .no::text"),
    "iframe": ("<iframe class=map src='/map/{}'></iframe>", ".map::attr(src)"),
    "microdata": ("<span itemprop=price content='{}'></span>", "[itemprop=price]::attr(content)"),
    "class": ("<div class='badge badge-{}'></div>", ".badge::attr(class)"),
    "style": ("<div class=bar style='width: {}%'></div>", ".bar::attr(style)"),
    "comment": ("<div class=note><!-- {} --></div>", ".note"),
    "template": ("<template class=part><i>{}</i></template>", ".part"),
    "title": ("<title class=head>On sale {}</title>", ".head::text"),
    "aria-label": ("<span class=stars aria-label='{} of 5'></span>", ".stars::attr(aria-label)"),
}
EVERY_KIND = f"""
import scrapy
from tests.end_to_end.spiders.pages import noted

KINDS = {json.dumps({kind: selector for kind, (_, selector) in KINDS.items()})}


class Shop(scrapy.Spider):
    name = "shop"

    def __init__(self, start="", **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [start]

    def parse(self, response):
        for link in response.css("main li a"):
            yield response.follow(link, self.product)

    def product(self, response):
        yield noted({{"url": response.url}} | {{kind: response.css(one).getall() for kind, one in KINDS.items()}})
"""


@pytest.fixture
def kinds(server: WebServer) -> ChangingSite:
    """A page for each kind of change."""
    site = ChangingSite(server, 0)
    site.names = list(KINDS)
    return site


def publish_kinds(site: ChangingSite, version: int, *, nonce: bool) -> None:
    """Change on each page what it is named after, alone."""
    notes = {
        name: "".join(form.format(10 + (version if kind == name else 0)) for kind, (form, _) in KINDS.items())
        for name in site.names
    }
    heads = dict.fromkeys((HOME, *site.names), f"<meta name=nonce content={version}>") if nonce else {}
    site.publish(notes=notes, heads=heads, validators=not nonce)


@pytest.mark.parametrize("nonce", [False, True], ids=["304", "other-bytes"])
def test_one_change_a_page_of_each_kind_comes_out(
    project: Project, make_project: Callable[..., Project], kinds: ChangingSite, *, nonce: bool
) -> None:
    without = make_project("without")
    found = []
    for one in (project, without):
        write(one, code=EVERY_KIND)
        for version in (0, 1, 1):
            publish_kinds(kinds, version, nonce=nonce)
            found.append(kinds.crawl(one, "shop"))
    mine, bare = found[:3], found[3:]

    for crawled, as_it_is in zip(mine, bare, strict=True):
        kept = ("dedup", "cleaned_content", "date", "author")
        got = {item["url"]: item for item in own(crawled, left_out=kept)}
        assert got.keys() == as_it_is.items.keys()
        assert all(got[url][kind] == item[kind] for url, item in as_it_is.items.items() for kind in KINDS)
    before, after = mine[0].items, mine[1].items
    assert all(before[url][url.rpartition("/")[2]] != item[url.rpartition("/")[2]] for url, item in after.items())
    # After a crawl in which every validator was new, one page comes whole to see what they are worth.
    assert statuses(mine[2]).get("304", 0) >= (0 if nonce else len(KINDS))


def test_callbacks_run_and_items_go_out_for_every_304(project: Project, site: ChangingSite) -> None:
    first, second = (site.crawl(project, "shop") for _ in range(2))

    assert sorted(second.yielded) == sorted(first.yielded)
    assert price_of(second, site) == price_of(first, site)
    assert statuses(second) == {"304": PAGES}
    for name in ("cleaned_content", "title"):
        assert {url: item[name] for url, item in second.items.items()} == {
            url: item[name] for url, item in first.items.items()
        }


def test_ban_detector_above_sees_pages(project: Project, site: ChangingSite) -> None:
    project.settings["DOWNLOADER_MIDDLEWARES"] = {f"{AROUND}.BanDetector": 620}

    first, second = (site.crawl(project, "shop") for _ in range(2))

    assert price_of(second, site) == price_of(first, site)
    assert len(second.fed) == PRODUCTS


@pytest.mark.parametrize("policy", ["DummyPolicy", "RFC2616Policy"])
def test_http_cache_holds_pages_that_a_crawl_without_the_plugin_can_use(
    project: Project, site: ChangingSite, bare: Bare, policy: str
) -> None:
    cached = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_POLICY": f"scrapy.extensions.httpcache.{policy}"}
    site.crawl(project, "shop")
    second = site.crawl(project, "shop", **cached, HTTPCACHE_DIR=str(project.folder / "pages"))
    third = bare(project, **cached, HTTPCACHE_DIR=str(project.folder / "pages"))

    assert statuses(second) == {"304": PAGES}
    assert third.stats.get("httpcache/hit", 0) + third.stats.get("httpcache/revalidate", 0) >= PAGES
    assert price_of(third, site) == price_of(second, site) == {"p0": 10, "p1": 11, "p2": 12, "p3": 13}


def test_body_that_a_middleware_rewrites_is_rewritten_once(project: Project, site: ChangingSite) -> None:
    """Held is what came over the wire."""
    project.settings["DOWNLOADER_MIDDLEWARES"] = {f"{AROUND}.Rewriter": 560}
    write(project, ('float(response.css(".price::text").get())', 'response.text.count("Today it costs")'))

    found = [price_of(site.crawl(project, "shop"), site) for _ in range(3)]

    assert found == [dict.fromkeys(site.names, 1)] * 3


def conditions(server: WebServer) -> list[dict[str, str]]:
    """Return which conditions the requests had, and forget them."""
    names = ("If-None-Match", "If-Modified-Since")
    found = [
        {name: headers[name] for name in names if name in headers}
        for url, headers in server.asked_with
        if not url.endswith("/robots.txt")
    ]
    server.asked_with.clear()
    return found


def with_headers(site: ChangingSite, **headers: str) -> None:
    """Publish each page with these headers."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    others = {f"/{name}": Answer(site.html(name), headers=given) for name in (HOME, *site.names)}
    site.publish(others=others)


MODIFIED = "Sat, 14 Jun 2025 12:00:00 GMT"


def test_answer_for_other_headers_that_vary_names_is_another(project: Project, site: ChangingSite) -> None:
    found = []
    for language, price in (("en", 10), ("de", 20), ("de", 30)):
        prices(site, *[price] * PRODUCTS)
        with_headers(site, ETag='"1"', Vary="Accept-Language, User-Agent")
        crawled = site.crawl(project, "shop", DEFAULT_REQUEST_HEADERS={"Accept-Language": language})
        found.append((set(price_of(crawled, site).values()), len(conditions(site.server)) - PAGES))
        assert statuses(crawled) == ({"304": PAGES} if price == 30 else {"200": PAGES})

    assert [price for price, _ in found] == [{10}, {20}, {20}]


@pytest.mark.parametrize(
    ("validator", "prices_seen"),
    [
        pytest.param({"Last_Modified": MODIFIED}, [{10}, {20}], id="date-tells-no-visitors-apart"),
        pytest.param({"ETag": '"1"', "Last_Modified": MODIFIED}, [{10}, {10}], id="etag-does"),
    ],
)
def test_cookies_of_the_site_count_for_dates_alone(
    project: Project, site: ChangingSite, validator: dict[str, str], prices_seen: list[set[float]]
) -> None:
    found = []
    for currency, price in (("EUR", 10), ("USD", 20)):
        prices(site, *[price] * PRODUCTS)
        with_headers(site, Set_Cookie=f"currency={currency}", **validator)
        found.append(set(price_of(site.crawl(project, "shop"), site).values()))

    assert found == prices_seen


OWN = {
    "cookies": "cookies={'currency': 'EUR'}",
    "cookie-header": "headers={'Cookie': 'currency=EUR'}",
    "authorization": "headers={'Authorization': 'Bearer 1'}",
    "conditions": "headers={'If-None-Match': 'mine'}",
    "range": "headers={'Range': 'bytes=0-'}",
}


@pytest.mark.parametrize("case", OWN)
def test_requests_for_one_visitor_or_with_conditions_of_their_own_are_left_alone(
    project: Project, site: ChangingSite, case: str
) -> None:
    write(project, ("self.product)", f"self.product, {OWN[case]})"))
    site.crawl(project, "shop")
    conditions(site.server)

    crawled = site.crawl(project, "shop")

    assert [one for one in conditions(site.server) if one.get("If-None-Match") not in (None, "mine")] == [
        {"If-None-Match": validators_of(site.html(HOME))["ETag"]}
    ]
    assert statuses(crawled) == {"200": PRODUCTS, "304": 1}
    assert rows(project, "SELECT url FROM responses") == [(site.url(HOME),)]


def test_304_has_the_last_word_and_no_cookie_is_handed_out_twice(project: Project, site: ChangingSite) -> None:
    project.settings["DOWNLOADER_MIDDLEWARES"] = {f"{AROUND}.Watcher": 940}
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


def test_gzip_bodies_are_held_as_they_came(project: Project, site: ChangingSite) -> None:
    headers = {"ETag": '"1"', "Content-Encoding": "gzip"}
    others = {
        f"/{name}": Answer(gzip.compress(site.html(name).encode()), headers=headers) for name in (HOME, *site.names)
    }
    site.publish(others=others)

    first, second = (site.crawl(project, "shop") for _ in range(2))

    assert price_of(second, site) == price_of(first, site) == {"p0": 10, "p1": 11, "p2": 12, "p3": 13}
    assert statuses(second) == {"304": PAGES}


BROKEN: dict[str, dict[str, Any]] = {
    "dataloss": {"DOWNLOAD_FAIL_ON_DATALOSS": False},
    "too-large": {"DEDUP_MAX_PAGE_BYTES": 1_000},
}


@pytest.mark.parametrize("case", BROKEN)
def test_bodies_that_are_not_whole_or_too_large_are_not_held(project: Project, site: ChangingSite, case: str) -> None:
    if case == "dataloss":
        headers = {"ETag": '"1"', "Content-Length": "100000", "Connection": "close"}
        site.publish(others={"/p1": Answer(site.html("p1"), headers=headers)})
    site.crawl(project, "shop", clean=False, **BROKEN[case])
    conditions(site.server)

    site.crawl(project, "shop", clean=False, **BROKEN[case])

    held = {url for (url,) in rows(project, "SELECT url FROM responses")}
    assert held == (set() if case == "too-large" else {site.url(name) for name in ("", "p0", "p2", "p3")})


# The delta feed.


def test_delta_feed_leaves_out_what_the_last_acknowledged_visit_gave(project: Project, site: ChangingSite) -> None:
    project.settings["DEDUP_UNCHANGED"] = "skip"
    found = []
    for price in (10, 12, 12, 10):
        prices(site, price, 11, 12, 13)
        crawled = site.crawl(project, "shop")
        found.append(price_of(crawled, site))
        assert len(crawled.yielded) == PRODUCTS
        assert crawled.count("unchanged/dropped") == PRODUCTS - len(crawled.fed)

    assert found == [{"p0": 10, "p1": 11, "p2": 12, "p3": 13}, {"p0": 12}, {}, {"p0": 10}]


def test_fields_that_the_user_names_do_not_count(project: Project, site: ChangingSite) -> None:
    project.settings |= {"DEDUP_UNCHANGED": "skip", "DEDUP_IGNORE_FIELDS": ["scraped_at"]}
    write(
        project,
        ("import scrapy", "import time\nimport scrapy"),
        ('"price": float', '"scraped_at": time.time(), "price": float'),
    )

    first, second = (site.crawl(project, "shop") for _ in range(2))
    prices(site, 10, 11, 12, 99)
    third = site.crawl(project, "shop")

    assert (len(first.fed), second.fed, price_of(third, site)) == (PRODUCTS, [], {"p3": 99})


def test_delta_feed_does_not_take_the_place_of_a_whole_one(project: Project, site: ChangingSite) -> None:
    project.settings["FEEDS"] = {}
    site.crawl(project, "shop", "-O", "out.jsonl")
    before = (project.folder / "out.jsonl").read_text()

    refused = site.crawl(project, "shop", "-O", "out.jsonl", clean=False, DEDUP_UNCHANGED="skip")
    after = (project.folder / "out.jsonl").read_text()
    appended = site.crawl(project, "shop", "-o", "out.jsonl", DEDUP_UNCHANGED="skip")
    whole = site.crawl(project, "shop", "-O", "out.jsonl", DEDUP_UNCHANGED="emit")

    assert before == after
    assert site.server.requests[-1]
    assert "out.jsonl would lose what it holds" in refused.log
    assert "-o in place of -O" in refused.log
    assert "DEDUP_UNCHANGED=emit" in refused.log
    assert refused.exit_code != 0
    assert appended.exit_code == whole.exit_code == 0
    assert len((project.folder / "out.jsonl").read_text().splitlines()) == PRODUCTS


def test_only_what_came_from_the_server_is_held(project: Project, site: ChangingSite) -> None:
    """A middleware of the user's made an answer, with a validator, and is gone in the next crawl."""
    site.crawl(project, "shop", DOWNLOADER_MIDDLEWARES={f"{AROUND}.Maker": 560})
    held = [url for (url,) in rows(project, "SELECT url FROM responses")]
    second = site.crawl(project, "shop")

    assert site.url("p1") not in held
    assert site.url("p2") in held
    assert price_of(second, site)["p1"] == 11


def test_page_of_which_a_title_alone_is_known_is_not_judged(make_project: Callable[..., Project]) -> None:
    """It is not asked for, and what stands in its place is no version of it."""
    text = "".join(f"<p>Word {number} of a text that two pages have under one title.</p>" for number in range(9))

    def a_site(origins: list[str]) -> Site:
        here = origins[0]
        links = "".join(f'<a href="{here}/{name}">{name}</a>' for name in ("a", "b", *(f"o{n}" for n in range(6))))
        others = {f"{here}/o{n}": Answer(html_page(f"other {n}")) for n in range(6)}
        twins = {f"{here}/{name}": Answer(f"<title>Twins</title><main>{text}</main>") for name in "ab"}
        return {f"{here}/": Answer(f"<title>Home</title><main>{links}</main>"), **twins, **others}

    project = make_project("trusting", **ADDON, DEDUP_TITLE_TRUST="always", DEDUP_KEEP_PAGES="none")
    with serving(1, a_site) as server:
        first = project.crawl("pages", "-a", f"start={server.origins[0]}/", CONCURRENT_REQUESTS=1)
        before = rows(project, STATES)
        server.requests.clear()
        second = project.crawl("pages", "-a", f"start={server.origins[0]}/", CONCURRENT_REQUESTS=1)

    (left_out,) = {f"{server.origins[0]}/{name}" for name in "ab"} - set(server.requests)
    assert (first.count("title/dropped"), second.count("title/skipped")) == (1, 1)
    assert [row for row in rows(project, STATES) if row[0] == left_out] == [row for row in before if row[0] == left_out]

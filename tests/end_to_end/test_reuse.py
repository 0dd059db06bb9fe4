"""What a callback yielded stands in for it where the user asks for that, and only where it would yield it again."""

import os
import re
import subprocess
import sys
from typing import Any

import pytest

from tests.end_to_end.crawling import ADDON, ROOT, Crawled, Project, lines_of
from tests.end_to_end.recrawl_site import HOME, ChangingSite, copied, execute, statuses
from tests.end_to_end.shop_code import SPIDER, own, price_of, prices, write
from tests.server import WebServer

PAGES = 5
"""Of the site, with its home page."""
PRODUCTS = PAGES - 1
REUSE: dict[str, Any] = {**ADDON, "DEDUP_REUSE": "body", "DEDUP_AUDIT": 0, "FEED_EXPORT_ENCODING": "utf-8"}


def a_shop(server: WebServer) -> ChangingSite:
    site = ChangingSite(server, PRODUCTS)
    prices(site, 10, 11, 12, 13)
    return site


@pytest.fixture
def site(server) -> ChangingSite:
    return a_shop(server)


@pytest.fixture(scope="module")
def seen(server, tmp_path_factory) -> Project:
    """A project whose outcomes are kept; tests work on copies."""
    project = Project(tmp_path_factory.mktemp("seen") / "project", dict(REUSE))
    write(project)
    a_shop(server).crawl(project, "shop")
    return project


@pytest.fixture
def project(seen, tmp_path) -> Project:
    return copied(seen, tmp_path / "project")


@pytest.fixture
def fresh(tmp_path) -> Project:
    """A project that has crawled nothing."""
    return Project(tmp_path / "fresh", dict(REUSE))


def saved(crawled: Crawled) -> int:
    return crawled.count("reuse/callbacks_saved")


def test_callbacks_run_for_pages_of_other_bytes_alone_and_the_feed_is_what_it_was(project, seen, site):
    """Arguments of a scheduler change nothing; links are those of today."""
    first = lines_of(seen.folder / "feed.jsonl")

    second = site.crawl(project, "shop", "-a", "_job=17")
    prices(site, 10, 99, 12, 13)
    third = site.crawl(project, "shop")

    assert (second.yielded, saved(second)) == ([], PAGES)
    assert sorted(own(second), key=str) == sorted(
        ({"url": item["url"], "price": item["price"]} for item in first), key=str
    )
    assert statuses(second) == {"304": PAGES}
    assert {report["verdict"] for report in second.reports.values()} == {"unchanged"}
    assert f"{PAGES} callbacks saved, 0 audited" in second.log
    assert price_of(third, site) == {"p0": 10, "p1": 99, "p2": 12, "p3": 13}
    assert third.yielded == [site.url("p1")]


def test_by_text_a_nonce_changes_nothing_and_a_text_does(fresh, site):
    write(fresh)
    fresh.settings["DEDUP_REUSE"] = "text"
    found = []
    for nonce, versions in ((1, {}), (2, {"p2": 2})):
        heads = dict.fromkeys(("", *site.names), f"<meta name=nonce content={nonce}>")
        site.publish(heads=heads, versions=versions)
        found.append(site.crawl(fresh, "shop"))

    assert [len(crawled.yielded) for crawled in found] == [PRODUCTS, 1]
    assert [len(crawled.fed) for crawled in found] == [PRODUCTS] * 2


@pytest.mark.parametrize("details", [[], ["chunks", "removed"]], ids=["small", "whole"])
def test_page_of_which_the_same_is_cut_is_not_compared_and_its_item_says_the_same(fresh, site, details):
    write(fresh)
    fresh.settings |= {"DEDUP_REUSE": "never", "DEDUP_ITEM_DETAILS": details}
    found = []
    for nonce in range(1, 4):
        site.publish(heads=dict.fromkeys(("", *site.names), f"<meta name=nonce content={nonce}>"))
        if nonce == 3:  # The last crawl compares anew.
            fresh.settings["DEDUP_CHUNK"] = {"min_documents": 7}
        found.append(site.crawl(fresh, "shop"))

    assert [crawled.count("chunks/in") > 0 for crawled in found] == [True, False, True]
    assert {report["verdict"] for report in found[1].reports.values()} == {"unchanged"}
    passing = ("run", "fetched_at", "released", "previous_seen_at", "previous_hash", "verdict", "reason")
    told = [{url: {k: v for k, v in one.items() if k not in passing} for url, one in c.reports.items()} for c in found]
    assert told[1] == told[2]
    assert {url: one["content_hash"] for url, one in told[0].items()} == {
        url: one["content_hash"] for url, one in told[1].items()
    }
    assert [len(crawled.fed) for crawled in found] == [PRODUCTS] * 3


CHANGES: dict[str, dict[str, Any]] = {
    "callback-edited": {"edits": [("float(", "2 * float(")], "factor": 2},
    "argument": {"arguments": ["-a", "field=name"], "factor": 1},
    "own-setting": {"settings": {"SHOP_RATE": 2}, "factor": 1},
    "version": {"settings": {"DEDUP_VERSION": "2"}, "factor": 1},
    "code-file": {"settings": {"DEDUP_CODE_FILES": ["scrapy.cfg"]}, "factor": 1},
}


@pytest.mark.parametrize("case", CHANGES)
def test_callbacks_run_where_what_they_depend_on_is_another(project, site, case):
    change = CHANGES[case]
    write(project, *change.get("edits", ()))

    crawled = site.crawl(project, "shop", *change.get("arguments", ()), **change.get("settings", {}))

    assert saved(crawled) == 0
    assert len(crawled.yielded) == PRODUCTS
    assert sorted(price_of(crawled, site).values()) == [change["factor"] * price for price in (10, 11, 12, 13)]
    part = {"callback-edited": "code", "argument": "arguments", "own-setting": "settings"}
    if case in part:
        assert f"extracted anew: the {part[case]} is not that of the run before" in crawled.log


ODD = (
    (
        "yield response.follow(link, self.product)",
        """price = response.css(".price::text").get()
            jars = [{"cookies": {"currency": one}, "meta": {"cookiejar": one}} for one in ("EUR", "USD")]
            how = {
                "/p0": [{"meta": {"page_methods": [object()]}}],
                "/p1": [{"callback": lambda response: self.product(response)}],
                "/p2": [{"cb_kwargs": {"price": price}}],
                "/p3": [{**one, "dont_filter": True} for one in jars],
            }
            for one in how.get(link.attrib["href"], [{}]):
                yield response.follow(link, **{"callback": self.product, **one})""",
    ),
    ("product(self, response)", "product(self, response, price=None)"),
    ('"url": response.url', '"id": response.url + response.meta.get("cookiejar", ""), "url": response.url'),
    ("yield noted({", "if '14' in response.css('.price::text').get():\n            {}[1]\n        yield noted({"),
    ('float(response.css(".price::text").get())', 'float(price or response.css(".price::text").get())'),
)


def test_callbacks_run_whose_outcome_cannot_be_kept_or_hangs_on_more_than_the_page(fresh, server):
    """A value and a callback that have no name, two visitors of one URL, a price of the list's, one that raised."""
    site = ChangingSite(server, 6)
    write(fresh, *ODD)
    found = []
    for listed in (1, 1, 2):
        prices(site, *range(10, 16))
        site.publish(notes={**site.notes, HOME: f"<p class=price>{listed}</p>"})
        found.append(site.crawl(fresh, "shop", clean=False))

    first, second, third = found
    always = [site.url(name) for name in ("p0", "p1", "p3EUR", "p3USD")]
    assert sorted(own(second), key=str) == sorted(own(first), key=str)
    assert [len(crawled.fed) for crawled in found] == [6] * 3
    assert [price_of(crawled, site)["p2"] for crawled in found] == [1, 1, 2]
    assert (sorted(second.yielded), saved(second)) == (always, 2)
    assert (sorted(third.yielded), saved(third)) == (sorted([*always, site.url("p2")]), 1)
    # The home page's outcome has requests that cannot be kept.
    whys = {"value": 2, "callback": 1, "visitor": 2}
    assert {why: second.count(f"reuse/not_kept/{why}") for why in whys} == whys
    # What it had yielded before it raised is not all that it would have.
    assert second.log.count("KeyError: 1") == first.log.count("KeyError: 1") > 0


def test_nothing_of_a_spider_with_state_is_used(fresh, site):
    """Wherever it has it: the places are those of `reuse/changes`."""
    write(fresh, ("class Shop", "MET = []\n\n\nclass Shop"), ("yield noted", "MET.append(1)\n        yield noted"))

    first, second = (site.crawl(fresh, "shop") for _ in range(2))

    assert first.log.count("The spider shop has state") == 1
    assert (saved(second), len(second.yielded)) == (0, PRODUCTS)
    assert price_of(second, site) == price_of(first, site)


SOLD_ONCE = [
    (
        "    def product(",
        """    def product(self, response):
        if self.is_first(response.css(".sku::text").get()):
            yield noted({"url": response.url})

    def with_price(""",
    ),
    ("class Shop(scrapy.Spider):", "{}\n\n\nclass Shop(scrapy.Spider):\n    def is_first(self, sku):\n        {}\n"),
]
MEMORIES = {
    "class-of-a-helper": ("class Box:\n    met = set()", "new = sku not in Box.met; Box.met.add(sku); return new"),
    "connection": (
        "import sqlite3\ndb = sqlite3.connect(':memory:')\ndb.execute('create table met (sku text primary key)')",
        "return db.execute('insert or ignore into met values (?)', (sku,)).rowcount == 1",
    ),
}


@pytest.mark.parametrize("case", MEMORIES)
def test_page_that_gave_nothing_for_its_equals_sake_gives_its_item_when_that_has_another(case, fresh, site):
    callback, (head, helped) = SOLD_ONCE
    write(fresh, callback, (head, helped.format(*MEMORIES[case])))
    found = []
    for skus in ("AABC", "DABC"):
        site.publish(notes={name: f"<b class=sku>{sku}</b>" for name, sku in zip(site.names, skus, strict=True)})
        found.append(site.crawl(fresh, "shop", CONCURRENT_REQUESTS=1))

    assert [len(crawled.yielded) for crawled in found] == [3, 4]
    assert saved(found[1]) == 0


def test_callback_runs_where_its_outcome_is_damaged(project, site):
    damage = {"requests = x'00ff'": "p0", "items = NULL": "p1"}
    execute(project, [f"UPDATE extractions SET {how} WHERE url LIKE '%/{name}'" for how, name in damage.items()])

    second, third = (site.crawl(project, "shop") for _ in range(2))

    assert (second.count("unchanged/damaged"), second.count("reuse/lost")) == (1, 1)
    assert (saved(second), sorted(second.yielded)) == (PAGES - 2, [site.url("p0"), site.url("p1")])
    assert price_of(second, site) == price_of(third, site) == {"p0": 10, "p1": 11, "p2": 12, "p3": 13}
    assert saved(third) == PAGES


def script(project: Project, site: ChangingSite, *, piped: bool) -> str:
    """Crawl by a script of the user's, or by what is typed into an interpreter; return the log."""
    settings = {**project.settings, "FEEDS": {"script.jsonl": {"format": "jsonlines"}}, "LOG_LEVEL": "INFO"}
    settings.pop("SPIDER_MODULES", None)
    # Of a generator Scrapy itself wants the source.
    spider = SPIDER.replace("yield noted({", "return [noted({").replace(".get())})", ".get())})]")
    code = (
        f"from scrapy.crawler import CrawlerProcess\n{spider}\n"
        f"process = CrawlerProcess({settings!r})\nprocess.crawl(Shop, start={site.url('')!r})\nprocess.start()\n"
    )
    (project.folder / "run.py").write_text(code, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code] if piped else [sys.executable, "run.py"]
    done = subprocess.run(
        command, cwd=project.folder, env=environment, check=True, capture_output=True, text=True, timeout=40
    )
    return done.stderr


def test_code_in_main_is_known_by_its_file_alone(fresh, site):
    logs = [script(fresh, site, piped=piped) for piped in (False, False, True)]

    assert len(lines_of(fresh.folder / "script.jsonl")) == 3 * PRODUCTS
    unreadable = "No kept outcome is used: the code of spider shop cannot be read"
    assert [log.count(unreadable) for log in logs] == [0, 0, 1]
    assert [f"{PAGES} callbacks saved" in log for log in logs] == [False, True, False]


HIDDEN = ('float(response.css(".price::text").get())', 'float(open("price.txt").read())')


def test_audit_finds_what_no_key_knows_of_and_names_field_and_pages(make_project, server):
    site = ChangingSite(server, 30)
    project = make_project("audited", **REUSE)
    write(project, HIDDEN)
    found = []
    for price, audit in ((1, 0), (1, 0.3), (2, 0.3), (2, 0)):
        (project.folder / "price.txt").write_text(str(price))
        found.append(site.crawl(project, "shop", DEDUP_AUDIT=audit, CONCURRENT_REQUESTS=2))

    _, same, differs, after = found
    # The start page gives no item.
    assert 0 <= same.count("reuse/audited") - len(same.yielded) <= 1
    assert same.yielded
    assert re.search(r"\d+ callbacks saved, \d+ audited, 0 differed: at most [\d.]+% can", same.log)
    assert differs.count("reuse/audits_differed") >= 1
    (warning,) = re.findall(r"WARNING: (.* differs from what was kept of (?s:.*?))\n\d{4}-", differs.log)
    assert "the field 'price'" in warning
    listed = set(re.findall(r"^http\S+$", warning, re.MULTILINE))
    old = {item["url"] for item in differs.fed if item["price"] == 1}
    assert listed - {site.url("")} <= old
    # Where the first page is audited, none was answered before.
    answered = sum(map(int, re.findall(r"the (\d+) pages that were", warning)))
    assert len(old) == answered - int(saved(differs) > len(old))
    assert set(price_of(after, site).values()) == {2}


def test_whole_audit_gives_what_callbacks_yield_now(project, site):
    write(project, HIDDEN)
    found = []
    for price, audit in ((1, 0), (2, 1.0), (2, 0)):
        (project.folder / "price.txt").write_text(str(price))
        found.append(site.crawl(project, "shop", DEDUP_AUDIT=audit))

    assert [set(price_of(crawled, site).values()) for crawled in found] == [{1}, {2}, {2}]
    assert statuses(found[1]) == {"200": PAGES}
    assert "the field 'price'" in found[1].log
    assert saved(found[2]) == PAGES


LISTENERS = {"tests.end_to_end.company.Counting": 0, "tests.end_to_end.recorders.Ledger": 0}


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({}, id="scrapys-filter"),
        pytest.param({"DUPEFILTER_CLASS": "scrapy_dedup.StoreDupeFilter"}, id="our-filter"),
        pytest.param({"DEPTH_LIMIT": 1}, id="depth"),
        pytest.param({"EXTENSIONS": LISTENERS}, id="somebody-listens"),
    ],
)
def test_links_that_are_asked_for_again_are_those_that_the_filter_lets_pass(fresh, site, settings):
    """Each page leads to each other one by its menu; all but the first of these requests end at the filter."""
    followed = '        yield from response.follow_all(css="nav li + li a", callback=self.product)\n'
    write(fresh, ('        yield noted({"url"', f'{followed}        yield noted({{"url"'))
    site.publish(menu=site.names)

    first, second = (site.crawl(fresh, "shop", **settings) for _ in range(2))

    same = ("dupefilter/filtered", "scheduler/enqueued", "request_depth_max", "told/scheduled", "told/dropped")
    assert [first.stats.get(name) for name in same] == [second.stats.get(name) for name in same]
    assert second.stats.get("dupefilter/filtered", 0) == (0 if "DEPTH_LIMIT" in settings else PRODUCTS**2)
    assert saved(second) == second.stats["response_received_count"]
    assert sorted(own(first), key=str) == sorted(own(second), key=str)


def test_one_request_may_ask_for_reuse(fresh, site):
    """By its meta, in a crawl that reuses nothing else."""
    asked = "self.product, meta={'dedup': {'reuse': 'body'}}"
    write(fresh, ("self.product)", f"{asked})"))
    first, second = (site.crawl(fresh, "shop", DEDUP_REUSE="never") for _ in range(2))

    assert len(first.yielded) == PRODUCTS
    assert (second.yielded, saved(second)) == ([], PRODUCTS)
    assert price_of(second, site) == price_of(first, site)

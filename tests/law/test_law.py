"""The feed with the add-on is the feed without it, on every crawl, for every kind of spider; see `scenarios.py`.

`LAW_EXAMPLES` is how many examples there are over all kinds and modes, `LAW_SEED` which; with `LAW_SHRINK` a smaller
one that fails is looked for.
"""

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest

from tests.law import compare
from tests.law.commands import scrapy, serving
from tests.law.compare import Stripped
from tests.law.crawls import ADDON, Crawl, Visit
from tests.law.scenarios import Effort, Scenario, search, shares, tried
from tests.law.site import ORIGIN, Change, Server
from tests.law.spiders import KINDS, Plan
from tests.tables import table

EXAMPLES = int(os.environ.get("LAW_EXAMPLES", "50"))
SEED = int(os.environ.get("LAW_SEED", "1"))
SHRINK = "LAW_SHRINK" in os.environ
PLAN = Plan((("price", "number"), ("sku", "as it is"), ("offer", "rounded")))

SHARES = shares(EXAMPLES)


@pytest.mark.parametrize(("kind", "mode"), SHARES)
def test_feed_is_that_of_the_bare_spider_and_a_delta_feed_without_each_pages_last_items(kind, mode, crawls):
    search(kind, mode, crawls, Effort(SHARES[kind, mode], SEED, SHRINK))


@pytest.mark.parametrize(
    ("kind", "server", "settings", "status"),
    [
        *(
            pytest.param(kind, Server("etag"), {}, 304, id=kind)
            for kind in ("dict", "crawl_spider", "json_api", "downloads", "async")
        ),
        pytest.param("dict", Server("modified"), {}, 304, id="by-its-date-alone"),
        pytest.param("dict", Server("etag", gzip=True), {}, 304, id="held-as-it-came"),
        pytest.param("dict", Server("etag"), {"DEDUP_MAX_304_AGE": 0}, 200, id="no-304-is-believed"),
        pytest.param("dict", Server("etag"), {"DEDUP_KEEP_PAGES": "none"}, 200, id="nothing-is-held"),
    ],
)
def test_unchanged_site_costs_no_second_transfer_where_that_is_of_use(kind, server, settings, status, crawls, tmp_path):
    """Else all the examples would compare a crawl with itself."""
    chosen = {"DEDUP_DATABASE_URL": f"sqlite:///{tmp_path / 'dedup.db'}", **settings}
    scenario = Scenario(kind, PLAN, 3, 6, server, ((),))

    first, second = (crawls.run(scenario.job(number, ADDON, chosen)) for number in range(2))

    assert {status for _, status in first.statuses} == {200}
    assert {status for _, status in second.statuses} == {status}
    assert compare.emitted(first, second) == []


def test_callbacks_of_equal_bodies_do_not_run_where_that_is_asked_for(crawls, tmp_path):
    """Of bodies that come whole; what a 304 stands for is in `end_to_end/test_reuse.py`."""
    store = {"DEDUP_DATABASE_URL": f"sqlite:///{tmp_path / 'dedup.db'}", "DEDUP_REUSE": "body", "DEDUP_AUDIT": 0}
    scenario = Scenario("dict", PLAN, 3, 6, Server(), ((), (Change("slot", 2, "price", "much"),)))

    first, second, third = (crawls.run(scenario.job(number, ADDON, store)) for number in range(3))

    assert sum(first.called.values()) == 8
    assert second.called == {}
    assert list(third.called) == [f"{ORIGIN}/p/2"]
    assert len(first.items) == len(second.items) == len(third.items) == 6


def test_pages_that_a_callback_waits_for_are_asked_for_in_every_crawl(crawls):
    changes = ((Change("slot", 2, "stock", "much"),), ())

    assert tried(Scenario("async", PLAN, 3, 6, Server("etag"), changes), "skip and body", crawls) == []


@pytest.mark.crawl
@pytest.mark.parametrize("kind", ["async", "downloads", "login", "errors"])
def test_crawl_by_command_over_http_gives_the_feed_of_the_bare_spider(kind, crawls, tmp_path):
    """Its store was filled by another process, with the version of the site before; kinds that ask in their own way."""
    store = {"DEDUP_DATABASE_URL": f"sqlite:///{tmp_path / 'dedup.db'}"}
    changes = (Change("slot", 1, "price", "much"), Change("slot", 2, "sku", "little"), Change("moved", 3))
    arguments, feed = {"plan": PLAN.to_argument()}, tmp_path / "feed.jsonl"
    with serving() as served:
        scenario = Scenario(kind, PLAN, 5, 6, Server("both", gzip=True), (changes,), origin=served.origin)
        crawls.run(scenario.job(0, ADDON, store))
        bare = crawls.run(scenario.job(1))
        served.world = scenario.job(1).world
        chosen = {**KINDS[kind].settings, **store, "SPIDER_MODULES": ["tests.law.spiders"], "RETRY_TIMES": 1}
        chosen["ADDONS"] = {**chosen.get("ADDONS", {}), ADDON: 700}
        given = [
            text for name, value in {**arguments, "origin": served.origin}.items() for text in ("-a", f"{name}={value}")
        ]

        done = scrapy(tmp_path, "crawl", kind, *given, "-O", f"{feed}:jsonlines", **chosen)

    strip = Stripped.of(bare, KINDS[kind].varies)
    items = [json.loads(line) for line in feed.read_text().splitlines()]
    assert done.code == 0, done.err
    assert Counter(map(strip.item, items)) == Counter(map(strip.item, bare.items))
    assert served.world.asked == bare.asked


def a_crawl(
    pages: Mapping[str, str], *, asked: Sequence[str] = (), errors: Sequence[str] = (), reason: str = "finished"
) -> Crawl:
    """Return a crawl that gave of each page an item for each letter."""
    visits = tuple(Visit(f"{ORIGIN}{path}", tuple({"is": one} for one in items)) for path, items in pages.items())
    requests = Counter(("GET", path, "") for path in (*pages, *asked))
    statuses, called = Counter((path, 200) for path in pages), Counter(f"{ORIGIN}{path}" for path in pages)
    return Crawl(visits, requests, statuses, called, tuple(errors), (), reason, {})


FIRST, SECOND = {"/1": "aab", "/2": "c"}, {"/1": "aad", "/2": "c"}


@pytest.mark.parametrize(
    ("bare", "crawl", "found"),
    [
        pytest.param(a_crawl(FIRST), a_crawl(FIRST), [], id="equal"),
        pytest.param(a_crawl(FIRST), a_crawl({**FIRST, "/1": "ab"}), ["missing", "surplus"], id="an-item-is-lost"),
        pytest.param(a_crawl(FIRST), a_crawl({**FIRST, "/1": "aba"}), ["missing", "surplus"], id="another-order"),
        pytest.param(a_crawl(FIRST), a_crawl(FIRST, asked=["/probe"]), ["asked for without need"], id="a-probe"),
        pytest.param(a_crawl(FIRST, asked=["/x"]), a_crawl(FIRST), ["not asked for"], id="a-request-is-lost"),
        pytest.param(a_crawl(FIRST), a_crawl(FIRST, errors=["wrong"]), ["error"], id="an-error"),
        pytest.param(a_crawl(FIRST), a_crawl(FIRST, reason="shutdown"), ["it ended by shutdown"], id="another-end"),
    ],
)
def test_a_feed_that_breaks_the_law_is_caught(bare, crawl, found):
    differences = compare.emitted(bare, crawl)
    assert len(differences) == len(found)
    assert all(map(str.startswith, differences, found)), differences


@table("law/a_delta_feed_that_breaks_the_law_is_caught")
def test_a_delta_feed_that_breaks_the_law_is_caught(given, is_right):
    """Where an item went, and comes back."""
    before = [a_crawl(FIRST), a_crawl(SECOND)]
    found = compare.left_over(a_crawl(FIRST), a_crawl(given), before)
    assert [one.partition(":")[0] for one in found] == ([] if is_right else ["delta feed"])


def test_the_order_of_a_delta_feed_is_that_of_the_page():
    assert compare.left_over(a_crawl({"/1": "ab"}), a_crawl({"/1": "ba"}), []) != []

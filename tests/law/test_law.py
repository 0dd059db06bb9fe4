"""The feed with the add-on is the feed without it, on every crawl, for every kind of spider; see `scenarios.py`.

`LAW_EXAMPLES` is how many examples there are over all kinds and modes, `LAW_SEED` which; with `LAW_SHRINK` a smaller
one that fails is looked for.
"""

import json
import os
from collections import Counter

import pytest

from tests.law.commands import scrapy, serving
from tests.law.compare import Stripped
from tests.law.crawls import ADDON
from tests.law.scenarios import Effort, Scenario, search, shares, tried
from tests.law.site import ORIGIN, Change, Server
from tests.law.spiders import KINDS, Plan

EXAMPLES = int(os.environ.get("LAW_EXAMPLES", "50"))
SEED = int(os.environ.get("LAW_SEED", "1"))
SHRINK = "LAW_SHRINK" in os.environ
PLAN = Plan((("price", "number"), ("sku", "as it is"), ("offer", "rounded")))

SHARES = shares(EXAMPLES)


@pytest.mark.parametrize(("kind", "mode"), SHARES)
def test_feed_is_that_of_the_bare_spider_and_a_delta_feed_without_each_pages_last_items(kind, mode, crawls):
    search(kind, mode, crawls, Effort(SHARES[kind, mode], SEED, SHRINK))


@pytest.mark.parametrize("kind", ["dict", "crawl_spider", "json_api", "downloads", "async"])
def test_unchanged_site_costs_no_second_transfer(kind, crawls, tmp_path):
    """Else all the examples would compare a crawl with itself."""
    store = {"DEDUP_DATABASE_URL": f"sqlite:///{tmp_path / 'dedup.db'}"}
    scenario = Scenario(kind, PLAN, 3, 6, Server("etag"), ((),))

    first, second = (crawls.run(scenario.job(number, ADDON, store)) for number in range(2))

    assert {status for _, status in first.statuses} == {200}
    assert {status for _, status in second.statuses} == {304}


@pytest.mark.parametrize("validators", ["", "etag"])
def test_callbacks_of_equal_bodies_do_not_run_where_that_is_asked_for(validators, crawls, tmp_path):
    store = {"DEDUP_DATABASE_URL": f"sqlite:///{tmp_path / 'dedup.db'}", "DEDUP_REUSE": "body", "DEDUP_AUDIT": 0}
    scenario = Scenario("dict", PLAN, 3, 6, Server(validators), ((), (Change("slot", 2, "price", "much"),)))

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
    assert done.exit_code == 0, done.log
    assert Counter(map(strip.item, items)) == Counter(map(strip.item, bare.items))
    assert served.world.asked == bare.asked


AWAY_AND_BACK = Scenario(
    kind="many_items",
    plan=Plan((("price", "number"), ("sku", "as it is"))),
    seed=7,
    products=5,
    server=Server("both"),
    changes=((Change("slot", 2, "price", "much"), Change("rows", 3, much="empty")), (Change("back"),)),
)


@pytest.mark.parametrize(
    ("addon", "mode", "found"),
    [
        ("Delta", "default", ["crawl 2: missing", "crawl 2: surplus", "crawl 3: missing", "crawl 3: surplus"]),
        ("ForEver", "skip", ["crawl 3: delta feed"]),
        ("Old", "default", ["crawl 2: missing", "crawl 2: surplus"]),
        ("Fewer", "default", ["crawl 1: missing", "crawl 2: missing", "crawl 3: missing"]),
        ("Fewer", "skip", ["crawl 1: delta feed", "crawl 2: delta feed", "crawl 3: delta feed"]),
        ("Backwards", "default", ["crawl 1: missing", "crawl 1: surplus"]),
        ("Backwards", "skip", ["crawl 1: delta feed"]),
        ("Curious", "default", ["crawl 1: asked for without need"]),
        ("Loud", "default", ["crawl 1: error"]),
    ],
)
def test_an_addon_that_breaks_the_law_is_caught(addon, mode, found, crawls):
    differences = tried(AWAY_AND_BACK, mode, crawls, f"tests.law.other_addons.{addon}Addon")

    assert [one for one in found if not any(line.startswith(one) for line in differences)] == [], differences

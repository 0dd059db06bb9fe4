"""The law's own test: it finds nothing where there is nothing, and something where there is."""

import pytest

from tests.law.crawls import Crawls
from tests.law.scenarios import Effort, Scenario, search, tried
from tests.law.site import Change, Server
from tests.law.spiders import KINDS, Plan

AWAY_AND_BACK = Scenario(
    kind="many_items",
    plan=Plan((("price", "number"), ("sku", "as it is"))),
    seed=7,
    products=5,
    server=Server("both"),
    changes=((Change("slot", 2, "price", "much"), Change("rows", 3, much="empty")), (Change("back"),)),
)


@pytest.mark.parametrize("kind", KINDS)
def test_bare_crawl_gives_the_same_where_responses_come_in_another_order(kind: str, crawls: Crawls) -> None:
    search(kind, "default", crawls, Effort(1), "tests.law.other_addons.UnhurriedAddon")


def test_a_delta_feed_by_the_rule_is_right(crawls: Crawls) -> None:
    assert tried(AWAY_AND_BACK, "skip", crawls, "tests.law.other_addons.DeltaAddon") == []


@pytest.mark.parametrize(
    "kind", ["meta", "errors", "two_currencies", "retry_spider", "callback_raises", "time_in_item"]
)
def test_a_delta_feed_by_the_rule_is_right_for_kinds_with_failures_and_repeats(kind: str, crawls: Crawls) -> None:
    search(kind, "skip", crawls, Effort(1, seed=2), "tests.law.other_addons.DeltaAddon")


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
def test_an_addon_that_breaks_the_law_is_caught(addon: str, mode: str, found: list[str], crawls: Crawls) -> None:
    differences = tried(AWAY_AND_BACK, mode, crawls, f"tests.law.other_addons.{addon}Addon")

    assert [one for one in found if not any(line.startswith(one) for line in differences)] == [], differences

"""The law's own test: it finds something where there is something. That it finds nothing else, the law itself shows."""

import pytest

from tests.law.crawls import Crawls
from tests.law.scenarios import Scenario, tried
from tests.law.site import Change, Server
from tests.law.spiders import Plan

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
def test_an_addon_that_breaks_the_law_is_caught(addon: str, mode: str, found: list[str], crawls: Crawls) -> None:
    differences = tried(AWAY_AND_BACK, mode, crawls, f"tests.law.other_addons.{addon}Addon")

    assert [one for one in found if not any(line.startswith(one) for line in differences)] == [], differences

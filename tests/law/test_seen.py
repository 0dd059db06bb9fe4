"""Each loss and each wrong item that a user has seen, a test of its own."""

import csv
import io
import json
import marshal
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from scrapy.utils.test import get_crawler

from scrapy_dedup.store.store import Store
from tests.law import compare
from tests.law.commands import scrapy, serving
from tests.law.crawls import ADDON, Crawl, Crawls, Job
from tests.law.scenarios import MODES, Scenario, tried
from tests.law.seen_spiders import NamelessSpider
from tests.law.site import ORIGIN, SLOTS, Answer, Asked, Change, FixedWorld, Server, World, first_site
from tests.law.spiders import Plan
from tests.tables import table

EVERYTHING = Plan(tuple((slot, "as it is") for slot in SLOTS if slot != "listed"))
FEW = Plan((("price", "as it is"), ("stock", "as it is")))
MODE = pytest.mark.parametrize("mode", ["default", "skip and body"])
PROSE = "A chair of oak with four legs and a back, made by hand in a workshop near the river where an old mill stood"


def page(title: str, body: str, head: str = "") -> Answer:
    return Answer(body=f"<html><head><title>{title}</title>{head}</head><body>{body}</body></html>".encode())


class Beside:
    """Crawls of one store, each beside the bare one."""

    def __init__(self, crawls: Crawls, folder: Path, spider: str, **chosen: Any) -> None:
        self.crawls, self.spider = crawls, f"tests.law.seen_spiders.{spider}"
        self.chosen = {"DEDUP_DATABASE_URL": f"sqlite:///{folder / 'dedup.db'}", **chosen}

    def crawl(
        self, world: World | FixedWorld, settings: Mapping[str, Any] | None = None, **arguments: Any
    ) -> tuple[Crawl, Crawl]:
        """Return the bare crawl and the one with the add-on."""
        bare = self.crawls.run(Job(self.spider, world, arguments, settings=settings or {}))
        return bare, self.on(world, settings, **arguments)

    def on(self, world: World | FixedWorld, settings: Mapping[str, Any] | None = None, **arguments: Any) -> Crawl:
        """Return the crawl with the add-on alone."""
        return self.crawls.run(Job(self.spider, world, arguments, ADDON, {**(settings or {}), **self.chosen}))

    def differences(
        self, world: World | FixedWorld, settings: Mapping[str, Any] | None = None, **arguments: Any
    ) -> list[str]:
        return compare.emitted(*self.crawl(world, settings, **arguments))


class TestChangedPage:
    @pytest.mark.parametrize(
        ("mode", "server"),
        [("default", Server("etag")), ("default", Server(nonce=True)), ("body", Server())],
        ids=["304", "other-bytes", "reuse"],
    )
    def test_one_change_of_any_sort_on_each_product_is_in_the_second_feed(self, mode, server, crawls):
        changes = tuple(Change("slot", at, slot, "much") for at, slot in enumerate(SLOTS))

        assert tried(Scenario("dict", EVERYTHING, 11, len(SLOTS), server, (changes, ())), mode, crawls) == []

    def test_value_that_travels_from_the_list_in_meta_is_the_lists_of_today(self, crawls):
        changes = tuple(Change("slot", at, "listed") for at in range(8))

        assert tried(Scenario("meta", FEW, 13, 8, Server("etag"), (changes,)), "skip and body", crawls) == []

    def test_price_that_goes_and_comes_back_comes_out_three_times(self, crawls):
        scenario = Scenario("dict", FEW, 14, 6, Server(), ((Change("slot", 2, "price", "much"),), (Change("back"),)))

        assert tried(scenario, "skip and body", crawls) == []


class TestOneStore:
    def test_second_spider_with_a_callback_of_the_same_name_gets_its_own_items(self, crawls):
        scenario = Scenario("threshold", FEW, 21, 8, Server("etag"), ((),), neighbour="dict")

        assert tried(scenario, "skip and body", crawls) == []

    def test_another_argument_gives_that_arguments_items(self, crawls, tmp_path):
        store = {"DEDUP_DATABASE_URL": f"sqlite:///{tmp_path / 'dedup.db'}", **MODES["skip and body"]}
        name, price = (
            Scenario("dict", Plan(((slot, "as it is"),)), 22, 12, Server("etag"), ()) for slot in ("name", "price")
        )

        bare = crawls.run(price.job(0))
        crawls.run(name.job(0, ADDON, store))
        crawl = crawls.run(price.job(0, ADDON, store))

        assert compare.emitted(bare, crawl) == []

    @pytest.mark.parametrize("mode", ["default", "skip"])
    def test_text_that_its_copy_has_no_more_or_another_spider_met_first_is_in_each_feed(self, mode, crawls, tmp_path):
        """Of a copy that is judged before its page was met again it comes in the next delta feed."""
        spiders = [Beside(crawls, tmp_path, name, **MODES[mode]) for name in ("PathsSpider", "CaptchaSpider")]
        cheap, dear = (page("Chair", f"<h1>Chair</h1><p>{PROSE} for {price}") for price in ("£1", "£2"))
        worlds = [FixedWorld({"/a": one, "/copy": cheap}) for one in (cheap, dear, dear)]

        found = [spider.crawl(world, paths="/a /copy")[1] for world in worlds for spider in spiders]

        first, second, *later = [[item["url"] for item in crawl.items] for crawl in found]
        assert first == second == [f"{ORIGIN}/a"]
        if mode == "default":
            assert all(len(urls) == 2 for urls in later)
        else:
            assert [{*later[at], *later[at + 2]} for at in (0, 1)] == [{f"{ORIGIN}/a", f"{ORIGIN}/copy"}] * 2

    def test_page_that_is_another_now_leaves_out_no_copy_of_what_it_was(self, crawls, tmp_path):
        beside, shop = Beside(crawls, tmp_path, "LateSpider"), _shop(7)
        now = FixedWorld(
            {**shop.answers, "/copy": shop.answers["/p/0"], "/p/0": page("Chair 0", f"<h1>Chair 0</h1><p>{PROSE}")}
        )
        before = FixedWorld({**now.answers, "/p/0": shop.answers["/p/0"]})
        paths = " ".join(before.answers)

        found = [beside.crawl(world, paths=paths, late=late)[1] for world, late in ((before, "/copy"), (now, "/p/0"))]

        assert [len(crawl.items) for crawl in found] == [7, 8]


_SPIDER = """
from scrapy import Spider

class Mine(Spider):
    name = "mine"
    start_urls = ["{origin}/list/1"]

    def parse(self, response):
        yield from response.follow_all(css="li.row a", callback=self.detail)
        yield from response.follow_all(css="a.next", callback=self.parse)

    def detail(self, response):
        yield {{"url": response.url, "value": response.css("{slot}::text").get()}}
"""


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


class TestPipelinesAndState:
    @pytest.mark.parametrize("mode", ["default", "body"])
    def test_items_pass_a_pipeline_that_makes_numbers_of_prices_once(self, mode, crawls, tmp_path):
        beside = Beside(crawls, tmp_path, "PathsSpider", **MODES[mode])
        paths = [f"/p/{number}" for number in range(12)]
        shop = FixedWorld(
            {at: page(at, f"<h1>Chair {at}</h1><b class=price>£{len(at)}.5</b><p>{PROSE}") for at in paths}
        )
        settings = {"ITEM_PIPELINES": {"tests.law.seen_spiders.Unpound": 500}}

        for _ in range(2):
            assert beside.differences(shop, settings, paths=" ".join(paths)) == []

    def test_spider_that_counts_its_pages_and_reads_in_one_callback_what_another_kept(self, crawls):
        changes = (Change("slot", 2, "price", "much"), Change("slot", 5, "listed"))
        scenario = Scenario("state_on_self", FEW, 32, 8, Server("etag"), (changes, ()))

        assert tried(scenario, "skip and body", crawls) == []

    @pytest.mark.parametrize("mode", ["default", "body"])
    def test_callback_that_failed_gives_its_items_when_it_no_longer_does(self, mode, crawls, tmp_path):
        """Its page, which a middleware had replaced, is the same; what it failed for is not."""
        beside = Beside(crawls, tmp_path, "FailingSpider", **MODES[mode])
        settings = {"DOWNLOADER_MIDDLEWARES": {"tests.law.spiders.Rewrite": 543}}
        shop = World((first_site(33, 8),), Server("etag"))
        lists = {f"/list/{number}": shop.answer(_asked(f"/list/{number}")) for number in (1, 2)}
        details = {f"/p/{number}": shop.answer(_asked(f"/p/{number}")) for number in range(8)}
        broken = FixedWorld({**lists, **details, "": Answer(503, b"not now")})
        well = FixedWorld({**broken.answers, "": Answer(body=b"<p class=stock>In stock</p>")})
        arguments = {"plan": FEW.to_argument(), "origin": ORIGIN}

        assert beside.differences(broken, settings, **arguments) == []
        assert beside.differences(well, settings, **arguments) == []


def _asked(path: str) -> Asked:
    return Asked("GET", f"{ORIGIN}{path}", {})


class TestMovedAndEqualPages:
    @pytest.mark.parametrize("mode", ["default", "body"])
    def test_page_that_moved_comes_out_in_the_run_in_which_it_moves(self, mode, crawls):
        """Its old address is gone, or redirects."""
        plan = replace(FEW, carries_html=True, follows_related=True)
        changes = tuple(Change("moved", at, much=much) for at, much in enumerate(["empty", "much"] * 2, 2))

        assert tried(Scenario("dict", plan, 41, 10, Server(stale_links=True), (changes, (), ())), mode, crawls) == []

    @pytest.mark.parametrize(
        ("spider", "answer"),
        [
            ("SkuSpider", lambda at: page("Chair", f"<article data-sku='{at}'><h1>Chair</h1><p>{PROSE}</article>")),
            ("PathsSpider", lambda at: page(f"Chair {at}", _product(f"/p/{at}"))),
            ("HtmlSpider", lambda at: page("Reading", f"<p>{PROSE}: {at}7919")),
            ("PathsSpider", lambda at: page("Share", _SHARE.format(at))),
            ("ShellSpider", lambda at: page("App", _SHELL % json.dumps({"price": at}))),
            ("LinkSpider", lambda _: replace(page("Not found", f"<h1>Not found</h1><p>{PROSE}"), status=404)),
        ],
        ids=["fields", "few words left", "numbers", "page of dashes for what is not there", "script", "broken links"],
    )
    def test_pages_of_nearly_one_text_are_as_many_items(self, spider, answer, crawls, tmp_path):
        world = FixedWorld({f"/p/{at}": answer(at) for at in range(10, 50)} | {"": answer("--")})

        assert Beside(crawls, tmp_path, spider).differences(world, paths=" ".join([*world.answers][:-1])) == []


_SHARE: str = "<h1>Share {0}</h1><p>Price {0}.{0}5 low {0}.01 high {0}.99 volume {0}000 of the day, in euro and cent"
_SHELL: str = f"<div id=app>Loading</div><footer>{PROSE}</footer><script>window.state = %s;</script>"


def _product(at: str) -> str:
    nav = "".join(f"<li><a href=/c/{number}>Category {number}</a>" for number in range(20))
    return (
        f"<ul>{nav}</ul><main><h1>Chair {at.replace('/', ' ')}</h1><b class=price>£{len(at) * 11}</b>"
        f"<p>Delivery within three days.<p>Returns within a month.</main><footer>{PROSE}</footer>"
    )


class TestRequests:
    def test_default_settings_make_no_request_that_the_spider_did_not_make(self, crawls, tmp_path):
        """A probe went out without the proxy by which alone its user may reach the site."""
        bare, crawl = Beside(crawls, tmp_path, "PathsSpider").crawl(_shop(40), paths=_PATHS)

        assert crawl.asked == bare.asked


def _refuse(asked: Asked) -> Answer:
    raise ConnectionRefusedError(asked.url)


def _refuse_forms(asked: Asked) -> Answer:
    if asked.method == "POST":
        raise ConnectionRefusedError(asked.url)
    return page("Chair", f"<p>{PROSE}")


@dataclass
class Captcha:
    """Asks who is there before it shows a page."""

    shown: Answer
    times: int = 0

    def __call__(self, asked: Asked) -> Answer:  # noqa: ARG002 - as a world calls it
        self.times += 1
        return page("Wait", "<form id=captcha>Who are you?</form>") if self.times == 1 else self.shown


def _shop(count: int) -> FixedWorld:
    products = first_site(5, 101).pages[:count]
    body = "<h1>Chair {0}</h1><b class=price>£{0}</b><p>{1} {0}<p>{2}"
    return FixedWorld(
        {
            f"/p/{number}": page(f"Chair {number}", body.format(number, PROSE, product.values["body"]))
            for number, product in enumerate(products)
        }
    )


_PATHS = " ".join(f"/p/{number}" for number in range(40))
_FEW_PATHS = " ".join(f"/p/{number}" for number in range(20))


class TestClosing:
    @table("law/items_that_wait_or_are_left_out_do_not_end_a_crawl")
    def test_items_that_wait_or_are_left_out_do_not_end_a_crawl(self, settings, pages, crawls, tmp_path):
        paths = " ".join(f"/p/{number}" for number in range(pages))
        beside = Beside(crawls, tmp_path, "PathsSpider", DEDUP_UNCHANGED="skip")
        world, dearer = _shop(pages), page("Chair", f"<h1>Chair</h1><b class=price>£999</b><p>{PROSE}")

        bare, first = beside.crawl(world, settings, paths=paths)
        changed = FixedWorld({**world.answers, f"/p/{pages - 1}": dearer})
        second_bare, second = beside.crawl(changed, settings, paths=paths)

        assert len(bare.items) == pages
        assert compare.emitted(bare, first) == []
        assert compare.left_over(second_bare, second, [bare]) == []
        assert [item["price"] for item in second.items] == ["£999"]

    def test_items_that_are_left_out_count_for_the_end_after_so_many(self, crawls, tmp_path):
        settings = {"CLOSESPIDER_ITEMCOUNT": 5, "CONCURRENT_REQUESTS": 1}
        beside = Beside(crawls, tmp_path, "PathsSpider", DEDUP_UNCHANGED="skip")

        beside.on(_shop(20), paths=_FEW_PATHS)
        bare, crawl = beside.crawl(_shop(20), settings, paths=_FEW_PATHS)

        assert crawl.items == []
        assert compare.beside(bare, crawl) == []

    @pytest.mark.parametrize("count", [1, 2, 5])
    def test_crawl_that_is_to_end_after_some_items_goes_as_far_as_without_the_add_on(self, count, crawls, tmp_path):
        settings = {"CLOSESPIDER_ITEMCOUNT": count, "CONCURRENT_REQUESTS": 1}

        assert Beside(crawls, tmp_path, "PathsSpider").differences(_shop(20), settings, paths=_FEW_PATHS) == []

    def test_crawl_that_is_to_end_after_five_items_goes_no_further_than_what_was_under_way(self, crawls, tmp_path):
        settings = {"CLOSESPIDER_ITEMCOUNT": 5, "CONCURRENT_REQUESTS": 2}

        bare, crawl = Beside(crawls, tmp_path, "PathsSpider").crawl(_shop(40), settings, paths=_PATHS)

        assert bare.reason == crawl.reason == "closespider_itemcount"
        assert 5 <= len(bare.items) <= 10
        assert 5 <= len(crawl.items) <= 10


class TestAnsweredByMiddleware:
    def test_pages_that_a_browsers_middleware_gives_are_compared_and_left_out_like_others(self, crawls, tmp_path):
        settings = {"DOWNLOADER_MIDDLEWARES": {"tests.law.seen_spiders.Browser": 543}}
        beside = Beside(crawls, tmp_path, "PathsSpider", DEDUP_UNCHANGED="skip")

        first = beside.on(FixedWorld({}), settings, paths=_FEW_PATHS[:20])
        second = beside.on(FixedWorld({}), settings, paths=_FEW_PATHS[:25])

        assert [item["dedup"]["verdict"] for item in first.items] == ["new"] * 4
        assert [item["url"][-1] for item in second.items] == ["4"]
        with closing(sqlite3.connect(tmp_path / "dedup.db")) as database:
            ((slowest,),) = database.execute("SELECT max(seconds) FROM visits")
        assert 0 < slowest < 600


class TestFailedPage:
    @pytest.mark.parametrize(
        ("how", "by", "items"),
        [
            pytest.param("status", None, [1, 0, 1, 1], id="status"),
            pytest.param("errback", None, [1, 0, 1, 1], id="errback"),
            pytest.param("errback", _refuse, [1, 0, 1, 1], id="no-answer"),
            pytest.param("nothing", None, [1, 0, 0, 0], id="no-item"),
        ],
    )
    def test_link_that_was_told_as_broken_is_told_as_mended(self, how, by, items, crawls, tmp_path):
        beside = Beside(crawls, tmp_path, "LinkSpider", DEDUP_UNCHANGED="skip", RETRY_ENABLED=False)
        whole = FixedWorld({"/a": page("Chair", f"<p>{PROSE}")})
        broken = FixedWorld({"/a": Answer(500, b"<p>no")}, by)

        found = [beside.on(world, paths="/a", how=how).items for world in (whole, whole, broken, whole)]

        assert [len(given) for given in found] == items

    def test_failure_told_of_a_form_says_nothing_of_the_page_with_its_url(self, crawls, tmp_path):
        beside = Beside(crawls, tmp_path, "FormFailsSpider", DEDUP_UNCHANGED="skip", RETRY_ENABLED=False)
        world = FixedWorld({}, _refuse_forms)

        found = [beside.on(world).items for _ in range(2)]

        assert [len([item for item in items if "error" not in item]) for items in found] == [1, 0]


class TestSeveralVisits:
    @pytest.mark.parametrize("spider", ["LanguagesSpider", "JarsSpider", "LambdasSpider"])
    def test_second_delta_has_nothing_of_a_page_that_one_callback_visits_several_times(self, spider, crawls, tmp_path):
        beside = Beside(crawls, tmp_path, spider, DEDUP_UNCHANGED="skip")
        arguments: dict[str, Any] = {"paths": "/a"} if spider == "LanguagesSpider" else {}
        world, dearer = (
            FixedWorld({"/a": page("Chair", f"<h1>Chair</h1><b class=price>{price}</b><p>{PROSE}")})
            for price in ("£1", "£2")
        )

        bare, first = beside.crawl(world, **arguments)
        second = beside.on(world, **arguments)
        changed_bare, changed = beside.crawl(dearer, **arguments)

        assert compare.emitted(bare, first) == []
        assert second.items == []
        assert compare.emitted(changed_bare, changed) == []

    @MODE
    def test_page_that_is_asked_for_again_behind_a_captcha_is_told_when_it_changes(self, mode, crawls, tmp_path):
        beside = Beside(crawls, tmp_path, "CaptchaSpider", **MODES[mode])
        chair, dearer = (page("Chair", f"<h1>Chair</h1><p>{PROSE} for {price}") for price in ("£1", "£2"))
        shown = [(chair, None), (chair, Captcha), (chair, Captcha), (dearer, Captcha), (dearer, None)]

        found = [beside.on(FixedWorld({"/a": one}, by and by(one)), paths="/a") for one, by in shown]

        kept = ["new", "unchanged", "unchanged", "changed", "unchanged"] if mode == "default" else ["new", "changed"]
        assert [item["dedup"]["verdict"] for crawl in found for item in crawl.items] == kept
        assert len({item["cleaned_content"] for crawl in found for item in crawl.items}) == 2

    def test_middleware_that_takes_one_item_of_each_page_has_read_it(self, crawls, tmp_path):
        settings = {"SPIDER_MIDDLEWARES": {"tests.law.seen_spiders.FirstAlone": 600}}
        beside = Beside(crawls, tmp_path, "SharedItemSpider", DEDUP_UNCHANGED="skip")

        found = [beside.on(_shop(4), settings, paths=_FEW_PATHS[:20]).items for _ in range(2)]

        assert [len(items) for items in found] == [4, 0]

    @pytest.mark.parametrize("step", [0, 1], ids=["same-bytes", "another-number-each-time"])
    def test_items_of_two_callbacks_come_with_each_change_and_no_more(self, step, crawls, tmp_path):
        beside = Beside(crawls, tmp_path, "TwoCallbacksSpider", DEDUP_UNCHANGED="skip")
        worlds = [FixedWorld({}, Chairs(price, 1_000 * crawl, step)) for crawl, price in enumerate((1, 1, 2, 2))]

        found = [beside.on(world, paths="/a /b") for world in worlds]

        assert [len(crawl.items) for crawl in found] == [4, 0, 4, 0]
        assert [crawl.stats.get("dedup/unchanged/dropped", 0) for crawl in found] == [0, 4, 0, 4]


@dataclass
class Chairs:
    """A page for each path, with a hidden number that grows by a step at each answer."""

    price: int
    number: int
    step: int

    def __call__(self, asked: Asked) -> Answer:
        self.number += self.step
        hidden = f"<input type=hidden value={self.number if self.step else 0}>"
        text = f"{PROSE} for {self.price} pounds at {asked.path}"
        return page("Chair", f"<h1>Chair {asked.path}</h1><p>{text}</p>{hidden}")


class TestOwnFields:
    def test_items_that_lack_but_their_pages_url_are_told_of_once(self, crawls, tmp_path):
        crawl = Beside(crawls, tmp_path, "QuotesSpider").on(_quotes(), paths=_QUOTE_PATHS)

        told = [line for line in crawl.warnings if "for its page's text set url to response.url" in line]
        assert len(told) == 1

    @pytest.mark.parametrize("spider", ["NothingSpider", "DefaultsSpider"])
    def test_fields_that_the_spider_left_empty_or_out_stay_so(self, spider, crawls, tmp_path):
        world = FixedWorld({"/a": page("Chair", f'<time datetime="2026-03-01"></time><h1>Chair</h1><p>{PROSE}')})

        assert Beside(crawls, tmp_path, spider).differences(world, paths="/a") == []


class TestRepeatsThatAreWanted:
    @pytest.mark.parametrize("spider", ["JarsSpider", "LambdasSpider"])
    def test_requests_that_differ_by_meta_or_by_callback_are_all_made(self, spider, crawls, tmp_path):
        world = FixedWorld({"/a": page("Chair", f"<p>{PROSE}")})

        assert Beside(crawls, tmp_path, spider).differences(world) == []

    def test_url_that_is_twice_among_the_start_urls_is_asked_for_twice(self, crawls, tmp_path):
        assert Beside(crawls, tmp_path, "PathsSpider").differences(_shop(3), paths="/p/0 /p/1 /p/0 /p/2") == []

    def test_project_without_a_duplicate_filter_repeats_its_requests(self, crawls, tmp_path):
        settings = {"DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter"}
        world = FixedWorld({"/a": page("A", f"<p>{PROSE}"), "/b": page("B", f"<p>{PROSE} too")})

        assert Beside(crawls, tmp_path, "TwiceSpider").differences(world, settings) == []

    @pytest.mark.parametrize("kind", ["retry_downloader", "retry_spider"])
    def test_middleware_that_asks_again_gets_its_answer(self, kind, crawls):
        assert tried(Scenario(kind, FEW, 61, 8, Server("etag"), ((),)), "skip and body", crawls) == []


class TestItems:
    def test_original_that_an_item_brings_is_stored_anew_though_its_response_is_the_same(self, crawls, tmp_path):
        beside = Beside(crawls, tmp_path, "ClickedSpider")
        found = [beside.on(_shop(6), paths=_FEW_PATHS[:29], shows=shows) for shows in ("closed", "open")]

        with Store.open(beside.chosen["DEDUP_DATABASE_URL"]) as store:
            stored = store.project("scrapybot").page(bytes.fromhex(found[1].items[0]["dedup"]["page_key"]))
        assert stored is not None
        assert stored.source is not None
        assert (stored.source.content or "").endswith("open")

    @pytest.mark.parametrize("order", [100, 800], ids=["before-ours", "behind-ours"])
    def test_item_of_another_pipelines_making_that_was_dropped_comes_once_it_is_let_pass(self, order, crawls, tmp_path):
        beside = Beside(crawls, tmp_path, "SharedItemSpider", DEDUP_UNCHANGED="skip")
        made = {"tests.law.seen_spiders.AsDict": order}
        drops = {"ITEM_PIPELINES": {**made, "tests.law.seen_spiders.NoSecond": 900}}

        found = [beside.on(_shop(4), one, paths=_FEW_PATHS[:20]).items for one in (drops, {"ITEM_PIPELINES": made})]

        assert [[item["part"] for item in items] for items in found] == [["first"] * 4, ["second"] * 4]

    def test_items_of_an_item_loader_whose_fields_are_lists_have_their_pages_texts(self, crawls, tmp_path):
        bare, crawl = Beside(crawls, tmp_path, "LoaderSpider").crawl(_shop(6), paths=_FEW_PATHS[:29])

        assert compare.emitted(bare, crawl) == []
        assert all(item["name"][0] in item["cleaned_content"] for item in crawl.items)

    def test_header_of_a_csv_feed_is_that_of_the_first_item(self, crawls, tmp_path):
        headers: list[list[str]] = []
        beside = Beside(crawls, tmp_path, "MixedSpider")
        for addon in ("", ADDON):
            feed = tmp_path / f"feed{len(headers)}.csv"
            settings = {"FEEDS": {str(feed): {"format": "csv"}}, **beside.chosen}
            settings = settings if addon else {"FEEDS": settings["FEEDS"]}
            crawls.run(Job(beside.spider, _quotes(), {"paths": _QUOTE_PATHS}, addon, settings))
            rows = list(csv.reader(io.StringIO(feed.read_text(encoding="utf-8"))))
            assert len(rows) == 81
            headers.append([name for name in rows[0] if name in {"url", "quote", "field0", "field1", "field2"}])

        assert headers[0] == headers[1] == ["url", "quote", "field0"]

    def test_what_stands_on_an_item_can_be_marshalled(self, crawls, tmp_path):
        """What says why a page was left as it is stands there as well."""
        feed = tmp_path / "feed.marshal"
        settings = {
            "FEEDS": {str(feed): {"format": "marshal"}},
            "ITEM_PIPELINES": {"tests.law.seen_spiders.Unclean": 900},
        }
        deep, wide = "<div>" * 20_000, "<p " + " ".join(f"a{number}" for number in range(20_000)) + ">"
        world = FixedWorld({**_shop(20).answers, "/deep": page("Deep", deep), "/wide": page("Wide", wide)})

        bare, crawl = Beside(crawls, tmp_path, "HtmlSpider").crawl(world, settings, paths=f"/deep /wide {_FEW_PATHS}")

        with feed.open("rb") as file:
            found = [marshal.load(file) for _ in range(44)]
        assert len(found) == len(bare.items) + len(crawl.items)
        assert crawl.errors == ()


def _quotes() -> FixedWorld:
    texts = [first_site(6, 8).pages[number].values["body"] for number in range(8)]
    pages = {}
    for number, text in enumerate(texts):
        words = text.split()
        quotes = "".join(f"<blockquote>{' '.join(words[at : at + 5])} {at}</blockquote>" for at in range(10))
        pages[f"/q/{number}"] = page(f"Quotes {number}", f"<main>{quotes}</main><p>{text}")
    return FixedWorld(pages)


_QUOTE_PATHS = " ".join(f"/q/{number}" for number in range(8))


class TestProject:
    def test_spider_may_have_its_name_from_its_maker(self, crawls, tmp_path):
        world = FixedWorld({"/a": page("Chair", f"<p>{PROSE}")})

        chosen = {"ADDONS": {ADDON: 700}, "DEDUP_DATABASE_URL": f"sqlite:///{tmp_path}/dedup.db"}
        assert get_crawler(NamelessSpider, chosen).spidercls is NamelessSpider
        assert Beside(crawls, tmp_path, "NamelessSpider").differences(world) == []

    def test_project_may_have_no_bot_name(self, crawls, tmp_path):
        assert (
            Beside(crawls, tmp_path, "PathsSpider").differences(_shop(3), {"BOT_NAME": None}, paths="/p/0 /p/1") == []
        )

    def test_robots_txt_sitemaps_and_feeds_are_no_pages(self, crawls, tmp_path):
        store = tmp_path / "dedup.db"
        chosen = {"DEDUP_DATABASE_URL": f"sqlite:///{store}", "ROBOTSTXT_OBEY": True}
        for kind in ("sitemap_spider", "xml_feed"):
            crawls.run(Scenario(kind, FEW, 81, 6, Server("etag"), ()).job(0, ADDON, chosen))

        # Beside the answers as they came, by which they are asked for again.
        texts = _texts_of(store, but="responses")
        assert any(text.endswith("/p/1") for text in texts)
        assert [text for text in texts if text.endswith(("/robots.txt", "/sitemap.xml", "/feed.xml"))] == []

    @pytest.mark.crawl
    def test_commands_that_show_leave_no_trace(self, tmp_path):
        chosen = {"SPIDER_MODULES": ["spider"]}
        with serving() as served:
            served.world = World((first_site(83, 6),), Server("etag"))
            (tmp_path / "spider.py").write_text(_SPIDER.format(origin=served.origin, slot="h1"), encoding="utf-8")
            url = f"{served.origin}/p/2"

            looked = scrapy(tmp_path, "parse", "--pipelines", "--spider", "mine", "-c", "detail", url, **chosen)
            fetched = scrapy(tmp_path, "fetch", url, **chosen)
            stores = list(tmp_path.rglob("*.db"))
            crawled = scrapy(tmp_path, "crawl", "mine", "-O", "out.jsonl", **chosen)

        assert (looked.code, fetched.code, crawled.code) == (0, 0, 0), looked.err
        assert f"'url': '{url}'" in looked.out
        assert "<h1" in fetched.out
        assert stores == []
        assert len(_lines(tmp_path / "out.jsonl")) == 6


def _texts_of(store: Path, but: str = "") -> list[str]:
    with sqlite3.connect(store) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        tables = [name for name in tables if name != but]
        rows = [row for table in tables for row in connection.execute(f'SELECT * FROM "{table}"')]
    connection.close()
    return [value for row in rows for value in row if isinstance(value, str)]


class TestTransfers:
    def test_ban_detector_near_the_downloader_never_sees_a_304(self, crawls, tmp_path):
        beside = Beside(crawls, tmp_path, "PathsSpider")
        settings = {"DOWNLOADER_MIDDLEWARES": {"tests.law.seen_spiders.BanDetector": 620}}
        shop = _with_etags(_shop(20))

        for statuses in ({200}, {304}):
            bare, crawl = beside.crawl(shop, settings, paths=_FEW_PATHS)
            assert compare.emitted(bare, crawl) == []
            assert {status for _, status in crawl.statuses} == statuses

    @pytest.mark.parametrize("policy", ["DummyPolicy", "RFC2616Policy"])
    def test_http_cache_keeps_pages_that_a_bare_crawl_can_use(self, policy, crawls, tmp_path):
        """With the policy of RFC 2616 the cache asks by conditions of its own."""
        cache = {
            "HTTPCACHE_ENABLED": True,
            "HTTPCACHE_DIR": str(tmp_path / "cache"),
            "HTTPCACHE_POLICY": f"scrapy.extensions.httpcache.{policy}",
        }
        beside = Beside(crawls, tmp_path, "PathsSpider")
        shop, paths = _with_etags(_shop(20)), _FEW_PATHS

        untouched, _ = beside.crawl(shop, paths=paths)
        on = Job(beside.spider, shop, {"paths": paths}, ADDON, {**cache, **beside.chosen})
        crawled = [crawls.run(on), crawls.run(on)]
        bare = crawls.run(Job(beside.spider, shop, {"paths": paths}, settings=cache))

        assert [len(one.items) for one in (*crawled, bare)] == [20, 20, 20]
        assert Counter(map(str, bare.items)) == Counter(map(str, untouched.items))

    @MODE
    @pytest.mark.parametrize("kind", ["rewritten_above", "rewritten_below"])
    def test_middleware_that_rewrites_bodies_rewrites_those_of_every_crawl(self, kind, mode, crawls):
        scenario = Scenario(kind, FEW, 91, 8, Server("etag", gzip=True), ((), (Change("slot", 1, "price", "much"),)))

        assert tried(scenario, mode, crawls) == []


def _with_etags(world: FixedWorld) -> FixedWorld:
    answers: Sequence[tuple[str, Answer]] = list(world.answers.items())
    return FixedWorld({at: replace(one, headers={"ETag": f'"{number}"'}) for number, (at, one) in enumerate(answers)})


def _in_two_languages(asked: Asked, headers: Mapping[str, str]) -> Answer:
    word = {"de": "Stuhl", "en": "Chair"}[asked.headers["accept-language"]]
    return replace(page(word, f"<h1>{word} {asked.path}</h1><p>{word} {PROSE} {asked.path}"), headers=headers)


def _behind_a_session(asked: Asked) -> Answer:
    if asked.path != "/":
        return _shop(8).answers[asked.path] if asked.cookies else Answer(403, b"closed")
    links = "".join(f"<a class=row href=/p/{number}>Chair</a>" for number in range(8))
    answer = page("Shop", f"<h1>Shop</h1><p>{PROSE}{links}")
    return replace(
        answer, headers={"ETag": '"1"'} | ({} if "if-none-match" in asked.headers else {"Set-Cookie": "sid=1"})
    )


def _of_a_form(asked: Asked) -> Answer:
    form = "<form method=post></form>" if asked.method == "GET" else ""
    return page(asked.method, f"<h1>{asked.method}</h1><p>{asked.method} {PROSE}{form}")


class TestOneUrlWithSeveralAnswers:
    @pytest.mark.parametrize(("changed", "tag"), [("10:00:00", ""), ("10:00:01", ""), ("09:00:00", '"{}"')])
    def test_price_that_changes_while_its_date_stays_is_in_the_second_feed(self, changed, tag, crawls, tmp_path):
        beside, at = Beside(crawls, tmp_path, "PathsSpider"), "Mon, 01 Jun 2026 {} GMT"
        dates = {"Last-Modified": at.format(changed), "Date": at.format("10:00:00")}
        for price in (1, 2):
            sold = page("Chair", f"<h1>Chair</h1><b class=price>£{price}</b><p>{PROSE}")
            headers = {**dates, "ETag": tag.format(price)} if tag else dates
            assert beside.differences(FixedWorld({"/a": replace(sold, headers=headers)}), paths="/a") == []

    def test_page_that_begins_a_session_is_asked_for_whole(self, crawls, tmp_path):
        """A 304 brings no cookie, and without it the rest of the site is closed."""
        beside = Beside(crawls, tmp_path, "LinkedSpider")
        for _ in range(2):
            bare, crawl = beside.crawl(FixedWorld({}, by=_behind_a_session), paths="/")
            assert len(bare.items) == 9
            assert compare.emitted(bare, crawl) == []

    @pytest.mark.parametrize(
        ("headers", "pipelines"),
        [
            pytest.param({}, {"tests.law.seen_spiders.AsDict": 300}, id="item-that-a-pipeline-replaced"),
            pytest.param({"Last-Modified": "Mon, 01 Jun 2026 10:00:00 GMT"}, {}, id="pages-with-a-date"),
        ],
    )
    def test_each_language_of_a_page_has_its_own_text_whether_or_not_the_server_says_that_it_varies(
        self, headers, pipelines, crawls, tmp_path
    ):
        beside = Beside(crawls, tmp_path, "LanguagesSpider", DEDUP_WRITE_EVERY=1)
        world = FixedWorld({}, by=partial(_in_two_languages, headers=headers))
        for _ in range(2):
            bare, crawl = beside.crawl(world, {"ITEM_PIPELINES": pipelines, "CONCURRENT_REQUESTS": 1}, paths=_FEW_PATHS)
            assert compare.emitted(bare, crawl) == []
            assert len(crawl.items) == 40
            assert all(item["name"] in item["cleaned_content"] for item in crawl.items)

    def test_answer_of_a_form_is_not_the_page_that_has_the_form(self, crawls, tmp_path):
        bare, crawl = Beside(crawls, tmp_path, "LinkedSpider").crawl(FixedWorld({}, by=_of_a_form), paths="/search")

        assert compare.emitted(bare, crawl) == []
        assert ["GET" in item.get("cleaned_content", "") for item in crawl.items] == [True, False]


class TestItemsThatWait:
    def test_item_that_is_filled_and_yielded_again_has_the_values_of_each_time(self, crawls, tmp_path):
        crawl = Beside(crawls, tmp_path, "SharedItemSpider").on(_shop(20), paths=_FEW_PATHS)

        found = [(*item["tags"], item["url"], item["name"], item["part"]) for item in crawl.items]
        parts = [(f"{ORIGIN}{path}", part) for path in _FEW_PATHS.split() for part in ("first", "second")]
        assert sorted(found) == sorted((url, part, url, f"Chair {url.rpartition('/')[2]}", part) for url, part in parts)

    @pytest.mark.parametrize("spider", ["ProductSpider", "GrossSpider"], ids=["frozen", "setting-changes-values"])
    def test_item_of_any_class_takes_the_fields_that_it_declares_and_keeps_its_own(self, spider, crawls, tmp_path):
        bare, crawl = Beside(crawls, tmp_path, spider).crawl(_shop(20), paths=_FEW_PATHS)

        assert compare.emitted(bare, crawl) == []
        assert crawl.errors == ()
        assert all("Chair" in item["cleaned_content"] for item in crawl.items)

    @pytest.mark.parametrize("order", [100, 800], ids=["before-ours", "behind-ours"])
    def test_item_that_is_a_row_of_a_database_can_be_written_there(self, order, crawls, tmp_path):
        settings = {"ITEM_PIPELINES": {"tests.law.seen_spiders.ToDatabase": order}}

        assert Beside(crawls, tmp_path, "RowSpider", DEDUP_REUSE="text").differences(
            _shop(20), settings, paths=_FEW_PATHS
        ) == []  # fmt: skip

    @pytest.mark.parametrize("pipeline", ["AsDict", "Subclasses"])
    def test_unchanged_items_are_left_out_that_a_pipeline_replaced(self, pipeline, crawls, tmp_path):
        beside = Beside(crawls, tmp_path, "PathsSpider", DEDUP_UNCHANGED="skip")
        settings = {"ITEM_PIPELINES": {f"tests.law.seen_spiders.{pipeline}": 300}}

        first, second = (beside.crawl(_shop(20), settings, paths=_FEW_PATHS) for _ in range(2))

        assert compare.emitted(*first) == []
        assert len(second[1].items) == 0


class _Ready:
    """A page that is asked for again and again: it is there at the third time."""

    def __init__(self, before: Answer) -> None:
        self._before = before
        self._times = 0

    def __call__(self, asked: Asked) -> Answer:  # noqa: ARG002 (whatever is asked)
        self._times += 1
        return page("a", f"<h1>done</h1><p>{PROSE}") if self._times == 3 else self._before


class TestFreshPages:
    """Answers from the store stand for a page once in a run: whoever asks again wants the page of that moment."""

    def states(self, crawl: Crawl) -> list[str]:
        return [item["state"] for item in crawl.items]

    def beside(self, crawls: Crawls, folder: Path) -> Beside:
        return Beside(crawls, folder, "PollingSpider", DEDUP_FRESH_FOR="2d", DEDUP_GONE_FOR="2d", DEDUP_WRITE_EVERY=1)

    @pytest.mark.parametrize(
        ("before", "word"),
        [(page("a", f"<h1>working</h1><p>{PROSE}"), "working"), (Answer(404, b"not yet"), 404)],
        ids=["200", "404"],
    )
    def test_page_that_is_polled_is_answered_once_from_the_run_before(self, before, word, crawls, tmp_path):
        beside, settings = self.beside(crawls, tmp_path), {"HTTPERROR_ALLOWED_CODES": [404]}
        beside.on(FixedWorld({"/a": before}), settings, paths="/a")

        bare, crawl = beside.crawl(FixedWorld({}, by=_Ready(before)), settings, paths="/a")

        assert self.states(bare) == [word, word, "done"]
        assert self.states(crawl) == [word, word, word, "done"]

    def test_page_that_is_polled_is_never_answered_from_the_same_run(self, crawls, tmp_path):
        world = FixedWorld({}, by=_Ready(page("a", f"<h1>working</h1><p>{PROSE}")))

        bare, crawl = self.beside(crawls, tmp_path).crawl(world, paths="/a", pause=0.5)

        assert self.states(crawl) == self.states(bare) == ["working", "working", "done"]

    def test_page_that_was_busy_is_tried_again(self, crawls, tmp_path):
        beside = self.beside(crawls, tmp_path)
        beside.on(FixedWorld({"/a": page("a", "<h1>busy</h1>")}), paths="/a")

        crawl = beside.on(FixedWorld({"/a": page("a", "<h1>ready</h1>")}), paths="/a")

        assert self.states(crawl) == ["busy", "ready"]

    def test_what_was_not_asked_for_says_so_in_the_words_of_the_http_cache(self, crawls, tmp_path):
        beside = self.beside(crawls, tmp_path)
        shop, settings = _with_etags(_shop(2)), {"DEDUP_FRESH_FOR": "0"}
        told = []
        for chosen in (settings, settings, {}):
            beside.chosen |= chosen or {"DEDUP_FRESH_FOR": "2d"}
            crawl = beside.on(shop, paths="/p/0 /p/1")
            told.append({(item["latency"], *item["flags"]) for item in crawl.items})

        assert told == [{(None,)}, {(None,)}, {(0.0, "cached")}]


_STORY = "<h1>Story {0}</h1><p>{1} {0}"


class TestPagesThatAreNoCopies:
    def test_page_goes_out_whose_copy_a_later_pipeline_dropped(self, crawls, tmp_path):
        paths = [f"/{kind}/{number}" for kind in ("print", "p") for number in range(10)]
        stories = FixedWorld({at: page("Story", _STORY.format(at[-1], PROSE)) for at in paths})
        settings = {"ITEM_PIPELINES": {"tests.law.seen_spiders.NoPrint": 900}}

        assert Beside(crawls, tmp_path, "PathsSpider").differences(stories, settings, paths=" ".join(paths)) == []

    def test_items_of_two_classes_are_two(self, crawls, tmp_path):
        paths = [f"/{kind}/{number}" for number in range(10) for kind in ("product", "offer")]
        shop = FixedWorld({at: page("Chair", _STORY.format(at[-1], PROSE)) for at in paths})

        assert Beside(crawls, tmp_path, "ProductSpider").differences(shop, paths=" ".join(paths)) == []

    def test_pages_that_link_to_a_file_each_are_as_many(self, crawls, tmp_path):
        body = '<h1>Report</h1><p>{0} {1}<p><a href="/files/{2}.pdf?v={2}">Download the report</a>'
        paths = [f"/report/{number}" for number in range(18)]
        site = FixedWorld({at: page("Report", body.format(PROSE, n // 3, n)) for n, at in enumerate(paths)})

        assert Beside(crawls, tmp_path, "HtmlSpider").differences(site, paths=" ".join(paths)) == []


def _product_page(name: object, extra: str = "") -> Answer:
    return page(str(name), f"<h1>{name}</h1>{extra}<p>{PROSE} {name}")


class TestCrawlsAgain:
    def items(self, beside: Beside, worlds: Sequence[dict[str, Answer]], **chosen: Any) -> list[list[str]]:
        return [
            [item["url"][-4:] for item in beside.on(FixedWorld(world), paths=_FEW_PATHS, **chosen).items]
            for world in worlds
        ]

    def test_number_that_changes_again_and_again_is_told_each_time(self, crawls, tmp_path):
        worlds = [
            {at: _product_page(at, f"<p>{left if at == '/p/3' else 8} pieces left") for at in _FEW_PATHS.split()}
            for left in (9, 4, 2, 0)
        ]

        found = self.items(Beside(crawls, tmp_path, "SkuSpider", DEDUP_UNCHANGED="skip"), worlds)

        assert found[1:] == [["/p/3"]] * 3

    def test_item_that_a_later_pipeline_dropped_and_page_that_was_removed_come_when_they_are_back(
        self, crawls, tmp_path
    ):
        all_of_them = {at: _product_page(at) for at in _FEW_PATHS.split()}
        without = {**all_of_them, "/p/3": Answer(404, b"gone")}
        beside = Beside(crawls, tmp_path, "PathsSpider", DEDUP_UNCHANGED="skip", DEDUP_REMOVED={"after": 1})
        dropping = {"ITEM_PIPELINES": {"tests.law.seen_spiders.NoPrint": 900}}

        assert len(self.items(beside, [all_of_them], settings=dropping)[0]) == 19
        assert self.items(beside, [all_of_them, without, without, all_of_them]) == [["p/15"], [], [], ["/p/3"]]

    @pytest.mark.parametrize(("attach", "found"), [(True, [["/p/3"], []]), (False, [[], []])])
    def test_item_of_a_page_whose_text_changed_comes_with_its_text_though_its_own_fields_are_the_same(
        self, *, attach: bool, found: list[list[str]], crawls: Crawls, tmp_path: Path
    ) -> None:
        chosen = {"DEDUP_UNCHANGED": "skip", "DEDUP_ATTACH_RESPONSE": attach}
        worlds = [
            {at: _product_page(at, f"<p>Made of {word}" if at == "/p/3" else "") for at in _FEW_PATHS.split()}
            for word in ("oak", "elm", "elm")
        ]

        assert self.items(Beside(crawls, tmp_path, "NamesSpider", **chosen), worlds)[1:] == found

    def test_items_with_a_response_and_urls_of_a_class_of_their_own_are_known_again(self, crawls, tmp_path):
        beside = Beside(crawls, tmp_path, "ObjectsSpider", DEDUP_UNCHANGED="skip")
        made = {"ITEM_PIPELINES": {"tests.law.seen_spiders.AsText": 900}}

        found = [
            beside.crawl(
                FixedWorld({**_shop(4).answers, "/p/3": _product_page(3, f"<p id={word}>")}), made, paths="/p/2 /p/3"
            )
            for word in ("oak", "oak", "elm")
        ]

        assert [[item["of"] for item in crawl.items] for _, crawl in found][1:] == [[], ["elm"]]
        assert compare.emitted(*found[0]) == []
        assert all(PROSE in item["cleaned_content"] for item in found[0][1].items)

    @pytest.mark.parametrize(("reuse", "middleware"), [("body", "FirstAloneHeld"), ("text", "FirstAlone")])
    def test_what_was_not_asked_for_whole_is_no_outcome_to_give_again(self, reuse, middleware, crawls, tmp_path):
        chosen = {"DEDUP_UNCHANGED": "skip", "DEDUP_REUSE": reuse, "DEDUP_AUDIT": 0}
        beside = Beside(crawls, tmp_path, "SharedItemSpider", **chosen)
        short = {"SPIDER_MIDDLEWARES": {f"tests.law.seen_spiders.{middleware}": 600}}

        found = [beside.on(_shop(4), one, paths=_FEW_PATHS[:20]).items for one in (short, {})]

        assert [[item["part"] for item in items] for items in found] == [["first"] * 4, ["second"] * 4]

    @pytest.mark.parametrize("reuse", ["body", "text"])
    def test_audit_of_a_page_that_changed_finds_no_difference(self, reuse: str, crawls: Crawls, tmp_path: Path) -> None:
        beside = Beside(crawls, tmp_path, "SkuSpider", DEDUP_REUSE=reuse, DEDUP_AUDIT=1)
        for word in ("oak", "elm"):
            shop = {at: _product_page(at, f"<p>Made of {word}" if at == "/p/3" else "") for at in _FEW_PATHS.split()}
            crawl = beside.on(FixedWorld(shop), paths=_FEW_PATHS)

        assert crawl.stats["dedup/reuse/audited"] == len(shop) - 1
        assert "dedup/reuse/audits_differed" not in crawl.stats

    def test_feed_alone_gives_its_new_entries(self, crawls: Crawls, tmp_path: Path) -> None:
        beside = Beside(crawls, tmp_path, "EntriesSpider", DEDUP_UNCHANGED="skip")
        found = []
        for price in (10, 10, 12):
            entry = "<item><link>http://shop.example/{0}</link><price>{1}</price></item>"
            entries = "".join(entry.format(at, price if at == 3 else 7) for at in range(8))
            feed = Answer(body=f"<rss><channel>{entries}</channel></rss>".encode(), content_type="application/rss+xml")
            crawl = beside.on(FixedWorld({"/feed.xml": feed}))
            found.append([item["price"] for item in crawl.items])

        assert found == [["7", "7", "7", "10", "7", "7", "7", "7"], [], ["12"]]

    def test_callbacks_that_do_more_than_they_yield_run_again(self, crawls, tmp_path):
        beside = Beside(crawls, tmp_path, "CarryingSpider", DEDUP_REUSE="body", DEDUP_AUDIT=0)
        starts = [f"/p/{number}" for number in range(6)]
        for price, tax in (("10", "1"), ("12", "1"), ("12", "2")):
            named = [f"{at}{part}" for at in starts for part in ("", "/0", "/1", "/more")]
            world = {at: _product_page(at) for at in named}
            world |= {f"{at}/2": _product_page(f"{at} for {price}") for at in starts}
            both = beside.crawl(FixedWorld(world), paths=" ".join(starts), tax=tax)
            found = [
                sorted((one["url"], one.get("part 2", ""), one.get("tax")) for one in crawl.items) for crawl in both
            ]
            assert found[0] == found[1]

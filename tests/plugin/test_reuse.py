import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import attrs
import pydantic
import pytest
import scrapy
from itemadapter import ItemAdapter
from scrapy import FormRequest, Request, Spider
from scrapy.http import JsonRequest

from scrapy_dedup.core.recrawl.values import Unkeepable
from scrapy_dedup.core.recrawl.verdicts import VerdictKind
from scrapy_dedup.plugin.items import REPORT, ItemFields, text_field, url_of
from scrapy_dedup.plugin.overrides import is_left_alone
from scrapy_dedup.plugin.recrawl.reuse import Links, OutcomeError, Recorder, item_entry, kept_items, kept_output
from scrapy_dedup.plugin.requests import READMITTED, is_unfiltered, mark_new, redirected_from
from scrapy_dedup.service.crawl.commits import Recorded
from scrapy_dedup.settings import Settings
from tests.plugin.builders import PAGE, a_request
from tests.store.builders import an_extraction
from tests.tables import table

URL = "https://example.com/"


class Shop(Spider):
    name = "shop"

    def parse(self, response: Any) -> None: ...

    def detail(self, response: Any) -> None: ...

    def failed(self, failure: Any) -> None: ...

    renamed = detail


class Other(Spider):
    name = "other"

    def parse(self, response: Any) -> None: ...


SPIDER = Shop()
LAMBDA: Callable[..., Any] = lambda _: None  # noqa: E731 - what users write


def outcome_of(*output: Any) -> Recorded:
    """Return what is kept of what a callback yielded, once it was in the store."""
    recorded = Recorded(b"key", "parse", {}, "")
    recorder = Recorder(SPIDER)
    for one in output:
        take_down = recorder.request if isinstance(one, Request) else recorder.item
        take_down(one, recorded)
    recorded.requests = json.loads(json.dumps(recorded.requests))
    recorded.items = json.loads(json.dumps(recorded.items))
    return recorded


def given_again(requests: Sequence[Any], items: Sequence[Any] = ()) -> list[Any]:
    kept = an_extraction(requests=requests, items=items)
    made: list[Any] = []
    for one in kept_output(kept, SPIDER):
        if isinstance(one, Links):
            made += (Request(url, one.callback, errback=one.errback) for url in one.urls)
        else:
            made.append(one)
    return made


def told(request: Request) -> dict[str, Any]:
    return {**request.to_dict(spider=SPIDER), "class": type(request).__name__}


REQUESTS: dict[str, Callable[[], Request]] = {
    "plain": lambda: Request(URL),
    "callback": lambda: Request(URL, SPIDER.detail),
    "errback": lambda: Request(URL, SPIDER.detail, errback=SPIDER.failed),
    "past-the-filter": lambda: Request(URL, dont_filter=True),
    "priority": lambda: Request(URL, priority=-3),
    "arguments": lambda: Request(URL, SPIDER.detail, cb_kwargs={"page": 2, "seen": ("a", {1, 2})}),
    "meta": lambda: Request(URL, meta={"depth": 3, "when": datetime(2026, 1, 2, tzinfo=UTC)}),
    "headers": lambda: Request(URL, headers={"X-A": ["1", "2"]}),
    "cookies": lambda: Request(URL, cookies=[{"name": "a", "value": "b"}]),
    "body": lambda: Request(URL, method="PUT", body=b"\xff\x00"),
    "form": lambda: FormRequest(URL, formdata={"q": "boats"}),
    "json": lambda: JsonRequest(URL, data={"q": 1}),
    "flags": lambda: Request(URL, flags=["mine"]),
    "encoding": lambda: Request(URL, encoding="latin-1", headers={"X": "ü"}),
}


@pytest.mark.parametrize("case", REQUESTS)
def test_request_comes_back_as_it_was(case):
    request = REQUESTS[case]()
    recorded = outcome_of(request)

    (again,) = given_again(recorded.requests)

    assert told(again) == told(request)
    assert (again.callback, again.errback) == (request.callback, request.errback)
    assert recorded.unkeepable is None


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(Request(URL, callback=LAMBDA), id="lambda"),
        pytest.param(Request(URL, callback=Other().parse), id="method-of-another-object"),
        pytest.param(Request(URL, errback=print), id="function"),
        pytest.param(Request(URL, cb_kwargs={"spider": SPIDER}), id="argument"),
        pytest.param(Request(URL, meta={"lock": object()}), id="meta"),
    ],
)
def test_what_cannot_be_kept_is_named_and_the_rest_not_taken_down(request_):
    recorded = outcome_of(request_, Request(URL))

    assert recorded.unkeepable
    assert recorded.requests == []


class Awkward(Shop):
    name = "awkward"

    @property
    def session(self) -> Any:
        raise RuntimeError("log in first")


def test_spider_whose_properties_raise_loses_nothing():
    """Scrapy reads them all to find the name of a callback."""
    spider, recorded = Awkward(), Recorded(b"key", "parse", {}, "")

    Recorder(spider).request(Request(URL, spider.detail, priority=1), recorded)

    assert recorded.unkeepable == "log in first"


@table("outcomes/outcome_that_cannot_be_given_is_found_before_anything_is")
def test_outcome_that_cannot_be_given_is_found_before_anything_is(entries):
    with pytest.raises(OutcomeError):
        given_again(entries)


def test_damaged_request_is_told():
    for damaged in ({"request": {"callback": "parse"}}, ["parse", None, "http://[x"], ["parse", None, 7]):
        with pytest.raises(OutcomeError, match="cannot be made again"):
            given_again([damaged])


class Product(scrapy.Item):
    name = scrapy.Field()
    parts = scrapy.Field()


@dataclass
class Article:
    name: str
    parts: Any = None


@attrs.define
class Note:
    name: str
    parts: Any = None

    @attrs.define
    class Line:
        name: str


ITEMS = [
    {"name": "a", "parts": [1, {"b": b"\x00"}]},
    {},
    Product(name="a", parts=(1, 2)),
    Article("a", {"deep": [1.5, None]}),
    Note("a"),
    Note.Line("a"),
]


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: type(item).__name__)
def test_item_comes_back_as_it_was(item):
    entry = item_entry(item)
    assert not isinstance(entry, Unkeepable)

    (again,) = kept_items(json.loads(json.dumps([entry])))

    assert again == item
    assert type(again) is type(item)


class Taxed(pydantic.BaseModel):
    price: float = pydantic.Field(alias="Price", default=0)


@dataclass
class Counted:
    name: str
    taken: int = 0

    def __post_init__(self) -> None:
        self.taken += 1


@pytest.mark.parametrize("item", [{"a": SPIDER}, Taxed(Price=2), Counted("a")], ids=lambda item: type(item).__name__)
def test_item_that_cannot_be_kept_keeps_the_outcome_from_being_kept(item):
    """Such as one that its class would make another of. A page's items are given again together, or not at all."""
    assert outcome_of({"a": 1}, item, {"a": 2}).unkeepable in {"Shop", type(item).__name__}


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param({"class": "no.such.module.Thing", "fields": {}}, id="module-is-not-loaded"),
        pytest.param({"class": f"{__name__}.Gone", "fields": {}}, id="class-is-gone"),
        pytest.param({"class": f"{__name__}.Shop", "fields": {}}, id="class-of-no-items"),
        pytest.param({"class": "subprocess.Popen", "fields": {"args": ["true"]}}, id="class-that-does-something"),
        pytest.param({"class": "builtins.eval", "fields": {}}, id="function"),
        pytest.param({"class": f"{__name__}.Product", "fields": {"colour": "red"}}, id="field-is-gone"),
        pytest.param({"class": f"{__name__}.Article", "fields": {}}, id="field-is-missing"),
        pytest.param(
            {"class": f"{__name__}.Article", "names": ["name"], "fields": {"name": "a"}}, id="class-has-another-field"
        ),
        pytest.param({"class": "dict", "fields": {"$": "bytes", "v": "*"}}, id="damaged"),
        pytest.param({"class": "dict"}, id="cut-off"),
        pytest.param({}, id="empty"),
    ],
)
def test_item_that_cannot_be_made_is_told(entry):
    with pytest.raises(OutcomeError):
        kept_items([entry])


def test_no_module_is_imported_because_a_store_names_it():
    import sys

    sys.modules.pop("this", None)
    with pytest.raises(OutcomeError, match="no class of items in this crawl"):
        kept_items([{"class": "this.Item", "fields": {}}])

    assert "this" not in sys.modules


OLD = "https://example.com/old"
OLDER = "https://example.com/older"


@pytest.mark.parametrize("notes", [{}, {"is_start_request": True}, {"retry_times": 1}])
def test_dont_filter_is_somebodys_word_whatever_else_stands_in_meta(notes):
    assert is_unfiltered(a_request(dont_filter=True, meta=notes))
    assert not is_unfiltered(a_request(meta=notes))


def test_what_we_let_past_the_filter_is_filtered_but_not_what_a_callback_makes_of_it():
    request = a_request(dont_filter=True, meta={READMITTED: True})
    assert not is_unfiltered(request)

    mark_new(request)

    assert is_unfiltered(request)


def test_redirects_of_a_request_count_from_when_it_was_new():
    request = a_request(meta={"redirect_urls": [OLDER]})
    assert redirected_from(request) == (OLDER,)

    mark_new(request)
    assert redirected_from(request) == ()

    redirected = request.replace(meta={**request.meta, "redirect_urls": [OLDER, OLD]})
    assert redirected_from(redirected) == (OLD,)


@table("plugin/left_alone")
def test_request_may_ask_to_be_left_alone(*, given, left_alone):
    assert is_left_alone(Settings(), a_request(meta=given)) is left_alone


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("text", "text", id="text"),
        pytest.param("Größe".encode(), "Größe", id="utf-8"),
        pytest.param(b"<meta charset=iso-8859-1>\xe4", "<meta charset=iso-8859-1>ä", id="declared-in-html"),
        pytest.param("", None, id="empty"),
        pytest.param(b"", None, id="empty-bytes"),
        pytest.param(None, None, id="none"),
        pytest.param(5, None, id="number"),
        pytest.param(["text"], "text", id="list-of-one-of-an-item-loader"),
        pytest.param(["text", "more"], None, id="list"),
    ],
)
def test_field_is_text_or_nothing(value, text):
    assert text_field(ItemAdapter({"html": value}), "html") == text


class Unspeakable:
    def __str__(self) -> str:
        raise ValueError


@pytest.mark.parametrize(
    ("value", "url"),
    [(f" {PAGE}\n", PAGE), *((value, None) for value in ("", "  ", None, 5, PAGE.encode(), [PAGE, ""], Unspeakable()))],
)
def test_url_is_stripped_text_or_nothing(value, url):
    assert url_of(ItemAdapter({"url": value}), Settings()) == url
    assert url_of(ItemAdapter({"link": value}), Settings(url_field="link")) == url


def test_what_is_set_is_plain_all_the_way_down():
    """marshal refuses every subclass, and a tuple is no list of JSON."""
    at, item = datetime(2026, 1, 2, tzinfo=UTC), dict[str, Any]()
    report = {VerdictKind.NEW: (VerdictKind.NEW, at), "n": [1, 1.5, True, None]}

    ItemFields().put(item, ItemAdapter(item), REPORT, report)

    assert item == {REPORT: {"new": ["new", at.isoformat()], "n": [1, 1.5, True, None]}}
    assert {type(one) for one in [*item[REPORT], *item[REPORT]["new"]]} == {str}

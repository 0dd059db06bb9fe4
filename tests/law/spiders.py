"""Spiders of every kind that people write, for the shop of `site.py`.

What a spider reads is its argument `plan`: which slots, and which function of each becomes a field. So an example can
draw it, and nothing in here knows what will change.
"""

import hashlib
import json
import logging
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import attrs
import pydantic
from itemadapter import ItemAdapter
from itemloaders.processors import MapCompose, TakeFirst
from scrapy import Field, FormRequest, Item, Request, Spider
from scrapy.exceptions import DropItem
from scrapy.http import Response, TextResponse
from scrapy.linkextractors import LinkExtractor
from scrapy.loader import ItemLoader
from scrapy.spiders import CrawlSpider, Rule, SitemapSpider, XMLFeedSpider
from scrapy_poet.api import DummyResponse
from twisted.python.failure import Failure
from web_poet import WebPage

from tests.law.site import SLOTS, number_in


def read(page: Any, slot: str) -> str | None:
    """Return a slot of a product's page, a response or a page object."""
    where = SLOTS[slot]
    if where.css:
        found = page.css(where.css).get()
        return None if found is None else str(found)
    matched = re.search(where.expression, page.text if isinstance(page, Response) else page.html)
    return matched[1] if matched else None


CALLED = logging.getLogger(f"{__name__}.called")
"""Is told the URL of every response that a callback saw: what a log keeps is no state of a spider."""

SHAPES: Mapping[str, Callable[[str], Any]] = {
    "as it is": str,
    "length": len,
    "first": lambda text: text[:1],
    "upper": str.upper,
    "digits": lambda text: re.sub(r"\D", "", text),
    "above": lambda text: number_in(text) > 50,
    "rounded": lambda text: round(number_in(text), -1),
    "number": number_in,
    "hashed": lambda text: hashlib.sha256(text.encode()).digest()[0] % 7,
    "words": lambda text: sorted(text.split()),
}


@dataclass(frozen=True, slots=True)
class Plan:
    """What a spider reads: for each of the fields f0, f1, f2 a slot and a function, by their names."""

    reads: tuple[tuple[str, str], ...]
    names_page: bool = True
    """Whether items have the URL."""
    carries_html: bool = False
    follows_related: bool = False

    def to_argument(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_argument(cls, text: str) -> "Plan":
        told = json.loads(text)
        return cls(**{**told, "reads": tuple((slot, shape) for slot, shape in told["reads"])})

    def fields(self, values: Callable[[str], str | None]) -> dict[str, Any]:
        """Return fields by what a function gives for each slot."""
        return {f"f{number}": SHAPES[shape](values(slot) or "") for number, (slot, shape) in enumerate(self.reads)}

    def item(self, response: Any) -> dict[str, Any]:
        found = self.fields(lambda slot: read(response, slot))
        if self.names_page:
            found["url"] = response.url
        if self.carries_html:
            found["html"] = response.text
        return found


class Shop(Spider):
    """Lists, their next pages, and the products that they name; the others change a part of it."""

    name = "dict"
    product: type[Any] = dict
    has_related = True
    """Not where it matters by whom a product is asked for first: of two links either may win."""

    def __init__(self, plan: str, origin: str, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.plan = Plan.from_argument(plan)
        self.origin = origin
        self.start_urls = [f"{origin}/list/1"]

    def parse(self, response: Any) -> Any:
        CALLED.info(response.url)
        for row in response.css("li.row"):
            yield self.to_detail(response, row)
        for link in response.css("a.next, a.again"):
            yield response.follow(link, self.detail if "again" in link.attrib["class"] else self.parse)

    def to_detail(self, response: Any, row: Any) -> Any:
        return response.follow(row.css("a")[0], self.detail)

    def detail(self, response: Any) -> Any:
        CALLED.info(response.url)
        yield from self.items(response)
        yield from self.related(response)

    def related(self, response: Any) -> Iterator[Request]:
        if self.plan.follows_related and self.has_related:
            yield from response.follow_all(css="a.related", callback=self.detail)

    def items(self, response: Any) -> Iterator[Any]:
        yield self.made(self.fields(response))

    def fields(self, response: Any) -> dict[str, Any]:
        return self.plan.item(response)

    def made(self, fields: dict[str, Any]) -> Any:
        return self.product(**fields)


class ScrapyProduct(Item):
    url = Field()
    html = Field()
    f0 = Field()
    f1 = Field()
    f2 = Field()
    cleaned_content = Field()
    dedup = Field()


class ItemSpider(Shop):
    name = "item"
    product = ScrapyProduct


@dataclass
class DataProduct:
    url: str | None = None
    html: str | None = None
    f0: Any = None
    f1: Any = None
    f2: Any = None
    cleaned_content: str | None = None
    dedup: dict[str, Any] | None = None


class DataclassSpider(Shop):
    name = "dataclass"
    product = DataProduct


@attrs.define
class AttrsProduct:
    """It declares no field of ours."""

    url: str | None = None
    html: str | None = None
    f0: Any = None
    f1: Any = None
    f2: Any = None


class AttrsSpider(Shop):
    name = "attrs"
    product = AttrsProduct


class PydanticProduct(pydantic.BaseModel):
    url: str | None = None
    html: str | None = None
    f0: Any = None
    f1: Any = None
    f2: Any = None
    cleaned_content: str | None = None
    dedup: dict[str, Any] | None = None


class PydanticSpider(Shop):
    name = "pydantic"
    product = PydanticProduct


class ProductLoader(ItemLoader):
    default_item_class = ScrapyProduct
    default_input_processor = MapCompose(lambda value: value.strip() if isinstance(value, str) else value)
    default_output_processor = TakeFirst()


class LoaderSpider(Shop):
    name = "item_loader"

    def items(self, response: Any) -> Iterator[Any]:
        loader = ProductLoader(response=response)
        for name, value in self.fields(response).items():
            loader.add_value(name, value)
        yield loader.load_item()


class Planned:
    """What spiders of Scrapy's own kinds have of a plan."""

    start_from = "/"

    def __init__(self, plan: str, origin: str) -> None:
        super().__init__()
        self.plan = Plan.from_argument(plan)
        self.start_urls = self.sitemap_urls = [f"{origin}{self.start_from}"]

    def detail(self, response: Any) -> Iterator[Any]:
        CALLED.info(response.url)
        yield self.plan.item(response)


class RuleSpider(Planned, CrawlSpider):
    name = "crawl_spider"
    rules = (
        Rule(LinkExtractor(allow=r"/list/\d+$")),
        Rule(LinkExtractor(allow=r"/p/"), callback="detail", follow=True),
    )


class MapSpider(Planned, SitemapSpider):  # type: ignore[misc] # its addresses are a list, not any sequence
    name = "sitemap_spider"
    sitemap_rules = [("/p/", "detail")]  # noqa: RUF012 - as its base class has it
    start_from = "/robots.txt"


class FeedSpider(Planned, XMLFeedSpider):
    name = "xml_feed"
    itertag = "product"
    start_from = "/feed.xml"

    def parse_node(self, response: Any, node: Any) -> Any:
        CALLED.info(response.url)
        return {
            **self.plan.fields(lambda slot: node.xpath(f"{slot}/text()").get()),
            "name": node.xpath("name/text()").get(),
        }


class AwaitingSpider(Shop):
    """Asks for a part of the product, and waits for it within the callback."""

    name = "async"

    async def detail(self, response: Any) -> AsyncIterator[Any]:
        CALLED.info(response.url)
        part = Request(f"{self.origin}/part{response.url.removeprefix(self.origin)}")
        found = self.fields(response)
        try:
            answer = await self.crawler.engine.download_async(part)
        except Exception as error:  # noqa: BLE001 - whatever it is, the item says so
            found["part"] = type(error).__name__
        else:
            found["part"] = answer.css(".stock::text").get() if answer.status == 200 else None
        yield found
        for request in self.related(response):
            yield request


class RowsSpider(Shop):
    """Many items a page, some of them equal."""

    name = "many_items"

    def parse(self, response: Any) -> Any:
        for row in response.css("li.row"):
            yield {"name": row.css("a::text").get(), "listed": row.css(".listed::text").get()}
        yield from super().parse(response)

    def items(self, response: Any) -> Iterator[Any]:
        yield self.made(self.fields(response))
        for row in response.css("td.cell::text").getall():
            yield {"row": row, **({"url": response.url} if self.plan.names_page else {})}


class KeywordsSpider(Shop):
    """An item over two requests, its first half in cb_kwargs."""

    name = "cb_kwargs"
    has_related = False

    def to_detail(self, response: Any, row: Any) -> Any:
        listed = row.css(".listed::text").get()
        return response.follow(row.css("a")[0], self.detail, cb_kwargs={"listed": listed})

    def detail(self, response: Any, listed: str | None = None) -> Any:
        for one in super().detail(response):
            yield one if isinstance(one, Request) else {**one, "listed": listed}


class MetaSpider(Shop):
    """An item over two requests, its first half in meta."""

    name = "meta"
    has_related = False

    def to_detail(self, response: Any, row: Any) -> Any:
        begun = {"listed": row.css(".listed::text").get()}
        return response.follow(row.css("a")[0], self.detail, meta={"begun": begun})

    def items(self, response: Any) -> Iterator[Any]:
        yield {**self.fields(response), **response.meta.get("begun", {})}


class ScriptSpider(Shop):
    """Reads the source by regular expressions alone."""

    name = "script_regex"

    def fields(self, response: Any) -> dict[str, Any]:
        ld = re.search(r'<script type="application/ld\+json">(.*?)</script>', response.text)
        state = re.search(r"window\.state = (.*?);</script>", response.text)
        return {
            **super().fields(response),
            "offers": json.loads(ld[1])["offers"] if ld else None,
            "left": json.loads(state[1])["left"] if state else None,
        }


class FileSpider(Shop):
    """Downloads what is no text."""

    name = "downloads"
    has_related = False

    def to_detail(self, response: Any, row: Any) -> Any:
        return response.follow(f"/file{row.css('a::attr(href)').get()}", self.detail)

    def fields(self, response: Response) -> dict[str, Any]:
        digest = hashlib.sha256(response.body).hexdigest()
        return {"url": response.url, "size": len(response.body), "digest": digest, "type": type(response).__name__}

    def parse(self, response: Any) -> Any:
        for one in super().parse(response):
            if "#reviews" not in one.url:
                yield one


class ApiSpider(Shop):
    """A JSON API, page by page."""

    name = "json_api"
    has_related = False

    def __init__(self, plan: str, origin: str) -> None:
        super().__init__(plan, origin)
        self.start_urls = [f"{origin}/api/list?page=1"]

    def parse(self, response: Any) -> Any:
        CALLED.info(response.url)
        told = response.json()
        for path in told["paths"]:
            yield response.follow(path, self.detail)
        if told["next"]:
            yield response.follow(f"/api/list?page={told['next']}")

    def items(self, response: Any) -> Iterator[Any]:
        told = response.json()
        yield {**self.plan.fields(told.get), "number": told["number"]}


class LoginSpider(Shop):
    """Sends a form, and goes on with the session's cookie."""

    name = "login"
    has_related = False

    def __init__(self, plan: str, origin: str) -> None:
        super().__init__(plan, origin)
        self.start_urls = [f"{origin}/login"]

    def parse(self, response: Any) -> Any:
        CALLED.info(response.url)
        yield FormRequest.from_response(response, formdata={"user": "me", "password": "secret"}, callback=self.inside)

    def inside(self, response: Any) -> Any:
        for request in super().parse(response):
            if request.callback == self.parse:
                request = request.replace(callback=self.inside)  # noqa: PLW2901
            yield request


class CurrencySpider(Shop):
    """One URL with two cookies."""

    name = "two_currencies"
    has_related = False

    def parse(self, response: Any) -> Any:
        for request in super().parse(response):
            if request.callback == self.parse:
                yield request
                continue
            for currency in ("EUR", "USD"):
                meta = {"cookiejar": currency}
                yield request.replace(cookies={"currency": currency}, meta=meta, dont_filter=True)

    def items(self, response: Any) -> Iterator[Any]:
        yield {**self.fields(response), "price": read(response, "price"), "jar": response.meta["cookiejar"]}


class StateSpider(Shop):
    """Counts its pages, and keeps in one callback what it reads in another."""

    name = "state_on_self"
    has_related = False

    def __init__(self, plan: str, origin: str) -> None:
        super().__init__(plan, origin)
        self.page = 1
        self.listed: dict[str, str] = {}

    def parse(self, response: Any) -> Any:
        CALLED.info(response.url)
        rows = response.css("li.row")
        for row in rows:
            self.listed[row.css("a::text").get("")] = row.css(".listed::text").get("")
            yield response.follow(row.css("a")[0], self.detail)
        if rows:
            self.page += 1
            yield Request(f"{self.origin}/list/{self.page}")

    def items(self, response: Any) -> Iterator[Any]:
        yield {**self.fields(response), "listed": self.listed.get(read(response, "name") or "")}


LISTED: dict[str, str] = {}
"""State of `ModuleSpider`, emptied before each crawl: a user's crawl is a process of its own."""


class ModuleSpider(Shop):
    """The same state in its module."""

    name = "state_in_module"
    has_related = False

    def to_detail(self, response: Any, row: Any) -> Any:
        LISTED[row.css("a::text").get("")] = row.css(".listed::text").get("")
        return super().to_detail(response, row)

    def items(self, response: Any) -> Iterator[Any]:
        yield {**self.fields(response), "listed": LISTED.get(read(response, "name") or "")}


class BannedSpider(Shop):
    """Its downloader middleware asks again where it was told to wait."""

    name = "retry_downloader"


class AskAgain:
    """Downloader middleware."""

    def process_response(self, request: Request, response: Response) -> Request | Response:
        if b"class=wait" in response.body:
            return request.replace(dont_filter=True)
        return response


class PatientSpider(Shop):
    """Its spider middleware does."""

    name = "retry_spider"


class AskAgainLater:
    """Spider middleware."""

    async def process_spider_output(self, response: Response, result: Any) -> AsyncIterator[Any]:
        if b"class=wait" not in response.body:
            async for one in result:
                yield one
            return
        again = response.request.copy()
        again.dont_filter = True
        yield again


class RewrittenAboveSpider(Shop):
    """A downloader middleware near the engine gives it other bodies."""

    name = "rewritten_above"


class RewrittenBelowSpider(Shop):
    """One near the downloader does."""

    name = "rewritten_below"


class Rewrite:
    """Downloader middleware."""

    def process_response(self, request: Request, response: Response) -> Response:  # noqa: ARG002 - so it is called
        if not isinstance(response, TextResponse):
            return response
        return response.replace(body=response.body.replace(b"class=price>", b"class=price>net "))


class RaisedSpider(Shop):
    """A pipeline behind it changes fields so that twice is not once."""

    name = "pipeline_twice"


class Raise:
    """Item pipeline: 20 % on numbers, a mark on texts, and no item without a first field."""

    def process_item(self, item: Any) -> Any:
        adapter = ItemAdapter(item)
        value = adapter["f0"]
        if value == "":
            raise DropItem("nothing there")
        if isinstance(value, float) and not isinstance(value, bool):
            adapter["f0"] = value * 1.2
        else:
            adapter["f0"] = f"{value} + 20 %"
        return item


class TimeSpider(Shop):
    """Writes down when it scraped."""

    name = "time_in_item"

    def items(self, response: Any) -> Iterator[Any]:
        yield {**self.fields(response), "scraped_at": time.time()}


class ThresholdSpider(Shop):
    """Attributes, rounded and beside a threshold."""

    name = "threshold"

    def fields(self, response: Any) -> dict[str, Any]:
        width = number_in(read(response, "width") or "")
        return {
            **super().fields(response),
            "wide": width > 40,
            "about": round(number_in(read(response, "og") or ""), -1),
        }


class ErrorSpider(Shop):
    """Makes items of pages that are gone, by callback, and of those that fail, by errback."""

    name = "errors"
    has_related = False
    handle_httpstatus_list = (404,)

    def to_detail(self, response: Any, row: Any) -> Any:
        return super().to_detail(response, row).replace(errback=self.failed)

    def items(self, response: Any) -> Iterator[Any]:
        yield {**self.fields(response), "status": response.status, "path": response.url.removeprefix(self.origin)}

    def failed(self, failure: Failure) -> Iterator[Any]:
        request: Request = failure.request  # type: ignore[attr-defined]
        yield {"failed": type(failure.value).__name__, "path": request.url.removeprefix(self.origin)}


class ProductPage(WebPage[Any]):
    """A page object."""

    def slot(self, name: str) -> str | None:
        return read(self, name)


class PoetSpider(Shop):
    """Page objects are injected into its callback, which does not see the response itself."""

    name = "scrapy_poet"

    def detail(self, response: DummyResponse, page: ProductPage) -> Any:  # type: ignore[override]
        CALLED.info(response.url)
        yield {**self.plan.fields(page.slot), "url": str(page.response.url)}


class RaisingSpider(Shop):
    """Its callback breaks on some pages, after it has yielded something."""

    name = "callback_raises"

    def items(self, response: Any) -> Iterator[Any]:
        yield {**self.fields(response), "part": 1}
        cents = int((read(response, "price") or "0.00").split(".")[1])
        yield {"url": response.url, "part": 2, "share": 1 / (cents % 3)}


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of spider and what it needs."""

    spider: type[Spider]
    settings: Mapping[str, Any] = field(default_factory=dict)
    bans: bool = False
    """Its site asks it to wait now and then."""
    varies: tuple[str, ...] = ()
    """Item fields that differ between any two crawls."""
    jars: bool = False
    """More than one visitor: which of their first requests gets a cookie depends on the order."""

    @property
    def name(self) -> str:
        return self.spider.name

    @property
    def path(self) -> str:
        return f"{self.spider.__module__}.{self.spider.__name__}"


_HERE = __name__
KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(Shop),
        Kind(ItemSpider),
        Kind(DataclassSpider),
        Kind(AttrsSpider),
        Kind(PydanticSpider),
        Kind(LoaderSpider),
        Kind(RuleSpider),
        Kind(MapSpider),
        Kind(FeedSpider),
        Kind(AwaitingSpider),
        Kind(RowsSpider),
        Kind(KeywordsSpider),
        Kind(MetaSpider),
        Kind(ScriptSpider),
        Kind(FileSpider),
        Kind(ApiSpider),
        Kind(LoginSpider),
        Kind(CurrencySpider, jars=True),
        Kind(StateSpider),
        Kind(ModuleSpider),
        Kind(BannedSpider, {"DOWNLOADER_MIDDLEWARES": {f"{_HERE}.AskAgain": 543}}, bans=True),
        Kind(PatientSpider, {"SPIDER_MIDDLEWARES": {f"{_HERE}.AskAgainLater": 543}}, bans=True),
        Kind(RewrittenAboveSpider, {"DOWNLOADER_MIDDLEWARES": {f"{_HERE}.Rewrite": 543}}),
        Kind(RewrittenBelowSpider, {"DOWNLOADER_MIDDLEWARES": {f"{_HERE}.Rewrite": 560}}),
        Kind(RaisedSpider, {"ITEM_PIPELINES": {f"{_HERE}.Raise": 400}}),
        Kind(TimeSpider, varies=("scraped_at",)),
        Kind(ThresholdSpider),
        Kind(ErrorSpider),
        Kind(RaisingSpider),
        Kind(PoetSpider, {"ADDONS": {"scrapy_poet.Addon": 300}}),
    )
}

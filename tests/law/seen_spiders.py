"""Spiders of `test_seen.py`: what users had when the add-on lost or changed their items."""

import asyncio
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from difflib import Match
from enum import Enum, StrEnum
from pathlib import PurePath
from typing import Any, ClassVar

from itemadapter import ItemAdapter
from pydantic import HttpUrl
from scrapy import Field, FormRequest, Item, Request, Selector, Spider
from scrapy.downloadermiddlewares.retry import get_retry_request
from scrapy.exceptions import DropItem
from scrapy.http import HtmlResponse, Response
from scrapy.loader import ItemLoader
from scrapy.spiders import XMLFeedSpider
from sqlalchemy import create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from tests.law.site import ORIGIN
from tests.law.spiders import CALLED, AwaitingSpider


class PathsSpider(Spider):
    """Asks for the paths of its argument, each once, and makes of each page an item with its URL."""

    name = "paths"

    def __init__(self, paths: str) -> None:
        super().__init__()
        self.start_urls = [f"{ORIGIN}{path}" for path in paths.split()]

    def parse(self, response: Any) -> Iterator[Any]:
        CALLED.info(response.url)
        yield from self.items(response)

    def items(self, response: Any) -> Iterator[Any]:
        yield {"url": response.url, "name": response.css("h1::text").get(), "price": response.css(".price::text").get()}


class HtmlSpider(PathsSpider):
    """Items without fields of their own."""

    name = "html"

    def items(self, response: Any) -> Iterator[Any]:
        yield {"url": response.url, "html": response.text}


class LateSpider(PathsSpider):
    """Items without fields of their own, that of one path late."""

    name = "late"

    def __init__(self, paths: str, late: str) -> None:
        super().__init__(paths)
        self._late = late

    async def parse(self, response: Any) -> AsyncIterator[Any]:  # type: ignore[override] # either is one to Scrapy
        if response.url.endswith(self._late):
            await asyncio.sleep(0.3)
        yield {"url": response.url}


class ClickedSpider(PathsSpider):
    """Gives HTML of its own, as a browser has it once something was clicked."""

    name = "clicked"

    def __init__(self, paths: str, shows: str) -> None:
        super().__init__(paths)
        self._shows = shows

    def items(self, response: Any) -> Iterator[Any]:
        yield {"url": response.url, "html": f"<h1>Chair</h1><p>{response.css('p::text').getall()[-1]} {self._shows}"}


class NamesSpider(PathsSpider):
    """Has fields of its own, beside the page's text."""

    name = "names"

    def parse(self, response: Any) -> Iterator[Any]:
        yield {"url": response.url, "name": response.css("h1::text").get()}


class LoaderSpider(PathsSpider):
    """Loads its items as Scrapy does unless it is told otherwise: each field is a list."""

    name = "loader"

    def items(self, response: Any) -> Iterator[Any]:
        loader = ItemLoader({}, response=response)
        loader.add_value("url", response.url)
        loader.add_css("name", "h1::text")
        yield loader.load_item()


class State(Enum):
    NEW = 1


class Hours:
    def __init__(self, by_day: dict[str, list[int]]) -> None:
        self.by_day = by_day

    def __str__(self) -> str:
        return str(self.by_day)


class ObjectsSpider(PathsSpider):
    """Leaves to a pipeline what it makes of a response; its URLs are of a class of their own."""

    name = "objects"

    def items(self, response: Any) -> Iterator[Any]:
        own = {"hours": Hours({"Mo": [9, 17]}), "state": State.NEW, "file": PurePath("a.png")}
        yield {"url": HttpUrl(response.url), "image": HttpUrl(response.urljoin("a.png")), "of": response, **own}


class AsText:
    def process_item(self, item: Any) -> Any:
        texts = {name: str(item[name]) for name in ("url", "image", "hours", "state", "file")}
        return {**item, **texts, "of": item["of"].css("p::attr(id)").get()}


class NothingSpider(PathsSpider):
    """Says of some fields that there is nothing."""

    name = "nothing"

    def items(self, response: Any) -> Iterator[Any]:
        yield {"url": response.url, "title": None, "date": "", "author": response.css(".author::text").get()}


class DefaultsSpider(PathsSpider):
    """Makes its items of defaultdicts."""

    name = "defaults"

    def items(self, response: Any) -> Iterator[Any]:
        item: dict[str, Any] = defaultdict(list)
        item["url"] = response.url
        item["names"].append(response.css("h1::text").get())
        yield item


class LinkSpider(PathsSpider):
    """Tells of each link whether it leads somewhere: by its status, by an errback, by nothing at all."""

    name = "links"

    def __init__(self, paths: str, how: str = "status") -> None:
        super().__init__(paths)
        self.how = how

    async def start(self) -> AsyncIterator[Any]:
        meta = {"handle_httpstatus_all": True} if self.how == "status" else {}
        for url in self.start_urls:
            yield Request(url, meta=meta, errback=self.failed if self.how == "errback" else None)

    def items(self, response: Any) -> Iterator[Any]:
        yield {"url": response.url, "status": response.status}

    def failed(self, failure: Any) -> Iterator[Any]:
        yield {"url": failure.request.url, "error": failure.type.__name__}


class FormFailsSpider(Spider):
    """Sends a form to the URL of a page, which fails, and tells so."""

    name = "form_fails"
    start_urls = [f"{ORIGIN}/a"]  # noqa: RUF012 - as its base class has it

    def parse(self, response: Any) -> Iterator[Any]:
        yield {"url": response.url}
        if response.request.method == "GET":
            yield FormRequest(response.url, formdata={"a": "b"}, callback=self.parse, errback=self.failed)

    def failed(self, failure: Any) -> Iterator[Any]:
        yield {"url": failure.request.url, "error": failure.type.__name__}


class CaptchaSpider(PathsSpider):
    """Asks again for a page behind a captcha."""

    name = "captcha"

    def items(self, response: Any) -> Iterator[Any]:
        if response.css("#captcha"):
            yield get_retry_request(response.request, spider=self, reason="captcha")
        else:
            yield from super().items(response)


class EntriesSpider(XMLFeedSpider):
    """Takes all that it yields from a feed, of other pages."""

    name = "entries"
    start_urls = [f"{ORIGIN}/feed.xml"]  # noqa: RUF012 - as its base class has it

    def parse_node(self, response: Any, node: Any) -> Any:  # noqa: ARG002 - Scrapy's signature
        return {"url": node.xpath("link/text()").get(), "price": node.xpath("price/text()").get()}


class SkuSpider(PathsSpider):
    """Reads an attribute alone."""

    name = "sku"

    def items(self, response: Any) -> Iterator[Any]:
        yield {"url": response.url, "sku": response.css("article::attr(data-sku)").get()}


class ShellSpider(PathsSpider):
    """Reads a script alone."""

    name = "shell"

    def items(self, response: Any) -> Iterator[Any]:
        matched = re.search(r"window\.state = (\{.*?\})", response.text)
        yield {"url": response.url, "state": matched and matched[1]}


class QuotesSpider(PathsSpider):
    """Many items a page, which name none and differ in their fields."""

    name = "quotes"

    def items(self, response: Any) -> Iterator[Any]:
        for number, text in enumerate(response.css("blockquote::text").getall()):
            yield {"quote": text, f"field{number % 3}": number}


class MixedSpider(QuotesSpider):
    """The same, naming the page."""

    name = "mixed"

    def items(self, response: Any) -> Iterator[Any]:
        for item in super().items(response):
            yield {"url": response.url, **item}


class SharedItemSpider(PathsSpider):
    name = "shared"
    item: ClassVar[dict[str, Any]] = {"shop": "ours", "tags": []}

    def items(self, response: Any) -> Iterator[Any]:
        for part in ("first", "second"):
            self.item.update(url=response.url, name=response.css("h1::text").get(), part=part)
            self.item["tags"][:] = [response.url, part]
            yield self.item


@dataclass(frozen=True)
class Product:
    url: str
    name: str
    cleaned_content: str | None = None
    dedup: dict[str, Any] | None = None


class Offer(Product): ...


class Rows(DeclarativeBase): ...


@dataclass(kw_only=True)
class Row(Rows):
    __tablename__ = "chair"
    url: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]


class RowSpider(PathsSpider):
    """Makes rows of a database, and holds what opens one."""

    name = "row"

    def __init__(self, paths: str) -> None:
        super().__init__(paths)
        self.database = create_engine("sqlite://")

    def items(self, response: Any) -> Iterator[Any]:
        yield Row(url=response.url, name=response.css("h1::text").get())


class ToDatabase:
    """Item pipeline."""

    def __init__(self) -> None:
        self._session = Session(create_engine("sqlite://"))
        Rows.metadata.create_all(self._session.get_bind())

    def process_item(self, item: Any) -> Any:
        self._session.add(item)
        self._session.commit()
        return item


class ProductSpider(PathsSpider):
    name = "product"

    def items(self, response: Any) -> Iterator[Any]:
        kind = Offer if "/offer/" in response.url else Product
        yield kind(response.url, response.css("h1::text").get())


class Gross(Item):
    url, price, offers, cleaned_content = Field(), Field(), Field(), Field()

    def __init__(self, *given: Any, **fields: Any) -> None:
        super().__init__(*given, **fields)
        self["offers"] = []

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value * 2 if name == "price" else value)


class GrossSpider(PathsSpider):
    """Makes items whose class adds a tax to what is set, and sets what this spider has no use for."""

    name = "gross"

    def items(self, response: Any) -> Iterator[Any]:
        item = Gross(url=response.url, price=2)
        del item["offers"]
        yield item


class LanguagesSpider(PathsSpider):
    name = "languages"

    async def start(self) -> AsyncIterator[Any]:
        for language in ("en", "de"):
            for url in self.start_urls:
                yield Request(url, headers={"Accept-Language": language}, dont_filter=True)


class LinkedSpider(PathsSpider):
    name = "linked"

    def items(self, response: Any) -> Iterator[Any]:
        yield {"url": response.url, "name": response.css("h1::text").get()}
        yield from response.follow_all(css="a.row", callback=self.parse)
        if response.css("form"):
            yield FormRequest.from_response(response, callback=self.parse)


class CarryingSpider(PathsSpider):
    name = "carrying"

    def __init__(self, paths: str, tax: str) -> None:
        super().__init__(paths)
        self._tax = tax

    def items(self, response: Any) -> Iterator[Any]:
        parts = {"url": response.url, "tax": self._tax}
        for number in range(3):
            yield response.follow(f"{response.url}/{number}", self.part, cb_kwargs={"parts": parts})
        self.crawler.engine.crawl(response.follow(f"{response.url}/more", self.more))

    def part(self, response: Any, parts: dict[str, Any]) -> Iterator[Any]:
        parts[f"part {response.url[-1]}"] = response.css("h1::text").get()
        if len(parts) == 5:
            yield dict(sorted(parts.items()))

    def more(self, response: Any) -> Iterator[Any]:
        yield {"url": response.url}


class PollingSpider(PathsSpider):
    """Asks for its pages until they are ready; what Scrapy gives for that has a number of tries."""

    name = "polling"

    def __init__(self, paths: str, pause: float = 0.1) -> None:
        super().__init__(paths)
        self._pause = pause

    async def parse(self, response: Any) -> AsyncIterator[Any]:  # type: ignore[override]
        state = response.css("h1::text").get() if response.status == 200 else response.status
        latency = response.meta.get("download_latency")
        yield {"url": response.url, "state": state, "latency": latency, "flags": response.flags}
        if state == "busy" and (again := get_retry_request(response.request, spider=self, max_retry_times=3)):
            yield again
        elif state in ("working", 404) and response.meta.get("polls", 0) < 3:
            await asyncio.sleep(self._pause)
            polls = response.meta.get("polls", 0) + 1
            yield Request(response.url, dont_filter=True, meta={"polls": polls, "handle_httpstatus_list": [404]})


class JarsSpider(Spider):
    """Twenty visitors of one page, told apart by meta alone."""

    name = "jars"

    async def start(self) -> AsyncIterator[Any]:
        for number in range(20):
            yield Request(f"{ORIGIN}/a", self.parse, meta={"cookiejar": number}, dont_filter=True)

    def parse(self, response: Any) -> Iterator[Any]:
        yield {"url": response.url, "jar": response.meta["cookiejar"]}


class LambdasSpider(Spider):
    """Twenty visits of one page, told apart by what is done with it."""

    name = "lambdas"

    async def start(self) -> AsyncIterator[Any]:
        for number in range(20):
            yield Request(f"{ORIGIN}/a", self.maker(number), dont_filter=True)

    def maker(self, number: int) -> Callable[[Response], dict[str, Any]]:
        return lambda response: self.item(response, number)

    def item(self, response: Response, number: int) -> dict[str, Any]:
        return {"url": response.url, "number": number}


class TwiceSpider(Spider):
    """A page that links to another one twice."""

    name = "twice"
    start_urls = [f"{ORIGIN}/a"]  # noqa: RUF012 - as its base class has it

    def parse(self, response: Any) -> Iterator[Any]:
        yield from response.follow_all(["/b", "/b"], self.linked)

    def linked(self, response: Any) -> Iterator[Any]:
        yield {"url": response.url}


class NamelessSpider(Spider):
    """Its name is given when it is made."""

    start_urls = [f"{ORIGIN}/a"]  # noqa: RUF012 - as its base class has it

    def __init__(self) -> None:
        super().__init__(name="given")

    def parse(self, response: Any) -> Iterator[Any]:
        yield {"url": response.url}


class FailingSpider(AwaitingSpider):
    """Its callback breaks where the second request fails."""

    name = "failing"

    async def detail(self, response: Any) -> AsyncIterator[Any]:
        async for one in super().detail(response):
            if not isinstance(one, Request) and one["part"] is None:
                raise ValueError("no part")
            yield one


class Unpound:
    """Item pipeline that makes numbers of prices; it can do so once."""

    def process_item(self, item: Any) -> Any:
        adapter = ItemAdapter(item)
        adapter["price"] = float(adapter["price"].replace("£", ""))
        return item


class AsDict:
    def process_item(self, item: Any) -> Any:
        return dict(item)


class Unit(StrEnum):
    METRES = "m"


class Subclasses:
    """Item pipeline that gives values of classes that JSON takes for what these are made of."""

    def process_item(self, item: Any) -> Any:
        texts = Selector(text="<p>oak").root.xpath("//text()")
        return {**item, "wood": texts[0], "woods": texts, "unit": Unit.METRES, "places": [{"at": Match(1, 2, 3)}]}


class NoPrint:
    def process_item(self, item: Any) -> Any:
        if "/print/" in item["url"] or item["url"].endswith("/15"):
            raise DropItem("for paper")
        return item


class NoSecond:
    def process_item(self, item: Any) -> Any:
        if item["part"] == "second":
            raise DropItem("the second")
        return item


class BanDetector:
    """Downloader middleware that takes what is not 200 for a ban, and gives up."""

    def process_response(self, request: Request, response: Response) -> Response:  # noqa: ARG002 - so it is called
        if response.status != 200:
            return response.replace(status=403, body=b"")
        return response


class FirstAlone:
    """Spider middleware that takes a callback's first output alone."""

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:  # noqa: ARG002
        async for one in result:
            yield one
            break


class FirstAloneHeld:
    """Spider middleware that takes a callback's first output alone, and holds the rest: no garbage to be collected."""

    def __init__(self) -> None:
        self._held: list[AsyncIterator[Any]] = []

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:  # noqa: ARG002
        self._held.append(result)
        async for one in result:
            yield one
            break


class Browser:
    """Downloader middleware that gives pages before any other is asked for them."""

    def process_request(self, request: Request) -> Response:
        text = f"<title>Chair</title><h1>Chair {request.url[-1]}</h1><p>Made of oak by hand in {request.url[-1]} days"
        return HtmlResponse(request.url, body=text, encoding="utf-8", request=request)


class Unclean:
    """Item pipeline behind ours that refuses what is not made of the plainest types."""

    def process_item(self, item: Any) -> Any:
        for value in ItemAdapter(item).asdict().values():
            self.look(value)
        return item

    def look(self, value: Any) -> None:
        if type(value) not in (str, int, float, bool, type(None), list, dict):
            raise DropItem(f"{type(value)}")
        if isinstance(value, dict):
            for one in [*value, *value.values()]:
                self.look(one)
        if isinstance(value, list):
            for one in value:
                self.look(one)


class TwoCallbacksSpider(PathsSpider):
    """Gives an item of each page by each of two callbacks."""

    name = "twocallbacks"

    def parse(self, response: Any) -> Iterator[Any]:
        yield {"url": response.url, "kind": "first"}
        yield response.request.replace(callback=self.second, dont_filter=True)

    def second(self, response: Any) -> Iterator[Any]:
        yield {"url": response.url, "kind": "second"}

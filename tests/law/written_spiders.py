"""Spiders of `test_written.py`: more of what people write, each for the pages of `written_world`."""
# ruff: noqa: RUF012 (as Scrapy's own classes declare them)

import gzip
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider, DontCloseSpider, DropItem
from scrapy.exporters import JsonLinesItemExporter
from scrapy.http import HtmlResponse, JsonRequest
from scrapy.spiders import CSVFeedSpider

from tests.law.site import ORIGIN, Answer, Asked, FixedWorld
from tests.law.spiders import CALLED

PAGES = 12
ENCODINGS = ("windows-1251", "shift_jis", "utf-8", "utf-16")
WORDS = ("Стул из дуба", "椅子は木で作る", "A chair of oak — très beau", "Ein Stuhl mit Lehne für vier")


def written_world() -> FixedWorld:
    """Return a shop with lists, a table, an API; some pages compressed, some in old encodings, some that fail."""
    return FixedWorld({}, by=_answer)


def _answer(asked: Asked) -> Answer:
    found = _whole(asked)
    return replace(found, body=b"") if asked.method == "HEAD" else found


def _whole(asked: Asked) -> Answer:
    first, _, last = asked.path.strip("/").partition("/")
    number = int(last) if last.isdigit() else 0
    if first == "p" and number < PAGES:
        return _product(number)
    if first == "list":
        return _list(number)
    if first == "api":
        return _json({"asked": json.loads(asked.body or b"{}"), "answer": len(asked.body)})
    table = "\n".join(["id;name;price", *(f"{one};Chair {one};{10 * one}" for one in range(PAGES))])
    others = {
        "status": Answer(number, f"<h1>Status {last}</h1><p>{WORDS[2]}".encode()),
        "table.csv": Answer(body=table.encode(), content_type="text/csv"),
        "picture": Answer(body=f"picture {last}".encode(), content_type="application/octet-stream"),
    }
    return others.get(first, Answer(404, b"<h1>Nothing here</h1>"))


def _product(number: int) -> Answer:
    encoding, words = ENCODINGS[number % 4], WORDS[number % 4]
    links = "".join(f'<a href="/p/{(number * 2 + one) % PAGES}">more</a>' for one in (1, 2))
    declared = f'<meta charset="{encoding}">' if encoding != "utf-16" else ""
    text = f"<p>{words}, number {number}. " * 6
    whole = f"<html><head>{declared}<title>{words} {number}</title></head><body><h1>{words}</h1>{text}{links}</body>"
    body, headers = whole.encode(encoding, "replace"), {"ETag": f'"{number}"'}
    if number % 3 == 0:
        body, headers = gzip.compress(body, mtime=0), {**headers, "Content-Encoding": "gzip"}
    return Answer(body=body, content_type="text/html; charset=utf-16" if not declared else "text/html", headers=headers)


def _list(number: int) -> Answer:
    links = "".join(f'<a class=p href="/p/{at}">{at}</a>' for at in range(number * 4, number * 4 + 4))
    following = f'<a class=next href="/list/{number + 1}">next</a>' if number * 4 + 4 < PAGES else ""
    return Answer(body=f"<html><body><h1>List {number}</h1>{links}{following}</body></html>".encode())


def _json(value: Any) -> Answer:
    return Answer(body=json.dumps(value).encode(), content_type="application/json")


class Written(Spider):
    """All products, one after the other; the others change a part of it."""

    name = "written"

    async def start(self) -> AsyncIterator[Any]:
        for number in range(PAGES):
            yield Request(f"{ORIGIN}/p/{number}", self.parse, cb_kwargs={"number": number})

    def parse(self, response: Any, number: int = -1) -> Any:
        CALLED.info(response.url)
        yield self.item(response, number=number)

    def item(self, response: Any, **fields: Any) -> dict[str, Any]:
        return {"url": response.url, "heading": response.css("h1::text").get(), "at": len(response.text), **fields}


class TableSpider(CSVFeedSpider):
    """Rows and the pages that they name."""

    name = "table"
    start_urls: list[str] = [f"{ORIGIN}/table.csv"]
    delimiter = ";"

    def parse_row(self, response: Any, row: dict[str, str]) -> Any:
        yield row
        yield response.follow(f"/p/{row['id']}", self.parse_page, cb_kwargs={"row": row})

    def parse_page(self, response: Any, row: dict[str, str]) -> Any:
        CALLED.info(response.url)
        yield {**row, "url": response.url, "heading": response.css("h1::text").get()}


class EnoughSpider(Written):
    """Ends itself in the middle."""

    name = "enough"

    def parse(self, response: Any, number: int = -1) -> Any:
        yield self.item(response, number=number)
        if number == 6:
            raise CloseSpider("enough")


class ErrbackSpider(Spider):
    """Makes its items of what fails."""

    name = "errback"
    handle_httpstatus_list: list[int] = [410]
    custom_settings: dict[str, Any] = {"RETRY_TIMES": 2, "RETRY_HTTP_CODES": [503]}

    async def start(self) -> AsyncIterator[Any]:
        for path in ("/status/404", "/status/410", "/status/500", "/status/503", "/p/1", "/status/204"):
            yield Request(f"{ORIGIN}{path}", self.parse, errback=self.failed)
        yield Request(f"{ORIGIN}/status/403", self.parse, meta={"handle_httpstatus_all": True})

    def parse(self, response: Any) -> Any:
        yield {"url": response.url, "status": response.status, "times": response.meta.get("retry_times", 0)}

    def failed(self, failure: Any) -> Any:
        response = failure.value.response
        yield {"url": response.url, "failed": response.status}
        yield Request(f"{response.url}?again", self.parse, meta={"handle_httpstatus_list": [response.status]})


class AllowingSpider(ErrbackSpider):
    name = "allowing"
    custom_settings: dict[str, Any] = {"HTTPERROR_ALLOW_ALL": True, "RETRY_ENABLED": False}


class WrongSpider(Written):
    """Yields what is neither an item nor a request."""

    name = "wrong"
    custom_settings: dict[str, Any] = {"ITEM_PIPELINES": {"tests.law.written_spiders.DropsWrong": 900}}

    def parse(self, response: Any, number: int = -1) -> Any:
        yield None
        yield "text" if number % 2 else number
        yield self.item(response, number=number)
        yield ["list"]


class ReturningSpider(Written):
    """Returns a list, an item or nothing at all."""

    name = "returning"

    def parse(self, response: Any, number: int = -1) -> Any:
        item = self.item(response, number=number)
        return (None, item, [item, {"number": number}], iter([item]))[number % 4]


class QuerySpider(Spider):
    """Asks one URL by POST, page by page and query by query."""

    name = "query"

    async def start(self) -> AsyncIterator[Any]:
        yield JsonRequest(f"{ORIGIN}/api", data={"page": 0}, callback=self.parse)
        for name in ("chairs", "tables", "beds"):
            query = {"query": "query($name: String) { all(name: $name) { id } }", "variables": {"name": name}}
            yield JsonRequest(f"{ORIGIN}/api/graphql", data=query, callback=self.parse_query)

    def parse(self, response: Any) -> Any:
        page = response.json()["asked"]["page"]
        yield {"url": response.url, "page": page}
        if page < 8:
            yield JsonRequest(response.url, data={"page": page + 1}, callback=self.parse, priority=page)

    def parse_query(self, response: Any) -> Any:
        yield response.json()


class InlineSpider(Written):
    """Downloads by the engine, in its start and in its callback."""

    name = "inline"

    async def start(self) -> AsyncIterator[Any]:
        first: Any = await self.crawler.engine.download_async(Request(f"{ORIGIN}/list/0"))
        for request in first.follow_all(css="a.p"):
            yield request.replace(callback=self.parse_twice)
        yield {"name": "an item of the start"}

    async def parse_twice(self, response: Any) -> Any:
        yield self.item(response)
        head = await self.crawler.engine.download_async(Request(response.url, method="HEAD"))
        gone = await self.crawler.engine.download_async(Request(f"{ORIGIN}/status/404", dont_filter=True))
        yield {"url": response.url, "size": str(head.headers.get("ETag")), "gone": gone.status}


class DeepSpider(Written):
    """Follows all links as deep as it may, breadth first."""

    name = "deep"
    start_urls: list[str] = [f"{ORIGIN}/list/0"]
    custom_settings: dict[str, Any] = {
        "DEPTH_LIMIT": 3,
        "DEPTH_PRIORITY": 1,
        "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
        "AUTOTHROTTLE_ENABLED": True,
        "AUTOTHROTTLE_START_DELAY": 0.01,
    }

    async def start(self) -> AsyncIterator[Any]:
        for url in self.start_urls:
            yield Request(url, self.parse_deep)

    def parse_deep(self, response: Any) -> Any:
        CALLED.info(response.url)
        yield self.item(response, depth=response.meta["depth"])
        yield from response.follow_all(css="a", callback=self.parse_deep)


class DeepestSpider(DeepSpider):
    """Its deepest page has links to known ones alone."""

    name = "deepest"
    custom_settings: dict[str, Any] = {}


class VerboseSpider(DeepSpider):
    name = "verbose"
    custom_settings: dict[str, Any] = {"DEPTH_STATS_VERBOSE": True}


class SchemesSpider(Written):
    """Reads `data:`, a scheme of its own and HEAD."""

    name = "schemes"
    custom_settings: dict[str, Any] = {"DOWNLOAD_HANDLERS": {"shelf": "tests.law.written_spiders.Shelf"}}

    async def start(self) -> AsyncIterator[Any]:
        yield Request("data:text/html,<h1>Of data</h1><p>one", self.parse)
        yield Request("data:text/html,<h1>Of data</h1><p>two", self.parse)
        yield Request("shelf://bucket/one.html", self.parse)
        yield Request("shelf://bucket/two.html", self.parse)
        yield Request(f"{ORIGIN}/p/2", self.parse_head, method="HEAD")
        yield Request(f"{ORIGIN}/p/2", self.parse)

    def parse_head(self, response: Any) -> Any:
        yield {"url": response.url, "size": len(response.body), "tag": response.headers["ETag"].decode()}


class Shelf:
    """Download handler."""

    lazy = False

    async def download_request(self, request: Request) -> HtmlResponse:
        return HtmlResponse(request.url, body=b"<h1>Of the shelf</h1><p>" + request.url.encode(), encoding="utf-8")

    async def close(self) -> None:
        pass


class PicturesSpider(Written):
    """Its items name files, which a pipeline behind ours fetches."""

    name = "pictures"

    def item(self, response: Any, **fields: Any) -> dict[str, Any]:
        number = fields["number"]
        urls = [f"{ORIGIN}/picture/{number}", f"{ORIGIN}/picture/shared", f"{ORIGIN}/status/404"]
        return {**super().item(response, **fields), "file_urls": urls}


class IdleSpider(Written):
    """Asks for more whenever it has nothing to do."""

    name = "idle"
    more = 4

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> "IdleSpider":
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.idle, signal=signals.spider_idle)
        return spider

    async def start(self) -> AsyncIterator[Any]:
        yield Request(f"{ORIGIN}/p/0")

    def idle(self) -> None:
        if self.more:
            self.more -= 1
            self.crawler.engine.crawl(Request(f"{ORIGIN}/p/{self.more + 1}", self.parse))
            raise DontCloseSpider


class DroppingSpider(Written):
    """Pipelines on both sides of ours drop, and change, items."""

    name = "dropping"
    custom_settings: dict[str, Any] = {
        "ITEM_PIPELINES": {"tests.law.written_spiders.DropsThirds": 100, "tests.law.written_spiders.DropsFifths": 900}
    }


class DropsThirds:
    """Item pipeline that goes by an item's number."""

    every = 3

    def process_item(self, item: Any) -> Any:
        if item["number"] % self.every == 0:
            raise DropItem(f"of {self.every}")
        return {**item, f"kept by {self.every}": True}


class DropsFifths(DropsThirds):
    every = 5


class DropsWrong:
    """Item pipeline behind which there are items alone: a feed takes nothing else."""

    def process_item(self, item: Any) -> Any:
        if not isinstance(item, dict):
            raise DropItem(f"{item!r}")
        return item


class OwnExporter(JsonLinesItemExporter):
    """Item exporter that writes numbers as words."""

    def serialize_field(self, field: Any, name: str, value: Any) -> Any:
        return f"no. {value}" if name == "number" else super().serialize_field(field, name, value)


class Even:
    """Item filter."""

    def __init__(self, feed_options: dict[str, Any] | None) -> None:
        pass

    def accepts(self, item: Any) -> bool:
        return bool(item["number"] % 2 == 0)

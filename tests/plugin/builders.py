from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse
from scrapy.utils.test import get_crawler

PAGE = "https://example.com/page"


def a_request(url: str = PAGE, **fields: Any) -> Request:
    return Request(url, **fields)


def a_response(url: str = PAGE, body: str = "<p>text</p>", **fields: Any) -> HtmlResponse:
    fields.setdefault("request", a_request(url))
    return HtmlResponse(url, body=body.encode(), encoding="utf-8", **fields)


def a_crawler(spider: type[Spider] = Spider, arguments: dict[str, Any] | None = None, **settings: Any) -> Crawler:
    """Return a crawler with its spider, as the components get to see it."""
    crawler = get_crawler(spider, settings)
    crawler.spider = spider.from_crawler(crawler, name="a-spider", **(arguments or {}))
    return crawler

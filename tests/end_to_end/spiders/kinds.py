"""A spider that makes items of every kind from every response."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import attrs
import scrapy
from scrapy.http import Response

from scrapy_dedup.plugin.items import PageItem
from tests.end_to_end.spiders.pages import FromStart, noted

ODD_TEXT = "  Harbour\t{0}\r\n\r\n\r\n\r\nof {0} \n\n"


class Product(scrapy.Item):
    id = scrapy.Field()
    url = scrapy.Field()
    html = scrapy.Field()
    cleaned_content = scrapy.Field()
    dedup = scrapy.Field()


class BareProduct(scrapy.Item):
    id = scrapy.Field()
    url = scrapy.Field()
    html = scrapy.Field()


@dataclass
class Article:
    id: str
    url: str
    html: str
    cleaned_content: str | None = None


@dataclass
class BareArticle:
    id: str
    url: str
    html: str


@attrs.define
class Note:
    id: str
    url: str
    html: str
    cleaned_content: str | None = None
    dedup: dict[str, Any] | None = None


class Kinds(scrapy.Spider):
    """`-a start=` names the pages; `-a bare=1` adds classes that cannot take what the plugin adds."""

    name = "kinds"

    def __init__(self, start: str = "", bare: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = start.split()
        self.bare = bare

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:  # noqa: ARG002 - Scrapy's signature
        url, html = response.url, response.text
        page = url.rpartition("/")[2]
        makers = self.bare_items if self.bare else self.items
        for item in makers(page, url, html):
            yield noted(item)
        if self.bare:
            yield noted({"id": f"bytes {page}", "url": url, "html": response.body})

    def bare_items(self, page: str, url: str, html: str) -> Iterator[Any]:
        yield BareProduct(id=f"bare-item {page}", url=url, html=html)
        yield BareArticle(id=f"bare-dataclass {page}", url=url, html=html)
        yield 42
        yield "text"
        item = {"id": f"one object {page}", "url": url}
        yield from (item, item, item)

    def items(self, page: str, url: str, html: str) -> Iterator[Any]:
        yield {"id": f"html {page}", "url": url, "html": html}
        yield {"id": f"attached {page}", "url": url}
        yield {"id": f"no-url {page}", "html": html}
        yield {"id": f"nothing {page}", "name": "only a name"}
        yield {"id": f"content {page}", "url": url, "content": ODD_TEXT.format(page)}
        yield {"id": f"own-html {page}", "url": url, "html": f"<p>A part of {page}</p>", "dedup": "mine"}
        yield Product(id=f"item {page}", url=url, html=html)
        yield Article(id=f"dataclass {page}", url=url, html=html)
        yield Note(id=f"attrs {page}", url=url, html=html)
        yield {"id": f"other-url {page}", "url": f"{url}/of-another", "name": "a link"}
        yield {"id": f"other-url-content {page}", "url": f"{url}/of-another", "content": ODD_TEXT.format(page)}


class PageItems(FromStart):
    """Yields `PageItem.from_response`."""

    name = "page-items"

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:  # noqa: ARG002 - Scrapy's signature
        yield noted(PageItem.from_response(response))


class Grouped(FromStart):
    """Says to which group some pages belong, and gives no item of a hub."""

    name = "grouped"
    dedup_source_group = "from the spider"

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:  # noqa: ARG002 - Scrapy's signature
        group = {"source_group": "from the item"} if response.url.endswith("p1") else {}
        if not response.url.endswith("p2"):
            yield noted({"url": response.url, **group})

"""A spider as most are."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import scrapy


class MatrixSpider(scrapy.Spider):
    """Crawls a site from its first page; every request has the given meta, as JSON."""

    name = "matrix"

    def __init__(self, start: str = "", meta: str = "{}", **arguments: Any) -> None:
        super().__init__(**arguments)
        self.start_url = start
        self.meta = json.loads(meta)

    async def start(self) -> AsyncIterator[Any]:
        """Ask for the first page."""
        yield scrapy.Request(self.start_url, meta=self.meta)

    def parse(self, response: Any) -> Iterator[Any]:
        """Give the page, and go on."""
        yield {"url": response.url, "title": response.css("h1::text").get(), "html": response.text}
        yield from response.follow_all(css="a", meta=self.meta)

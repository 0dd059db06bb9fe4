"""A spider whose pages scrapy-playwright renders."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import scrapy


class MatrixSpider(scrapy.Spider):
    """Asks for each page in a browser."""

    name = "matrix"

    def __init__(self, start: str = "", **arguments: Any) -> None:
        super().__init__(**arguments)
        self.start_url = start

    async def start(self) -> AsyncIterator[Any]:
        yield scrapy.Request(self.start_url, meta={"playwright": True})

    def parse(self, response: Any) -> Iterator[Any]:
        yield {"url": response.url, "title": response.css("h1::text").get(), "html": response.text}
        yield from response.follow_all(css="a", meta={"playwright": True})

"""Pages in the order in which they are named."""

from collections.abc import Iterator
from typing import Any

import scrapy
from scrapy.http import Response

from tests.end_to_end.spiders.pages import noted


class InOrder(scrapy.Spider):
    """Asks for one page after the other and follows no links."""

    name = "in-order"

    def __init__(self, start: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.waiting = start.split()[::-1]

    async def start(self) -> Any:
        yield scrapy.Request(self.waiting.pop())

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:  # noqa: ARG002 - Scrapy's signature
        yield noted({"url": response.url, "html": response.text})
        if self.waiting:
            yield scrapy.Request(self.waiting.pop())

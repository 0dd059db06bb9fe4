"""Several items a page, in an order; some name no page."""

from collections.abc import Iterator
from typing import Any

import scrapy
from scrapy.http import Response

from tests.end_to_end.spiders.pages import noted

ITEMS_A_PAGE = 4


class Guest(scrapy.Spider):
    """Yields some items of each page; `-a elsewhere=1` yields one, too, whose URL is none."""

    name = "guest"

    def __init__(self, start: str = "", elsewhere: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = start.split()
        self.elsewhere = elsewhere

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:  # noqa: ARG002 - Scrapy's signature
        for number in range(ITEMS_A_PAGE):
            yield noted({"id": f"{response.url} {number}", "url": response.url})
        if self.elsewhere:
            yield noted({"id": f"{response.url} elsewhere", "url": "no page at all", "html": "<p>A text</p>"})

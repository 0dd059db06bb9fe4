"""A spider that follows whatever it sees."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import scrapy
from scrapy.http import Response, TextResponse

from tests.end_to_end.spiders.pages import noted


class Everything(scrapy.Spider):
    """Yields every page and follows every link; `-a links=CSS` follows some."""

    name = "everything"
    start_urls: list[str]

    def __init__(self, start: str = "", links: str = "a", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = start.split()
        self.links = links

    async def start(self) -> AsyncIterator[Any]:
        """Unlike Scrapy's own these are filtered, so that a link back to one of them brings no second visit."""
        for url in self.start_urls:
            yield scrapy.Request(url)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:  # noqa: ARG002 - Scrapy's signature
        if isinstance(response, TextResponse):
            yield noted({"url": response.url, "html": response.text})
            yield from (response.follow(link) for link in response.css(f"{self.links}::attr(href)").getall())

"""Every page that is named, of whatever type."""

from collections.abc import Iterator
from typing import Any

import scrapy
from scrapy.http import Response

from tests.end_to_end.spiders.pages import noted


class Hospital(scrapy.Spider):
    """Yields an item for each response; what it contains is left to the plugin."""

    name = "hospital"
    start_urls: list[str]

    def __init__(self, start: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = start.split()

    async def start(self) -> Any:
        for url in self.start_urls:
            yield scrapy.Request(url)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:  # noqa: ARG002 - Scrapy's signature
        yield noted({"url": response.url})

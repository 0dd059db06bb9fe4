"""Every page that is named, of whatever type."""

from collections.abc import Iterator
from typing import Any

import scrapy
from scrapy.http import Response

from tests.end_to_end.spiders.pages import FromStart, noted


class Hospital(FromStart):
    """Yields an item for each response; what it contains is left to the plugin."""

    name = "hospital"

    async def start(self) -> Any:
        for url in self.start_urls:
            yield scrapy.Request(url)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:  # noqa: ARG002 - Scrapy's signature
        yield noted({"url": response.url})

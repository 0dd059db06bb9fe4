"""Every page that is named, of whatever type."""

from collections.abc import Iterator
from typing import Any

from scrapy.http import Response

from tests.end_to_end.spiders.pages import Filtered, noted


class Hospital(Filtered):
    """Yields an item for each response; what it contains is left to the plugin."""

    name = "hospital"

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:  # noqa: ARG002 - Scrapy's signature
        yield noted({"url": response.url})

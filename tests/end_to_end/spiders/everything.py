"""A spider that follows whatever it sees."""

from collections.abc import Iterator
from typing import Any

from scrapy.http import Response, TextResponse

from tests.end_to_end.spiders.pages import Filtered, noted


class Everything(Filtered):
    """Yields every page and follows every link; `-a links=CSS` follows some."""

    name = "everything"

    def __init__(self, links: str = "a", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.links = links

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:  # noqa: ARG002 - Scrapy's signature
        if isinstance(response, TextResponse):
            yield noted({"url": response.url, "html": response.text})
            yield from (response.follow(link) for link in response.css(f"{self.links}::attr(href)").getall())

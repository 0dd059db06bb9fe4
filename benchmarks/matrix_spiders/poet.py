"""A spider whose page objects scrapy-poet injects."""

from collections.abc import Iterator
from typing import Any

import scrapy
from web_poet import WebPage


class HeadedPage(WebPage[Any]):
    """A page with a heading."""

    def title(self) -> str | None:
        """Return it."""
        return self.css("h1::text").get()


class MatrixSpider(scrapy.Spider):
    """Takes what it gives from a page object."""

    name = "matrix"

    def __init__(self, start: str = "", **arguments: Any) -> None:
        super().__init__(**arguments)
        self.start_urls = [start]

    def parse(self, response: Any, page: HeadedPage) -> Iterator[Any]:
        yield {"url": response.url, "title": page.title(), "html": response.text}
        yield from response.follow_all(css="a")

"""A spider as most are."""

from collections.abc import Iterator
from typing import Any

import scrapy


class MatrixSpider(scrapy.Spider):
    """Nothing else."""

    name = "matrix"

    def __init__(self, start: str = "", **arguments: Any) -> None:
        super().__init__(**arguments)
        self.start_urls = [start]

    def parse(self, response: Any) -> Iterator[Any]:
        yield {"url": response.url, "title": response.css("h1::text").get(), "html": response.text}
        yield from response.follow_all(css="a")

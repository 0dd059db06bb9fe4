"""A spider that spidermon watches."""

from collections.abc import Iterator
from typing import Any, ClassVar

import scrapy
from spidermon import Monitor, MonitorSuite


class ItemMonitor(Monitor):  # type: ignore[misc]
    """Each page gives an item."""

    def test_items(self) -> None:
        """Compare what Scrapy counted."""
        assert self.data.stats["item_scraped_count"] == self.data.stats["response_received_count"]


class Suite(MonitorSuite):  # type: ignore[misc]
    """At the end of the spider."""

    monitors: ClassVar = [ItemMonitor]


class MatrixSpider(scrapy.Spider):
    """Has a monitor for its end."""

    name = "matrix"
    custom_settings = {"SPIDERMON_SPIDER_CLOSE_MONITORS": [Suite]}  # noqa: RUF012 (as Scrapy declares it)

    def __init__(self, start: str = "", **arguments: Any) -> None:
        super().__init__(**arguments)
        self.start_urls = [start]

    def parse(self, response: Any) -> Iterator[Any]:
        yield {"url": response.url, "title": response.css("h1::text").get(), "html": response.text}
        yield from response.follow_all(css="a")

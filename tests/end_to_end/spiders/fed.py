"""A spider that gets its first URLs from Redis."""

from collections.abc import Iterator
from typing import Any

from scrapy.http import Response
from scrapy_redis.spiders import RedisSpider

from tests.end_to_end.spiders.pages import noted


class Fed(RedisSpider):  # type: ignore[misc]
    """Yields every page that is no hub and follows its links, until nobody feeds it for two seconds."""

    name = "fed"
    max_idle_time = 2

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:  # noqa: ARG002 - Scrapy's signature
        if not response.url.endswith("/hub"):
            yield noted({"url": response.url, "html": response.text})
        for link in response.css("main a::attr(href)").getall():
            yield response.follow(link)

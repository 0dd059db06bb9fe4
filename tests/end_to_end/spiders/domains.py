from collections.abc import AsyncIterator, Iterator
from typing import Any

import scrapy
from scrapy.http import HtmlResponse, Response

from tests.end_to_end.spiders.pages import FromStart, noted


class Crosses(FromStart):
    """Follows every link of every page; each item has what the page says of its confidence.

    A start page `/left-alone` asks to be left alone.
    """

    name = "crosses"

    async def start(self) -> AsyncIterator[Any]:
        for url in self.start_urls:
            meta = {"dedup": False} if url.endswith("/left-alone") else {}
            yield scrapy.Request(url, dont_filter=True, meta=meta)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:  # noqa: ARG002 - Scrapy's signature
        if not isinstance(response, HtmlResponse):
            return
        said = response.css("meta[name=confidence]::attr(content)").get()
        files = response.css("img::attr(src)").getall()
        more = {"confidence": said} if said else {}
        yield noted({"url": response.url, "html": response.text, "file_urls": files, **more})
        yield from response.follow_all(css="a")


class NotesRefusals(Crosses):
    """Has an errback."""

    name = "notes-refusals"

    async def start(self) -> AsyncIterator[Any]:
        async for request in super().start():
            yield request.replace(errback=self.refused)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        for output in super().parse(response, **kwargs):
            yield output.replace(errback=self.refused) if isinstance(output, scrapy.Request) else output

    def refused(self, failure: Any) -> Iterator[Any]:
        yield noted({"id": f"refused {failure.request.url}", "content": str(failure.value)})


def confidence_of(item: Any) -> Any:
    """Give a number, nothing, or nonsense, as the page's address says."""
    if item["url"].endswith("/raises"):
        raise ValueError("no idea")
    if item["url"].endswith("/nonsense"):
        return 7
    return None if item["url"].endswith("/unknown") else 0.9

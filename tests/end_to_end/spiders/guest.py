"""Spiders that ask in ways of their own."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import scrapy
from scrapy.http import Response

from tests.end_to_end.spiders.pages import FromStart, noted


class Proxied(FromStart):
    """Reaches its site by a proxy with a password, with a key, and in a slot of its own."""

    name = "proxied"

    def __init__(self, proxy: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.way: dict[str, Any] = {"headers": {"X-Key": "key"}, "meta": {"proxy": proxy, "download_slot": "its own"}}

    async def start(self) -> AsyncIterator[Any]:
        for url in self.start_urls:
            yield scrapy.Request(url, **self.way)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:  # noqa: ARG002 - Scrapy's signature
        yield noted({"id": response.url, "url": response.url})
        for href in response.css("main a::attr(href)").getall():
            yield response.follow(href, **self.way)


class Asks(FromStart):
    """Asks for each of its pages many times, as spiders do that know why."""

    name = "asks"

    async def start(self) -> AsyncIterator[Any]:
        async for request in super().start():
            yield request
        for number, url in enumerate(self.start_urls):
            yield scrapy.Request(url, dont_filter=True, meta={"cookiejar": number})
            yield scrapy.Request(url, dont_filter=True, cb_kwargs={"asked": number})
            yield scrapy.Request(url, dont_filter=True, headers={"Accept-Language": "x"})
            yield scrapy.Request(url, self.parse_other, dont_filter=True)
            # mypy takes a callback for one of several kinds, and this for none of them.
            yield scrapy.Request(url, lambda response: [*self.parse(response)], dont_filter=True)  # type: ignore[misc]
            yield scrapy.Request(url, method="POST", body=b"a")
            yield scrapy.Request(f"{url}?utm_source=start", meta={"filtered": True})

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        yield noted({"id": f"{response.url} {kwargs}", "url": response.url})
        for path in ("", "?utm_source=link", "#part"):
            yield response.follow(response.url.partition("?")[0] + path)

    def parse_other(self, response: Response, **kwargs: Any) -> Iterator[Any]:  # noqa: ARG002 - Scrapy's signature
        yield noted({"id": f"{response.url} other", "url": response.url})


class FragmentsFingerprinter:
    """A fingerprinter of a user's own: a fragment makes another page."""

    def fingerprint(self, request: scrapy.Request) -> bytes:
        return f"{request.method} {request.url}".encode()

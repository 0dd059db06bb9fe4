from collections.abc import AsyncIterator, Iterator
from typing import Any

import scrapy
from scrapy.http import Response, TextResponse

from tests.end_to_end.recorders import sleep
from tests.end_to_end.spiders.pages import FromStart, noted


class Responses(FromStart):
    """Yields an item of each response; of text with it, of all else without."""

    name = "responses"

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:  # noqa: ARG002 - Scrapy's signature
        html = {"html": response.text} if isinstance(response, TextResponse) else {}
        yield noted({"id": f"item {response.url}", "url": response.url, **html})
        yield noted({"id": f"attached {response.url}", "url": response.url})


class Refusing(dict[str, Any]):
    """Takes no text."""

    def __setitem__(self, key: str, value: Any) -> None:
        if key == "cleaned_content":
            raise ValueError("not with me")
        super().__setitem__(key, value)


class Sealed(dict[str, Any]):
    """Takes nothing at all."""

    def __setitem__(self, key: str, value: Any) -> None:
        raise ValueError("sealed")


class BrokenText(str):
    """Text that cannot be looked into."""

    __slots__ = ()

    def count(self, *args: Any) -> int:  # noqa: ARG002 - as str has it
        raise OSError("broken")


HTML = "<html><body><p>A page of {0}</p></body></html>"
URLS: dict[str, Any] = {
    "url-none": None,
    "url-empty": "",
    "url-number": 5,
    "url-relative": "/page",
    "url-words": "not a url",
    "url-brackets": "http://[bad",
    "url-script": "javascript:alert(1)",
    "url-port": "http://example.com:99999/",
    "url-endless": "http://example.com/" + "a" * 200_000,
    "url-surrogate": "http://example.com/\ud800",
    "url-nul": "http://example.com/\0",
}
FIELDS: dict[str, Any] = {
    "html-number": 5,
    "html-dict": {"a": 1},
    "html-bytes-of-no-text": b"\xff\xfe\x00\xd8",
    "html-surrogate": HTML.format("\ud800"),
    "html-broken": BrokenText(HTML.format("broken")),
}


class Fields(FromStart):
    """Yields items with odd fields from one response."""

    name = "fields"

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:  # noqa: ARG002 - Scrapy's signature
        for name, url in URLS.items():
            yield noted({"id": name, "url": url, "html": HTML.format(name)})
        for name, html in FIELDS.items():
            yield noted({"id": name, "url": response.urljoin(f"/{name}"), "html": html})
        yield noted({"id": "set-before", "html": HTML.format("it"), "cleaned_content": 1, "dedup": "mine"})
        yield noted(Refusing(id="refusing", html=HTML.format("refusing")))
        yield noted(Sealed(id="sealed", html=HTML.format("sealed")))


class Breaking(FromStart):
    """Each callback ends in its own way."""

    name = "breaking"

    async def start(self) -> AsyncIterator[Any]:
        for url in self.start_urls:
            yield scrapy.Request(url, callback=getattr(self, url.rpartition("/")[2]))

    def half_way(self, response: Response) -> Iterator[Any]:
        yield noted({"id": "half-way", "url": response.url})
        raise ValueError("in the middle of a callback")

    async def waits(self, response: Response) -> AsyncIterator[Any]:
        yield noted({"id": "before", "url": response.url})
        await sleep(0.3)
        yield noted({"id": "after", "url": response.url})

    async def returns(self, response: Response) -> list[Any]:
        await sleep(0.01)
        return [noted({"id": f"returned {n}", "url": response.url}) for n in range(3)]

    def many(self, response: Response) -> Iterator[Any]:
        for n in range(250):
            yield noted({"id": f"many {n}", "url": f"{response.url}/{n}", "html": HTML.format(n)})

    def many_of_one(self, response: Response) -> Iterator[Any]:
        for n in range(250):
            yield noted({"id": f"one {n}", "url": response.url})

"""Spiders whose callbacks ask a costly function; each of its calls is noted in a file."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import scrapy
from scrapy.http import Response

import scrapy_dedup
from tests.end_to_end.recorders import sleep
from tests.end_to_end.spiders.pages import noted

CALLS = Path("calls.txt")
PAGES = 4


def _called(text: str) -> dict[str, Any]:
    with CALLS.open("a", encoding="utf-8") as calls:
        calls.write(f"{text}\n")
    return {"summary": text.upper(), "tags": ["a", 1, 0.5, None, True, {"deep": "ü\ud800"}]}


def in_a_thread(text: str) -> dict[str, Any]:
    return _called(text)


ASKING: set[str] = set()
"""Pages whose callbacks have begun."""


async def awaited(text: str) -> dict[str, Any]:
    # So long that whoever asks the same comes meanwhile, however busy the machine is.
    for _ in range(100):
        await sleep(0.3)
        if len(ASKING) == PAGES:
            break
    return _called(text)


async def failing(text: str) -> dict[str, Any]:
    await awaited(text)
    raise ValueError(f"no answer for {text}")


def stopping(text: str) -> dict[str, Any]:
    return {"first": next(word for word in text if word.isnumeric() and word.isalpha())}


def not_json(text: str) -> dict[str, Any]:
    return _called(text) | {"tags": ["a", ("b", "c")]}


ASKED: dict[str, Callable[[str], Any]] = {
    "in_a_thread": in_a_thread,
    "awaited": awaited,
    "failing": failing,
    "stopping": stopping,
    "not_json": not_json,
    "lambda": lambda text: in_a_thread(text) | {},
}


class Costly(scrapy.Spider):
    """Yields what a function made of each page's text; `-a text=...` asks for that text on every page.

    With several words as `ask` the pages take turns.
    """

    name = "costly"

    def __init__(self, start: str, ask: str = "in_a_thread", version: str = "1", text: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = start.split()
        self.asks, self.version, self.text = [ASKED[one] for one in ask.split()], version, text

    async def parse(self, response: Response, **kwargs: Any) -> AsyncIterator[Any]:  # noqa: ARG002 - Scrapy's signature
        ASKING.add(response.url)
        text = self.text or response.css("title::text").get("")
        try:
            ask = self.asks[int(response.url[-1]) % len(self.asks)]
            made = await scrapy_dedup.memo(self.crawler, text, ask, version=self.version)
        except Exception as error:  # noqa: BLE001 - the test looks at what it is
            made = {"error": f"{type(error).__name__}: {error}"}
        # What one caller does to its value is not seen by the others.
        again = made.pop("tags", None)
        yield noted({"id": response.url, "url": response.url, "made": made, "tags": again})


class OtherCostly(Costly):
    """Another spider of the project, with the same function."""

    name = "other_costly"

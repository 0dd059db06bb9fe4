"""Spiders that switch the plugin, or a layer of it, in each of the ways there are."""

from collections.abc import Iterator
from typing import Any, ClassVar

import scrapy
from scrapy.http import Response

from tests.end_to_end.spiders.pages import FromStart, noted


class Plain(FromStart):
    """Yields its start pages; a page below /off/, /text/ and /wrong/ has an override in meta."""

    name = "plain"
    overrides: ClassVar[dict[str, Any]] = {
        "off": False,
        "on": True,
        "as-text": {"output": "text"},
        "whole": {"layers": {"boilerplate": False, "patterns": False}},
        "off-by-dict": {"enabled": False},
        "unknown": {"no_such_thing": 1},
        "out-of-range": {"min_pages": 0},
        "nonsense": 3.5,
    }

    async def start(self) -> Any:
        for url in self.start_urls:
            kind = url.split("/")[3]
            meta = {"dedup": self.overrides[kind]} if kind in self.overrides else {}
            yield scrapy.Request(url, meta=meta)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:  # noqa: ARG002 - Scrapy's signature
        yield noted({"url": response.url, "html": response.text})


class OffByCustomSettings(Plain):
    name = "off-by-custom-settings"
    custom_settings = {"DEDUP_ENABLED": False}  # noqa: RUF012 - as Scrapy declares it


class OffByAttribute(Plain):
    name = "off-by-attribute"
    dedup_enabled = False


class TextByCustomSettings(Plain):
    name = "text-by-custom-settings"
    custom_settings = {"DEDUP_OUTPUT": "text"}  # noqa: RUF012 - as Scrapy declares it


class TextByAttribute(Plain):
    name = "text-by-attribute"
    custom_settings = {"DEDUP_OUTPUT": "html"}  # noqa: RUF012 - as Scrapy declares it
    dedup_output = "text"

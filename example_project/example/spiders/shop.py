"""A spider with its own wishes: what is set here goes before the project's settings, for this spider alone."""

from typing import Any

from scrapy import Request

from example.spiders.site import SiteSpider

SPECIAL_PAGES = ("/legal/", "/imprint", "/terms", "/privacy")


class ShopSpider(SiteSpider):
    """scrapy crawl shop -a start=https://shop.example/ -O shop.jsonl."""

    name = "shop"

    # Ordinary Scrapy: any setting, for this spider.
    custom_settings: dict[Any, Any] | None = {  # noqa: RUF012 - as Scrapy declares it
        "DEDUP_OUTPUT": "markdown",
        "DEDUP_SOURCE_GROUP": "shops",
    }

    # The same as attributes, which go before custom_settings.
    dedup_output = "text"
    dedup_layers = {"boilerplate": True}  # noqa: RUF012 - changes this key alone

    def request(self, url: str) -> Request:
        """Return the request for one page; legal pages must stay word for word as they are."""
        request = super().request(url)
        if any(part in url for part in SPECIAL_PAGES):
            return request.replace(meta={"dedup": False})
        return request

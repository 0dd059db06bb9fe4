"""A shop's spider in a project's own folder, so that a test can edit it between two crawls."""

from typing import Any

from tests.end_to_end.crawling import Crawled, Project
from tests.end_to_end.recrawl_site import ChangingSite

SPIDER = """
import scrapy
from tests.end_to_end.spiders.pages import noted


class Shop(scrapy.Spider):
    name = "shop"

    def __init__(self, start="", **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [start]

    def parse(self, response):
        for link in response.css("main a"):
            yield response.follow(link, self.product)

    def product(self, response):
        yield noted({"url": response.url, "price": float(response.css(".price::text").get())})
"""
OURS = ("dedup", "cleaned_content", "title", "date", "author")


def write(project: Project, *edits: tuple[str, str], file: str = "shop.py", code: str = SPIDER) -> None:
    """Put a module into a project, after some replacements in it."""
    for old, new in edits:
        assert old in code
        code = code.replace(old, new)
    (project.folder / file).write_text(code, encoding="utf-8")
    project.settings["SPIDER_MODULES"] = ["shop"]


def prices(site: ChangingSite, *values: object) -> None:
    named = zip(site.names, values, strict=True)
    site.publish(notes={name: f'<p>It costs <b class="price">{value}</b></p>' for name, value in named})


def own(crawled: Crawled, *, left_out: tuple[str, ...] = OURS) -> list[dict[str, Any]]:
    """Return the items of a feed without what the plugin adds."""
    return [{name: value for name, value in item.items() if name not in left_out} for item in crawled.fed]


def price_of(crawled: Crawled, site: ChangingSite) -> dict[str, float]:
    """Return the prices of a feed, by the product's name."""
    return {item["url"].removeprefix(site.url("")): item["price"] for item in crawled.fed}

"""Crawls of a site that changes, with the whole plugin, into one vector store.

`python -m tests.adapters.recrawling FILE`, the file being the crawls' store. Writes as JSON what each crawl cost, and
what the vector store has after it.
"""

import json
import sys
import time
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.indexing import InMemoryRecordManager
from langchain_core.vectorstores import InMemoryVectorStore
from pydantic import Field
from scrapy import Spider
from scrapy.crawler import Crawler, CrawlerRunner
from scrapy.http import Response, TextResponse
from scrapy.utils.log import configure_logging
from scrapy.utils.reactor import install_reactor
from twisted.internet.defer import inlineCallbacks

import scrapy_dedup
from scrapy_dedup.adapters.indexing import IndexPipeline
from scrapy_dedup.adapters.langchain import VectorIndex
from tests.server import Answer, Site, WebServer, serving
from tests.sites import prose

REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"


class Model(DeterministicFakeEmbedding):
    """Fails on a chosen word."""

    asked: list[str] = Field(default_factory=list)
    poison: str = ""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if self.poison and any(self.poison in text for text in texts):
            raise ConnectionError("the model does not answer")
        self.asked += texts
        return super().embed_documents(texts)


class SlowStore(InMemoryVectorStore):
    """Takes its time, and notes how many items went by meanwhile."""

    def add_documents(self, *arguments: Any, **options: Any) -> list[str]:
        before = len(PASSED)
        time.sleep(0.05)
        DURING_WRITES.append(len(PASSED) - before)
        return super().add_documents(*arguments, **options)


MODEL = Model(size=2)
VECTORS = SlowStore(MODEL)
RECORDS = InMemoryRecordManager("site")
PAGES = range(1, 10)
PASSED: list[str] = []
DURING_WRITES: list[int] = []


class Pipeline(IndexPipeline):
    """What a user writes."""

    batch_items = 4
    acknowledge = scrapy_dedup.acknowledge

    def connect(self) -> VectorIndex:
        return VectorIndex(RECORDS, VECTORS)


class Last:
    """A pipeline behind it."""

    def process_item(self, item: Any) -> Any:
        PASSED.append(item["url"])
        return item


class SiteSpider(Spider):
    """Emits every page."""

    name = "site"

    def parse(self, response: Response, **arguments: Any) -> Iterator[Any]:  # noqa: ARG002 - as Scrapy calls it
        assert isinstance(response, TextResponse)
        yield {"url": response.url}
        yield from response.follow_all(css="a")


def word(number: int) -> str:
    """Return the word that names a page in its text."""
    return f"page-{number}-"


def a_site(origin: str, numbers: Iterable[int], revised: Iterable[int] = ()) -> Site:
    """Return a site whose start page links to all of the others."""
    links = "".join(f'<li><a href="/p{number}">{number}</a></li>' for number in numbers)
    site: Site = {f"{origin}/": Answer(f"<title>Start</title><main><p>{word(0)} {prose('start')}</p>{links}</main>")}
    for number in numbers:
        text = f"{word(number)} {prose((number, number in revised))}"
        site[f"{origin}/p{number}"] = Answer(f"<title>{number}</title><main><p>{text}</p></main>")
    return site


def outcome(crawler: Crawler) -> dict[str, Any]:
    """Return what a crawl has cost, and what is there after it, by the words that name pages."""

    def named(texts: Iterable[str]) -> list[int]:
        return sorted(number for text in texts for number in (0, *PAGES) if word(number) in text)

    told = {
        "asked": named(MODEL.asked),
        "stored": named(entry["text"] for entry in VECTORS.store.values()),
        "stats": {name: value for name, value in crawler.stats.get_stats().items() if "dedup/index/" in name},
        "passed": len(PASSED),
        "during_writes": max(DURING_WRITES),
    }
    MODEL.asked = []
    PASSED.clear()
    return told


@inlineCallbacks
def crawl_all(server: WebServer, database: str) -> Any:
    origin = server.origins[0]
    settings = {
        "ADDONS": {"scrapy_dedup.Addon": 700},
        "ITEM_PIPELINES": {Pipeline: 900, Last: 950},
        "DEDUP_ACK": "manual",
        "DEDUP_DATABASE_URL": f"sqlite:///{database}",
        "DEDUP_REMOVED": {"emit": True, "after": 1},
        "TWISTED_REACTOR": REACTOR,
    }
    told = []
    sites = (
        (word(3), a_site(origin, PAGES)),
        ("", a_site(origin, PAGES)),
        ("", a_site(origin, PAGES)),
        ("", a_site(origin, PAGES, revised=[5])),
        ("", a_site(origin, [number for number in PAGES if number != 6], revised=[5])),
    )
    for poison, site in sites:
        MODEL.poison = poison
        server.site = site
        runner = CrawlerRunner(settings)
        crawler = Crawler(SiteSpider, runner.settings)
        yield runner.crawl(crawler, start_urls=[f"{origin}/"])
        told.append(outcome(crawler))
    return told


def main() -> None:
    configure_logging()
    install_reactor(REACTOR)
    reactor: Any = import_module("twisted.internet.reactor")
    ended: list[Any] = []
    with serving(1, lambda _: {}) as server:
        crawl_all(server, sys.argv[1]).addBoth(ended.append).addBoth(lambda _: reactor.stop())
        reactor.run()
    if not isinstance(ended[0], list):
        sys.exit(str(ended[0]))
    json.dump(ended[0], sys.stdout)


if __name__ == "__main__":
    main()

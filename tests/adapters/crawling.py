"""Crawls one after the other into one vector store, in a process of their own: `python -m tests.adapters.crawling`.

Reads a scenario from standard input as JSON: a reactor, and crawls with the items that they emit; writes what became
of each. Nothing is asked of the network.
"""

import json
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from importlib import import_module
from typing import Any, ClassVar

from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.indexing import InMemoryRecordManager
from langchain_core.vectorstores import InMemoryVectorStore
from pydantic import Field
from scrapy import Request, Spider
from scrapy.crawler import Crawler, CrawlerRunner
from scrapy.http import Response
from scrapy.utils.log import configure_logging
from scrapy.utils.reactor import install_reactor
from twisted.internet.defer import inlineCallbacks

from scrapy_dedup.adapters.langchain import LangChainPipeline


class Model(DeterministicFakeEmbedding):
    """Fails on a chosen word."""

    asked: list[str] = Field(default_factory=list)
    poison: str = ""
    calls: int = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.calls += 1
        if self.poison and any(self.poison in text for text in texts):
            raise ConnectionError("the model does not answer")
        self.asked += texts
        return super().embed_documents(texts)


MODEL = Model(size=2)
VECTORS = InMemoryVectorStore(MODEL)
RECORDS = InMemoryRecordManager("shop")
ACKNOWLEDGED: list[str] = []
PASSED: list[str] = []
"""Items that the pipeline let go, by URL."""
DURING_WRITES: list[int] = []
"""How many of them it let go while a batch was written."""


def acknowledge(crawler: Crawler, *items: Any) -> None:
    """Stand where `scrapy_dedup.acknowledge` stands; a crawl with the whole plugin has a test of its own."""
    assert isinstance(crawler, Crawler)
    ACKNOWLEDGED.extend(item["url"] for item in items)


class SlowStore(InMemoryVectorStore):
    """Takes its time."""

    def add_documents(self, *arguments: Any, **options: Any) -> list[str]:
        before = len(PASSED)
        time.sleep(0.05)
        DURING_WRITES.append(len(PASSED) - before)
        return super().add_documents(*arguments, **options)


SLOW = SlowStore(MODEL)


class Pipeline(LangChainPipeline):
    """What a user writes."""

    batch_items = 4
    acknowledge = acknowledge

    def stores(self) -> tuple[InMemoryRecordManager, InMemoryVectorStore]:
        return RECORDS, SLOW if self.crawler.settings.getbool("SLOW") else VECTORS

    def save(self) -> None:
        if self.crawler.settings.getbool("DISK_FULL"):
            raise OSError("no space left")


class Last:
    """A pipeline behind it."""

    def process_item(self, item: Any) -> Any:
        PASSED.append(item["url"])
        return item


class Emitting(Spider):
    """Emits items that it was given."""

    name = "emitting"
    custom_settings: ClassVar[dict[str, Any]] = {"ITEM_PIPELINES": {Pipeline: 900, Last: 950}}  # type: ignore[misc]

    def __init__(self, items: Sequence[Any] = (), **arguments: Any) -> None:
        super().__init__(**arguments)
        self.items = items

    async def start(self) -> AsyncIterator[Any]:
        yield Request("data:,")

    def parse(self, response: Response, **arguments: Any) -> Iterator[Any]:  # noqa: ARG002 - as Scrapy calls it
        """Emit them."""
        yield from self.items


def outcome(crawler: Crawler) -> dict[str, Any]:
    """Return what happened since the last question."""
    stats = {name: value for name, value in crawler.stats.get_stats().items() if name.startswith("dedup/")}
    texts = sorted(entry["text"] for entry in (*VECTORS.store.values(), *SLOW.store.values()))
    told = {
        "acknowledged": sorted(ACKNOWLEDGED),
        "passed": len(PASSED),
        "asked": MODEL.asked,
        "calls": MODEL.calls,
        "texts": texts,
        "stats": stats,
        "during_writes": list(DURING_WRITES),
    }
    ACKNOWLEDGED.clear()
    PASSED.clear()
    DURING_WRITES.clear()
    MODEL.asked, MODEL.calls = [], 0
    return told


@inlineCallbacks
def crawl_all(scenario: dict[str, Any]) -> Any:
    """Return what became of each crawl."""
    runner = CrawlerRunner({"DEDUP_ACK": "manual", "TWISTED_REACTOR": scenario["reactor"]})
    told = []
    for one in scenario["crawls"]:
        MODEL.poison = one.get("poison", "")
        settings = runner.settings.copy()
        settings.update(one.get("settings", {}), priority="cmdline")
        crawler = Crawler(Emitting, settings)
        yield runner.crawl(crawler, items=one["items"])
        told.append(outcome(crawler))
    return told


def main() -> None:
    """Run the scenario."""
    scenario = json.load(sys.stdin)
    configure_logging()
    install_reactor(scenario["reactor"])
    reactor: Any = import_module("twisted.internet.reactor")
    ended: list[Any] = []
    crawl_all(scenario).addBoth(ended.append).addBoth(lambda _: reactor.stop())
    reactor.run()
    if not isinstance(ended[0], list):
        sys.exit(str(ended[0]))
    json.dump(ended[0], sys.stdout)


if __name__ == "__main__":
    main()

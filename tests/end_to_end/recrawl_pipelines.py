"""What users put behind the plugin: a model that costs, storages that fail, and words that items are safe."""

import logging
from pathlib import Path
from typing import IO, Any

from itemadapter import ItemAdapter
from scrapy.crawler import Crawler
from scrapy.extensions.feedexport import ItemFilter

import scrapy_dedup
from tests.end_to_end.recorders import OfCrawler, name_of, note


class Model:
    """Stands for a language model: what it makes of an item is paid by the call."""

    def process_item(self, item: Any) -> Any:
        note("calls.jsonl", {"id": name_of(item)})
        item["summary"] = f"In short: {item['cleaned_content'][:40]}"
        return item


class Failing(OfCrawler):
    """Raises on the pages whose names the setting FAILS has."""

    setting = "FAILS"

    def __init__(self, crawler: Crawler) -> None:
        self._names = crawler.settings.getlist(self.setting)

    def process_item(self, item: Any) -> Any:
        if str(ItemAdapter(item)["url"]).rpartition("/")[2] in self._names:
            raise RuntimeError("the database is full")
        return item


class FailingBehind(Failing):
    """Raises on other pages."""

    setting = "FAILS_BEHIND"


class Confirming(OfCrawler):
    """Says of items that they are safe: of all, or of those whose names SAFE has; at once, or at the end."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._names = crawler.settings.getlist("SAFE")
        self._parts = crawler.settings.getlist("SAFE_PARTS")
        self._waits = crawler.settings.getbool("SAFE_AT_THE_END")
        self._items: list[Any] = []

    def process_item(self, item: Any) -> Any:
        is_named = not self._names or str(item["url"]).rpartition("/")[2] in self._names
        if is_named and (not self._parts or item["part"] in self._parts):
            self._items.append(item)
        if not self._waits:
            self._say()
        return item

    def close_spider(self) -> None:
        self._say()

    def _say(self) -> None:
        scrapy_dedup.acknowledge(self._crawler, *self._items)
        self._items.clear()


class OnlyP2(ItemFilter):
    """Lets a feed have the items of one page."""

    def accepts(self, item: Any) -> bool:
        return str(item["url"]).endswith("/p2")


class BrokenStorage:
    """A feed's storage that fails at its end; `broken:all`, or `broken:2` for the second file of a crawl."""

    _files = 0

    def __init__(self, uri: str, **options: Any) -> None:  # noqa: ARG002 - Scrapy's signature
        self._which = uri.partition(":")[2].partition("/")[0]
        type(self)._files += 1
        self._number = self._files

    def open(self, spider: Any) -> IO[bytes]:  # noqa: ARG002 - Scrapy's signature
        return Path(f"attempt-{self._number}.jsonl").open("wb")

    def store(self, file: IO[bytes]) -> None:
        file.close()
        if self._which in ("all", str(self._number)):
            raise OSError("no space left on the device")
        logging.getLogger(__name__).info("stored file %d", self._number)

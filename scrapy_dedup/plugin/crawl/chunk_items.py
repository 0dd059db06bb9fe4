"""Chunks as items of their own: they pass all later pipelines before their page's item does."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from scrapy.crawler import Crawler
from scrapy.http import Response

from scrapy_dedup.plugin.crawl.items import plain
from scrapy_dedup.service.duplicates.chunking import PageChunks, chunks_report


@dataclass
class ChunkItem:
    """A chunk of a page, or word that one is to be forgotten."""

    url: str
    page_key: str
    id: str
    state: str
    """added; kept, where the page's last version had it; removed: whoever holds it lets it go."""
    hash: str
    """SHA-256 of the text; of a chunk that is no longer on its page, how that begins."""
    text: str | None = None
    overlap: str | None = None
    """End of the chunk before, to be put in front."""
    headings: list[str] = field(default_factory=list)
    title: str | None = None
    position: int | None = None
    kind: str | None = None
    size: int | None = None
    language: str | None = None
    mixed: bool = False
    layer: str | None = None
    """That left it out."""
    reason: str | None = None
    holder: str | None = None
    """Key of the page that gives it."""


def chunk_items(url: str, page_key: bytes, title: str | None, chunks: PageChunks) -> Iterator[ChunkItem]:
    """Yield an item for each chunk of a page."""
    for report in plain(chunks_report(chunks)):
        yield ChunkItem(url=url, page_key=page_key.hex(), title=title, **report)


async def send(crawler: Crawler, items: list[Any], response: Response | None) -> None:
    """Pass items through all pipelines, one after the other.

    The pipelines still hold the item of their page, so that the crawl cannot end meanwhile.
    """
    assert crawler.engine is not None
    for item in items:
        await crawler.engine.scraper.start_itemproc_async(item, response=response)

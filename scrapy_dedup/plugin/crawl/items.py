"""Items of any kind: what they bring, and what they can take."""

import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from types import MappingProxyType
from typing import Any, Self

from itemadapter import ItemAdapter
from scrapy.crawler import Crawler
from scrapy.http import Response, TextResponse
from w3lib.encoding import html_to_unicode

from scrapy_dedup.core.duplicates.evidence import fields_hash
from scrapy_dedup.service.duplicates.chunking import PageChunks, chunks_report
from scrapy_dedup.settings import Settings


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


logger = logging.getLogger(__name__)

CONTENT = "cleaned_content"
REPORT = "dedup"
METADATA = ("title", "date", "author")
"""Set where an item has no value of its own."""
FILLED = "filled"
"""In the report: which of them were set."""
SOURCE_GROUP = "source_group"
"""An item may say to which group its page belongs; else the setting does."""


@dataclass
class PageItem:
    """A page with the fields that the plugin reads and writes. A plain dict with url and html does as well."""

    url: str
    html: str | None = None
    cleaned_content: str | None = None
    title: str | None = None
    date: str | None = None
    author: str | None = None
    dedup: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_response(cls, response: Response) -> Self:
        """Return an item for a response; without HTML where the response is no text."""
        return cls(url=response.url, html=response.text if isinstance(response, TextResponse) else None)


def text_field(adapter: ItemAdapter, name: str, content_type: str | None = None) -> str | None:
    """Return an item's field as text; None where it is missing, empty or nothing that could be read as text.

    Args:
        adapter: of the item.
        name: of the field.
        content_type: header by which bytes are read.
    """
    value = adapter.get(name)
    if isinstance(value, bytes):
        return html_to_unicode(content_type, value)[1] or None
    return value if isinstance(value, str) and value else None


def url_of(adapter: ItemAdapter, settings: Settings) -> str | None:
    """Return the URL that an item names."""
    value = adapter.get(settings.url_field)
    return value.strip() or None if isinstance(value, str) else None


def item_hash(item: Any, left_out: Collection[str], known: Mapping[str, str] = MappingProxyType({})) -> bytes | None:
    """Return what stands for an item's fields, see `fields_hash`.

    Args:
        item: as it comes to the pipeline.
        left_out: names of the fields that do not count.
        known: what stands in the place of a field's value.
    """

    def hashed(fields: Mapping[str, Any]) -> bytes | None:
        return fields_hash({name: value for name, value in fields.items() if name not in left_out} | dict(known))

    adapter = ItemAdapter(item)
    # Items in items become dicts, which takes longer than all else here.
    found = hashed(adapter)
    return hashed(adapter.asdict()) if found is None else found


def plain(value: Any) -> Any:
    """Return a value made of dict, list, str, int, float, bool and None alone, which every feed format takes."""
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    # A member of an enum by its value: `str` of some names its class.
    value = value.value if isinstance(value, Enum) else value
    return next((kind(value) for kind in (int, float) if isinstance(value, kind)), str(value))


def not_own(settings: Settings) -> frozenset[str]:
    """Return the fields by which an item is not told from another."""
    return settings.ignore_fields | {settings.url_field, settings.html_field, settings.content_field, CONTENT, REPORT}


class ItemFields:
    """Sets fields where an item's class has them, and says once where it has not."""

    def __init__(self) -> None:
        self._told: set[tuple[type, str]] = set()

    def can_take_content(self, item: Any, adapter: ItemAdapter) -> bool:
        """Say whether the item can be cleaned at all; if not, a warning shows the line to add."""
        if _has_field(item, adapter, CONTENT):
            return True
        if self._is_news(item, CONTENT):
            kind = type(item).__name__
            line = "cleaned_content = scrapy.Field()" if hasattr(item, "fields") else f"{CONTENT}: str | None = None"
            logger.warning("%s has no field %s and goes out uncleaned; add to the class: %s", kind, CONTENT, line)
        return False

    def put(self, item: Any, adapter: ItemAdapter, name: str, value: Any) -> None:
        """Set a field; leave it out, with one warning, where the class does not declare it."""
        if _has_field(item, adapter, name):
            adapter[name] = plain(value)
        elif self._is_news(item, name):
            logger.warning("%s has no field %s: left out", type(item).__name__, name)

    def _is_news(self, item: Any, name: str) -> bool:
        known = (type(item), name) in self._told
        self._told.add((type(item), name))
        return not known


def _has_field(item: Any, adapter: ItemAdapter, name: str) -> bool:
    return isinstance(item, dict) or name in adapter.field_names()

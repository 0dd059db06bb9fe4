"""What goes out of a page whose clean text is another one now."""

from dataclasses import dataclass, field
from typing import Any

import pytest
import scrapy
from msgspec.structs import replace

from scrapy_dedup.commands.parts.refine import Outgoing, Renewer
from scrapy_dedup.core.metadata import Metadata
from scrapy_dedup.core.pages.fingerprints import content_hash
from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.plugin.recrawl.reuse import item_entry
from scrapy_dedup.service.cut.cleaning import Cleaned
from scrapy_dedup.service.stored.refining import Refinement, Sent
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import ExtractionRecord
from scrapy_dedup.store.records.stored import StoredSource
from tests.service.stored_pages import DOMAIN, NOON, a_url

URL = a_url("tea")
KEY = page_key(URL)
TEXT = "Green tea"
SOURCE = StoredSource(KEY, URL, DOMAIN, None, "html", "<p>", "old", None, None, NOON)
CLEANED = Cleaned(TEXT, 20, 9, [], content_hash(TEXT))


@dataclass
class Article:
    url: str
    cleaned_content: str | None = None
    price: int = 0
    dedup: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Fixed:
    url: str
    cleaned_content: str | None = None


class Bare(scrapy.Item):
    url = scrapy.Field()


def held(*items: Any) -> ExtractionRecord:
    entries = [item_entry(item) for item in items]
    return ExtractionRecord(b"m", KEY, URL, DOMAIN, b"c", "parse", NOON, [], entries, {}, None)  # type: ignore[arg-type]


def outgoing(*items: Any, title: str | None = "Tea", **fields: Any) -> Outgoing:
    """Return what goes out of a page of which these items are held."""
    outcome = held(*items) if items else None
    refinement = Refinement(SOURCE, "template", CLEANED, Metadata(title), Sent("00", "old"), outcome)
    refinement = replace(refinement, places=tuple(range(len(items))), **fields)
    return Renewer(Settings(), "shop").outgoing(refinement)


def test_items_of_any_kind_are_made_again():
    page = outgoing(Article(URL, "old", 7), {"url": URL})

    article, plain = page.items
    assert isinstance(article, Article)
    assert (article.cleaned_content, article.price, article.dedup["refined"]) == (TEXT, 7, True)
    assert plain["cleaned_content"] == TEXT


@pytest.mark.parametrize("item", [None, Bare(url=URL), Fixed(URL, "old")], ids=["not-held", "no-field", "frozen"])
def test_a_dict_stands_for_what_cannot_be_made_again(item):
    page = outgoing(*([item] if item else []))

    assert page.is_made_anew
    assert page.items[0].keys() == {"url", "cleaned_content", "title", "date", "author", "dedup"}
    assert page.items[0]["dedup"]["filled"] == ["title", "date", "author"]


def test_a_dict_stands_for_an_item_whose_class_is_gone():
    gone = {"class": "shop.items.Gone", "fields": {"url": URL, "cleaned_content": "old"}}

    page = outgoing({"url": URL}, outcome=replace(held(), items=[gone]))

    assert page.is_made_anew
    assert page.items[0]["cleaned_content"] == TEXT


def test_page_is_done_and_written_once_all_of_its_items_have_left():
    page = outgoing({"url": URL}, {"url": URL, "part": 2})
    page.left(0, page.items[0])
    half_done = page.is_done
    page.left(1, None)

    written = page.recleaned()

    assert (half_done, page.is_done) == (False, True)
    assert page.scraped == 1
    assert (written.page_key, written.fetched_at, written.chars_out) == (KEY, NOON, 9)
    assert written.cleaned_content == TEXT
    assert written.report is not None

import uuid
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
import scrapy
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.adapters.documents import (
    DEFAULT_READING,
    AdapterError,
    Left,
    LeftReason,
    PageText,
    Reading,
    RemovedPage,
    page_id,
    pages_in,
    plain,
    read,
    removed_in,
)
from scrapy_dedup.adapters.steps import batches
from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.fingerprints import content_hash
from scrapy_dedup.core.urls import UrlRules, page_key
from scrapy_dedup.plugin.items import PageItem
from scrapy_dedup.settings import Settings
from tests.adapters.builders import SITE, a_tombstone, a_url, an_item

TRACKED = f"{SITE}/1?utm_source=mail"


def page_of(item: Any, reading: Reading = DEFAULT_READING) -> PageText:
    page = read(item, reading)
    assert isinstance(page, PageText)
    return page


class Declared(scrapy.Item):  # type: ignore[misc, unused-ignore]
    url = scrapy.Field()
    title = scrapy.Field()
    cleaned_content = scrapy.Field()
    dedup = scrapy.Field()


@dataclass
class WithoutReport:
    url: str
    cleaned_content: str
    tags: list[str] = field(default_factory=list)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda fields: fields, id="dict"),
        pytest.param(lambda fields: Declared(**fields), id="scrapy-item"),
        pytest.param(lambda fields: PageItem(**fields), id="dataclass"),
    ],
)
def test_items_of_any_kind_give_the_same_page(make: Any):
    page = page_of(make(an_item()))

    assert page == page_of(an_item())
    assert page.text == "What the page says."
    assert page.metadata == {
        "page_id": page.id,
        "source": a_url(1),
        "domain": "www.example.com",
        "title": "Page 1",
    }
    assert page.content_hash == page.visit["content_hash"] == content_hash("What the page says.").hex()


def test_what_differs_with_every_visit_is_no_metadata():
    first, second = page_of(an_item(run="run-1")), page_of(an_item(run="run-2", verdict="unchanged", replayed=True))

    assert first.metadata == second.metadata
    assert {name: second.visit[name] for name in ("run", "verdict", "replayed")} == {
        "run": "run-2",
        "verdict": "unchanged",
        "replayed": True,
    }
    assert {"fetched_at", "previous_seen_at", "reason"} <= second.visit.keys()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param(an_item(), an_item(text="Other words."), True, id="content-changed"),
        pytest.param(an_item(1), an_item(TRACKED), True, id="other-spelling"),
        pytest.param(an_item(), an_item(run="run-2"), True, id="other-run"),
        pytest.param(an_item(), a_tombstone(), True, id="tombstone"),
        pytest.param(an_item(), an_item(project="news"), False, id="other-project"),
        pytest.param(an_item(1), an_item(2), False, id="other-page"),
    ],
)
def test_the_id_stands_for_project_and_page(one: Any, other: Any, same: bool):  # noqa: FBT001
    ids = [entry.id for entry in (read(one), read(other)) if not isinstance(entry, Left)]

    assert len(ids) == 2
    assert (ids[0] == ids[1]) is same


def test_the_id_is_the_same_in_every_version():
    """Another would have every index made anew."""
    assert page_id("shop", page_key(a_url(1)).hex()) == "56b955f9-7ce7-5611-bc09-bea1117a9be2"
    assert uuid.UUID(page_id("shop", "00")).version == 5


def test_another_spelling_of_the_url_changes_no_metadata_and_is_kept_with_the_visit():
    page = page_of(an_item(TRACKED))

    assert page.source == a_url(1)
    assert page.visit["url"] == TRACKED


def test_a_page_that_names_a_canonical_one_has_its_own_id_by_which_it_is_removed_later():
    """Else its tombstone would take the documents of other addresses along, or find none."""
    item = an_item("copy", page_key=page_key(a_url("canonical")).hex(), canonical=a_url("canonical"))
    removed = read(a_tombstone("copy"))

    page = page_of(item)

    assert isinstance(removed, RemovedPage)
    assert (page.id, page.source) == (removed.id, removed.source)
    assert page.id != page_of(an_item("canonical")).id
    assert page.visit["canonical"] == a_url("canonical")


def test_an_item_without_a_report_is_known_by_its_url():
    item = WithoutReport(f"{SITE}/a/", "Text.")

    page = page_of(item, Reading(project="shop", rules=UrlRules(trailing_slash=True)))

    assert page.source == f"{SITE}/a"
    assert page.id == page_of(an_item("a")).id
    assert page.metadata["domain"] == "www.example.com"


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        pytest.param("text", LeftReason.NO_ITEM, id="no-item"),
        pytest.param({"cleaned_content": "Text."}, LeftReason.NO_URL, id="no-url"),
        pytest.param({"url": 7, "cleaned_content": "Text."}, LeftReason.NO_URL, id="url-is-a-number"),
        pytest.param({"url": a_url(1), "html": "<p>x"}, LeftReason.NO_TEXT, id="uncleaned"),
        pytest.param({"url": a_url(1), "cleaned_content": None}, LeftReason.NO_TEXT, id="text-is-null"),
        pytest.param({"url": a_url(1), "dedup": {"left": "too_large"}}, LeftReason.NO_TEXT, id="left-uncleaned"),
        pytest.param({"url": a_url(1), "dedup": "damaged"}, LeftReason.NO_TEXT, id="report-is-text"),
    ],
)
def test_what_is_no_page_is_left_with_a_reason(item: Any, reason: LeftReason):
    assert read(item) == Left(reason)


def test_removed_pages_are_told_from_pages():
    items = [an_item(1), a_tombstone(2), an_item(3, text=" \n"), an_item(4)]

    assert [page.source for page in pages_in(items)] == [a_url(1), a_url(4)]
    assert [page.source for page in removed_in(items)] == [a_url(2)]


def test_what_was_read_is_not_read_again():
    page, removed = read(an_item()), read(a_tombstone())

    assert read(page) is page
    assert isinstance(removed, RemovedPage)
    assert read(removed) is removed


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        pytest.param(True, True, id="switch"),
        pytest.param(2.5, 2.5, id="number"),
        pytest.param(" red\0 ", "red", id="text"),
        pytest.param(date(2026, 3, 1), "2026-03-01", id="date"),
        pytest.param(datetime(2026, 3, 1, tzinfo=UTC), "2026-03-01T00:00:00+00:00", id="time"),
        pytest.param(["a", "ü"], '["a", "ü"]', id="list"),
        pytest.param({"b": 1, "a": Decimal("2.50")}, '{"a": "2.50", "b": 1}', id="dict-in-any-order"),
    ],
)
def test_chosen_fields_become_flat_metadata(value: Any, kept: Any):
    page = page_of(an_item() | {"extra": value}, Reading(metadata_fields=("title", "extra")))

    assert page.metadata["extra"] == kept


@pytest.mark.parametrize("value", [None, "", "  "])
def test_empty_fields_are_left_out(value: str | None):
    assert "title" not in page_of(an_item() | {"title": value}).metadata


def test_a_title_is_cut():
    """A node parser of LlamaIndex refuses metadata that are longer than a chunk."""
    assert page_of(an_item() | {"title": "x" * 10_000}).metadata["title"] == "x" * 300


def test_a_chosen_field_cannot_replace_the_id():
    page = page_of(an_item() | {"page_id": "mine"}, Reading(metadata_fields=("page_id",)))

    assert page.metadata["page_id"] == page.id


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_can_be_stored_afterwards(text: str):
    stored = plain(text)

    assert "\0" not in stored
    assert stored.encode() is not None
    assert plain(stored) == stored


def test_a_reading_follows_the_settings_of_the_crawl():
    settings = Settings.read({"DEDUP_PROJECT": "shop", "DEDUP_URL_FIELD": "link", "DEDUP_URL_TRAILING_SLASH": True})

    reading = Reading.of(settings)

    assert (reading.project, reading.url_field, reading.rules.trailing_slash) == ("shop", "link", True)


@pytest.mark.parametrize(
    ("count", "sizes"), [pytest.param(0, [], id="none"), pytest.param(4, [2, 2], id="even"), pytest.param(5, [2, 2, 1])]
)
def test_batches_hold_all_in_order(count: int, sizes: list[int]):
    some = list(batches(range(count), 2))

    assert [len(batch) for batch in some] == sizes
    assert [value for batch in some for value in batch] == list(range(count))


def test_a_batch_of_nothing_is_refused():
    with pytest.raises(AdapterError, match="at least 1"):
        list(batches([1], 0))
    assert issubclass(AdapterError, DedupError)

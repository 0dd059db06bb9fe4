"""What proves that an item of a page went out in this run."""

from typing import Any

import pytest
from msgspec.structs import replace

from scrapy_dedup.core.duplicates import NO_FIELDS, PageEvidence, fields_hash, proves_near
from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.service.crawl.crawl import RunEvidence, is_shown
from scrapy_dedup.service.crawl.drafts import Draft
from scrapy_dedup.settings import Settings
from tests.store.builders import NOON, a_key
from tests.tables import table

DROPPING = Settings(near_duplicate="drop")


def a_draft(name: str, html: str) -> Draft:
    page = parse_page(html)
    assert isinstance(page, Page)
    return Draft(f"https://a.example/{name}", a_key(name), "a.example", html, NOON, page=page)


def shows(evidence: RunEvidence, draft: Draft, other: Draft, fields: bytes | None) -> bool:
    shown = evidence.of(other.page_key)
    return shown is not None and is_shown(draft, PageEvidence.unpack(shown.pack()), fields, None)


@table("service/fields_of_two_items_are_the_same")
def test_fields_of_two_items_are_the_same(one: dict[str, Any], other: dict[str, Any], *, same: bool) -> None:
    assert (fields_hash(one) == fields_hash(other)) is same


def test_fields_that_cannot_be_kept_equal_nothing() -> None:
    evidence, value = RunEvidence(), fields_hash({"page": object()})
    first, second = a_draft("first", "<p>One</p>"), a_draft("second", "<p>One</p>")
    evidence.note(first, value, Settings())
    evidence.note(second, value, Settings())

    assert value is None
    assert not shows(evidence, second, first, value)


@pytest.mark.parametrize(
    ("html", "settings", "proven"),
    [
        pytest.param("<p>Opens at 9 today</p>", DROPPING, True, id="other-words"),
        pytest.param("<p>Opens at 10 now</p>", DROPPING, False, id="another-number"),
        pytest.param("<p>Opens at 9 today</p>", Settings(), False, id="nobody-asked-for-numbers"),
    ],
)
def test_nearly_equal_pages_have_the_same_numbers(html: str, settings: Settings, *, proven: bool) -> None:
    evidence = RunEvidence()
    first, second = a_draft("first", "<p>Opens at 9 now</p>"), a_draft("second", html)
    evidence.note(first, NO_FIELDS, settings)
    evidence.note(second, NO_FIELDS, settings)

    known, own = evidence.of(first.page_key), evidence.of(second.page_key)
    assert known is not None
    assert own is not None
    assert proves_near(own, PageEvidence.unpack(known.pack()), NO_FIELDS) is proven


def test_page_that_was_forgotten_proves_nothing() -> None:
    evidence = RunEvidence()
    first = a_draft("first", "<p>One</p>")
    second = replace(first, page_key=a_key("second"), evidence=None)
    evidence.note(first, NO_FIELDS, Settings())
    evidence.note(second, NO_FIELDS, Settings())
    known = shows(evidence, second, first, NO_FIELDS)
    evidence.forget(first.page_key)

    assert known
    assert not shows(evidence, second, first, NO_FIELDS)

from datetime import UTC, datetime
from typing import Any

import pytest
from itemadapter import ItemAdapter

from scrapy_dedup.core.recrawl.verdicts import VerdictKind
from scrapy_dedup.plugin.crawl.items import REPORT, ItemFields, text_field, url_of
from scrapy_dedup.settings import Settings
from tests.plugin.builders import PAGE


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("text", "text", id="text"),
        pytest.param("Größe".encode(), "Größe", id="utf-8"),
        pytest.param(b"<meta charset=iso-8859-1>\xe4", "<meta charset=iso-8859-1>ä", id="declared-in-html"),
        pytest.param("", None, id="empty"),
        pytest.param(b"", None, id="empty-bytes"),
        pytest.param(None, None, id="none"),
        pytest.param(5, None, id="number"),
        pytest.param(["text"], None, id="list"),
    ],
)
def test_field_is_text_or_nothing(value: Any, text: str | None) -> None:
    assert text_field(ItemAdapter({"html": value}), "html") == text


@pytest.mark.parametrize(("value", "url"), [(f" {PAGE}\n", PAGE), ("", None), ("  ", None), (None, None), (5, None)])
def test_url_is_stripped_text_or_nothing(value: Any, url: str | None) -> None:
    assert url_of(ItemAdapter({"url": value}), Settings()) == url
    assert url_of(ItemAdapter({"link": value}), Settings(url_field="link")) == url


def test_what_is_set_is_plain_all_the_way_down() -> None:
    """marshal refuses every subclass, and a tuple is no list of JSON."""
    at, item = datetime(2026, 1, 2, tzinfo=UTC), dict[str, Any]()
    report = {VerdictKind.NEW: (VerdictKind.NEW, at), "n": [1, 1.5, True, None]}

    ItemFields().put(item, ItemAdapter(item), REPORT, report)

    assert item == {REPORT: {"new": ["new", at.isoformat()], "n": [1, 1.5, True, None]}}
    assert {type(one) for one in [*item[REPORT], *item[REPORT]["new"]]} == {str}

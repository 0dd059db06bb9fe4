from typing import Any

import pytest

from scrapy_dedup.service.crawl.waiting_rows import RowBounds, give_up, size_of
from scrapy_dedup.store.records.records import Record
from tests.store.builders import a_document, a_source, an_extraction

LONG = "x" * 10_000


def test_of_too_many_bytes_the_oldest_originals_go_alone() -> None:
    rows: list[Record] = [row for n in range(10) for row in (a_source(n, content=LONG), a_document(n))]

    held = give_up(rows, RowBounds(rows=100, size=70_000))

    assert (held.originals, held.given_up) == (5, [])
    assert held.rows == [
        row for row in rows if not (row in rows[:10] and row == a_source(rows.index(row) // 2, content=LONG))
    ]
    assert held.size == sum(map(size_of, held.rows)) <= 70_000


@pytest.mark.parametrize(
    ("items", "about"),
    [
        pytest.param(None, 1_000, id="no-items"),
        pytest.param([{"text": LONG}], 11_000, id="a-text"),
        pytest.param([{"a": [{"b": [LONG, LONG]}]}], 22_000, id="nested"),
    ],
)
def test_outcome_weighs_what_its_texts_do(items: Any, about: int) -> None:
    assert 0.9 * about < size_of(an_extraction(items=items)) < 1.2 * about

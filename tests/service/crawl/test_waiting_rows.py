from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.service.crawl.waiting_rows import RowBounds, give_up, size_of
from scrapy_dedup.store.records.records import Record
from tests.store.builders import a_boilerplate, a_document, a_source, an_extraction

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


@given(st.lists(st.sampled_from([a_document(), a_source(content=LONG), an_extraction(), a_boilerplate()])), st.data())
def test_what_is_left_keeps_its_order_and_fits(rows: list[Record], data: st.DataObject) -> None:
    bounds = RowBounds(data.draw(st.integers(0, 20)), data.draw(st.integers(0, 100_000)))

    held = give_up(rows, bounds)

    left = iter(rows)
    assert all(row in left for row in held.rows)
    assert len(held.rows) + held.originals + len(held.given_up) == len(rows)
    assert held.size == sum(map(size_of, held.rows))
    learned = sum(row == a_boilerplate() for row in rows)
    assert len(held.rows) <= max(bounds.rows, learned)
    assert held.size <= max(bounds.size, learned * 600)

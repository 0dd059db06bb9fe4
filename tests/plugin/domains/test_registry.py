"""How good items are, by their own word or a function's."""

import logging
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest

from scrapy_dedup.plugin.domains import Confidences
from scrapy_dedup.settings import Settings


@dataclass
class Item:
    url: str
    confidence: Any = None


def read(item: Any, counts: Counter[str] | None = None, **settings: Any) -> float | None:
    counts = Counter() if counts is None else counts
    return Confidences(Settings(**settings), lambda what, n: counts.update({what: n})).of(item)


@pytest.mark.parametrize(
    ("said", "confidence"),
    [(0.7, 0.7), (1, 1.0), (0, 0.0), ("0.35", 0.35), (" 1.0 ", 1.0), (None, None), ("", None)],
    ids=repr,
)
@pytest.mark.parametrize(
    "make", [lambda said: {"confidence": said}, lambda said: Item("u", said)], ids=["dict", "class"]
)
def test_field_is_read_as_a_number(make: Any, said: Any, confidence: float | None) -> None:
    counts = Counter[str]()

    assert read(make(said), counts) == confidence
    assert not counts


@pytest.mark.parametrize(
    "said", [-0.1, 1.01, 50, "high", "nan", float("inf"), True, [0.5], {}, b"\xff", object], ids=repr
)
def test_nonsense_is_counted_and_passed_over(said: Any) -> None:
    counts = Counter[str]()

    assert read({"confidence": said}, counts) is None
    assert counts == {"domain/confidence_errors": 1}


def test_it_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    confidences = Confidences(Settings(), lambda _what, _n: None)
    with caplog.at_level(logging.WARNING):
        for said in ("high\x1b[2J" * 1000, "low"):
            confidences.of({"confidence": said})

    (record,) = caplog.records
    assert "The item field 'confidence' needs to give a number" in record.message
    assert len(record.message) < 400
    assert "\x1b" not in record.message


@pytest.mark.parametrize("item", [{"url": "u"}, Item, "no item", None, 5], ids=repr)
def test_item_without_the_field_says_nothing(item: Any) -> None:
    assert read(item) is None

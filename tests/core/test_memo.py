from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.fingerprints import content_hash
from scrapy_dedup.core.memo import memo_key

PAGE, CONTENT = b"p" * 16, b"c" * 32


def key(**other: Any) -> bytes:
    parts: dict[str, Any] = {
        "page_key": PAGE,
        "content_hash": CONTENT,
        "callback": "parse",
        "cb_kwargs": {},
        "version": "",
    }
    return memo_key(**{**parts, **other})


def test_key_is_the_same_tomorrow() -> None:
    """Outcomes are found by it: another key means that every page is done again."""
    assert key().hex() == "993696bf1be5dfab774cda0452d6020f"
    assert len(key()) == 16


@pytest.mark.parametrize(
    "other",
    [
        {"page_key": b"q" * 16},
        {"content_hash": b"d" * 32},
        {"callback": "parse_page"},
        {"cb_kwargs": {"page": 1}},
        {"cb_kwargs": {"page": "1"}},
        {"version": "2"},
        {"callback": "", "version": "parse"},
    ],
    ids=str,
)
def test_each_part_counts(other: dict[str, Any]) -> None:
    assert key(**other) != key()


def test_arguments_have_no_order() -> None:
    assert key(cb_kwargs={"a": 1, "b": {"c": 2, "d": 3}}) == key(cb_kwargs={"b": {"d": 3, "c": 2}, "a": 1})


texts = st.text(max_size=6)


@given(st.tuples(texts, texts), st.tuples(texts, texts))
def test_parts_do_not_run_into_each_other(one: tuple[str, str], other: tuple[str, str]) -> None:
    keys = [key(callback=callback, version=version) for callback, version in (one, other)]

    assert (keys[0] == keys[1]) is (one == other)


def test_content_is_known_by_its_words() -> None:
    """As the seed has it: SHA-256 of the main content, in which white space is folded."""
    assert content_hash(" Cats \n\n sleep\ta lot ") == sha256(b"Cats sleep a lot").digest()
    assert len({content_hash(text) for text in ("cats", "Cats", "ca ts", "", "\ud800")}) == 5

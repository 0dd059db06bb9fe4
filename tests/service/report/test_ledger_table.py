"""The table of counts, over those that real crawls left (tests/data/ledger/*.json) and over any others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.report.values import LedgerRow, LedgerTable
from scrapy_dedup.service.report.ledger import Counts, LedgerSpan, Tokens, estimated, make_table
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.pages.ledger_reads import DroppedPages

DROPPING = ("title", "canonical", "duplicate", "near_duplicate")


def table(counts: Counts, dropped: dict[str, DroppedPages] | None = None, tokens: Tokens | None = None) -> LedgerTable:
    return make_table(counts, tokens or estimated(), Settings(), dropped or {}, LedgerSpan(1, None, 0.0))


def row(counts: Counts, layer: str, dropped: dict[str, DroppedPages] | None = None) -> LedgerRow:
    return next(one for one in table(counts, dropped).rows if one.layer == layer)


NUMBERS = st.integers(0, 1_000)


@given(
    st.fixed_dictionaries(dict.fromkeys(DROPPING, NUMBERS)),
    st.fixed_dictionaries(dict.fromkeys(("chunk", "language"), NUMBERS)),
    NUMBERS,
    NUMBERS,
    st.fixed_dictionaries(dict.fromkeys(("out", "tombstones"), NUMBERS)),
    st.dictionaries(st.sampled_from(["left/no_field", "left/not_utf8", "errors/KeyError"]), NUMBERS),
)
def test_counts_that_add_up_make_no_difference(
    dropped: dict[str, int],
    left_out: dict[str, int],
    links: int,
    repeated: int,
    passed: dict[str, int],
    others: dict[str, int],
) -> None:
    gone = sum(dropped.values()) + repeated
    out = sum(passed.values()) + sum(others.values())
    counts = {f"{layer}/dropped": number for layer, number in dropped.items()}
    counts |= {f"{layer}/chunks": number for layer, number in left_out.items()}
    counts |= {f"items/{name}": number for name, number in passed.items()} | others
    counts |= {"url/dropped": links + repeated, "items/dropped": gone, "items/in": out + gone}
    counts |= {"chunks/out": links, "chunks/in": links + sum(left_out.values())}

    found = table(counts)

    assert found.differences == ()
    assert (found.before.items, found.after.items) == (out + gone, out)


def test_what_a_callback_gave_in_vain_came_in_and_did_not_go_out() -> None:
    found = table({"items/in": 3, "items/out": 3, "soft_404/items": 1})

    assert (found.before.items, found.after.items, found.differences) == (4, 3, ())


def test_what_the_last_visit_gave_too_is_dropped_and_named() -> None:
    found = table(
        {"items/in": 9, "items/out": 2, "items/dropped": 7, "unchanged/dropped": 7, "reuse/callbacks_saved": 5}
    )

    assert (found.before.items, found.after.items, found.differences) == (9, 2, ())
    note = next(one for one in found.rows if one.layer == "unchanged").note
    assert note == "5 callbacks not run, 7 items left out"


def test_pages_left_out_whole_are_as_long_as_those_that_stand_for_them() -> None:
    dropped = {"title": DroppedPages(pages=4, chars=4_000, chunks=8)}

    found = row({"title/dropped": 6}, "title", dropped)

    assert (found.pages, found.chunks, found.chars, found.tokens, found.is_about) == (6, 12, 6_000, 1_500, True)
    assert table({"title/dropped": 6, "pages/chars_in": 10}, dropped).about.chars == 6_000
    assert (row({"title/dropped": 6}, "title").chars, row({}, "title", dropped).chars) == (None, None)


@pytest.mark.parametrize(
    ("settings", "layer", "method"),
    [
        pytest.param({"near_duplicate_jaccard": 0.85}, "near_duplicate", "MinHash, then exact Jaccard 0.85", id="near"),
        pytest.param({"boilerplate_method": "text"}, "boilerplate", "blocks on enough pages", id="text"),
        pytest.param({}, "boilerplate", "template of the layout", id="template"),
        pytest.param(
            {"languages": frozenset(["nl", "fr"])}, "language", "light detector, wanted: fr, nl", id="languages"
        ),
    ],
)
def test_methods_are_those_of_the_settings(settings: dict[str, object], layer: str, method: str) -> None:
    found = make_table({}, estimated(), Settings().override(settings, ""), {}, LedgerSpan(1, None, 0.0))

    assert next(one.method for one in found.rows if one.layer == layer) == method

"""The table of counts, over those that real crawls left (tests/data/ledger/*.json) and over any others."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.report.values import LedgerRow, LedgerTable
from scrapy_dedup.service.report.ledger_table import Counts, LedgerSpan, Tokens, estimated, make_table
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.pages.ledger_reads import DroppedPages

RECORDED = sorted((Path(__file__).parents[2] / "data" / "ledger").glob("*.json"))
DROPPING = ("title", "canonical", "duplicate", "near_duplicate")


def table(counts: Counts, dropped: dict[str, DroppedPages] | None = None, tokens: Tokens | None = None) -> LedgerTable:
    return make_table(counts, tokens or estimated(), Settings(), dropped or {}, LedgerSpan(1, None, 0.0))


def row(counts: Counts, layer: str, dropped: dict[str, DroppedPages] | None = None) -> LedgerRow:
    return next(one for one in table(counts, dropped).rows if one.layer == layer)


def recorded(file: Path) -> dict[str, float]:
    stats = json.loads(file.read_text(encoding="utf-8"))
    return {name.removeprefix("dedup/"): number for name, number in stats.items() if name.startswith("dedup/")}


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
class TestRecordedCrawls:
    def test_dropped_and_emitted_are_what_was_yielded(self, file: Path) -> None:
        assert table(recorded(file)).differences == ()

    def test_each_row_is_the_stats_to_the_unit(self, file: Path) -> None:
        counts = recorded(file)

        for each in table(counts).rows:
            told = {name: counts.get(f"{each.layer}/{name}", 0) for name in ("blocks", "chunks", "chars")}
            assert {name: getattr(each, name) or 0 for name in told} == told
            if each.layer in ("url", *DROPPING):
                assert each.pages == counts.get(f"{each.layer}/dropped", 0)

    def test_scrapy_counted_the_same(self, file: Path) -> None:
        stats = json.loads(file.read_text(encoding="utf-8"))
        found = table(recorded(file))

        assert found.after.items == stats["item_scraped_count"] - stats.get("dedup/chunks/items", 0)
        assert found.before.items - found.after.items == stats.get("item_dropped_count", 0)

    @given(data=st.data())
    def test_any_item_that_is_lost_is_named(self, file: Path, data: st.DataObject) -> None:
        counts = recorded(file)
        counted = [name for name in ("items/in", "items/out", "items/dropped", "chunks/in") if counts.get(name)]
        name = data.draw(st.sampled_from(counted))
        by = data.draw(st.integers(-5, 5).filter(bool))

        assert table(counts | {name: counts[name] + by}).differences


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


def test_costs_come_dearest_first() -> None:
    found = table({"seconds/chunk": 0.5, "seconds/language": 2.25, "seconds/title": 0.5})

    assert [(one.name, one.seconds) for one in found.costs] == [("language", 2.25), ("chunk", 0.5), ("title", 0.5)]
    assert found.cost_seconds == 3.25


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


def test_what_else_a_layer_did_is_noted() -> None:
    assert row({"near_duplicate/marked": 5}, "near_duplicate").note == "5 more were only marked"
    assert row({"title/skipped": 3}, "title").note == "3 more were not even fetched"
    assert row({"canonical/redirects": 2}, "canonical").note == "2 redirects noted"

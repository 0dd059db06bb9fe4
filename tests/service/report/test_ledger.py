from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.report.values import Ledger, LedgerRow, LedgerTable
from scrapy_dedup.service.report.ledger import (
    Counts,
    Tokens,
    estimated,
    group_aliases,
    make_ledger,
    make_table,
    tokens_of,
)
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.pages.reads import DroppedPages, StoredAlias
from scrapy_dedup.store.writer import ProjectStore
from tests.service.stored_pages import NOON
from tests.tables import table

STATS = {
    "dedup/items/in": 9,
    "dedup/items/out": 6,
    "dedup/items/dropped": 3,
    "dedup/title/dropped": 3,
    "dedup/url/dropped": 4,
    "dedup/seconds/title": 0.5,
    "elapsed_time_seconds": 2.5,
    "downloader/request_count": 99,
    "dedup/odd": "no number",
}

HOST = "https://example.com"


def crawled(project: ProjectStore, day: int, stats: dict[str, object]) -> None:
    run = project.begin_run(spider="site", jobdir=None, started_at=NOON + timedelta(days=day))
    at = NOON + timedelta(days=day)
    project.end_run(run.id, status="finished", reason="finished", stats=stats, finished_at=at)


def ledger_of(project: ProjectStore, settings: Settings | None = None) -> Ledger:
    found = make_ledger(project, settings or Settings(), project.last_runs(), None)
    assert found is not None
    return found


def test_the_last_run_is_told_and_the_sum_of_all(project):
    crawled(project, 0, STATS)
    crawled(project, 1, STATS | {"dedup/url/dropped": 10})
    crawled(project, 2, {"downloader/request_count": 3})

    found = ledger_of(project)

    assert (found.run.runs, found.run.began_at) == (1, NOON + timedelta(days=1))
    assert [row.pages for row in found.run.rows][:3] == [0, 10, 3]
    assert (found.all_runs.runs, found.all_runs.elapsed_seconds, found.all_runs.cost_seconds) == (2, 5.0, 1.0)
    assert [row.pages for row in found.all_runs.rows][:3] == [0, 14, 6]
    assert found.run.differences == found.all_runs.differences == ()


def test_counts_of_a_run_under_way_need_not_agree(project):
    crawled(project, 0, STATS)
    run = project.begin_run(spider="site", jobdir=None, started_at=NOON + timedelta(days=1))
    project.report_run(run.id, {"dedup/items/in": 9, "elapsed_time_seconds": 2.0}, NOON + timedelta(days=1))

    found = ledger_of(project)

    assert (found.run.before.items, found.run.differences) == (9, ())
    assert found.all_runs.differences == ()
    assert any(check.expected for check in found.all_runs.checks)


@table("service/tokens_are_counted_or_said_to_be_an_estimate")
def test_tokens_are_counted_or_said_to_be_an_estimate(tokenizer, size, chars, per_char, *, is_estimate):
    found = tokens_of(Settings(chunk_tokenizer=tokenizer), size, chars)

    assert (found.per_char, found.is_estimate) == (per_char, is_estimate)
    assert tokenizer in found.by if not is_estimate else "an estimate" in found.by


def grouped(*pairs: tuple[str, str]) -> list[tuple[str, str, int]]:
    found = group_aliases([StoredAlias(HOST + alias, HOST + target, "canonical") for alias, target in pairs])
    return [(one.alias, one.target, one.count) for one in found]


@table("service/addresses_are_told_by_how_they_look")
def test_addresses_are_told_by_how_they_look(pairs, told):
    assert [list(one) for one in grouped(*((alias, target) for alias, target in pairs))] == told


def test_hosts_are_told_where_they_differ():
    (found,) = group_aliases([StoredAlias("http://www.example.com/a", "https://example.com/a", "redirect")])

    assert (found.alias, found.target) == ("http://www.example.com/*", "https://example.com/*")
    assert (found.example, found.example_target) == ("http://www.example.com/a", "https://example.com/a")


def test_what_found_them_is_counted():
    layers = ("title", "canonical", "title")
    pairs = [StoredAlias(f"{HOST}/x/{number}", f"{HOST}/{number}", layer) for number, layer in enumerate(layers)]

    (found,) = group_aliases(pairs)

    assert dict(found.found_by) == {"title": 2, "canonical": 1}


URLS = st.one_of(
    st.text(max_size=30),
    st.lists(st.sampled_from(["a", "b", "node", "7", "", "x" * 80]), max_size=4).map(lambda s: f"{HOST}/{'/'.join(s)}"),
)
PAIRS = st.lists(st.builds(StoredAlias, URLS, URLS, st.sampled_from(["title", "redirect"])), unique=True, max_size=30)


@given(PAIRS, st.randoms())
def test_every_pair_is_counted_once_in_any_order(pairs, random):
    found = group_aliases(pairs)
    random.shuffle(pairs)

    assert sum(one.count for one in found) == len(pairs)
    assert sum(sum(one.found_by.values()) for one in found) == len(pairs)
    assert group_aliases(pairs) == found


DROPPING = ("title", "canonical", "duplicate", "near_duplicate")


def drawn(counts: Counts, dropped: dict[str, DroppedPages] | None = None, tokens: Tokens | None = None) -> LedgerTable:
    return make_table(counts, tokens or estimated(), Settings(), dropped or {})


def row(counts: Counts, layer: str, dropped: dict[str, DroppedPages] | None = None) -> LedgerRow:
    return next(one for one in drawn(counts, dropped).rows if one.layer == layer)


NUMBERS = st.integers(0, 1_000)


@given(
    st.fixed_dictionaries(dict.fromkeys(DROPPING, NUMBERS)),
    st.fixed_dictionaries(dict.fromkeys(("chunk", "language"), NUMBERS)),
    NUMBERS,
    NUMBERS,
    st.fixed_dictionaries(dict.fromkeys(("out", "tombstones"), NUMBERS)),
    st.dictionaries(st.sampled_from(["left/no_field", "left/not_utf8", "errors/KeyError"]), NUMBERS),
)
def test_counts_that_add_up_make_no_difference(dropped, left_out, links, repeated, passed, others):
    gone = sum(dropped.values()) + repeated
    out = sum(passed.values()) + sum(others.values())
    counts = {f"{layer}/dropped": number for layer, number in dropped.items()}
    counts |= {f"{layer}/chunks": number for layer, number in left_out.items()}
    counts |= {f"items/{name}": number for name, number in passed.items()} | others
    counts |= {"url/dropped": links + repeated, "items/dropped": gone, "items/in": out + gone}
    counts |= {"chunks/out": links, "chunks/in": links + sum(left_out.values())}

    found = drawn(counts)

    assert found.differences == ()
    assert (found.before.items, found.after.items) == (out + gone, out)


def test_what_a_callback_gave_in_vain_came_in_and_did_not_go_out():
    found = drawn({"items/in": 3, "items/out": 3, "soft_404/items": 1})

    assert (found.before.items, found.after.items, found.differences) == (4, 3, ())


def test_what_the_last_visit_gave_too_is_dropped_and_named():
    found = drawn(
        {"items/in": 9, "items/out": 2, "items/dropped": 7, "unchanged/dropped": 7, "reuse/callbacks_saved": 5}
    )

    assert (found.before.items, found.after.items, found.differences) == (9, 2, ())
    note = next(one for one in found.rows if one.layer == "unchanged").note
    assert note == "5 callbacks not run, 7 items left out"


def test_pages_left_out_whole_are_as_long_as_those_that_stand_for_them():
    dropped = {"title": DroppedPages(pages=4, chars=4_000, chunks=8)}

    found = row({"title/dropped": 6}, "title", dropped)

    assert (found.pages, found.chunks, found.chars, found.tokens, found.is_about) == (6, 12, 6_000, 1_500, True)
    assert drawn({"title/dropped": 6, "pages/chars_in": 10}, dropped).about.chars == 6_000
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
def test_methods_are_those_of_the_settings(settings, layer, method):
    found = make_table({}, estimated(), Settings().override(settings, ""), {})

    assert next(one.method for one in found.rows if one.layer == layer) == method

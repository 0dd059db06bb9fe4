from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.report.values import Ledger, SharedChunk
from scrapy_dedup.service.report.ledger import AliasPair, group_aliases, make_ledger, tokens_of
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.page_records import ChunksRecord, StoredChunk
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.service.stored_pages import DOMAIN, NOON, a_url, put_html
from tests.store.pages.test_ledger_reads import drop, key
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


def ledger_of(store: Store, project: ProjectStore, settings: Settings | None = None) -> Ledger:
    found = make_ledger(store, project, settings or Settings(), project.last_runs(), None)
    assert found is not None
    return found


def test_the_last_run_is_told_and_the_sum_of_all(store: Store, project: ProjectStore) -> None:
    crawled(project, 0, STATS)
    crawled(project, 1, STATS | {"dedup/url/dropped": 10})
    crawled(project, 2, {"downloader/request_count": 3})

    found = ledger_of(store, project)

    assert (found.run.runs, found.run.began_at) == (1, NOON + timedelta(days=1))
    assert [row.pages for row in found.run.rows][:3] == [0, 10, 3]
    assert found.all_runs is not None
    assert (found.all_runs.runs, found.all_runs.elapsed_seconds, found.all_runs.cost_seconds) == (2, 5.0, 1.0)
    assert [row.pages for row in found.all_runs.rows][:3] == [0, 14, 6]
    assert found.run.differences == found.all_runs.differences == ()


def test_a_run_that_is_asked_for_stands_alone(store: Store, project: ProjectStore) -> None:
    for day in range(2):
        crawled(project, day, STATS)
    runs = project.last_runs()

    found = make_ledger(store, project, Settings(), runs, runs[1])

    assert found is not None
    assert (found.run.began_at, found.all_runs) == (NOON, None)


def test_counts_of_a_run_under_way_need_not_agree(store: Store, project: ProjectStore) -> None:
    crawled(project, 0, STATS)
    run = project.begin_run(spider="site", jobdir=None, started_at=NOON + timedelta(days=1))
    project.report_run(run.id, {"dedup/items/in": 9, "elapsed_time_seconds": 2.0}, NOON + timedelta(days=1))

    found = ledger_of(store, project)

    assert (found.run.before.items, found.run.differences) == (9, ())
    assert found.all_runs is not None
    assert found.all_runs.differences == ()
    assert any(check.expected for check in found.all_runs.checks)


def test_it_holds_what_the_store_knows(store: Store, project: ProjectStore) -> None:
    put_html(project, [1, 2])
    chunk = StoredChunk(0, "0" * 16, b"x" * 16, "added", "prose", 40, 10, "A passage")
    twin = StoredChunk(0, "1" * 16, b"x" * 16, "removed", "prose", 40, 10, "A passage", holder=key(1))
    project.write([ChunksRecord(key(1), (chunk,)), ChunksRecord(key(2), (twin,))])
    run = project.begin_run(spider="site", jobdir=None, started_at=NOON)
    drop(project, "old/1", 1, "title")
    project.end_run(run.id, status="finished", reason="finished", stats=STATS, finished_at=NOON)

    found = ledger_of(store, project)

    assert [(one.domain, one.pages, one.aliases, one.chunks_in) for one in found.domains] == [(DOMAIN, 2, 1, 2)]
    assert [(one.alias, one.target, one.found_by) for one in found.aliases] == [("/old/*", "/*", {"title": 1})]
    assert found.shared == (SharedChunk("A passage", 40, 2, (a_url(1),), (a_url(2),)),)
    title = found.run.rows[2]
    assert (title.layer, title.pages, title.chunks, title.is_about) == ("title", 3, 3, True)


@table("service/tokens_are_counted_or_said_to_be_an_estimate")
def test_tokens_are_counted_or_said_to_be_an_estimate(
    tokenizer: str, size: int, chars: int, per_char: float, *, is_estimate: bool
) -> None:
    found = tokens_of(Settings(chunk_tokenizer=tokenizer), size, chars)

    assert (found.per_char, found.is_estimate) == (per_char, is_estimate)
    assert tokenizer in found.by if not is_estimate else "an estimate" in found.by


def grouped(*pairs: tuple[str, str]) -> list[tuple[str, str, int]]:
    found = group_aliases([AliasPair(HOST + alias, HOST + target, "canonical") for alias, target in pairs])
    return [(one.alias, one.target, one.count) for one in found]


def test_the_causes_of_a_hospital_are_told() -> None:
    """What a hospital's site had: 66 pages under two paths, 7 under their number, too."""
    paths = [(f"/werking/reglement-{number}", f"/reglement-{number}") for number in range(57)]
    paths += [(f"/reglement-{number}", f"/werking/reglement-{number}") for number in range(57, 66)]
    nodes = [(f"/node/{2000 + number}", f"/dr-{number}") for number in range(7)]

    assert grouped(*paths, *nodes) == [("/werking/*", "/*", 66), ("/node/*", "/*", 7)]


@table("service/addresses_are_told_by_how_they_look")
def test_addresses_are_told_by_how_they_look(pairs: list[list[str]], told: list[list[Any]]) -> None:
    assert [list(one) for one in grouped(*((alias, target) for alias, target in pairs))] == told


def test_hosts_are_told_where_they_differ() -> None:
    (found,) = group_aliases([AliasPair("http://www.example.com/a", "https://example.com/a", "redirect")])

    assert (found.alias, found.target) == ("http://www.example.com/*", "https://example.com/*")
    assert (found.example, found.example_target) == ("http://www.example.com/a", "https://example.com/a")


def test_what_found_them_is_counted() -> None:
    layers = ("title", "canonical", "title")
    pairs = [AliasPair(f"{HOST}/x/{number}", f"{HOST}/{number}", layer) for number, layer in enumerate(layers)]

    (found,) = group_aliases(pairs)

    assert dict(found.found_by) == {"title": 2, "canonical": 1}


URLS = st.one_of(
    st.text(max_size=30),
    st.lists(st.sampled_from(["a", "b", "node", "7", "", "x" * 80]), max_size=4).map(lambda s: f"{HOST}/{'/'.join(s)}"),
)
PAIRS = st.lists(st.builds(AliasPair, URLS, URLS, st.sampled_from(["title", "redirect"])), unique=True, max_size=30)


@given(PAIRS, st.randoms())
def test_every_pair_is_counted_once_in_any_order(pairs: list[AliasPair], random: object) -> None:
    found = group_aliases(pairs)
    random.shuffle(pairs)  # type: ignore[attr-defined]

    assert sum(one.count for one in found) == len(pairs)
    assert sum(sum(one.found_by.values()) for one in found) == len(pairs)
    assert group_aliases(pairs) == found

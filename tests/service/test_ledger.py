from datetime import timedelta

import pytest

from scrapy_dedup.report.ledger_values import Ledger, SharedChunk
from scrapy_dedup.service.ledger import make_ledger, tokens_of
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.page_records import ChunksRecord, StoredChunk
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.service.stored_pages import DOMAIN, NOON, a_url, put_html
from tests.store.test_ledger_reads import drop, key

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


@pytest.mark.parametrize(
    ("tokenizer", "size", "chars", "per_char", "is_estimate"),
    [
        pytest.param("", 100, 400, 0.25, True, id="none"),
        pytest.param("project.tokens", 100, 300, 1 / 3, False, id="tokenizer"),
        pytest.param("project.tokens", 300, 300, 0.25, True, id="chunks-older-than-it"),
        pytest.param("project.tokens", 0, 0, 0.25, True, id="no-chunks"),
    ],
)
def test_tokens_are_counted_or_said_to_be_an_estimate(
    tokenizer: str, size: int, chars: int, per_char: float, *, is_estimate: bool
) -> None:
    found = tokens_of(Settings(chunk_tokenizer=tokenizer), size, chars)

    assert (found.per_char, found.is_estimate) == (per_char, is_estimate)
    assert tokenizer in found.by if not is_estimate else "an estimate" in found.by

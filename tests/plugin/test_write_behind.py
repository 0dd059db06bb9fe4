import asyncio
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from scrapy_dedup.plugin.write_behind import RowBounds, WriteBehind, give_up, size_of
from scrapy_dedup.service.crawl.crawl import Crawl
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.engine.errors import AwayStoreError
from scrapy_dedup.store.records.records import LeaseRecord, Record
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.databases import locked, postgresql
from tests.store.builders import NOON, a_document, a_source, an_extraction, document_of

__all__ = ["postgresql"]


@pytest.fixture
def crawl(project) -> Crawl:
    return a_crawl(project)


def a_crawl(project: ProjectStore) -> Crawl:
    run = project.begin_run(spider="s", jobdir=None, started_at=NOON)
    return Crawl(project, run, Settings(), lambda _what, _n: None)


def a_writer(
    crawl: Crawl, counts: Counter[str], every_rows: int = 1, patience_seconds: float = 0, **how: Any
) -> WriteBehind:
    crawl.settings = Settings(write_every=every_rows, shared_lease=timedelta(seconds=patience_seconds))
    crawl.count = lambda what, n: counts.update({what: int(n)})
    return WriteBehind(crawl, **how)


def documents(path: Path) -> int:
    with closing(sqlite3.connect(path)) as store:
        count: int = store.execute("SELECT count(*) FROM documents").fetchone()[0]
    return count


async def until(happens: Callable[[], object]) -> None:
    while not happens():  # noqa: ASYNC110 (no event tells it)
        await asyncio.sleep(0.05)


def test_row_that_can_never_be_written_keeps_no_other_back(crawl, path, caplog):
    counts: Counter[str] = Counter()

    async def work() -> None:
        crawl.rows += [a_document(1), a_document(3, chars_in=2**70), a_document(2)]
        await a_writer(crawl, counts).end()

    asyncio.run(work())

    assert documents(path) == 2
    assert counts == {"store/rows": 2, "store/rows_given_up": 1}
    assert "More waits for the store" not in caplog.text


def test_row_that_a_server_refuses_keeps_no_other_back(postgresql):
    counts: Counter[str] = Counter()
    lost: list[str] = []

    async def work(crawl: Crawl) -> None:
        writer = a_writer(crawl, counts)
        writer.gave_up = lost.extend
        crawl.rows += [a_document(1), a_document(3, chars_in=2**40), a_document(2), LeaseRecord("7")]
        await writer.end()

    with postgresql.new_store() as url, Store.open(url) as store:
        project = store.project("shop")
        asyncio.run(work(a_crawl(project)))
        assert [document_of(project, number).chars_in for number in (1, 2)] == [a_document().chars_in] * 2

    assert counts == {"store/rows": 3, "store/rows_given_up": 1}
    assert lost == []


def test_requests_whose_rows_are_lost_are_named(crawl, path):
    lost: list[str] = []
    writer = a_writer(crawl, Counter(), bounds=RowBounds(rows=5))
    writer.gave_up = lost.extend

    async def work() -> None:
        with locked(path):
            crawl.rows += [*(LeaseRecord(str(n)) for n in range(9)), a_document()]
            await writer.catch_up()

    asyncio.run(work())

    assert lost == [str(n) for n in range(6)]


def test_the_end_waits_for_locks_of_others(crawl, path):
    counts: Counter[str] = Counter()

    async def work() -> None:
        with locked(path) as other:
            crawl.rows += [a_document(n) for n in range(3)]
            writer = a_writer(crawl, counts, 10, patience_seconds=20)
            ending = asyncio.create_task(writer.end())
            await until(lambda: counts["store/errors"])
            other.rollback()
            await ending

    asyncio.run(work())

    assert counts["store/rows"] == 3
    assert not counts["store/rows_given_up"]


def test_while_the_store_fails_only_begin_tries_again(crawl, path):
    counts: Counter[str] = Counter()

    async def work() -> None:
        writer = a_writer(crawl, counts)
        with locked(path):
            crawl.rows.append(a_document(0))
            await writer.catch_up()
            for n in range(1, 50):
                crawl.rows.append(a_document(n))
                writer.if_due()
            await asyncio.sleep(0)
            assert len(crawl.rows) == 50
        await writer.end()

    asyncio.run(work())

    assert counts == {"store/errors": 1, "store/rows": 50}
    assert documents(path) == 50


def test_more_rows_than_may_wait_are_given_up_the_oldest_first(crawl, path):
    counts: Counter[str] = Counter()

    async def work() -> None:
        writer = a_writer(crawl, counts, bounds=RowBounds(rows=20))
        with locked(path):
            crawl.rows.append(a_document(0))
            await writer.catch_up()
            for n in range(1, 100):
                crawl.rows.append(a_document(n))
                writer.if_due()
                assert len(crawl.rows) <= 20
        assert writer.has_given_up
        await writer.end()

    asyncio.run(work())

    assert counts["store/rows_given_up"] + counts["store/rows"] == 100
    with closing(sqlite3.connect(path)) as store:
        left = [url for (url,) in store.execute("SELECT url FROM documents")]
    assert set(left) == {a_document(n).url for n in range(100 - len(left), 100)}


def test_large_pages_are_waited_for_before_an_original_is_given_up(crawl):
    counts: Counter[str] = Counter()

    async def work() -> None:
        writer = a_writer(crawl, counts, bounds=RowBounds(size=1_000_000))
        for n in range(60):
            await writer.room()
            crawl.rows.append(a_source(n, content="x" * 100_000))
            writer.if_due()
            await asyncio.sleep(0)
        await writer.end()

    asyncio.run(work())

    assert counts["store/rows"] == 60
    assert not counts["store/originals_given_up"]


def test_server_that_is_away_at_the_end_is_waited_for(crawl, path):
    """It may be restarted just then."""
    counts: Counter[str] = Counter()
    tries = 0

    class Returning:
        def write(self, rows: list[Record]) -> None:
            nonlocal tries
            tries += 1
            if tries < 3:
                raise AwayStoreError("away")
            crawl.store.write(rows)

    async def work() -> None:
        away = Crawl(Returning(), crawl.run, crawl.settings, lambda _what, _n: None)  # type: ignore[arg-type]
        away.rows += [a_document(n) for n in range(3)]
        await a_writer(away, counts, patience_seconds=60).end()

    asyncio.run(work())

    assert counts == {"store/errors": 2, "store/rows": 3}
    assert documents(path) == 3


LONG = "x" * 10_000


def test_of_too_many_bytes_the_oldest_originals_go_alone():
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
def test_outcome_weighs_what_its_texts_do(items, about):
    assert 0.9 * about < size_of(an_extraction(items=items)) < 1.2 * about

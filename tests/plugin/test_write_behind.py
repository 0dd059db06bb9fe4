import asyncio
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from scrapy_dedup.plugin.write_behind import WriteBehind
from scrapy_dedup.service.crawl import Crawl
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.store import Store
from tests.store.builders import NOON, a_document


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "dedup.db"


@pytest.fixture
def crawl(path: Path) -> Iterator[Crawl]:
    with Store.open(f"sqlite:///{path}", timeout=timedelta(milliseconds=100)) as store:
        project = store.project("shop")
        run = project.begin_run(spider="s", jobdir=None, started_at=NOON)
        yield Crawl(project, run, Settings(), lambda _what, _n: None)


def documents(path: Path) -> int:
    with closing(sqlite3.connect(path)) as store:
        count: int = store.execute("SELECT count(*) FROM documents").fetchone()[0]
    return count


def a_writer(crawl: Crawl, counts: Counter[str], every_rows: int = 10) -> WriteBehind:
    return WriteBehind(crawl, every_rows, lambda what, n: counts.update({what: n}))


def test_rows_are_written_when_there_are_enough(crawl: Crawl, path: Path) -> None:
    async def work() -> None:
        writer = a_writer(crawl, Counter())
        crawl.rows += [a_document(n) for n in range(9)]
        writer.if_due()
        assert len(crawl.rows) == 9
        crawl.rows.append(a_document(9))
        writer.if_due()
        assert crawl.rows == []
        await writer.end()

    asyncio.run(work())

    assert documents(path) == 10


def test_whoever_catches_up_goes_on_when_the_rows_are_written(crawl: Crawl, path: Path) -> None:
    async def note_and_catch_up(writer: WriteBehind, n: int) -> None:
        crawl.rows.append(a_document(n))
        await writer.catch_up()
        with closing(sqlite3.connect(path)) as store:
            assert store.execute("SELECT count(*) FROM documents WHERE url = ?", [a_document(n).url]).fetchone() == (1,)

    async def work() -> None:
        writer = a_writer(crawl, Counter())
        await asyncio.gather(*(note_and_catch_up(writer, n) for n in range(8)))
        await writer.catch_up()

    asyncio.run(work())

    assert documents(path) == 8


def test_rows_that_come_while_others_are_written_are_written_at_the_end(crawl: Crawl, path: Path) -> None:
    async def work() -> None:
        writer = a_writer(crawl, Counter(), every_rows=1)
        for n in range(20):
            crawl.rows.append(a_document(n))
            writer.if_due()
        await writer.end()

    asyncio.run(work())

    assert documents(path) == 20


def test_rows_wait_while_the_store_is_locked(crawl: Crawl, path: Path, caplog: pytest.LogCaptureFixture) -> None:
    counts: Counter[str] = Counter()

    async def work() -> None:
        writer = a_writer(crawl, counts, every_rows=1)
        with closing(sqlite3.connect(path)) as other:
            other.execute("BEGIN IMMEDIATE")
            for n in range(3):
                crawl.rows.append(a_document(n))
                await writer.catch_up()
        await writer.end()

    asyncio.run(work())

    assert documents(path) == 3
    assert counts["store/errors"] == 3
    assert counts["store/rows"] == 3
    assert len(caplog.records) == 1


def test_rows_that_cannot_be_written_at_the_end_are_counted(crawl: Crawl, path: Path) -> None:
    counts: Counter[str] = Counter()

    async def work() -> None:
        with closing(sqlite3.connect(path)) as other:
            other.execute("BEGIN IMMEDIATE")
            crawl.rows += [a_document(n) for n in range(3)]
            await a_writer(crawl, counts).end()

    asyncio.run(work())

    assert counts == {"store/errors": 1, "store/rows_given_up": 3}


def test_row_that_can_never_be_written_keeps_no_other_back(crawl: Crawl, path: Path) -> None:
    counts: Counter[str] = Counter()

    async def work() -> None:
        crawl.rows += [a_document(1), a_document(3, chars_in=2**70), a_document(2)]
        await a_writer(crawl, counts).end()

    asyncio.run(work())

    assert documents(path) == 2
    assert counts == {"store/rows": 2, "store/rows_given_up": 1}

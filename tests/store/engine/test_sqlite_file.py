import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy import text

from scrapy_dedup.store.engine.database import LONGEST, log_of
from scrapy_dedup.store.store import Store

LARGE = LONGEST // 6
SECONDS = 0.01


@contextmanager
def overlapping_readers(path: Path) -> Iterator[None]:
    """Somebody reads at every moment, nobody for long."""
    ends = threading.Event()
    begun = threading.Event()

    def read() -> None:
        with closing(sqlite3.connect(path)) as one, closing(sqlite3.connect(path)) as other:
            began, ended = one, other
            while not ends.is_set():
                began.execute("BEGIN")
                began.execute("SELECT count(*) FROM projects").fetchall()
                ended.rollback()
                begun.set()
                time.sleep(SECONDS)
                began, ended = ended, began

    thread = threading.Thread(target=read)
    thread.start()
    begun.wait()
    try:
        yield
    finally:
        ends.set()
        thread.join()


def write_large(store: Store, path: Path, times: int) -> int:
    """Write so often, and return how large the log was at most."""
    project, largest = store.project("shop"), 0
    with project.transaction(write=True) as connection:
        connection.execute(text("CREATE TABLE large (bytes BLOB)"))
    for _ in range(times):
        with project.transaction(write=True) as connection:
            connection.execute(text("INSERT INTO large VALUES (zeroblob(:size))"), {"size": LARGE})
        largest = max(largest, log_of(path).stat().st_size)
    return largest


def test_log_stays_short_though_somebody_reads_at_every_moment(path: Path) -> None:
    with Store.open(f"sqlite:///{path}") as store, overlapping_readers(path):
        largest = write_large(store, path, 12)

    assert largest < LONGEST + 2 * LARGE


def test_who_reads_for_long_sees_what_there_was_and_does_not_hold_up_the_writer(path: Path) -> None:
    with Store.open(f"sqlite:///{path}") as store, closing(sqlite3.connect(path)) as reader:
        reader.execute("BEGIN")
        before = reader.execute("SELECT count(*) FROM sqlite_master").fetchall()

        largest = write_large(store, path, 8)

        assert largest > LONGEST
        assert reader.execute("SELECT count(*) FROM sqlite_master").fetchall() == before
        reader.rollback()
        assert reader.execute("SELECT count(*) FROM large").fetchall() == [(8,)]

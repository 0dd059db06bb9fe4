import hashlib
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import URL, create_engine, text

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.store.engine.database import LONGEST, log_of
from scrapy_dedup.store.engine.errors import FullStoreError, RefusedStoreError, StoreError, translated
from scrapy_dedup.store.store import Store
from tests.databases import change, locked
from tests.small_disk import MEGABYTE, small_disk
from tests.store.builders import NOON, a_crawled_url, a_document, a_key, a_source
from tests.tables import table

SHORT = timedelta(milliseconds=200)
ROOT = str(Path(__file__).parents[2])


def address(path: Path) -> str:
    return f"sqlite:///{path}"


def a_store_file(path: Path, pages: int = 200) -> Path:
    with Store.open(address(path)) as store:
        project = store.project("shop")
        project.write([record for name in range(pages) for record in (a_document(name), a_source(name))])
    return path


@contextmanager
def untouched(path: Path) -> Iterator[None]:
    """Fail when a file is changed, or one appears beside it."""

    def state() -> dict[str, str]:
        files = [file for file in path.parent.iterdir() if file.is_file()]
        return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}

    before = state()
    yield
    assert state() == before


def refused(path: Path, match: str, timeout: timedelta = SHORT) -> None:
    with untouched(path), pytest.raises(StoreError, match=match) as caught:
        Store.open(address(path), timeout=timeout)
    assert str(path) in str(caught.value)


def test_a_new_file_is_created_with_its_folders(tmp_path):
    path = tmp_path / "a folder" / "50% of it?" / "dedup.db"

    url = URL.create("sqlite", database=str(path))
    with Store.open(url) as store:
        store.project("shop").write([a_document()])

    assert [file.name for file in path.parent.iterdir()] == ["dedup.db"]
    with Store.open(url) as store:
        assert store.project("shop").page(a_key(1)) is not None


def test_of_many_connections_only_the_one_that_writes_has_a_large_cache(path):
    cache = text("PRAGMA cache_size")
    with Store.open(address(path)) as store:
        project = store.project("shop")
        with project.transaction(write=True) as writer, project.transaction() as reader:
            assert (writer.scalar(cache), reader.scalar(cache)) == (-16_000, -4_000)
            wrote = writer.connection.dbapi_connection

        # The pool gives them to readers as well, each once.
        with ExitStack() as stack:
            readers = [stack.enter_context(project.transaction()) for _ in range(2)]
            assert wrote in {one.connection.dbapi_connection for one in readers}
            assert {one.scalar(cache) for one in readers} == {-4_000}


def test_no_store_is_created_when_it_must_exist(path):
    with pytest.raises(StoreError, match="there is none yet"):
        Store.open(address(path), create=False)

    assert list(path.parent.iterdir()) == []


def test_a_newer_store_that_a_crash_left_behind_stays_as_it_is(path):
    """What is still in the write-ahead log decides, and is not moved into the file."""
    a_store_file(path)
    script = f"""
import os, signal, sqlite3
connection = sqlite3.connect({str(path)!r})
connection.execute("UPDATE alembic_version SET version_num = '9999'")
connection.commit()
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", script], check=False)
    assert path.with_name("dedup.db-wal").stat().st_size

    before = {file.name: file.read_bytes() for file in path.parent.iterdir() if not file.name.endswith("-shm")}
    with pytest.raises(StoreError, match="newer"):
        Store.open(address(path), timeout=SHORT)

    assert {name: path.with_name(name).read_bytes() for name in before} == before


@pytest.mark.parametrize(
    ("start", "end", "junk"),
    [
        pytest.param(100, 4096, b"\xff", id="schema"),
        pytest.param(4096, None, b"\xff", id="all-tables"),
        pytest.param(4096, None, b"\0", id="all-tables-zeroed"),
    ],
)
def test_a_damaged_store_stays_as_it_is(path, start, end, junk):
    whole = bytearray(a_store_file(path).read_bytes())
    whole[start:end] = junk * len(whole[start:end])
    path.write_bytes(whole)

    refused(path, "damaged.*Restore a copy")


@pytest.mark.parametrize(
    ("place", "match"), [(".", "folder .* is read-only"), ("dedup.db", "read-only.*right to write")]
)
def test_what_is_read_only_is_refused_to_whoever_would_write(path, place, match):
    """The mode counts even for root, whom the system would let write."""
    only_read = a_store_file(path).parent / place
    mode = only_read.stat().st_mode
    only_read.chmod(mode & 0o555)
    try:
        refused(path, match)
        with Store.open(address(path), write=False) as store, pytest.raises(StoreError, match="right to write"):
            store.project("another")
    finally:
        only_read.chmod(mode)


@pytest.mark.parametrize("left", [None, b""], ids=["no-log", "empty-log"])
def test_a_store_on_a_full_disk_is_read(tmp_path, left):
    with small_disk(tmp_path / "disk", 4 * MEGABYTE) as disk:
        path = a_store_file(disk.folder / "dedup.db", pages=2)
        if left is not None:
            log_of(path).write_bytes(left)
        disk.fill()

        with Store.open(address(path), write=False) as store:
            assert store.project("shop").page(a_key(1)) is not None
            with pytest.raises(FullStoreError, match="Free space"):
                store.project("shop").write([a_document(3)])
        with pytest.raises(StoreError, match="Free space"):
            Store.open(address(path))
        # Room for the log's index alone: who is to write has a store that writes once there is more.
        disk.grow(4 * MEGABYTE + 45_056)
        with Store.open(address(path)) as store:
            disk.clear()
            store.project("shop").write([a_document(3)])


@pytest.mark.parametrize(
    ("name", "match"), [("x" * 300, "cannot be read"), ("folder", "not a file"), ("file/dedup.db", "cannot be created")]
)
def test_where_no_file_can_be_is_refused(tmp_path, name, match):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()

    with pytest.raises(StoreError, match=match):
        Store.open(address(tmp_path / name))


@pytest.mark.parametrize("mode", ["IMMEDIATE", "EXCLUSIVE"])
def test_a_lock_that_outlasts_the_timeout_stops(path, mode):
    a_store_file(path)

    with locked(path, mode), pytest.raises(StoreError, match=r"locked.*longer than DEDUP_DATABASE_TIMEOUT"):
        Store.open(address(path), timeout=SHORT)
    with Store.open(address(path), timeout=SHORT):
        pass


def test_a_new_file_that_another_process_locks_stops(path):
    change(path, "PRAGMA user_version = 1")
    with locked(path, "EXCLUSIVE"), pytest.raises(StoreError, match="locked"):
        Store.open(address(path), timeout=SHORT)


def test_a_store_whose_log_was_switched_off_gets_it_back(path):
    change(a_store_file(path), "PRAGMA journal_mode = DELETE")

    with Store.open(address(path)), closing(sqlite3.connect(path)) as other:
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)


@table("store/urls_that_cannot_be_used_are_refused_and_passwords_hidden")
def test_urls_that_cannot_be_used_are_refused_and_passwords_hidden(url, match):
    with pytest.raises(StoreError, match=match) as caught:
        Store.open(url)

    assert "secret" not in str(caught.value)
    assert isinstance(caught.value, DedupError)


def test_opening_a_present_store_does_not_import_alembic(path):
    a_store_file(path)
    script = f"""
import sys
from scrapy_dedup.store.store import Store
Store.open({address(path)!r}).close()
assert "alembic" not in sys.modules
"""
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True, cwd=ROOT)


def test_a_write_fails_with_an_error_when_a_lock_outlasts_the_timeout(path):
    with Store.open(address(path), timeout=SHORT) as store:
        project = store.project("shop")
        with locked(path), pytest.raises(StoreError, match="locked"):
            project.write([a_document()])

        project.write([a_document()])
        assert project.page(a_key(1)) is not None


@pytest.mark.parametrize("replaced", [True, False], ids=["replaced", "deleted"])
def test_a_file_that_is_not_the_one_that_was_opened_stays_as_it_is(path, *, replaced):
    """SQLite would write the log of the old one into the new one, which then is damaged."""
    other, moved = a_store_file(path.with_name("other.db")), path.with_name("moved.db")
    with Store.open(address(path)) as store:
        project = store.project("shop")
        project.write([a_document(1)])
        path.rename(moved)
        if replaced:
            other.rename(path)

        with pytest.raises(StoreError, match="deleted or replaced while it was in use"):
            project.write([a_document(2)])
        with pytest.raises(StoreError, match="deleted or replaced while it was in use"):
            project.page(a_key(1))

    for end in ("-wal", "-shm"):
        path.with_name(path.name + end).rename(moved.with_name(moved.name + end))
    assert path.exists() is replaced
    for file, pages in [(moved, 1)] + [(path, 200)] * replaced:
        with closing(sqlite3.connect(file)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert connection.execute("SELECT count(*) FROM documents").fetchone() == (pages,)


def test_the_schema_serves_plain_sql(path):
    """Others read the tables, too: keys are raw bytes, times UTC."""
    with Store.open(address(path)) as store:
        store.project("shop").write([a_crawled_url()])
    engine = create_engine(address(path))
    with engine.connect() as connection:
        row = connection.execute(text("SELECT page_key, last_crawled_at FROM crawled_urls")).one()
    engine.dispose()

    assert row == (a_key(1), NOON.strftime("%Y-%m-%d %H:%M:%S.%f"))


def test_a_refused_value_is_not_blamed_on_the_address(url):
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE numbers (number INTEGER NOT NULL)"))
    with pytest.raises(RefusedStoreError, match="refuses a value"), translated(url), engine.connect() as connection:
        connection.execute(text("INSERT INTO numbers VALUES (NULL)"))
    engine.dispose()


LARGE = LONGEST // 6
SECONDS = 0.01


@contextmanager
def overlapping_readers(path: Path) -> Iterator[None]:
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


def test_log_stays_short_though_somebody_reads_at_every_moment(path):
    with Store.open(f"sqlite:///{path}") as store, overlapping_readers(path):
        largest = write_large(store, path, 12)

    assert largest < LONGEST + 2 * LARGE


def test_who_reads_for_long_sees_what_there_was_and_does_not_hold_up_the_writer(path):
    with Store.open(f"sqlite:///{path}") as store, closing(sqlite3.connect(path)) as reader:
        reader.execute("BEGIN")
        before = reader.execute("SELECT count(*) FROM sqlite_master").fetchall()

        largest = write_large(store, path, 8)

        assert largest > LONGEST
        assert reader.execute("SELECT count(*) FROM sqlite_master").fetchall() == before
        reader.rollback()
        assert reader.execute("SELECT count(*) FROM large").fetchall() == [(8,)]

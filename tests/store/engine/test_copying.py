"""A copy of a store holds all of one instant, from either database into either, or is not there."""

import json
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import URL, inspect

from scrapy_dedup.store.engine.copying import Progress, copy_store
from scrapy_dedup.store.engine.database import make_engine
from scrapy_dedup.store.engine.errors import FullStoreError, StoreError
from scrapy_dedup.store.seen_urls import SeenTable
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.tables.models import Base
from scrapy_dedup.store.writer import ProjectStore
from tests.databases import change
from tests.small_disk import small_disk
from tests.store.builders import NOON, a_document, a_key, a_source, an_alarm
from tests.store.test_writer import everything_about
from tests.tables import FOLDER as CASES

PATIENCE = timedelta(milliseconds=500)


def file_url(path: Path) -> URL:
    return URL.create("sqlite", database=str(path))


def silent(_what: str, _total: int) -> AbstractContextManager[Callable[[int], None]]:
    return nullcontext(lambda _number: None)


def at_first(act: Callable[[], None]) -> Progress:
    @contextmanager
    def progress(_what: str, _total: int) -> Iterator[Callable[[int], None]]:
        acts = [act]
        yield lambda _number: acts.pop()() if acts else None

    return progress


def copied(source: URL | Path, target: URL | Path, progress: Progress = silent) -> dict[str, int]:
    urls = [file_url(one) if isinstance(one, Path) else one for one in (source, target)]
    return copy_store(urls[0], urls[1], PATIENCE, progress)


def fill(url: URL) -> URL:
    with Store.open(url) as store:
        for name in ("shop", "läden"):
            project = store.project(name)
            run = project.begin_run(spider="site", jobdir=None, started_at=NOON)
            project.write([record for n in range(5) for record in everything_about(n)])
            project.write([an_alarm(cleared_at=NOON), a_source("long", content="ü\0\U0001f600" * 9_000)])
            project.end_run(run.id, status="finished", reason="finished", stats={"n": 1.5}, finished_at=NOON)
            note_seen(project, url, *range(3))
    return url


def note_seen(project: ProjectStore, url: URL, *names: object, scope: str = "job shop") -> None:
    with closing(SeenTable.open(project, url, scope, timeout=PATIENCE)) as table:
        table.add([a_key(name) for name in names])


def contents(url: URL) -> dict[str, list[tuple[object, ...]]]:
    """Return all rows of a store, as Python sees them."""
    engine = make_engine(url, PATIENCE)
    with engine.connect() as connection:
        found = {
            name: sorted((tuple(row) for row in connection.execute(table.select())), key=repr)
            for name, table in Base.metadata.tables.items()
        }
    engine.dispose()
    return found


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Path:
    """A small store, and its backup."""
    folder = tmp_path_factory.mktemp("small")
    copied(fill(file_url(folder / "small.db")), folder / "small.backup")
    return folder


@pytest.fixture
def backup(small, tmp_path) -> Path:
    return Path(shutil.copy(small / "small.backup", tmp_path))


@pytest.mark.parametrize("into", ["sqlite", "postgresql", "postgresql-with-tables"])
def test_store_in_either_database_goes_whole_into_either(new_url, tmp_path, postgresql, into):
    source = fill(new_url())
    with postgresql.new_store() if "tables" in into else postgresql.database() as server:
        target = file_url(tmp_path / "new.db") if into == "sqlite" else server

        rows = copied(source, target)

        assert contents(target) == contents(source)
        assert {name: rows[name] for name in ("projects", "sources", "seen_urls", "run_workers")} == {
            "projects": 2,
            "sources": 12,
            "seen_urls": 6,
            "run_workers": 0,
        }
        with Store.open(target) as store:
            # New rows get numbers of their own, in the words of the rows before them.
            project = store.project("shop")
            project.write([*everything_about("new"), *everything_about(1)])
            note_seen(project, target, "new", scope="job new")
            assert project.page(a_key("new")) is not None
            assert project.page(a_key(4)) is not None
        assert len(contents(target)["sources"]) == 13


def test_backup_is_whole_without_a_log_and_may_be_read_only(small, backup):
    backup.chmod(0o400)
    with closing(sqlite3.connect(f"{backup.as_uri()}?immutable=1", uri=True)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]

    copied(backup, backup.with_name("again.db"))

    assert sorted(path.name for path in backup.parent.iterdir()) == ["again.db", "small.backup"]
    assert contents(file_url(backup.with_name("again.db"))) == contents(file_url(small / "small.db"))


def test_what_crawls_write_meanwhile_is_not_in_a_copy(new_url, tmp_path):
    source = fill(new_url())
    before = contents(source)
    with Store.open(source) as store:
        crawl = store.project("shop")

        copied(source, tmp_path / "copy.db", at_first(lambda: crawl.write([a_source("late"), a_document("late")])))

        assert crawl.page(a_key("late")) is not None
    assert contents(file_url(tmp_path / "copy.db")) == before


def test_interrupted_copy_leaves_nothing(url, tmp_path, postgresql):
    def interrupt() -> None:
        raise KeyboardInterrupt

    fill(url)
    (tmp_path / "into").mkdir()
    with postgresql.database() as server:
        for target in (file_url(tmp_path / "into" / "copy.db"), server):
            with pytest.raises(KeyboardInterrupt):
                copied(url, target, at_first(interrupt))

        assert list((tmp_path / "into").iterdir()) == []
        assert server_tables(server) == []


def server_tables(server: URL) -> list[str]:
    engine = make_engine(server, PATIENCE)
    names = inspect(engine).get_table_names()
    engine.dispose()
    return names


def test_file_whose_copy_was_killed_is_not_there_or_whole(backup, tmp_path):
    script = (
        "import sys; from contextlib import nullcontext; from datetime import timedelta\n"
        "from scrapy_dedup.store.engine.copying import copy_store\n"
        "print('begun', flush=True)\n"
        "copy_store(sys.argv[1], sys.argv[2], timedelta(seconds=5), lambda *_: nullcontext(lambda _: None))\n"
    )
    target = tmp_path / "killed.db"
    for seconds in (0, 0.1, 0.3):
        command = [sys.executable, "-c", script, f"sqlite:///{backup}", f"sqlite:///{target}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            time.sleep(seconds)
            process.kill()
        if target.exists():
            assert contents(file_url(target)) == contents(file_url(backup))
            target.unlink()
    # What was left does not hinder the next one.
    copied(backup, target)


def test_copy_that_finds_no_room_leaves_nothing(tmp_path):
    with Store.open(file_url(tmp_path / "large.db")) as store:
        pages = [a_source(n, content="".join(a_key((n, word)).hex() for word in range(800))) for n in range(200)]
        store.project("shop").write(pages)

    with small_disk(tmp_path / "disk", 1_000_000) as disk:
        with pytest.raises(FullStoreError, match=r"copy\.db: .* Free space"):
            copied(tmp_path / "large.db", disk.folder / "copy.db")
        assert list(disk.folder.iterdir()) == []


def test_what_is_there_stays_as_it_is(backup, tmp_path, url):
    before = contents(fill(url))
    if url.get_backend_name() == "sqlite":
        (tmp_path / "free.db-wal").write_bytes(b"the log of a store that was moved away")
        for target in (Path(str(url.database)), tmp_path / "free.db"):
            with pytest.raises(StoreError, match=r"it is there already\. Name a file that is not there"):
                copied(backup, target)
        assert not (tmp_path / "free.db").exists()
    else:
        with pytest.raises(StoreError, match=r"not empty, there are rows in crawl_runs, .*projects delete"):
            copied(backup, url)
    assert contents(url) == before


def test_project_that_is_added_meanwhile_waits_for_the_copy(backup, postgresql):
    refused: list[str] = []

    def add() -> None:
        with Store.open(server, timeout=PATIENCE) as store, pytest.raises(StoreError, match="lock timeout") as caught:
            store.project("new")
        refused.append(str(caught.value))

    with postgresql.new_store() as server:
        copied(backup, server, at_first(add))
        assert len(refused) == 1
        assert len(contents(server)["projects"]) == 2


def test_server_without_room_for_a_store_is_refused(backup, postgresql):
    with postgresql.database() as server:
        postgresql.execute("CREATE TABLE theirs (n INTEGER)", str(server.database))
        with pytest.raises(StoreError, match=r"holds other tables \(theirs\)"):
            copied(backup, server)
        assert server_tables(server) == ["theirs"]
    with pytest.raises(StoreError, match="Create the database"):
        copied(backup, postgresql.url("nowhere"))


@pytest.mark.parametrize("revision", ["0000", "9999"])
def test_schema_of_another_revision_is_refused_on_either_side(backup, postgresql, revision):
    with postgresql.new_store() as server:
        postgresql.execute(f"UPDATE alembic_version SET version_num = '{revision}'", str(server.database))
        with pytest.raises(StoreError, match="revision"):
            copied(backup, server)
    change(backup, f"UPDATE alembic_version SET version_num = '{revision}'")
    with pytest.raises(StoreError, match="revision"):
        copied(backup, backup.with_name("copy.db"))


def test_column_of_another_name_is_refused_on_either_side(backup, tmp_path, postgresql):
    with postgresql.new_store() as server:
        postgresql.execute("ALTER TABLE visits RENAME COLUMN reason TO why", str(server.database))
        for source, target in ((server, tmp_path / "new.db"), (backup, server)):
            with pytest.raises(StoreError, match=r"its table visits has no reason.*Restore a copy"):
                copied(source, target)
        with pytest.raises(StoreError, match="its table visits has no reason"):
            Store.open(server)
        assert not (tmp_path / "new.db").exists()
        assert postgresql.execute("SELECT * FROM projects", str(server.database)) == []


def cut(path: Path, share: float) -> None:
    with path.open("rb+") as file:
        file.truncate(int(path.stat().st_size * share))


def scribble(path: Path) -> None:
    with path.open("rb+") as file:
        file.seek(path.stat().st_size // 2)
        file.write(bytes(range(256)) * 64)


def misname(path: Path) -> None:
    """Make a table's name no text; SQLite tells it in its own message. Found by fuzzing."""
    raw = path.read_bytes().replace(b"CREATE TABLE documents", b"CREATX TABLE documents")
    path.write_bytes(raw.replace(b"documentsdocuments", b"d\xeccumentsd\xeccuments"))


BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "empty": (lambda path: cut(path, 0), "is no SQLite file"),
    "half": (lambda path: cut(path, 0.5), "damaged"),
    "scribbled": (scribble, "damaged"),
    "name-that-is-no-text": (misname, "is damaged"),
    "text": (lambda path: path.write_text("hello" * 1_000), "is no SQLite file"),
    "zeros": (lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(5_000)), "damaged|not a database"),
    "nothing": (Path.unlink, "it is not there"),
}
HOSTILE: dict[str, tuple[str, str]] = json.loads((CASES / "store" / "hostile_backups.json").read_text("utf-8"))


@pytest.mark.parametrize("name", [*BAD, *HOSTILE])
def test_file_that_is_no_whole_store_is_refused(backup, tmp_path, name):
    if name in HOSTILE:
        statement, words = HOSTILE[name]
        change(backup, statement)
    else:
        make, words = BAD[name]
        make(backup)
    kept = backup.read_bytes() if backup.exists() else None
    (tmp_path / "into").mkdir()

    with pytest.raises((StoreError, OSError), match=words) as caught:
        copied(backup, tmp_path / "into" / "copy.db")

    assert "small.backup" in str(caught.value)
    assert (backup.read_bytes() if backup.exists() else None) == kept
    assert list((tmp_path / "into").iterdir()) == []

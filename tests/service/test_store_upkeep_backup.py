"""Backups: from either database into either, whole or not at all."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import URL

from scrapy_dedup.service.store_upkeep_backup import BackupError, read_manifest
from scrapy_dedup.service.store_upkeep_restore import Restored, back_up, restore, standing
from scrapy_dedup.store.errors import StoreError
from scrapy_dedup.store.migrations import HEAD
from scrapy_dedup.store.store import Store
from tests.databases import Server
from tests.store.builders import NOON, a_document, a_key, a_source
from tests.store.conftest import new_url, postgresql, store, url
from tests.store.test_writer import dump, everything_about

__all__ = ["new_url", "postgresql", "store", "url"]

PATIENCE = timedelta(seconds=5)


def text_of(url: URL | Path) -> str:
    return f"sqlite:///{url}" if isinstance(url, Path) else url.render_as_string(hide_password=False)


def filled(store: Store) -> dict[str, Any]:
    """Put something of everything into a store; return what it says of it."""
    for name in ("shop", "läden"):
        project = store.project(name)
        run = project.begin_run(spider="site", jobdir=None, started_at=NOON)
        project.write([record for n in range(5) for record in everything_about(n)])
        project.end_run(run.id, status="finished", reason="finished", stats={"n": 1.5}, finished_at=NOON)
    return contents(store)


def contents(store: Store) -> dict[str, Any]:
    """Return what a store holds, in words that both databases share."""
    projects = [store.project(name) for name in store.project_names().values()]
    return {
        project.name: (
            project.id,
            [project.page(a_key(n)) for n in range(5)],
            [project.decisions(a_key(n)) for n in range(5)],
            [project.extractions_of(a_key(n)) for n in range(5)],
            project.page_states([a_key(n) for n in range(5)]),
            project.knowledge("www.example.com"),
            project.last_runs(),
        )
        for project in projects
    }


def a_backup(store: Store, path: Path) -> Path:
    back_up(store, path, lambda _step, _more: None)
    return path


def restored(archive: Path, url: URL | Path) -> Restored:
    return restore(archive, read_manifest(archive), text_of(url), PATIENCE, lambda _step, _more: None)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """The backup of a small store in a file."""
    with Store.open(f"sqlite:///{tmp_path / 'small.db'}") as small:
        filled(small)
        return a_backup(small, tmp_path / "small.backup")


@pytest.mark.parametrize("into", ["sqlite", "postgresql"])
def test_backup_of_either_database_is_restored_into_either(
    store: Store, tmp_path: Path, postgresql: Server, into: str
) -> None:
    before = filled(store)
    archive = a_backup(store, tmp_path / "shop.backup")

    with postgresql.database() as server:
        target = server if into == "postgresql" else URL.create("sqlite", database=str(tmp_path / "new" / "dedup.db"))
        (tmp_path / "new").mkdir()
        done = restored(archive, target)

        with Store.open(target) as again:
            assert contents(again) == before
            # New rows get numbers of their own.
            again.project("shop").write(everything_about("new"))
            assert {name: len(rows) for name, rows in dump(again).items()}["sources"] == 11
    assert done.aside is None
    assert done.rows == done.manifest.rows
    assert done.rows["documents"] == 10


def test_manifest_says_what_is_in_a_backup(store: Store, tmp_path: Path) -> None:
    filled(store)

    manifest = read_manifest(a_backup(store, tmp_path / "shop.backup"))

    assert (manifest.schema, manifest.database, manifest.projects) == (HEAD, store.kind, ("läden", "shop"))
    assert (manifest.rows["sources"], manifest.rows["claims"]) == (10, 0)
    assert (tmp_path / "shop.backup").exists()
    assert list(tmp_path.glob(".*")) == []


def test_file_that_is_there_is_not_overwritten_by_accident(store: Store, tmp_path: Path) -> None:
    archive = tmp_path / "shop.backup"
    archive.write_text("precious")

    with pytest.raises(BackupError, match="--replace"):
        a_backup(store, archive)
    assert archive.read_text() == "precious"

    back_up(store, archive, lambda _step, _more: None, replace=True)
    assert read_manifest(archive).projects == ()


def test_backup_beside_a_crawl_holds_one_instant(store: Store, tmp_path: Path) -> None:
    """Each write adds a page's original and its document: a backup has both or neither."""
    project = store.project("shop")
    ended, written = threading.Event(), 0

    def crawl() -> None:
        nonlocal written
        while not ended.is_set():
            project.write([a_source(written, content="x" * 5_000), a_document(written)])
            written += 1

    writing = threading.Thread(target=crawl)
    writing.start()
    try:
        while written < 20:
            time.sleep(0.01)
        first, second = (a_backup(store, tmp_path / name) for name in ("1", "2"))
        at_the_end = written
    finally:
        ended.set()
        writing.join()

    before, after = (read_manifest(archive).rows for archive in (first, second))
    assert before["sources"] == before["documents"] >= 20
    assert before["documents"] <= after["sources"] == after["documents"] <= at_the_end + 1
    restored(second, tmp_path / "new.db")
    with Store.open(f"sqlite:///{tmp_path / 'new.db'}") as again:
        assert len(dump(again)["sources"]) == after["sources"]


def cut(archive: Path, share: float) -> None:
    os.truncate(archive, int(archive.stat().st_size * share))


def flip(archive: Path, place: int) -> None:
    with archive.open("r+b") as file:
        file.seek(place, io.SEEK_END if place < 0 else io.SEEK_SET)
        (byte,) = file.read(1)
        file.seek(-1, io.SEEK_CUR)
        file.write(bytes([byte ^ 4]))


def rewritten(archive: Path, *, packed: int = zipfile.ZIP_STORED, more: bytes = b"", **values: object) -> None:
    """Write an archive anew with another manifest, as somebody could who wishes us ill."""
    with zipfile.ZipFile(archive) as members:
        content, manifest = members.read("store.db.zst"), json.loads(members.read("manifest.json"))
    with zipfile.ZipFile(archive, "w", packed) as members:
        members.writestr("store.db.zst", content)
        members.writestr("manifest.json", json.dumps(manifest | values))
        if more:
            members.writestr("more", more)


def another(archive: Path, content: bytes) -> None:
    with zipfile.ZipFile(archive, "w") as members:
        members.writestr("store.db.zst", content)
        members.writestr("manifest.json", content)


def no_archive(archive: Path) -> None:
    archive.write_text("hello" * 1_000)


DAMAGES: dict[str, Callable[[Path], None]] = {
    "empty": lambda archive: cut(archive, 0),
    "half": lambda archive: cut(archive, 0.5),
    "all-but-the-end": lambda archive: cut(archive, 0.99),
    "a-bit-in-the-store": lambda archive: flip(archive, 5_000),
    "a-bit-in-the-manifest": lambda archive: flip(archive, -600),
    "a-bit-at-the-beginning": lambda archive: flip(archive, 0),
    "unpacks-to-more": lambda archive: rewritten(archive, size_bytes=10_000),
    "unpacks-to-less": lambda archive: rewritten(archive, size_bytes=10**9),
    "no-disk-is-so-large": lambda archive: rewritten(archive, size_bytes=10**17),
    "another-hash": lambda archive: rewritten(archive, sha256="0" * 64),
    "packed-twice": lambda archive: rewritten(archive, packed=zipfile.ZIP_DEFLATED),
    "something-more": lambda archive: rewritten(archive, more=b"more"),
    "no-rows": lambda archive: rewritten(archive, rows=None),
    "a-later-format": lambda archive: rewritten(archive, format=2),
    "a-later-schema": lambda archive: rewritten(archive, schema="9999"),
    "other-members": lambda archive: another(archive, b"[" * 100_000),
    "no-archive": no_archive,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_backup_that_is_not_whole_changes_nothing(archive: Path, tmp_path: Path, damage: str) -> None:
    DAMAGES[damage](archive)
    target = tmp_path / "dedup.db"
    shutil.copy(tmp_path / "small.db", target)
    before = target.read_bytes()

    with pytest.raises(BackupError, match=r"small\.backup"):
        restored(archive, target)

    assert target.read_bytes() == before
    assert [*tmp_path.glob(".*"), *tmp_path.glob("dedup.db.*")] == []


def test_store_that_would_act_by_itself_is_refused(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path / 'odd.db'}") as odd:
        odd.project("shop")
        with odd._database.raw() as connection:
            connection.execute("CREATE TRIGGER t AFTER INSERT ON visits BEGIN DELETE FROM sources; END")
        archive = a_backup(odd, tmp_path / "odd.backup")

    with pytest.raises(BackupError, match="acts by itself"):
        restored(archive, tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()


def test_what_was_there_is_kept_aside(archive: Path, url: URL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Store.open(url) as store:
        store.project("old").write(everything_about(1))
    assert [one.name for one in standing(text_of(url), PATIENCE).projects] == ["old"]

    done = restored(archive, url)

    with Store.open(url) as store:
        assert list(store.project_names().values()) == ["läden", "shop"]
    assert done.aside is not None
    if url.get_backend_name() == "sqlite":
        with Store.open(f"sqlite:///{done.aside}") as old:
            assert list(old.project_names().values()) == ["old"]
    else:
        assert read_manifest(done.aside).projects == ("old",)


def test_store_in_use_is_not_replaced(archive: Path, tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path / 'dedup.db'}") as store:
        store.project("old")

        with pytest.raises(StoreError, match="somebody uses it"):
            restored(archive, tmp_path / "dedup.db")
        assert list(store.project_names().values()) == ["old"]


@pytest.mark.parametrize("damaged", [b"no store at all", b"SQLite format 3\0" + bytes(5_000)], ids=["text", "zeros"])
def test_damaged_store_is_replaced_and_kept_aside(archive: Path, tmp_path: Path, damaged: bytes) -> None:
    path = tmp_path / "dedup.db"
    path.write_bytes(damaged)
    (tmp_path / "dedup.db-wal").write_bytes(b"its log")
    found = standing(text_of(path), PATIENCE)
    assert found.problem is not None
    assert not found.is_empty

    done = restored(archive, path)

    with Store.open(f"sqlite:///{path}") as store:
        assert list(store.project_names().values()) == ["läden", "shop"]
    assert done.aside is not None
    assert done.aside.read_bytes() == damaged


def test_killed_at_any_moment_the_store_is_the_old_or_the_new_one(archive: Path, tmp_path: Path) -> None:
    path = tmp_path / "dedup.db"
    seen = set()
    for number in range(7):
        with Store.open(f"sqlite:///{path}") as store:
            if "old" not in store.project_names().values():
                store.project("old")
        script = (
            "import sys; from pathlib import Path; from datetime import timedelta\n"
            "from scrapy_dedup.service.store_upkeep_restore import restore\n"
            "from scrapy_dedup.service.store_upkeep_backup import read_manifest\n"
            "archive = Path(sys.argv[1])\n"
            "print('begun', flush=True)\n"
            "restore(archive, read_manifest(archive), sys.argv[2], timedelta(seconds=5), lambda *_: None)\n"
        )
        command = [sys.executable, "-c", script, str(archive), f"sqlite:///{path}"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(number * 0.03)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()

        with Store.open(f"sqlite:///{path}") as store:
            names = set(store.project_names().values())
        assert names in ({"old"}, {"shop", "läden"}, {"old", "shop", "läden"})
        seen.add(frozenset(names))
        for left in tmp_path.glob("dedup.db*"):
            left.unlink()
    assert frozenset({"old"}) in seen

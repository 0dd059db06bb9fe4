"""`scrapy dedup batch` as a user calls it."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.commands.running import PROJECT, Outcome, scrapy
from tests.service.test_cleaning_run import SITE, a_row, as_lines

# A machine that does much else takes minutes to start Java.
SECONDS = 900


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with eight pages of one site, and a bad record."""
    (tmp_path / "in.jsonl").write_bytes(as_lines([*(a_row(number) for number in range(8)), b"{"]))
    return tmp_path


BATCH = [sys.executable, "-m", "scrapy", "dedup", "batch"]


def batch(folder: Path, *arguments: str, **environment: str) -> Outcome:
    command = [*BATCH, *arguments]
    done = subprocess.run(
        command, cwd=folder, env=os.environ | environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


@contextmanager
def batch_at_work(folder: Path, *arguments: str) -> Iterator[list[Outcome]]:
    """Give control while a batch writes; how it ended is in the list behind the context."""
    ended: list[Outcome] = []
    process = subprocess.Popen(
        [*BATCH, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        while process.poll() is None and not (folder / "out.part").exists():
            time.sleep(0.01)
        yield ended
        out, err = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
    ended.append(Outcome(process.returncode, out, err))


def write(*files: Path) -> None:
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()


def names(folder: Path) -> list[str]:
    """Return what is called out, or like it."""
    return sorted(one.name for one in folder.glob("out*"))


def test_what_a_batch_learned_is_known_to_later_calls(folder: Path) -> None:
    store = ["-s", f"DEDUP_PROJECT={PROJECT}", "-s", f"DEDUP_DATABASE_URL=sqlite:///{folder}/dedup.db"]

    write(folder / "out" / "pages" / "former", folder / "out.part" / "work" / "of-a-killed-batch")

    told = batch(folder, "--master", "local[1]", "in.jsonl", "out", "--remember", "--overwrite", *store)
    later = scrapy("dedup", "clean", "in.jsonl", "-O", "again.jsonl", "--json", *store, folder=folder)

    rows = sorted(pq.read_table(folder / "out" / "pages").to_pylist(), key=lambda row: row["place"])
    again = [json.loads(line) for line in (folder / "again.jsonl").read_bytes().splitlines()]
    assert told.code == 0, told.err
    assert told.out.startswith("8 pages cleaned (8 by template); 1 bad record passed over; 1 domain: 1 learned.\n")
    assert "in.jsonl, line 9: no JSON" in told.err
    assert [row["url"] for row in rows] == [f"{SITE}{number}" for number in range(8)]
    assert [row["cleaned_content"] for row in rows] == [row["cleaned_content"] for row in again]
    assert [one["status"] for one in later.json["domains"]] == ["known"]
    assert names(folder) == ["out"]
    assert not (folder / "out" / "pages" / "former").exists()


def test_a_plan_uses_what_a_crawl_learned_and_leaves_a_batch_at_work_alone(folder: Path) -> None:
    store = ["-s", f"DEDUP_PROJECT={PROJECT}", "-s", f"DEDUP_DATABASE_URL=sqlite:///{folder}/dedup.db"]
    scrapy("dedup", "clean", "in.jsonl", "-O", "clean.jsonl", "--remember", *store, folder=folder)
    write(folder / "out.part" / "work" / "survey")

    told = batch(folder, "--master", "local[1]", "in.jsonl", "out", "--plan", "--json", *store)

    assert told.code == 0, told.err
    assert told.json["pages"] == 8
    assert (told.json["files"], told.json["partitions"]) == (1, 1)
    assert [(one["domain"], one["status"]) for one in told.json["domains"]] == [("shop.example", "known")]
    assert names(folder) == ["out.part"]
    assert (folder / "out.part" / "work" / "survey").exists()


def test_what_is_missing_is_told(folder: Path) -> None:
    told = batch(folder, "--master", "local[1]", "in.jsonl", "out", JAVA_HOME=str(folder))

    assert told.code == 1
    assert told.err == (
        f"scrapy dedup: Spark needs Java 17 or later, and JAVA_HOME={folder} has no bin/java: install one, such as"
        " openjdk-17-jre-headless\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--conf", "memory"], "--conf memory: needs KEY=VALUE", id="conf"),
        pytest.param(["-s", "DEDUP_EMIT_CHUNKS=1"], "DEDUP_EMIT_CHUNKS: a row is a page here", id="chunks"),
    ],
)
def test_wrong_calls_are_refused_before_spark_starts(folder: Path, arguments: list[str], message: str) -> None:
    told = batch(folder, "in.jsonl", "out", *arguments)

    assert told.code == 2
    assert message in told.err


@pytest.mark.parametrize(
    ("there", "options", "message"),
    [
        pytest.param("out/mine", [], "out: is there already; --overwrite replaces it", id="not-said"),
        pytest.param("out/mine", ["--overwrite"], "out: has 'mine', which no batch wrote", id="somebody-else's"),
        pytest.param("out.part/pages/1", [], "out.part: is there already", id="finished-before"),
        pytest.param("out.replaced/pages/1", ["--overwrite"], "out.replaced: is there already", id="replaced-before"),
    ],
)
def test_what_is_there_is_left_alone(folder: Path, there: str, options: list[str], message: str) -> None:
    write(folder / there)

    told = batch(folder, "--master", "local[1]", "in.jsonl", "out", *options)

    assert told.code == 2
    assert message in told.err
    assert (folder / there).exists()


def test_finished_pages_are_kept_where_their_name_is_taken_meanwhile(folder: Path) -> None:
    with batch_at_work(folder, "--master", "local[1]", "in.jsonl", "out") as ended:
        write(folder / "out" / "mine")

    (told,) = ended
    assert told.code == 1
    assert "out.part cannot be given the name out: it is taken" in told.err
    assert "the finished pages are in out.part" in told.err
    assert pq.read_table(folder / "out.part" / "pages").num_rows == 8
    assert (folder / "out" / "mine").exists()
    assert names(folder) == ["out", "out.part"]

"""`scrapy dedup clean --spark` as a user calls it."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.commands.running import PROJECT, Outcome, scrapy
from tests.servers_here import made_once, required_java
from tests.service.files.test_run import SITE, a_row, as_lines
from tests.tables import table

# A machine that does much else takes minutes to start Java.
SECONDS = 900
ROOT = Path(__file__).parents[3]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_pages(tmp_path)
    return tmp_path


def write_pages(folder: Path) -> None:
    """Write eight pages of one site, and a bad record."""
    (folder / "in.jsonl").write_bytes(as_lines([*(a_row(number) for number in range(8)), b"{"]))


def write(*files: Path) -> None:
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()


STORE = ["-s", f"DEDUP_PROJECT={PROJECT}", "-s", "DEDUP_DATABASE_URL=sqlite:///dedup.db"]
LEARNS = ["--master", "local[1]", "in.jsonl", "learns", "--remember", "--overwrite", *STORE]
PLANS = ["--master", "local[1]", "in.jsonl", "plans", "--plan", "--json", *STORE]
COMES_LATE = ["--master", "local[1]", "in.jsonl", "late"]
LEFT_ALONE = {
    "here/mine": ([], "here: is there already; --overwrite replaces it"),
    "other/mine": (["--overwrite"], "other: has 'mine', which no batch wrote"),
    "finished.part/pages/1": ([], "finished.part: is there already"),
    "former.replaced/pages/1": (["--overwrite"], "former.replaced: is there already"),
}


def run_batches(folder: Path) -> dict[str, Any]:
    """Return what each of some batches said, and where; they share a process, and Java.

    When the last one writes, its name is taken by somebody else.
    """
    required_java()
    write_pages(folder)
    write(folder / "learns" / "pages" / "former", folder / "learns.part" / "work" / "of-a-killed-batch")
    write(folder / "plans.part" / "work" / "survey")
    refused = []
    for there, (options, _) in LEFT_ALONE.items():
        write(folder / there)
        refused.append(["--master", "local[1]", "in.jsonl", there.partition("/")[0].partition(".")[0], *options])
    calls = [["scrapy", "dedup", "clean", "--spark", *arguments] for arguments in (LEARNS, PLANS, *refused, COMES_LATE)]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.commands.several_calls", json.dumps(calls)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        while process.poll() is None and not (folder / "late.part").exists():
            time.sleep(0.01)
        write(folder / "late" / "mine")
        out, _ = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
    return {"folder": str(folder), "told": json.loads(out)}


@pytest.fixture(scope="module")
def batches() -> tuple[Path, list[Outcome]]:
    made = made_once("batches", run_batches)
    return Path(made["folder"]), [Outcome(**told) for told in made["told"]]


def names(folder: Path, name: str) -> list[str]:
    """Return what is called so, or like it."""
    return sorted(one.name for one in folder.glob(f"{name}*"))


def test_what_a_batch_learned_is_known_to_later_calls(batches: tuple[Path, list[Outcome]]) -> None:
    folder, (told, *_) = batches

    later = scrapy("dedup", "clean", "in.jsonl", "-O", "again.jsonl", "--json", *STORE, folder=folder)

    rows = sorted(pq.read_table(folder / "learns" / "pages").to_pylist(), key=lambda row: row["place"])
    again = [json.loads(line) for line in (folder / "again.jsonl").read_bytes().splitlines()]
    assert told.code == 0, told.err
    assert told.out.startswith("8 pages cleaned (8 by template); 1 bad record passed over; 1 domain: 1 learned.\n")
    assert "in.jsonl, line 9: no JSON" in told.err
    assert [row["url"] for row in rows] == [f"{SITE}{number}" for number in range(8)]
    assert [row["cleaned_content"] for row in rows] == [row["cleaned_content"] for row in again]
    assert [one["status"] for one in later.json["domains"]] == ["known"]
    assert names(folder, "learns") == ["learns"]
    assert not (folder / "learns" / "pages" / "former").exists()


def test_a_plan_uses_what_was_learned_and_leaves_a_batch_at_work_alone(batches: tuple[Path, list[Outcome]]) -> None:
    folder, (_, told, *_) = batches

    assert told.code == 0, told.err
    assert told.json["pages"] == 8
    assert (told.json["files"], told.json["partitions"]) == (1, 1)
    assert [(one["domain"], one["status"]) for one in told.json["domains"]] == [("shop.example", "known")]
    assert names(folder, "plans") == ["plans.part"]
    assert (folder / "plans.part" / "work" / "survey").exists()


def test_finished_pages_are_kept_where_their_name_is_taken_meanwhile(batches: tuple[Path, list[Outcome]]) -> None:
    folder, (*_, told) = batches

    assert told.code == 1
    assert "late.part cannot be given the name late: it is taken" in told.err
    assert "the finished pages are in late.part" in told.err
    assert pq.read_table(folder / "late.part" / "pages").num_rows == 8
    assert (folder / "late" / "mine").exists()
    assert names(folder, "late") == ["late", "late.part"]


def batch(folder: Path, *arguments: str, **environment: str) -> Outcome:
    return scrapy("dedup", "clean", "--spark", *arguments, folder=folder, **environment)


def test_what_is_missing_is_told(folder: Path) -> None:
    told = batch(folder, "--master", "local[1]", "in.jsonl", "out", JAVA_HOME=str(folder))

    assert told.code == 1
    assert told.err == (
        f"scrapy dedup: Spark needs Java 17 or later, and JAVA_HOME={folder} has no bin/java: install one, such as"
        " openjdk-17-jre-headless\n"
    )


@table("verb_batch/wrong_calls_are_refused_before_spark_starts")
def test_wrong_calls_are_refused_before_spark_starts(folder: Path, arguments: list[str], message: str) -> None:
    told = batch(folder, "in.jsonl", "out", *arguments)

    assert told.code == 2
    assert message in told.err


def test_what_is_there_is_left_alone(batches: tuple[Path, list[Outcome]]) -> None:
    folder, (_, _, *refused, _) = batches

    for (there, (_, message)), told in zip(LEFT_ALONE.items(), refused, strict=True):
        assert told.code == 2
        assert message in told.err
        assert (folder / there).exists()

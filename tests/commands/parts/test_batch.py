import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.batch.test_spark import LEFT_ALONE, STORE, run_batches, write_pages
from tests.commands.running import Outcome, scrapy
from tests.servers_here import made_once
from tests.service.files.test_run import SITE
from tests.tables import table


@pytest.fixture
def folder(tmp_path) -> Path:
    write_pages(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def batches() -> tuple[Path, list[Outcome]]:
    made = made_once("batch", run_batches)
    return Path(made["folder"]), [Outcome(**told) for told in made["told"]]


def names(folder: Path, name: str) -> list[str]:
    return sorted(one.name for one in folder.glob(f"{name}*"))


def test_what_a_batch_learned_is_known_to_later_calls(batches):
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


def test_a_plan_uses_what_was_learned_and_leaves_a_batch_at_work_alone(batches):
    folder, (_, told, *_) = batches

    assert told.code == 0, told.err
    assert told.json["pages"] == 8
    assert (told.json["files"], told.json["partitions"]) == (1, 1)
    assert [(one["domain"], one["status"]) for one in told.json["domains"]] == [("shop.example", "known")]
    assert names(folder, "plans") == ["plans.part"]
    assert (folder / "plans.part" / "work" / "survey").exists()


def test_finished_pages_are_kept_where_their_name_is_taken_meanwhile(batches):
    folder, (*_, told) = batches

    assert told.code == 1
    assert "late.part cannot be given the name late: it is taken" in told.err
    assert "the finished pages are in late.part" in told.err
    assert pq.read_table(folder / "late.part" / "pages").num_rows == 8
    assert (folder / "late" / "mine").exists()
    assert names(folder, "late") == ["late", "late.part"]


def batch(folder: Path, *arguments: str, **environment: str) -> Outcome:
    return scrapy("dedup", "clean", "--spark", *arguments, folder=folder, **environment)


def test_what_is_missing_is_told(folder):
    told = batch(folder, "--master", "local[1]", "in.jsonl", "out", JAVA_HOME=str(folder))

    assert told.code == 1
    assert told.err == (
        f"scrapy dedup: Spark needs Java 17 or later, and JAVA_HOME={folder} has no bin/java: install one, such as"
        " openjdk-17-jre-headless\n"
    )


@table("verb_batch/wrong_calls_are_refused_before_spark_starts")
def test_wrong_calls_are_refused_before_spark_starts(folder, arguments, message):
    told = batch(folder, "in.jsonl", "out", *arguments)

    assert told.code == 2
    assert message in told.err


def test_what_is_there_is_left_alone(batches):
    folder, (_, _, *refused, _) = batches

    for (there, (_, message)), told in zip(LEFT_ALONE.items(), refused, strict=True):
        assert told.code == 2
        assert message in told.err
        assert (folder / there).exists()

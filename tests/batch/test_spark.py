"""A batch on Spark, over files of all kinds that several tasks read at once."""

import gzip
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec import to_builtins

from scrapy_dedup.batch.records import WARC_BREAK
from scrapy_dedup.service.files.inputs import Inputs
from scrapy_dedup.service.files.run import CleaningRun
from scrapy_dedup.settings import Settings
from tests.batch import files_on_spark
from tests.batch.corpora import MIXED, PATIENT, a_page
from tests.servers_here import made_once, required_java
from tests.service.files.test_run import Watching, a_row, as_lines, nothing, without_seconds
from tests.service.warc_files import a_record, an_answer
from tests.tables import table

# A machine that does much else takes minutes to start Java.
SECONDS = 900
ROOT = Path(__file__).parents[2]
UNWANTED = {"pandas", "scrapy", "twisted", "sqlalchemy", "alembic", "scrapy_dedup.store", "scrapy_dedup.plugin"}


def warc(rows: Sequence[dict[str, Any]]) -> bytes:
    records = [an_answer(row["url"], row["html"].encode()) for row in rows]
    return a_record("https://tea.example/0", b"GET / HTTP/1.1\r\n\r\n", b"request") + b"".join(records)


def write_corpus(found: Path) -> None:
    """Write the corpus in files of all kinds, and as `clean` can read it."""
    first, second = MIXED[::2], MIXED[1::2]
    odd = a_page("tea.example", "warc", f"<p>A file of archives has {WARC_BREAK}0 between two records.")
    archived = [a_page("tea.example", f"w{n}", f"<p>Leaf {n} of an archive of teas." * 40) for n in range(9)]
    archived.insert(4, odd)
    rows = [a_page("cocoa.example", f"p{n}", f"<p>Bean {n} in columns of cocoa." * 40) for n in range(9)]
    (found / "a b.jsonl").write_bytes(as_lines(first))
    (found / "b.jsonl.gz").write_bytes(gzip.compress(as_lines(second)))
    (found / "c.warc").write_bytes(warc(archived))
    (found / "d.jsonl").write_bytes(as_lines(rows))
    columns = {"url": [row["url"] for row in rows], "content": [row["html"].encode() for row in rows]}
    pq.write_table(pa.table(columns), found / "d.parquet", row_group_size=3)


STORE = ["-s", "DEDUP_PROJECT=shop", "-s", "DEDUP_DATABASE_URL=sqlite:///dedup.db"]
LEFT_ALONE = {
    "here/mine": ([], "here: is there already; --overwrite replaces it"),
    "other/mine": (["--overwrite"], "other: has 'mine', which no batch wrote"),
    "finished.part/pages/1": ([], "finished.part: is there already"),
    "former.replaced/pages/1": (["--overwrite"], "former.replaced: is there already"),
}
CALLS = [
    ["learns", "--remember", "--overwrite", *STORE],
    ["plans", "--plan", "--json", *STORE],
    *([there.partition("/")[0].partition(".")[0], *options] for there, (options, _) in LEFT_ALONE.items()),
    ["late"],
]


def write_pages(folder: Path) -> None:
    """Write eight pages of one site, and a bad record."""
    (folder / "in.jsonl").write_bytes(as_lines([*(a_row(number) for number in range(8)), b"{"]))


def run_batches(folder: Path) -> dict[str, Any]:
    """Return what came of a batch, of the folders that Hadoop gave names, and of commands: one Java for all.

    When the last command writes, its name is taken by somebody else.
    """
    required_java()
    write_corpus(folder)
    write_pages(folder)
    for file in (*LEFT_ALONE, "learns/pages/former"):
        files_on_spark.put(str(folder / file))
    for killed in ("learns.part", "plans.part"):
        files_on_spark.put(str(folder / killed / "work" / "survey"))
    names = ["a b.jsonl", "b.jsonl.gz", "c.warc", "d.parquet"]
    calls = [["scrapy", "dedup", "clean", "--spark", "--master", "local[1]", "in.jsonl", *call] for call in CALLS]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.batch.on_spark", json.dumps([names, calls])],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])},
    )
    try:
        while process.poll() is None and not (folder / "late.part").exists():
            time.sleep(0.01)
        files_on_spark.put(str(folder / "late" / "mine"))
        assert process.wait(SECONDS) == 0
    finally:
        process.kill()
    return {"folder": str(folder), **json.loads((folder / "found.json").read_text())}


@pytest.fixture(scope="module")
def batch() -> dict[str, Any]:
    found: dict[str, Any] = made_once("batch", run_batches)
    return found


@pytest.fixture(scope="module")
def folder(batch) -> Path:
    return Path(batch["folder"])


@pytest.fixture(scope="module")
def clean(folder) -> dict[str, Any]:
    names = [str(folder / name) for name in ("a b.jsonl", "b.jsonl.gz", "c.warc", "d.jsonl")]
    watching = Watching()
    with Inputs(names, io.BytesIO()) as inputs, CleaningRun(inputs, Settings(pdf_timeout=PATIENT), watching) as run:
        plan = to_builtins(run.survey(nothing))
        list(run.learn())
        rows = [json.loads(line) for line in run.lines()]
        return {"plan": plan, "rows": rows, "tally": run.tally, "left": watching.left, "bad": watching.bad}


def written(folder: Path, name: str) -> list[dict[str, Any]]:
    rows = pq.read_table(folder / "out" / name).to_pylist()
    return [
        {key: json.loads(value) if key == "dedup" else value for key, value in row.items() if key != "place"}
        for row in sorted(rows, key=lambda row: row["place"])
    ]


def test_each_row_is_that_of_clean(folder, batch, clean):
    assert written(folder, "pages") == clean["rows"]
    assert batch["parts"] > len(batch["kinds"])
    assert batch["kinds"] == ["lines", "lines", "warc", "parquet"]


def test_the_same_is_left_out_counted_planned_and_told_as_by_clean(folder, batch, clean):
    assert batch["pages"] == len(clean["rows"])
    assert written(folder, "left_out") == clean["left"] != []

    assert without_seconds(batch["counts"]) == without_seconds(clean["tally"].counts)
    assert batch["plan"] == clean["plan"]
    assert batch["no_page"] == clean["tally"].no_page

    assert [told.partition(": ")[2] for told in batch["bad"]] == [one.reason for one in clean["bad"]]


def test_executors_import_neither_pandas_nor_scrapy_nor_a_database(batch):
    assert {"scrapy_dedup.batch.steps"} <= set(batch["modules"])
    assert not UNWANTED & set(batch["modules"])


def test_what_came_to_the_driver_is_not_kept(batch):
    assert batch["queries_kept"] == 0


def test_what_is_written_at_once_is_bounded_where_pages_are_large(folder, batch):
    assert batch["pages"]
    [file] = (folder / "out" / "large").glob("*.parquet")
    written = pq.ParquetFile(file).metadata
    assert written.num_rows == 60
    assert all(written.row_group(number).num_rows <= 30 for number in range(written.num_row_groups))


# Folders that get another name, as Hadoop gives it.


@table("batch/renamed")
def test_folders_are_renamed_as_hadoop_renames_them(batch, case, message, files):
    """Hadoop would move a folder into one whose name it is given."""
    assert batch["renamed"][case] == {"message": message, "files": files}


def test_what_cannot_be_replaced_is_put_back(batch):
    """Here because there is no new folder."""
    found = batch["renamed"]["put-back"]
    assert found["files"] == {"d/out/2": "d/out/2"}
    assert found["message"].startswith("d/part cannot be given the name d/out: ")
    assert "FileNotFound" in found["message"]

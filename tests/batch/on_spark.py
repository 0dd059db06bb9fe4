"""Batches in one process, for Java takes seconds to start: one by its steps, then those that commands start.

`python -m tests.batch.on_spark JSON`, of the names of files and the commands, leaves in found.json what came of them.
"""

import io
import json
import random
import sys
from collections.abc import Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pyarrow as pa
from msgspec import to_builtins
from scrapy.cmdline import execute

from scrapy_dedup.batch import steps
from scrapy_dedup.batch.columns import batch_of, schema_of
from scrapy_dedup.batch.run import BatchRun
from scrapy_dedup.batch.session import Files, started
from scrapy_dedup.settings import Settings
from tests.batch import files_on_spark
from tests.batch.corpora import PATIENT

# So that files of some kilobytes are read by several tasks.
SMALL_PARTS = {"spark.sql.files.maxPartitionBytes": "30k", "spark.sql.files.openCostInBytes": "1k"}


class Notes:
    """Takes notes."""

    def __init__(self) -> None:
        self.bad: list[str] = []

    def phase(self, name: str) -> None:
        """Take no note."""

    def complain(self, told: str) -> None:
        self.bad.append(told)


def modules(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    assert steps.SiteSurvey.__doc__
    for _ in batches:
        yield batch_of([(name,) for name in sorted(sys.modules)], schema_of("name string"))


def large(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield a text of 200 kB for each row, in which nothing repeats."""
    for batch in batches:
        yield batch_of(
            [(random.Random(number).randbytes(100_000).hex(),) for number in batch["id"].to_pylist()],
            schema_of("text string"),
        )


def main(out: str, *names: str) -> dict[str, Any]:
    notes = Notes()
    with started("local[2]", SMALL_PARTS) as spark:
        inputs, settings = Files(spark).find(names), Settings(pdf_timeout=PATIENT)
        with BatchRun(spark, inputs, settings, notes, f"{out}/work") as batch:
            plan = batch.survey(lambda _domain: None)
            batch.learn()
            batch.cut()
            tally = batch.judge()
            batch.write(out)
            parts = batch.partitions
            # Its jobs hold what they gave.
            kept = spark.sparkContext._jsc.sc().dagScheduler().activeQueryToJobs().size()
        spark.range(0, 60, 1, 1).mapInArrow(large, "text string").write.parquet(f"{out}/large")
        renamed = files_on_spark.cases(Files(spark))
        imported = [row.name for row in spark.range(0, 1, 1, 1).mapInArrow(modules, "name string").collect()]
    return {
        "kinds": [one.kind for one in inputs],
        "parts": parts,
        "queries_kept": kept,
        "plan": to_builtins(plan),
        "pages": tally.pages,
        "counts": dict(tally.counts),
        "bad": notes.bad,
        "no_page": tally.no_page,
        "modules": imported,
        "renamed": renamed,
    }


def outcome_of(arguments: list[str]) -> dict[str, object]:
    out, err, code = io.StringIO(), io.StringIO(), 0
    with redirect_stdout(out), redirect_stderr(err):
        sys.argv = arguments
        try:
            execute(arguments)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
    return {"code": code, "out": out.getvalue(), "err": err.getvalue()}


if __name__ == "__main__":
    names, calls = json.loads(sys.argv[1])
    found = main("out", *names) | {"told": [outcome_of(call) for call in calls]}
    Path("found.json").write_text(json.dumps(found))

"""`scrapy dedup clean` on the hospital's site: each page and each text once, in any order and by any number of jobs."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.commands.running import Outcome, scrapy
from tests.hospital.outcomes import given, known, reports_of
from tests.hospital.site import FEW, addresses, rows, site
from tests.service.files.test_run import as_lines

NL = ("-s", "DEDUP_LANGUAGES=nl", "-s", "DEDUP_ITEM_DETAILS=chunks")
OUT = FEW.ledger_of_files["items/out"]


def clean(folder: Path, *arguments: str, seed: int | None = None) -> Outcome:
    pages = site(FEW)
    (folder / "in.jsonl").write_bytes(as_lines(rows(pages, addresses(pages, FEW, seed))))
    return scrapy("dedup", "clean", "in.jsonl", "-O", "out.jsonl", *NL, *arguments, folder=folder)


def written(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "out.jsonl").read_bytes().splitlines()]


@pytest.mark.parametrize("seed", [None, 1], ids=["in-order", "shuffled"])
def test_every_page_and_every_text_goes_out_once_and_the_same_by_any_number_of_jobs(tmp_path, seed):
    told = clean(tmp_path, seed=seed)
    alone = (tmp_path / "out.jsonl").read_bytes()

    reports = reports_of(written(tmp_path))
    assert told.code == 0
    assert told.out.startswith(f"{OUT} pages cleaned ({OUT} by template)")
    assert len(reports) == OUT
    assert set(given(reports).values()) == {1}
    assert set(given(reports)) == known(reports)
    if seed is None:
        clean(tmp_path, "--jobs", "3")
        assert (tmp_path / "out.jsonl").read_bytes() == alone


def test_layers_that_are_off_write_every_page(tmp_path):
    layers = dict.fromkeys(("url", "canonical", "title", "duplicate"), False)
    clean(tmp_path, "-s", f"DEDUP_LAYERS={json.dumps(layers)}")

    assert len(written(tmp_path)) == FEW.pages + FEW.repeated_addresses


def test_editions_of_two_years_go_out_where_near_duplicates_are_dropped(tmp_path):
    clean(tmp_path, "-s", "DEDUP_NEAR_DUPLICATE=drop")

    assert len(written(tmp_path)) == OUT


def test_chunks_are_rows_where_that_was_chosen(tmp_path):
    clean(tmp_path, "-s", 'DEDUP_CHUNK={"emit": 1}')

    found = written(tmp_path)
    chunks = [row for row in found if "cleaned_content" not in row]
    assert len(found) - len(chunks) == OUT
    assert {row["url"] for row in chunks} == {row["url"] for row in found}
    assert sum(row.get("layer") == "language" for row in chunks) == FEW.french + FEW.german
    assert sum(row.get("layer") == "chunk" for row in chunks) == FEW.chunks_dropped()

"""The figures of docs/benchmarks.md are those of benchmarks/results."""

import mmap
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.waiting import is_running, wait_for

tables = pytest.importorskip("benchmarks.tables", reason="the benchmarks are not beside these tests")
from benchmarks import growth_picture  # noqa: E402
from benchmarks.all import TASKS, run_within  # noqa: E402
from benchmarks.figures import BLOCKS, GROWTH  # noqa: E402

ROOT = Path(__file__).parents[1]


def a_result(figures: dict[str, Any]) -> dict[str, Any]:
    return {
        "command": "python -m benchmarks.made --json made.json",
        "date": "2026-11-22",
        "machine": {"cores": 2, "system": "Linux", "processor": "x86_64"},
        "python": "3.11.7",
        "packages": {"scrapy": "2.19.0"},
        "figures": figures,
    }


def a_crawl(pages: int, ms: float = 12.0) -> dict[str, Any]:
    return {
        "pages": pages,
        "cpu_ms_a_page": ms,
        "cpu_ms_of_making_a_page": 2.0,
        "last_tenth_to_first_by_cpu": 0.97,
        "peak_mb": 300.0,
        "store_bytes_a_page": 5_500.0,
    }


def page(name: str) -> str:
    return f"Before.\n\n<!-- figures: {name} -->\nold figures\n<!-- end of figures -->\n\nAfter.\n"


@pytest.mark.parametrize("name", ["benchmarks.md", "benchmarks.svg", "growth.svg", "soak.svg"])
def test_figures_in_the_docs_are_those_of_the_results(name):
    written = tables.written(tables.DOCS, tables.read(tables.RESULTS))

    if name in written:
        found = (tables.DOCS / name).read_text(encoding="utf-8")
        assert found == written[name], "run `python -m benchmarks.tables`"


def test_every_block_is_in_the_docs_and_each_of_its_results_is_made_by_a_benchmark():
    docs = (tables.DOCS / "benchmarks.md").read_text(encoding="utf-8")
    made = {task.name for task in TASKS}

    for name, (needed, _) in BLOCKS.items():
        assert f"<!-- figures: {name} -->" in docs
        assert set(needed) <= made


def test_what_was_not_run_says_so_and_has_no_figures():
    written = tables.with_figures(page("seen"), {})

    assert "old figures" not in written
    assert "Not run yet: `seen_urls`" in written
    assert written.startswith("Before.\n")
    assert written.endswith("\nAfter.\n")


def test_each_table_says_where_its_figures_come_from():
    written = tables.with_figures(page("growth"), {"pages_1000": a_result(a_crawl(1_000))})

    assert "`python -m benchmarks.made`, 2026-11-22." in written


def test_writing_again_changes_nothing():
    results_ = {name: a_result(a_crawl(10**power)) for power, name in enumerate(GROWTH, 3)}
    once = tables.with_figures(page("growth"), results_)

    assert tables.with_figures(once, results_) == once
    assert "![Cost as the work grows" in once


@pytest.mark.parametrize("sizes", [(1_000, 10_000), (1_000, 10_000, 100_000, 1_000_000), (700, 800)])
def test_picture_of_growth_is_valid_and_says_its_figures(sizes):
    drawn = growth_picture.draw([growth_picture.Point(pages, 10.0 + pages / 1_000, 300.0) for pages in sizes])

    root = ET.fromstring(drawn)
    text = "".join(root.itertext())
    assert all(f"{pages:,} pages: " in text for pages in sizes)
    places = [float(one.get("cx", "")) for one in root.iter("{http://www.w3.org/2000/svg}circle")]
    assert len(places) == 2 * len(sizes)
    assert all(0 < place < growth_picture.WIDTH for place in places)


def test_benchmark_that_takes_too_long_is_ended_with_its_children(tmp_path):
    """Its former result stands then."""
    program = f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {program!r}])"

    assert run_within([sys.executable, "-c", parent], 3) is None
    child = int((tmp_path / "pid").read_text())
    wait_for(lambda: not is_running(child))


@pytest.mark.parametrize("code", [0, 3])
def test_benchmark_that_ends_in_time_says_how(code):
    assert run_within([sys.executable, "-c", f"raise SystemExit({code})"], 60) == code


def test_a_file_is_held_in_memory_until_it_is_gone(tmp_path):
    path = tmp_path / "store"
    path.write_bytes(bytes(1_000_000))
    command = [sys.executable, "-m", "benchmarks.held_file", str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        held = int(process.stdout.readline())
        status = Path(f"/proc/{process.pid}/status").read_text()
        path.unlink()

        assert process.wait(60) == 0
    assert 1_000_000 - mmap.PAGESIZE < held <= 1_000_000
    assert int(re.findall(r"VmLck:\s+(\d+) kB", status)[0]) * 1024 == held

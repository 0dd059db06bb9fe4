"""Cleaning without a crawl: what is chosen to learn from, the order of results, and how the output is written."""

import gc
import io
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import pytest

from scrapy_dedup.service.files.inputs import Inputs
from scrapy_dedup.service.files.inputs_records import BadRecord
from scrapy_dedup.service.files.output import replacing_alone
from scrapy_dedup.service.files.run import CleaningPlan, CleaningRun, WorkerError, Workers
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.scratch import MOST_SAMPLE_BYTES, Samples
from tests.standing import CASES, SETTINGS, counts_of, out_of, rows

SITE = "https://shop.example/"


class Watching:
    """Takes notes."""

    def __init__(self) -> None:
        self.phases: list[str] = []
        self.read = 0
        self.bad: list[BadRecord] = []
        self.left: list[dict[str, Any]] = []

    def phase(self, name: str) -> None:
        self.phases.append(name)

    def advance(self, some: int) -> None:
        self.read += some

    def complain(self, bad: BadRecord) -> None:
        self.bad.append(bad)

    def left_out(self, left: Mapping[str, Any]) -> None:
        self.left.append(dict(left))


def without_seconds(counts: Mapping[str, float]) -> dict[str, float]:
    return {name: number for name, number in counts.items() if not name.startswith("seconds/")}


def a_page(number: int, menu: str = "Home Products Contact") -> str:
    text = f"Tea number {number} grows at {100 + number} metres; it tastes of the {number}th spring. " * 5
    return (
        f"<html><head><title>Tea {number}</title></head><body><div class=menu><p>{menu}</p></div>"
        f"<main><h1>Tea {number}</h1><p>{text}</p></main><footer><p>Imprint and privacy</p></footer></body></html>"
    )


def a_row(number: int, site: str = SITE, **fields: Any) -> dict[str, Any]:
    return {"url": f"{site}{number}", "html": a_page(number), **fields}


def as_lines(rows: Sequence[Any]) -> bytes:
    return b"".join((row if isinstance(row, bytes) else json.dumps(row).encode()) + b"\n" for row in rows)


def nothing(_domain: str) -> None:
    """Know no domain."""


class Done:
    """A run that is over."""

    def __init__(self, *rows: Any, jobs: int = 1, strict: bool = False, **settings: Any) -> None:
        self.watching = Watching()
        with (
            Inputs(["-"], io.BytesIO(as_lines(rows))) as inputs,
            CleaningRun(inputs, Settings(**settings), self.watching, jobs=jobs, strict=strict) as run,
        ):
            self.plan: CleaningPlan = run.survey(nothing)
            list(run.learn())
            self.lines = list(run.lines())
            self.tally = run.tally
            self.total = inputs.total

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]

    @property
    def contents(self) -> list[str]:
        return [row["cleaned_content"] for row in self.rows]


class TestRun:
    def test_the_order_of_pages_changes_no_page(self):
        rows = [a_row(number) for number in range(30)]

        there, back = Done(*rows, learn_pages=10), Done(*rows[::-1], learn_pages=10)

        assert there.lines == back.lines[::-1]

    def test_each_pass_tells_of_every_byte(self):
        done = Done(*map(a_row, range(8)))

        assert done.watching.read == 2 * done.total
        assert done.watching.phases == ["surveying", "learning", "cleaning"]

    def test_the_output_is_utf_8_whatever_the_page_holds(self):
        done = Done({"url": f"{SITE}\ud83d", "html": "<p>tea \U0001f375"})

        assert done.rows[0]["url"] == f"{SITE}\ufffd"
        assert "tea \U0001f375".encode() in done.lines[0]


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in CASES.items()])
def test_a_page_goes_out_unless_another_proves_that_it_has_its_text(case):
    done = Done(*rows(case, "https://a.example"), **SETTINGS)

    assert out_of([row["url"] for row in done.rows], "https://a.example") == case.out
    assert counts_of(done.tally.counts) == case.counts


def test_what_stands_for_a_page_is_told():
    done = Done(*rows(CASES["equal-of-one-that-was-not-proven"], "https://a.example"), **SETTINGS)

    (left,) = done.watching.left
    assert left == {
        "url": "https://a.example/c",
        "layer": "duplicate",
        "reason": "the same text",
        "keeper": "https://a.example/b",
    }


class TestSamples:
    def test_a_sample_is_bounded_in_bytes(self):
        with Samples() as samples:
            for place in range(5):
                samples.add("a", bytes([place]), place, MOST_SAMPLE_BYTES // 3)
            samples.add("b", b"x", 5, 2 * MOST_SAMPLE_BYTES)

            assert (samples.choose("a", 60), samples.choose("b", 60)) == (3, 1)


def doubled(given: int) -> int:
    time.sleep(0.01 * (given % 3))
    return 2 * given


def failing(given: int) -> int:
    raise ValueError(given)


def collecting(_given: int) -> tuple[tuple[int, int, int], bool]:
    return gc.get_threshold(), gc.get_freeze_count() > 0


def dying(_given: int) -> None:
    os._exit(9)


@pytest.mark.parametrize("jobs", [1, 2])
def test_workers_give_results_in_order_draw_little_ahead_and_raise_what_a_task_raises(jobs):
    drawn = 0

    def lots(size: int) -> Iterator[tuple[int, int]]:
        nonlocal drawn
        for drawn in range(1, 100):
            yield size, drawn

    with Workers(jobs) as workers:
        assert list(workers.in_order(doubled, ((1, each) for each in range(30)))) == list(range(0, 60, 2))
        for size, most in ((10**9, 2), (1, 3 * jobs + 1)):
            next(results := workers.in_order(doubled, lots(size)))
            assert drawn <= most
            results.close()  # type: ignore[attr-defined]
        with pytest.raises(ValueError, match="5"):
            list(workers.in_order(failing, [(1, 5)]))
        assert list(workers.in_order(collecting, [(1, 0)])) == [(gc.get_threshold(), True)]


def test_a_process_that_dies_is_told():
    with Workers(2) as workers, pytest.raises(WorkerError, match="fewer --jobs"):
        list(workers.in_order(dying, [(1, 1)]))


class TestOutput:
    def test_a_file_is_there_once_it_is_whole(self, tmp_path):
        path = tmp_path / "out"
        path.write_text("before")

        with replacing_alone(path) as file:
            file.write(b"after")
            assert path.read_text() == "before"

        assert path.read_text() == "after"
        assert list(tmp_path.iterdir()) == [path]

    def test_an_exception_leaves_what_was_there(self, tmp_path):
        path = tmp_path / "out"
        path.write_text("before")

        with suppress(KeyError), replacing_alone(path) as file:
            file.write(b"after")
            raise KeyError

        assert path.read_text() == "before"
        assert list(tmp_path.iterdir()) == [path]

    def test_a_link_is_followed(self, tmp_path):
        (tmp_path / "link").symlink_to(tmp_path / "out")

        with replacing_alone(tmp_path / "link") as file:
            file.write(b"x")

        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "out").read_text() == "x"

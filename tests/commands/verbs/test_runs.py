from datetime import timedelta
from typing import Any

import pytest

from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.store.records.records import VisitRecord
from tests.service.stored_pages import NOON, a_url

HOUR = timedelta(hours=1)


@pytest.fixture
def runs(shop) -> list[str]:
    """A run that finished, one that was stopped, and one that goes on; after the one of the shop, which is older."""
    began = []
    with shop.open() as store:
        project = shop.project(store)
        for day, ended in enumerate([("finished", "finished"), ("stopped", "shut\x1b[2Jdown"), None], 1):
            start = NOON + day * 24 * HOUR
            run = project.begin_run(spider="site", jobdir=None, started_at=start)
            began.append(str(run.id))
            for number, verdict in enumerate(["new", "changed", "unchanged", "unchanged", None]):
                visit: dict[str, Any] = {"bytes_received": 20_000, "seconds": 0.5, "callback_run": number < 2}
                key = page_key(a_url(number))
                project.write([VisitRecord(key, start + HOUR, "get", verdict, "because", **visit)])  # type: ignore[arg-type]
            if ended:
                status: Any = ended[0]
                project.end_run(run.id, status=status, reason=ended[1], stats={}, finished_at=start + 2.05 * HOUR)
    return began


def test_json_is_as_documented(shop, runs):
    found = shop.run("runs", "--json").json

    assert found["project"] == "shop"
    assert [run["id"] for run in found["runs"][:3]] == runs[::-1]
    assert found["runs"][2] == {
        "id": runs[0],
        "spider": "site",
        "status": "finished",
        "reason": "finished",
        "started_at": (NOON + 24 * HOUR).isoformat(),
        "finished_at": (NOON + 26.05 * HOUR).isoformat(),
        "seen_at": (NOON + 26.05 * HOUR).isoformat(),
        "so_far": None,
        "seconds": 7380.0,
        "visits": 5,
        "verdicts": {"new": 1, "changed": 1, "unchanged": 2},
        "callbacks": 2,
        "bytes_received": 100_000,
        "request_seconds": 2.5,
        "workers": [],
        "drop_alarms": [],
    }
    assert (found["runs"][0]["status"], found["runs"][0]["seconds"]) == ("running", None)


def test_a_run_under_way_says_how_far_it_is(shop):
    with shop.open() as store:
        project = shop.project(store)
        run = project.begin_run(spider="site", jobdir=None, started_at=NOON)
        (before,) = [one.run for one in project.runs(99) if one.run.id == run.id]
        project.report_run(run.id, {"response_received_count": 9, "item_scraped_count": 7}, NOON + HOUR)

    told = next(one for one in shop.run("runs", "--json").json["runs"] if one["id"] == str(run.id))

    assert (before.seen_at, before.silence(NOON)) == (None, None)
    assert (told["status"], told["seen_at"]) == ("running", (NOON + HOUR).isoformat())
    assert told["so_far"] == {"responses": 9, "items": 7}
    assert "silent" in shop.run("runs").out


def test_the_crawlers_of_a_shared_run_are_named(shop):
    with shop.open() as store:
        workers = [shop.project(store) for _ in range(2)]
        for project in workers:
            run = project.begin_run(spider="site", jobdir=None, started_at=NOON + 99 * HOUR, job="night")
            project.report_run(run.id, {"response_received_count": 9, "item_scraped_count": 7}, NOON + 100 * HOUR)
        workers[0].leave_run(
            run.id, status="stopped", reason="shutdown", stats={"item_scraped_count": 8}, finished_at=NOON + 100 * HOUR
        )

    told = shop.run("runs", "--json").json["runs"][0]

    assert told["so_far"] == {"responses": 9, "items": 15}
    # They began at one time: either may be first.
    assert {(worker["status"], worker["items"]) for worker in told["workers"]} == {("stopped", 8), ("running", 7)}
    assert len(told["workers"]) == 2
    assert "2 workers: 1 running, 1 stopped" in shop.run("runs").out


def test_a_person_reads_a_table_newest_first(shop, runs):
    lines = shop.run("runs").out.splitlines()

    assert [line.split()[0] for line in lines[2:5]] == [run[:8] for run in reversed(runs)]
    told = lines[4].replace("\N{NO-BREAK SPACE}", "_").split()
    assert told[1:] == ["site", "finished", "2026-03-02", "12:00", "2_h_03_min", "1", "1", "2", "0", "2", "100_k"]
    assert "stopped (shut⟨U+001B⟩[2Jdown)" in lines[3]
    assert "running" in lines[2]


@pytest.mark.parametrize(("options", "number"), [([], 4), (["-n", "2"], 2), (["-n", "100000"], 4)])
def test_so_many_are_listed(shop, runs, options, number):
    assert len(shop.run("runs", "--json", *options).json["runs"]) == number


def test_a_run_in_the_list_is_one_that_changes_knows(shop, runs):
    shown = shop.run("runs").out.splitlines()[3].split()[0]

    assert shop.run("changes", "--since", shown, "--json").json["since"]["run"] == runs[1]

"""Crawls that are killed at any moment: nothing is lost, and nothing counts as seen that never arrived."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.databases import postgresql
from tests.end_to_end.recrawl_site import ChangingSite
from tests.server import Answer

kills = pytest.importorskip("benchmarks.kills", reason="the benchmarks are not beside these tests")

from benchmarks import failing_store, faults, killed_world  # noqa: E402

__all__ = ["postgresql"]


def test_nothing_is_lost_and_nothing_wrongly_seen_in_four_kills_of_small_crawls():
    """The short form of `python -m benchmarks.kills`, half of whose changes are undone."""
    found = kills.run(kills.Trial(kills=4, pages=15, seed=11, undone=0.5, kills_in_a_world=2))

    assert found.kills == 4
    assert found.lost == []
    assert found.wrongly_seen == []
    assert found.failed == []
    assert found.items > 20
    assert found.unchanged > 20


def assert_nothing_is_lost(databases: faults.Databases = faults.no_database, **chosen: Any) -> None:
    """Run the short form of `python -m benchmarks.faults`."""
    trial = faults.Trial(pages=5, jobs=1, outputs=(killed_world.PIPELINE,), **chosen)
    counted, found = faults.run(trial, databases)

    assert min(counted.values()) > 50
    # Another crawl may write in some statements fewer: the last place of each may not be come to.
    places = [trial.places(fault, count * 9 // 10) for fault in trial.faults for count in counted.values()]
    assert found.kills >= sum(map(len, places)) >= len(places)
    assert [*found.lost, *found.wrongly_seen, *found.failed, *found.damaged] == []


def test_nothing_is_lost_where_the_first_crawl_dies_before_a_statement_of_its_writes():
    assert_nothing_is_lost(faults=(failing_store.CRASH,), every=90, crawls=(faults.FIRST,))


def test_nothing_is_lost_where_a_crawl_dies_before_a_statement_to_a_server(postgresql):
    @contextmanager
    def databases() -> Iterator[str]:
        with postgresql.new_store() as url:
            yield url.render_as_string(hide_password=False)

    assert_nothing_is_lost(databases, faults=(failing_store.CRASH,), every=60, crawls=(faults.AGAIN,))


def test_nothing_is_lost_where_the_next_crawl_dies_or_its_store_fails_in_the_middle():
    """The file that is replaced is the one whose log SQLite would have written into the new one."""
    fails = ("I/O errors to the end", failing_store.ANSWER_LOST, failing_store.REPLACED, faults.CLOCK)

    assert_nothing_is_lost(faults=(failing_store.CRASH, *fails), every=90, others_every=120, crawls=(faults.AGAIN,))


def test_version_that_comes_back_after_a_kill_is_emitted_over_the_one_that_went_out(project, server):
    """The store knows the old version alone, and whoever got the new one would have kept it for ever."""
    site = ChangingSite(server)

    def publish(**versions: int) -> None:
        site.versions = dict(versions)
        site.publish(others={"/p3": Answer(site.html("p3"))})

    publish()
    site.crawl(project)
    publish(p2=2, p3=2)
    # The feed stays open, so that no page counts as seen.
    running = project.start("walker", "-a", f"start={site.url('')}", DOWNLOAD_DELAY=0.2, DEDUP_UNCHANGED="skip")
    running.send_when(signal.SIGKILL, stored=2)
    running.finish()
    publish()

    again = site.crawl(project, DEDUP_UNCHANGED="skip")

    assert {"p2", "p3"} <= set(site.names_of(again.stored))

"""Claims of the workers of one run: one of them has each thing, and what a dead one has is done by others."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import URL, text, update

from scrapy_dedup.store.claim_records import (
    Claimant,
    ClaimDoneRecord,
    ClaimRecord,
    ClaimReleasedRecord,
    ClaimState,
    Kind,
    LeftPage,
    Wanted,
)
from scrapy_dedup.store.shared_models import RunWorker
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import a_key, a_time

ROOT = str(Path(__file__).parents[2])


def a_worker(store: Store, job: str = "job") -> ProjectStore:
    project = store.project("shop")
    project.begin_run(spider="site", jobdir=None, started_at=datetime.now(UTC), job=job, lease=timedelta(minutes=1))
    return project


def who(project: ProjectStore) -> Claimant:
    claimant = project.claimant
    assert claimant is not None
    return claimant


def a_page(name: object = 1, request: bytes | None = b"{}") -> Wanted:
    return Wanted(Kind.PAGE, a_key(name), a_key(name), request)


def claimed(project: ProjectStore, *wanted: Wanted) -> list[bool]:
    """Claim things; return which of them are ours."""
    found = project.claim(who(project), wanted)
    return [found[one.claim_key].ours for one in wanted]


def die(project: ProjectStore, status: str = "running") -> None:
    """Let a worker not be heard any more, or end by itself."""
    with project.transaction(write=True) as connection:
        gone = update(RunWorker).where(RunWorker.id == who(project).worker_id)
        connection.execute(gone.values(lease_until=a_time(), status=status))


def left(project: ProjectStore, limit: int = 10) -> list[LeftPage]:
    return project.left_by_the_dead(who(project), limit)


def test_first_worker_has_it_and_every_other_is_told_who(store: Store) -> None:
    first, second = a_worker(store), a_worker(store)
    wanted = Wanted(Kind.TEXT, a_key("text"), a_key("owner"))

    assert claimed(first, wanted) == [True]
    found = second.claim(who(second), [Wanted(Kind.TEXT, a_key("text"), a_key("other"))])

    holder = found[wanted.claim_key]
    assert (holder.ours, holder.owner, holder.worker_id) == (False, a_key("owner"), who(first).worker_id)


def test_asking_again_changes_nothing(store: Store) -> None:
    first, second = a_worker(store), a_worker(store)

    assert claimed(first, a_page()) == claimed(first, a_page(), a_page(2))[:1] == [True]
    assert claimed(second, a_page(), a_page(3)) == [False, True]
    assert claimed(first, a_page(), a_page(3)) == [True, False]


def test_runs_do_not_meet(store: Store) -> None:
    assert claimed(a_worker(store, "one"), a_page()) == claimed(a_worker(store, "other"), a_page()) == [True]


def test_claim_of_a_dead_worker_is_taken_over_exactly_once(store: Store) -> None:
    dead, second, third = (a_worker(store) for _ in range(3))
    claimed(dead, a_page())
    die(dead)

    taken = second.claim(who(second), [a_page()])[a_page().claim_key]

    assert (taken.ours, taken.taken_over) == (True, True)
    assert claimed(third, a_page()) == [False]
    assert not second.claim(who(second), [a_page()])[a_page().claim_key].taken_over


def test_what_a_dead_worker_completed_stays_done(store: Store) -> None:
    dead, second = a_worker(store), a_worker(store)
    claimed(dead, a_page())
    dead.write([ClaimDoneRecord(Kind.PAGE, a_key(), a_key())])
    die(dead)

    assert claimed(second, a_page()) == [False]
    assert left(second) == []
    assert second.holders(who(second), [a_page().claim_key])[a_page().claim_key].state is ClaimState.DONE


def test_pages_of_the_dead_are_handed_out_once_with_their_requests(store: Store) -> None:
    dead, second, third = (a_worker(store) for _ in range(3))
    claimed(dead, a_page(1, b"one"), a_page(2, b"two"), a_page(3, b"three"))
    assert left(second) == []
    die(dead)

    some, rest = left(second, limit=2), left(third)

    assert len(some) == 2
    assert sorted(str(one.request) for one in [*some, *rest]) == ["b'one'", "b'three'", "b'two'"]
    assert left(second) == left(third) == []


@pytest.mark.parametrize(
    ("status", "is_left"),
    [
        pytest.param("running", True, id="killed"),
        pytest.param("lost", True, id="known-to-be-killed"),
        pytest.param("stopped", False, id="stopped"),
        pytest.param("finished", False, id="finished"),
    ],
)
def test_pages_that_rest_are_done_again_only_if_their_worker_was_killed(
    store: Store, status: str, *, is_left: bool
) -> None:
    """Of one that ended by itself they were dropped without a word, or will come again in the next run."""
    dead, second = a_worker(store), a_worker(store)
    claimed(dead, a_page())
    dead.rest_claims(who(dead))
    die(dead, status)

    assert bool(left(second)) is is_left


def test_a_worker_waits_for_pages_under_way_and_for_nothing_else(store: Store) -> None:
    first, second = a_worker(store), a_worker(store)
    claimed(first, Wanted(Kind.TEXT, a_key(), a_key()))
    assert not second.others_at_work(who(second))

    claimed(first, a_page())
    assert second.others_at_work(who(second))
    assert not first.others_at_work(who(first))

    first.rest_claims(who(first))
    assert not second.others_at_work(who(second))


def test_released_claim_is_free_for_the_next(store: Store) -> None:
    first, second = a_worker(store), a_worker(store)
    claimed(first, a_page(1), a_page(2))
    released = [ClaimReleasedRecord(Kind.PAGE, a_key(name)) for name in (1, 2)]

    second.write(released)
    assert claimed(second, a_page()) == [False]

    first.write(released)
    assert claimed(second, a_page(), a_page(2)) == [True, True]


def test_noted_claims_count_unless_somebody_was_first(store: Store) -> None:
    first, second = a_worker(store), a_worker(store)
    claimed(first, a_page(1))

    second.write([ClaimRecord(Kind.PAGE, a_key(name), a_key(name), b"{}") for name in (1, 2)])
    second.write([ClaimDoneRecord(Kind.PAGE, a_key(name), a_key(name)) for name in (1, 3)])

    keys = [a_page(name).claim_key for name in (1, 2, 3)]
    found = first.holders(who(first), keys)
    assert [found[key].ours for key in keys] == [True, False, False]
    assert [found[key].state for key in keys] == [ClaimState.PENDING, ClaimState.PENDING, ClaimState.DONE]


def test_what_is_done_is_not_claimed_again_within_one_write(store: Store) -> None:
    project = a_worker(store)
    note, done = ClaimRecord(Kind.PAGE, a_key(), a_key()), ClaimDoneRecord(Kind.PAGE, a_key(), a_key())

    project.write([note, done, note])

    assert project.holders(who(project), [a_page().claim_key])[a_page().claim_key].state is ClaimState.DONE


def test_claims_without_a_shared_run_are_left_out(store: Store) -> None:
    project = store.project("shop")
    project.begin_run(spider="site", jobdir=None, started_at=a_time())

    project.write([ClaimRecord(Kind.PAGE, a_key(), a_key())])

    assert project.claimant is None
    assert rows_of(store) == 0


def test_claims_of_a_run_are_forgotten_whole(store: Store) -> None:
    project, other = a_worker(store), a_worker(store, "other")
    claimed(project, *(a_page(name) for name in range(5_003)))
    claimed(other, a_page())

    assert project.forget_claims(who(project).run_id) == 5_003
    assert rows_of(store) == 1


def rows_of(store: Store) -> int:
    with store.session(read_only=True) as session:
        return int(session.scalar(text("SELECT count(*) FROM claims")) or 0)


def test_of_eight_processes_one_wins_each_claim_and_none_waits_in_a_circle(url: URL) -> None:
    spelt = url.render_as_string(hide_password=False)
    Store.open(url).close()
    script = f"""
import random, sys
from datetime import timedelta
from scrapy_dedup.store.claim_records import ClaimDoneRecord, Kind, Wanted
from scrapy_dedup.store.store import Store
from tests.store.builders import a_key, a_time
dice = random.Random(int(sys.argv[1]))
with Store.open({spelt!r}, timeout=timedelta(seconds=60)) as store:
    project = store.project("shop")
    project.begin_run(spider="site", jobdir=None, started_at=a_time(), job="job", lease=timedelta(hours=1))
    won = set()
    for turn in range(10):
        names = dice.sample(range(600), 20)
        wanted = [Wanted(kind, a_key(name), a_key(name)) for name in names for kind in (Kind.PAGE, Kind.TEXT)]
        found = project.claim(project.claimant, wanted)
        assert len(found) == len(wanted)
        won |= {{key for key, holder in found.items() if holder.ours}}
        project.write([ClaimDoneRecord(*key, key.key) for key in dice.sample(sorted(won), len(won) // 2)])
print(len(won))
"""
    command = [sys.executable, "-W", "error", "-c", script]
    processes = [
        subprocess.Popen([*command, str(seed)], cwd=ROOT, stdout=subprocess.PIPE, text=True) for seed in range(8)
    ]
    outputs = [process.communicate(timeout=300)[0] for process in processes]

    assert [process.returncode for process in processes] == [0] * 8
    with Store.open(url) as store:
        assert sum(map(int, outputs)) == rows_of(store)
        assert "0\n" not in outputs

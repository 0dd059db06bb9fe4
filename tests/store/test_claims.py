"""Claims of the workers of one run: one of them has each thing, and what a dead one has is done by others."""

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import URL, Connection, text, update

from scrapy_dedup.service.claims import release_left
from scrapy_dedup.store import claims
from scrapy_dedup.store.claim_records import (
    Claimant,
    ClaimDoneRecord,
    ClaimKey,
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


def die(project: ProjectStore, status: str = "running", *, reason: str | None = None) -> None:
    """Let a worker not be heard any more, or end by itself."""
    with project.transaction(write=True) as connection:
        gone = update(RunWorker).where(RunWorker.id == who(project).worker_id)
        connection.execute(gone.values(lease_until=a_time(), status=status, reason=reason))


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
    claimed(dead, a_page(1, b"one"), a_page(2, b"two"), a_page(3, b"six"))
    assert left(second) == []
    die(dead)

    some, rest = left(second, limit=2), left(third)

    assert len(some) == 2
    assert sorted((one.request or b"")[:3] for one in [*some, *rest]) == [b"one", b"six", b"two"]
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


def test_pages_say_how_many_workers_died_of_them(store: Store) -> None:
    dead = a_worker(store)
    claimed(dead, a_page(1))

    for number in (1, 2, 3):
        die(dead)
        dead = a_worker(store)
        [one] = left(dead)
        assert one.deaths == number


@pytest.mark.parametrize("end", ["stopped", "finished", "resumed", "rested"])
def test_nobody_dies_of_a_page_that_was_not_in_its_hands_or_of_an_end_of_its_own(store: Store, end: str) -> None:
    ended, second = a_worker(store), a_worker(store)
    claimed(ended, a_page())
    if end == "rested":
        ended.rest_claims(who(ended))
    die(ended, "running" if end == "rested" else end, reason="shutdown")

    [one] = left(second)

    assert one.deaths == 0


def test_a_page_that_somebody_died_of_again_is_handed_out_alone(store: Store) -> None:
    """After all others: whoever dies then has nothing else in its hands."""
    dead = a_worker(store)
    claimed(dead, a_page(1), a_page(2))
    die(dead)
    dead, second = a_worker(store), a_worker(store)
    assert len(left(dead)) == 2
    claimed(dead, a_page(3))
    die(dead)

    assert [[one.deaths for one in left(second)] for _ in range(4)] == [[1], [2], [2], []]


def test_whoever_claims_what_a_dead_worker_had_counts_its_death(store: Store) -> None:
    """And may have it, until it was handed out: a leased queue hands out by itself."""
    dead = a_worker(store)
    claimed(dead, a_page())
    for _ in range(6):
        die(dead)
        dead = a_worker(store)
        assert claimed(dead, a_page()) == [True]
    die(dead)

    [one] = left(a_worker(store))

    assert one.deaths == 7


def test_a_page_that_was_handed_out_and_that_somebody_died_of_is_free_for_nobody_else(store: Store) -> None:
    dead, second, third = (a_worker(store) for _ in range(3))
    claimed(dead, a_page(1), a_page(2))
    die(dead)
    assert len(left(second)) == 2
    claimed(second, a_page(3))
    die(second)

    assert claimed(third, a_page(1), a_page(2), a_page(3)) == [False, False, True]
    keys = [a_page(name).claim_key for name in (1, 2)]
    assert third.holders(who(third), keys).keys() == set(keys)


def test_pages_of_the_dead_are_let_go_where_their_requests_come_by_another_way(store: Store) -> None:
    dead, living, second = (a_worker(store) for _ in range(3))
    claimed(dead, a_page(1), a_page(2), a_page(3), Wanted(Kind.TEXT, a_key(), a_key()))
    dead.write([ClaimDoneRecord(Kind.PAGE, a_key(3), a_key(3))])
    claimed(living, a_page(4))
    claimed(second, a_page(5))
    assert release_left(second, who(second)) == 0
    die(dead)

    assert release_left(second, who(second)) == 2

    keys = [a_page(name).claim_key for name in range(1, 6)]
    assert second.holders(who(second), keys).keys() == set(keys[2:])
    assert claimed(living, a_page(1), a_page(2)) == [True, True]


def test_a_worker_waits_for_pages_under_way_and_for_nothing_else(store: Store) -> None:
    first, second = a_worker(store), a_worker(store)
    claimed(first, Wanted(Kind.TEXT, a_key(), a_key()))
    assert not second.under_way_elsewhere(who(second))

    claimed(first, a_page())
    assert second.under_way_elsewhere(who(second))
    assert not first.under_way_elsewhere(who(first))

    first.rest_claims(who(first))
    assert not second.under_way_elsewhere(who(second))


def test_a_worker_stays_for_pages_of_one_that_died_after_the_dead_were_asked_about(store: Store) -> None:
    first, second = a_worker(store), a_worker(store)
    claimed(first, a_page())
    assert left(second) == []
    die(first)

    assert second.under_way_elsewhere(who(second))
    assert len(left(second)) == 1
    assert not second.under_way_elsewhere(who(second))


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


def a_holder_of_many(store: Store) -> ProjectStore:
    """Return a worker with pages whose rows lie on the disk against the order of their keys."""
    project = a_worker(store)
    for key in sorted((a_key(name) for name in range(20)), reverse=True):
        project.write([ClaimRecord(Kind.PAGE, key, key)])
    return project


def let_go(project: ProjectStore) -> None:
    """Release the first page, and note that the last one is done, in one write."""
    keys = sorted(a_key(name) for name in range(20))
    project.write([ClaimDoneRecord(Kind.PAGE, keys[-1], keys[-1]), ClaimReleasedRecord(Kind.PAGE, keys[0])])


@pytest.mark.parametrize("new_url", ["postgresql"], indirect=True)
@pytest.mark.parametrize(
    "touch",
    [
        pytest.param(lambda project: project.rest_claims(who(project)), id="rest"),
        pytest.param(let_go, id="write"),
        pytest.param(lambda project: project.forget_claims(who(project).run_id), id="forget"),
    ],
)
def test_many_claims_are_locked_in_the_order_of_their_keys(store: Store, touch: Callable[[ProjectStore], None]) -> None:
    """Another worker has locked the first one, since it found it, too, and goes on to the last one."""
    worker, other = a_holder_of_many(store), a_worker(store)
    first, *_, last = sorted(a_key(name) for name in range(20))

    def meet(connection: Connection, key: bytes) -> None:
        record = ClaimRecord(Kind.PAGE, key, key)
        claims.write(connection, who(other), {ClaimKey(Kind.PAGE, key): record})

    with ThreadPoolExecutor(1) as pool:
        with other.transaction(write=True) as connection:
            meet(connection, first)
            touching = pool.submit(touch, worker)
            while not is_somebody_waiting(store):
                assert not touching.done()
            meet(connection, last)
        touching.result()


def is_somebody_waiting(store: Store) -> bool:
    with store.session(read_only=True) as session:
        return bool(session.scalar(text("SELECT count(*) FROM pg_locks WHERE NOT granted")))


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

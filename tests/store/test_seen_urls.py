import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from scrapy_dedup.store.engine.errors import StoreError
from scrapy_dedup.store.seen_urls import SeenTable, drop_scope, scope_name, scopes
from scrapy_dedup.store.store import Store

TIMEOUT = timedelta(seconds=5)
Opener = Callable[..., SeenTable]


def key(number: int) -> bytes:
    # Spread as hashes are.
    return (number * 2**89 % 2**127).to_bytes(16, "big")


@pytest.fixture
def table_of(store, url) -> Iterator[Opener]:
    """Open tables of a project."""
    opened: list[SeenTable] = []

    def open_one(scope: str, project: str = "shop") -> SeenTable:
        opened.append(SeenTable.open(store.project(project), url, scope, timeout=TIMEOUT))
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()


def test_table_holds_what_was_added_and_gives_it_back_in_order(table_of):
    table = table_of("job a")
    table.add([key(3), key(1), key(2)])
    table.add({key(3), key(4)})
    table.add([])

    assert [table.holds(key(number)) for number in range(6)] == [False, True, True, True, True, False]
    assert table.count() == 4
    assert list(table.scan()) == [sorted(key(number) for number in range(1, 5))]


@pytest.mark.parametrize("keys", [0, 3, 20_000, 40_001])
def test_scope_is_dropped_whole_and_alone(table_of, store, keys):
    kept, dropped = table_of("job a"), table_of("run b")
    kept.add([key(1)])
    dropped.add([number.to_bytes(16, "big") for number in range(keys)])
    project = store.project("shop")
    with project.transaction() as connection:
        before = scopes(connection, project.id)
    removed = drop_scope(project.transaction, before[1][0])
    with project.transaction() as connection:
        after = scopes(connection, project.id)

    assert [name for _, name, _ in before] == ["job a", "run b"]
    assert removed == keys
    assert after == before[:1]
    assert dropped.count() == 0
    assert kept.holds(key(1))


def test_database_in_memory_is_asked_through_the_store():
    with Store.open("sqlite://") as store:
        table = SeenTable.open(store.project("shop"), "sqlite://", "job a", timeout=TIMEOUT)
        table.add([key(1)])

        assert table.holds(key(1))
        assert not table.holds(key(2))
        table.reconnect()
        table.drop()
        table.close()


def test_lost_connection_is_told_and_made_anew_by_the_next_write(postgresql):
    with postgresql.new_store() as url, Store.open(url) as store:
        table = SeenTable.open(store.project("shop"), url, "job a", timeout=TIMEOUT)
        table.add([key(1)])
        postgresql.execute(
            f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '{url.database}'"
            " AND pid <> pg_backend_pid()"
        )
        with pytest.raises(StoreError):
            table.holds(key(1))
        with pytest.raises(StoreError, match="the connection was lost"):
            table.holds(key(1))
        table.add([key(2)])

        assert table.holds(key(1))
        assert table.holds(key(2))
        table.close()


def test_queue_is_named_by_its_jobdir_or_by_its_run():
    run = uuid.UUID(int=1)

    assert scope_name(job="abc", run=run) == "job abc"
    assert scope_name(job=None, run=run) == f"run {run}"

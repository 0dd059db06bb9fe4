"""What becomes of questions while the server is away."""

import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest
from sqlalchemy import text

from scrapy_dedup.store.engine.circuit import SLOW, Circuit
from scrapy_dedup.store.engine.errors import AwayStoreError, StoreError
from scrapy_dedup.store.store import Store
from tests.proxy import Proxy, proxy
from tests.store.builders import DOMAIN, NOON, a_document, a_key
from tests.waiting import wait_for

AT_ONCE = timedelta(milliseconds=1)


class Line:
    """A server that is there or not."""

    def __init__(self) -> None:
        self.is_there = True
        self.tries = 0

    def connect(self) -> None:
        self.tries += 1
        if not self.is_there:
            raise StoreError("gone")


@pytest.fixture
def line() -> Line:
    return Line()


@pytest.fixture
def circuit(line) -> Iterator[Circuit]:
    made = Circuit(line.connect, retry=AT_ONCE)
    yield made
    made.close()


def is_open(circuit: Circuit) -> bool:
    try:
        circuit.check()
    except AwayStoreError:
        return False
    return True


def test_a_server_that_failed_is_away_until_a_try_succeeds(line, circuit):
    line.is_there = False
    circuit.failed(StoreError("reset by peer"))
    wait_for(lambda: line.tries > 3)
    assert not is_open(circuit)

    line.is_there = True

    wait_for(lambda: is_open(circuit))


def test_a_server_is_asked_as_before_while_it_is_only_doubted(line, circuit):
    circuit.doubt()
    assert is_open(circuit)

    line.is_there = False
    wait_for(lambda: line.tries > 0)
    circuit.doubt()

    wait_for(lambda: circuit.is_away)


def test_only_one_thread_tries(line, circuit):
    line.is_there = False
    before = threading.active_count()

    for _ in range(20):
        circuit.failed(StoreError("reset by peer"))

    assert threading.active_count() <= before + 1


def test_a_closed_circuit_tries_no_more(line, circuit):
    line.is_there = False
    circuit.failed(StoreError("reset by peer"))
    wait_for(lambda: line.tries > 0)

    circuit.close()

    wait_for(lambda: not any("scrapy_dedup store" in thread.name for thread in threading.enumerate()))


@pytest.fixture
def way(postgresql) -> Iterator[Proxy]:
    with proxy(postgresql.port) as made:
        yield made


@pytest.fixture
def far(postgresql, way) -> Iterator[Store]:
    """A store behind a proxy."""
    with postgresql.new_store() as url, Store.open(url.set(port=way.port), timeout=timedelta(seconds=2)) as store:
        yield store


def answers(store: Store) -> bool:
    try:
        with store.session(read_only=True) as session:
            return bool(session.scalar(text("SELECT 1")) == 1)
    except StoreError:
        return False


def test_a_store_that_was_cut_off_says_so_at_once_and_is_found_again(way, far):
    project = far.project("shop")
    way.cut()
    with pytest.raises(StoreError):
        project.is_known(DOMAIN)
    with pytest.raises(AwayStoreError):
        project.write([a_document(1)])

    way.mend()

    wait_for(lambda: answers(far))
    project.begin_run(spider="site", jobdir=None, started_at=NOON)
    project.write([a_document(1)])
    assert project.page(a_key(1)) is not None


def test_nobody_waits_for_a_network_that_swallows_everything(way, far):
    """Neither who asked before it was known, nor who asks then."""
    project = far.project("shop")
    assert not project.is_known(DOMAIN)
    way.swallow()

    with pytest.raises(AwayStoreError):
        project.is_known(DOMAIN)
    with pytest.raises(AwayStoreError):
        project.is_known(DOMAIN)

    way.mend()
    wait_for(lambda: answers(far))


def test_a_slow_answer_is_waited_for(postgresql):
    """A server that is busy is not one that has gone."""
    with postgresql.new_store() as url, Store.open(url) as store, store.session(read_only=True) as session:
        assert session.scalar(text(f"SELECT 1 FROM pg_sleep({SLOW.total_seconds() + 0.2})")) == 1

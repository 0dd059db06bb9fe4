"""Eight processes at once on one store."""

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import URL, text

from scrapy_dedup.store import migrating
from scrapy_dedup.store.engines import WRITES, make_engine
from scrapy_dedup.store.store import Store
from tests.store.writing_at_random import PAGES

ROOT = str(Path(__file__).parents[2])
WORKERS = 8
TURNS = 2


@pytest.mark.parametrize("new_url", ["postgresql"], indirect=True)
def test_eight_workers_that_write_all_of_the_same_pages_never_wait_in_a_circle(url: URL) -> None:
    Store.open(url).close()
    spelt = url.render_as_string(hide_password=False)
    command = [sys.executable, "-W", "error", "-m", "tests.store.writing_at_random", spelt]
    workers = [
        subprocess.Popen([*command, str(number), str(TURNS)], cwd=ROOT, stderr=subprocess.PIPE, text=True)
        for number in range(WORKERS)
    ]
    errors = [worker.communicate(timeout=300)[1] for worker in workers]

    assert [error for error in errors if error] == []
    with Store.open(url) as store, store.session(read_only=True) as session:
        deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        assert session.scalar(text(deadlocks)) == 0
        sent, high = (
            session.scalar(text(f"SELECT sum({column}) FROM {table}"))
            for column, table in (("sent", "domain_validators"), ("high_quality_candidate_count", "domain"))
        )
        assert (sent, high) == (WORKERS * TURNS * PAGES, WORKERS * TURNS * PAGES)


def test_several_processes_may_open_an_old_store_at_once(url: URL) -> None:
    """Exactly one upgrades it; the others wait, and find the work done."""
    engine = make_engine(url, timedelta(seconds=5)).execution_options(**{WRITES: True})
    with engine.begin() as connection:
        migrating.upgrade(connection, "0004")
    engine.dispose()
    script = f"""
import sys
from datetime import timedelta
from scrapy_dedup.store import migrating
from scrapy_dedup.store.store import Store
upgrade, times = migrating.upgrade, []
migrating.upgrade = lambda *given: (times.append(1), upgrade(*given))
sys.stdin.read(1)
with Store.open({url.render_as_string(hide_password=False)!r}, timeout=timedelta(seconds=60)) as store:
    store.project("shop")
print(len(times))
"""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    command = [sys.executable, "-c", script]
    processes = [subprocess.Popen(command, cwd=ROOT, **pipes) for _ in range(4)]  # type: ignore[call-overload]
    for process in processes:
        process.stdin.write("x")
        process.stdin.flush()
    outputs = [process.communicate(timeout=120)[0] for process in processes]

    assert sorted(output.strip() for output in outputs) == ["0", "0", "0", "1"]
    with Store.open(url) as store:
        assert store.project_names()

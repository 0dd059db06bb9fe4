"""Eight processes at once on one store."""

import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import URL, text

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

    assert [error for error in [worker.communicate(timeout=300)[1] for worker in workers] if error] == []
    with Store.open(url) as store, store.session(read_only=True) as session:
        deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        assert session.scalar(text(deadlocks)) == 0
        sent, high = (
            session.scalar(text(f"SELECT sum({column}) FROM {table}"))
            for column, table in (("sent", "domain_validators"), ("high_quality_candidate_count", "domain"))
        )
        assert (sent, high) == (WORKERS * TURNS * PAGES, WORKERS * TURNS * PAGES)

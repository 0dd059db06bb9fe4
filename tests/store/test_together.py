"""Eight processes at once on one store."""

import pytest
from sqlalchemy import URL, text

from scrapy_dedup.store.store import Store
from tests.store.at_once import at_once
from tests.store.writing_at_random import PAGES, TURNS, write_at_random

WORKERS = 8


@pytest.mark.parametrize("new_url", ["postgresql"], indirect=True)
def test_eight_workers_that_write_all_of_the_same_pages_never_wait_in_a_circle(url: URL) -> None:
    Store.open(url).close()

    at_once(WORKERS, write_at_random, url)

    with Store.open(url) as store, store.session(read_only=True) as session:
        deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        assert session.scalar(text(deadlocks)) == 0
        sent, high = (
            session.scalar(text(f"SELECT sum({column}) FROM {table}"))
            for column, table in (("sent", "domain_validators"), ("high_quality_candidate_count", "domain"))
        )
        assert (sent, high) == (WORKERS * TURNS * PAGES, WORKERS * TURNS * PAGES)

"""PostgreSQL goes away in the middle of a crawl: the crawl goes on, catches up, and nothing is lost."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest
from msgspec import Struct
from sqlalchemy import URL

from tests.databases import postgresql
from tests.end_to_end.crawling import Crawled, Project, Running, lines_of
from tests.proxy import Proxy, proxy
from tests.redis_server import redis_server
from tests.server import Answer, Site, WebServer, serving
from tests.sites import prose

__all__ = ["postgresql", "redis_server"]

PAGES = 20
"""In each of three parts of the site."""


class Gates:
    """A site in three parts, of which the second and the third are opened by a test."""

    def __init__(self, server: WebServer) -> None:
        self.server = server
        self.origin = server.origins[0]
        self.close()

    def close(self) -> None:
        self.gates = [threading.Event() for _ in range(3)]
        self.gates[0].set()
        site: Site = {}
        for part in range(3):
            site |= self._part(part)
        self.server.site = site

    def _part(self, part: int) -> Site:
        names = [f"{part}-{number}" for number in range(PAGES)]
        site: Site = {f"{self.origin}/{name}": Answer(_page(name, [])) for name in names}
        following = [f"part-{part + 1}"] if part < 2 else []
        site[f"{self.origin}/part-{part}"] = Answer(_page(f"part {part}", names + following), until=self.gates[part])
        return site


def _page(name: str, links: list[str]) -> str:
    anchors = "".join(f'<li><a href="/{link}">All about {link}</a></li>' for link in links)
    return (
        f"<!doctype html><title>On {name}</title><nav><a href='/part-0'>Home</a></nav>"
        f"<main><h1>On {name}</h1><p>{prose(name, sentences=12)}</p><ul>{anchors}</ul></main>"
        "<footer><p>Published by the harbour office, no part may be copied.</p></footer>"
    )


class Away(Struct):
    """A project whose database is behind a proxy."""

    project: Project
    site: Gates
    url: URL
    way: Proxy

    def start(self, **settings: Any) -> Running:
        self.site.close()
        through = self.url.set(port=self.way.port).render_as_string(hide_password=False)
        given = {"DEDUP_DATABASE_URL": through, "DEDUP_DATABASE_TIMEOUT": 5, "FEEDS": {}, **settings}
        return self.project.start("walker", "-a", f"start={self.site.origin}/part-0", **given)

    def crawl(
        self, break_it: Callable[[], None], mend: Callable[[], None], *, waits: bool = False, **settings: Any
    ) -> Crawled:
        """Crawl a part, then a part without the database, then the last one.

        Args:
            break_it: before the second part.
            mend: after it, or once somebody has felt it.
            waits: nothing is stored without the database.
            settings: of the crawl.
        """
        running = self.start(**settings)
        before = running.before["stored"]

        def stored(parts: int) -> bool:
            return len(lines_of(running.folder / "stored.jsonl")) - before >= parts * (PAGES + 1) - 1

        running.wait_for(lambda: stored(1))
        break_it()
        self.site.gates[1].set()
        running.wait_for(self.way.felt.is_set if waits else lambda: stored(2))
        mend()
        self.site.gates[2].set()
        return running.finish()

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        given = self.url.set(drivername="postgresql").render_as_string(hide_password=False)
        with closing(psycopg.connect(given)) as connection:
            return connection.execute(query.encode()).fetchall()


@pytest.fixture
def away(project, postgresql) -> Iterator[Away]:
    with serving(1, lambda _: {}) as server, postgresql.database() as url, proxy(postgresql.port) as way:
        yield Away(project, Gates(server), url, way)


def test_crawl_goes_on_without_its_database_and_writes_all_once_it_is_back(away):
    first = away.crawl(lambda: None, lambda: None)
    assert first.exit_code == 0
    assert first.errors == []
    first_seen = "SELECT url, first_seen_at FROM documents ORDER BY url"
    before = away.rows(first_seen)

    again = away.crawl(away.way.cut, away.way.mend)

    assert again.exit_code == 0
    assert again.errors == []
    every = {f"{away.site.origin}/{name}" for part in range(3) for name in _names(part)}
    assert Counter(again.yielded) == Counter(every)
    assert again.count("store/rows_given_up") == 0
    assert again.count("store/errors") > 0
    assert away.rows("SELECT status, count(*) FROM crawl_runs GROUP BY 1") == [("finished", 2)]
    done = "SELECT count(*), min(visits_count) FROM documents WHERE status = 'completed' AND last_seen_at IS NOT NULL"
    assert away.rows(f"{done} AND run_id = (SELECT id FROM crawl_runs ORDER BY started_at DESC LIMIT 1)") == [
        (len(every), 1)
    ]
    # What was known is not forgotten because nobody could ask for it.
    assert away.rows(first_seen) == before


def test_a_worker_waits_for_what_it_claims_loses_nothing_and_gives_nothing_twice(away, redis_server):
    """While the network swallows everything."""
    shared = {
        "DEDUP_SHARED_JOB": "nightly",
        "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
        "SCHEDULER_QUEUE_CLASS": "scrapy_dedup.LeasedQueue",
        "DUPEFILTER_CLASS": "scrapy_dedup.LeasedDupeFilter",
        "SCHEDULER_PERSIST": True,
        "REDIS_URL": redis_server.url,
    }

    crawled = away.crawl(away.way.swallow, away.way.mend, waits=True, **shared)

    assert (crawled.exit_code, crawled.errors) == (0, [])
    every = {f"{away.site.origin}/{name}" for part in range(3) for name in _names(part)}
    assert Counter(crawled.stored_ids) == Counter(every)
    assert away.rows("SELECT status FROM crawl_runs") == [("finished",)]
    assert away.rows("SELECT count(*) FROM documents WHERE status = 'completed'") == [(len(every),)]
    assert away.rows("SELECT status FROM run_workers") == [("finished",)]


def _names(part: int) -> list[str]:
    return [f"part-{part}", *(f"{part}-{number}" for number in range(PAGES))]

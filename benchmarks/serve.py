"""How fast does the server answer lists, with 100,000 domains and 1,000,000 pages in the store?

The whole application is called in this process (ASGI: no socket), each route many times with other domains, filters
and places in its list. Routes that add up a whole project are no lists: they are timed a few times, and have no target.
With --beside: what a dashboard that is looked at costs a crawl that writes to the same store.
"""

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
from sqlalchemy import URL

from benchmarks import results
from benchmarks.serve_beside import beside
from benchmarks.serve_rows import BEGIN, RUNS, domain_of, run_of, url_of
from benchmarks.serve_store import KNOWN_DOMAINS, PROJECT, Size, domains_of_pages, fill
from scrapy_dedup.core.addresses import hosts_of
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.engine.codec import to_cursor
from scrapy_dedup.store.pages.reads import ListPlace
from scrapy_dedup.store.store import Store
from scrapy_dedup.web.app import make_app
from scrapy_dedup.web.security import Access
from scrapy_dedup.web.server import Server
from tests.databases import find_programs, running_server

API = f"/api/v1/projects/{PROJECT}"
TOKEN = "bench"
MEDIAN_MS, P99_MS = 200, 1_000
"""Targets of every list."""
_SUMS_TIMES = 3
_MOST_SECONDS = 120.0
_SORTS = ("name", "status", "pages", "confidence", "boilerplate", "crawled")
_KEPT_CURSORS = 200


@dataclass(slots=True)
class Asker:
    """Makes addresses that differ, the same each time; a list is gone on with as often as it is begun."""

    size: Size
    chosen: random.Random = field(default_factory=lambda: random.Random(1))
    cursors: dict[str, list[str]] = field(default_factory=dict)
    of_pages: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.of_pages = domains_of_pages(self.size)

    def domain(self) -> str:
        """Return a domain: the largest, a middling, or any."""
        kind = self.chosen.randrange(3)
        return domain_of((0, self.chosen.randrange(self.size.domains // 100), self._any())[kind])

    def known(self) -> str:
        """Return a domain that has layouts."""
        return domain_of(self.chosen.randrange(min(KNOWN_DOMAINS, self.size.domains)))

    def pages(self) -> str:
        """Return a place in a list of pages, wherever."""
        at = BEGIN + timedelta(seconds=self.chosen.randrange(self.size.pages))
        return self._after(to_cursor(ListPlace(at, self.chosen.randbytes(16))) or "")

    def later(self, name: str) -> str:
        """Return a place in a list that was answered before."""
        known = self.cursors.get(name)
        return self._after(self.chosen.choice(known)) if known else ""

    def run(self) -> str:
        """Return a run."""
        return str(run_of(self.chosen.randrange(RUNS)))

    def url(self) -> str:
        """Return the URL of a page."""
        number = self.chosen.randrange(self.size.pages)
        return quote(url_of(number, self.of_pages[number]), safe="")

    def one_of(self, *texts: str) -> str:
        """Return one of some texts."""
        return self.chosen.choice(texts)

    def keep(self, name: str, cursor: object) -> None:
        """Remember where a list goes on."""
        if isinstance(cursor, str) and len(self.cursors.setdefault(name, [])) < _KEPT_CURSORS:
            self.cursors[name].append(cursor)

    def _any(self) -> int:
        return self.chosen.randrange(self.size.domains)

    def _after(self, cursor: str | None) -> str:
        return f"&after={quote(cursor)}" if cursor and self.chosen.random() < 0.7 else ""


Address = Callable[[Asker], str]


def lists(home: str) -> dict[str, Address]:
    """Return the routes with a target, by name; *home* is the dashboard's address of the project."""
    return {
        "projects": lambda _: "/api/v1/projects",
        "project": lambda _: API,
        "domains": lambda ask: f"{API}/domains?sort={ask.one_of(*_SORTS)}&descending={ask.one_of('true', 'false')}",
        "domains, next": lambda ask: f"{API}/domains?limit=50{ask.later('domains, next')}",
        "domains, by pattern": lambda ask: (
            f"{API}/domains?pattern={ask.one_of('d0000*', '*99.example', 'd01', 'none')}"
        ),
        "domains, by status": lambda ask: f"{API}/domains?status={ask.one_of('BLACKLISTED', 'DISCOVERED')}&sort=pages",
        "domain": lambda ask: f"{API}/domains/{ask.domain()}",
        "blacklist": lambda _: f"{API}/blacklist",
        "configs": lambda _: f"{API}/config",
        "config": lambda ask: f"{API}/domains/{ask.known()}/config",
        "layouts": lambda ask: f"{API}/layouts?domain={ask.known()}",
        "templates": lambda ask: f"{API}/templates?domain={ask.known()}",
        "layouts of all domains": lambda ask: f"{API}/layouts?limit=50{ask.later('layouts of all domains')}",
        "templates of all domains": lambda ask: f"{API}/templates?limit=50{ask.later('templates of all domains')}",
        "pages": lambda ask: f"{API}/pages?limit=50{ask.pages()}",
        "pages of a domain": lambda ask: f"{API}/pages?domain={ask.domain()}{ask.pages()}",
        "pages, by status": lambda ask: f"{API}/pages?domain={ask.domain()}&status=failed{ask.pages()}",
        "pages, rare verdict": lambda ask: f"{API}/pages?verdict=removed{ask.pages()}",
        "explain": lambda ask: f"{API}/pages/explain?url={ask.url()}",
        "runs": lambda _: f"{API}/runs",
        "run": lambda ask: f"{API}/runs/{ask.run()}",
        "run, live": lambda ask: f"{API}/runs/{ask.run()}/live",
        "changes": lambda _: f"{API}/changes?since=last",
        "changes since long ago": lambda ask: f"{API}/changes?since={ask.run()}{ask.later('changes since long ago')}",
        "jobs": lambda _: f"{API}/jobs",
        "dashboard: overview": lambda _: f"{home}/",
        "dashboard: domains": lambda ask: f"{home}/domains?sort={ask.one_of(*_SORTS)}",
        "dashboard: domain": lambda ask: f"{home}/domains/{ask.domain()}",
        "dashboard: runs": lambda _: f"{home}/runs",
        "dashboard: run": lambda ask: f"{home}/runs/{ask.run()}",
        "dashboard: templates": lambda _: f"{home}/templates",
        "dashboard: page": lambda ask: f"{home}/page?url={ask.url()}",
    }


SUMS: dict[str, Address] = {
    "stats": lambda _: f"{API}/stats",
    "boilerplate-stats": lambda _: f"{API}/boilerplate-stats",
    "report": lambda _: f"{API}/report",
    "cache stats": lambda _: f"{API}/cache/stats",
    "search, a frequent word": lambda ask: f"{API}/pages/search?q=rope{ask.pages()}",
    "search, a rare word": lambda ask: f"{API}/pages/search?q={ask.chosen.randrange(10**6)}",
    "search in a domain": lambda ask: f"{API}/pages/search?q=nothing&domain={ask.domain()}",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--domains", type=int, default=100_000)
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--file", type=Path, help="a SQLite file that is filled if it is not there, and kept")
    parser.add_argument("--only", help="routes whose names have this")
    parser.add_argument("--beside", action="store_true", help="time a crawl beside a dashboard instead")
    parser.add_argument("--pairs", type=int, default=5, help="with --beside")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    if args.beside:
        results.write(args.json, beside(args.pairs, TOKEN))
        return
    size = Size(args.domains, args.pages)
    with database(args.database, args.file) as (url, is_filled), Store.open(url) as store:
        began = time.perf_counter()
        if not is_filled:
            fill(store, size)
            print(f"filled in {time.perf_counter() - began:.0f} s")
        figures = asyncio.run(timed(store, size, args.times, args.only or ""))
    results.write(args.json, {"database": args.database, "domains": size.domains, "pages": size.pages, **figures})


@contextmanager
def database(kind: str, file: Path | None) -> Iterator[tuple[str | URL, bool]]:
    """Give the URL of a database, and whether it is filled."""
    if kind == "sqlite":
        with tempfile.TemporaryDirectory() as folder:
            path = file or Path(folder) / "dedup.db"
            yield f"sqlite:///{path}", path.exists()
        return
    programs = find_programs()
    if programs is None:
        raise SystemExit("no PostgreSQL here; on Debian and Ubuntu: apt-get install postgresql")
    with running_server(programs) as server, server.database() as url:
        yield url, False


async def timed(store: Store, size: Size, times: int, only: str) -> dict[str, Any]:
    """Return the milliseconds of every route, and print them."""
    server = Server(store, Settings(), PROJECT)
    app = make_app(server, Access(TOKEN, hosts_of("127.0.0.1", 80, ()), requests_a_minute=10**6))
    headers = {"Authorization": f"Bearer {TOKEN}"}
    home, ask = f"/p/{store.project(PROJECT).id}", Asker(size)
    client = httpx.AsyncClient(
        transport=httpx.ASGITransport(app, raise_app_exceptions=False), base_url="http://127.0.0.1", headers=headers
    )
    found: dict[str, Any] = {}
    async with client:
        for routes, each in ((lists(home), times), (SUMS, _SUMS_TIMES)):
            for name, address in routes.items():
                if only in name:
                    found[name] = await _route(client, name, partial(address, ask), ask, each)
                    _tell(name, found[name], is_list=routes is not SUMS)
    missed = [name for name in lists(home) if name in found and not _is_fast(found[name])]
    print(f"missed: {', '.join(missed) or 'none'}")
    return {"routes": found, "missed": missed}


async def _route(
    client: httpx.AsyncClient, name: str, address: Callable[[], str], ask: Asker, times: int
) -> dict[str, Any]:
    milliseconds: list[float] = []
    statuses: dict[str, int] = {}
    until = time.perf_counter() + _MOST_SECONDS
    for _ in range(times):
        asked, began = address(), time.perf_counter()
        answer = await client.get(asked)
        milliseconds.append(1000 * (time.perf_counter() - began))
        statuses[str(answer.status_code)] = statuses.get(str(answer.status_code), 0) + 1
        if answer.headers.get("content-type") == "application/json":
            ask.keep(name, answer.json().get("next"))
        if time.perf_counter() > until:
            break
    milliseconds.sort()
    return {
        "times": len(milliseconds),
        "statuses": statuses,
        "median_ms": round(statistics.median(milliseconds), 1),
        "p99_ms": round(milliseconds[min(len(milliseconds) - 1, round(0.99 * len(milliseconds)))], 1),
        "max_ms": round(milliseconds[-1], 1),
    }


def _is_fast(figures: dict[str, Any]) -> bool:
    return bool(figures["median_ms"] <= MEDIAN_MS and figures["p99_ms"] <= P99_MS)


def _tell(name: str, figures: dict[str, Any], *, is_list: bool) -> None:
    verdict = "" if not is_list or _is_fast(figures) else "  MISSED"
    print(
        f"{name:28} median {figures['median_ms']:9.1f} ms, p99 {figures['p99_ms']:9.1f} ms, "
        f"{figures['times']} times, statuses {figures['statuses']}{verdict}",
        flush=True,
    )


if __name__ == "__main__":
    main()

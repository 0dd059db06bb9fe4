"""Many crawlers on one Redis queue and one PostgreSQL, beside one crawler of the same site.

Modes: plain; `--kill`: one worker is killed with -9 in the middle; `--restart`: PostgreSQL is stopped in the middle and
started again half a minute later. Every page must come once, and be the page that one crawler finds. A worker that is
killed may have given pages that nobody was told of yet: these come twice, within the last write before the kill.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from benchmarks import results
from benchmarks.servers import Daemon, running_postgresql, running_redis
from benchmarks.shared_site import SharedSite, serving
from scrapy_dedup.core.urls import UrlRules, page_key
from tests.databases import find_programs

PATIENCE_SECONDS = 3_600
# What a worker gave in so many seconds before its end may come again: a write each second, and one on its way.
WRITE_SECONDS = 3.0
_COUNTED = {
    "documents": "select status || ' ' || coalesce(verdict, ''), count(*) from documents group by 1 order by 1",
    "aliases": "select alias_kind, count(*) from crawled_urls where alias_kind is not null group by 1 order by 1",
    "runs": "select status, count(*) from crawl_runs group by 1 order by 1",
    "ended": "select status, count(*) from run_workers group by 1 order by 1",
}


@dataclass(slots=True)
class Worker:
    """One crawler process."""

    process: "subprocess.Popen[bytes]"
    folder: Path
    was_killed: bool = False

    def arrived(self) -> list[dict[str, Any]]:
        """Return what its pipeline wrote; a kill may have cut off a line."""
        path, lines = self.folder / "arrived.jsonl", []
        for line in path.read_bytes().splitlines() if path.exists() else []:
            with suppress(json.JSONDecodeError):
                lines += [json.loads(line)] if line else []
        return lines

    def log(self) -> str:
        """Return what it logged, and what it said before there was a log."""
        paths = [self.folder / name for name in ("output", "log")]
        return "".join(path.read_text(errors="replace") for path in paths if path.exists())

    def stats(self) -> dict[str, Any]:
        """Return Scrapy's figures; none of one that was killed."""
        path = self.folder / "stats.json"
        return json.loads(path.read_text()) if path.exists() else {}


@dataclass(slots=True)
class Outcome:
    """What came of one crawl by one or several workers."""

    name: str
    seconds: float
    workers: list[Worker]
    asked: Counter[str]
    stored: dict[str, Any]
    deadlocks: int
    killed_at: float = 0.0
    texts: dict[int, str] = field(default_factory=dict)
    times: Counter[int] = field(default_factory=Counter)
    excused: int = 0
    """Pages that came again because of a kill."""
    twice: list[int] = field(default_factory=list)
    wrong: list[int] = field(default_factory=list)
    """Pages that went out under the key of another."""

    def look(self, site: SharedSite, origin: str) -> None:
        """Find out which pages came, and how often."""
        keys = {page_key(f"{origin}/p/{number}", UrlRules()).hex(): number for number in range(site.documents)}
        late: Counter[int] = Counter()
        for worker in self.workers:
            for item in worker.arrived():
                number = item["number"]
                self.times[number] += 1
                self.texts[number] = item["text"]
                if worker.was_killed and item["at"] > self.killed_at - WRITE_SECONDS:
                    late[number] += 1
                if keys.get(item["page_key"]) != number:
                    self.wrong.append(number)
        again = [number for number, times in self.times.items() if times > 1]
        self.excused = sum(1 for number in again if self.times[number] - late[number] <= 1)
        self.twice = [number for number in again if self.times[number] - late[number] > 1]

    @property
    def errors(self) -> list[str]:
        """What the workers' logs tell of errors."""
        return [line for worker in self.workers for line in worker.log().splitlines() if " ERROR: " in line]

    def total(self, stat: str) -> int:
        """Return the sum of a stat over the workers."""
        return sum(int(worker.stats().get(stat, 0)) for worker in self.workers)


class Crowd:
    """Starts crawls of one site, with servers that are there for all of them."""

    def __init__(
        self, site: SharedSite, origin: str, folder: Path, servers: tuple[Daemon, Daemon], away_seconds: float
    ) -> None:
        self.site, self.origin, self.folder = site, origin, folder
        self.postgresql, self.redis = servers
        self._away_seconds = away_seconds

    def crawl(self, name: str, crawlers: int, settings: dict[str, Any], trouble: str = "") -> Outcome:
        """Crawl with so many workers, and with one kind of trouble when a third of the pages have come."""
        _asked(self.origin)
        self._database(name)
        before, began = self._deadlocks(), time.monotonic()
        workers = [self._start(name, number, crawlers, settings) for number in range(crawlers)]
        killed_at = self._trouble(workers, trouble) if trouble else 0.0
        for worker in workers:
            worker.process.wait(PATIENCE_SECONDS)
        seconds = time.monotonic() - began
        stored = self._stored(name)
        asked = _asked(self.origin)
        outcome = Outcome(name, seconds, workers, asked, stored, self._deadlocks() - before, killed_at)
        outcome.look(self.site, self.origin)
        return outcome

    def _start(self, name: str, number: int, crawlers: int, settings: dict[str, Any]) -> Worker:
        folder = self.folder / name / str(number)
        folder.mkdir(parents=True)
        chosen = self._settings(name, folder) | (self._shared(name) if crawlers > 1 else {}) | settings
        path = folder / "settings.json"
        path.write_text(json.dumps({"settings": chosen, "start": f"{self.origin}/p/0"}))
        root = Path(__file__).parent.parent
        with (folder / "output").open("w") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.shared_spider", str(path)],
                cwd=root,
                env=os.environ | {"PYTHONPATH": str(root)},
                stdout=output,
                stderr=output,
            )
        return Worker(process, folder)

    def _settings(self, name: str, folder: Path) -> dict[str, Any]:
        return {
            "ADDONS": {"scrapy_dedup.Addon": 700},
            "BOT_NAME": "many",
            "ITEM_PIPELINES": {"benchmarks.shared_spider.Appends": 800},
            "EXTENSIONS": {"benchmarks.stats_file.StatsFile": 0},
            "STATS_FILE": str(folder / "stats.json"),
            "ARRIVED": str(folder / "arrived.jsonl"),
            "LOG_FILE": str(folder / "log"),
            "LOG_LEVEL": "INFO",
            "TELNETCONSOLE_ENABLED": False,
            "REMOTE_CONTROL_ENABLED": False,
            "CONCURRENT_REQUESTS": 16,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
            "DEDUP_DATABASE_URL": self._url(name),
            "REDIRECT_PRIORITY_ADJUST": 0,
        }

    def _shared(self, name: str) -> dict[str, Any]:
        return {
            "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
            "SCHEDULER_QUEUE_CLASS": "scrapy_dedup.LeasedQueue",
            "DUPEFILTER_CLASS": "scrapy_dedup.LeasedDupeFilter",
            "SCHEDULER_SERIALIZER": "scrapy_dedup.plugin.leased_json",
            "SCHEDULER_PERSIST": True,
            "REDIS_URL": f"redis://127.0.0.1:{self.redis.port}/0",
            "DEDUP_SHARED_JOB": name,
        }

    def _trouble(self, workers: list[Worker], kind: str) -> float:
        """Wait until a third of the pages have come, and make trouble; return when a worker was killed."""
        while sum(_lines(worker) for worker in workers) < self.site.documents / 3:
            if all(worker.process.poll() is not None for worker in workers):
                raise RuntimeError(f"all workers have ended: {workers[0].log()[-3000:]}")
            time.sleep(0.05)
        if kind == "kill":
            at = time.time()
            os.kill(workers[1].process.pid, signal.SIGKILL)
            workers[1].was_killed = True
            return at
        self.postgresql.stop()
        print("PostgreSQL is stopped", flush=True)
        time.sleep(self._away_seconds)
        self.postgresql.start()
        print("PostgreSQL runs again", flush=True)
        return 0.0

    # The store.

    def _url(self, name: str) -> str:
        return f"postgresql+psycopg://postgres@127.0.0.1:{self.postgresql.port}/{name}"

    def _connect(self, database: str) -> "psycopg.Connection[tuple[Any, ...]]":
        url = f"postgresql://postgres@127.0.0.1:{self.postgresql.port}/{database}"
        return psycopg.connect(url, autocommit=True)

    def _database(self, name: str) -> None:
        with self._connect("postgres") as connection:
            connection.execute(f"create database {name}".encode())

    def _stored(self, name: str) -> dict[str, Any]:
        with self._connect(name) as connection:
            found = {what: connection.execute(sql.encode()).fetchall() for what, sql in _COUNTED.items()}
            size = connection.execute("select pg_database_size(current_database())").fetchone()
        return {what: dict(rows) for what, rows in found.items()} | {"size_bytes": size[0] if size else 0}

    def _deadlocks(self) -> int:
        return self.postgresql.log.count("deadlock detected")


def main() -> None:
    """Crawl with one and with several crawlers, print what came, and end with 1 where a page is missing or twice."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pages", type=int, default=20_000, help="addresses, of which three of ten are aliases")
    parser.add_argument("--crawlers", type=int, default=8)
    parser.add_argument("--loose", action="store_true", help="without DEDUP_STRICT_SHARED")
    parser.add_argument("--lease", type=float, default=60, help="DEDUP_SHARED_LEASE, in seconds")
    parser.add_argument("--away", type=float, default=30, help="seconds for which PostgreSQL is away")
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--restart", action="store_true")
    parser.add_argument("--skip-plain", action="store_true", help="only the crawls with trouble, beside one crawler")
    parser.add_argument("--keep", type=Path, help="a folder for logs and items")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    troubles = [""] * (not args.skip_plain) + ["kill"] * args.kill + ["restart"] * args.restart
    programs = find_programs()
    if programs is None:
        sys.exit("no PostgreSQL here; on Debian and Ubuntu: apt-get install postgresql")
    site = SharedSite(args.pages)
    print(f"{site.documents} pages, {site.aliases} further addresses: {dict(site.alias_kinds())}", flush=True)
    settings = {"DEDUP_STRICT_SHARED": not args.loose, "DEDUP_SHARED_LEASE": args.lease}
    with (
        tempfile.TemporaryDirectory() as temporary,
        serving(site) as origin,
        running_redis() as redis,
        running_postgresql(programs) as postgresql,
    ):
        crowd = Crowd(site, origin, args.keep or Path(temporary), (postgresql, redis), args.away)
        outcomes = list(_outcomes(crowd, args.crawlers, settings, troubles))
        problems = [problem for outcome in outcomes for problem in _problems(outcome, outcomes[0], site)]
        _show(outcomes)
    results.write(args.json, {"pages": args.pages, "outcomes": [_figures(one, outcomes[0]) for one in outcomes]})
    for problem in problems:
        print(problem)
    sys.exit(bool(problems))


def _outcomes(crowd: Crowd, crawlers: int, settings: dict[str, Any], troubles: list[str]) -> Iterator[Outcome]:
    yield crowd.crawl("one", 1, {})
    for trouble in troubles:
        yield crowd.crawl(f"shared_{trouble or 'plain'}", crawlers, settings, trouble)


def _problems(outcome: Outcome, one: Outcome, site: SharedSite) -> Iterator[str]:
    """Yield what must not be."""
    missing = [number for number in range(site.documents) if number not in outcome.times]
    for what, pages in (("missing", missing), ("twice", outcome.twice), ("under another's key", outcome.wrong)):
        if pages:
            yield f"{outcome.name}: {len(pages)} pages {what}: {pages[:10]}"
    if outcome.deadlocks:
        yield f"{outcome.name}: {outcome.deadlocks} deadlocks"
    for what in ("documents", "aliases", "runs"):
        found, wanted = _comparable(what, outcome), _comparable(what, one)
        if found != wanted:
            yield f"{outcome.name}: {found} {what} in the store; one crawler: {wanted}"
    for worker in outcome.workers:
        if worker.process.returncode and not worker.was_killed:
            yield f"{outcome.name}: a worker ended with {worker.process.returncode}: {worker.log()[-500:]}"
    for line in outcome.errors[:5]:
        yield f"{outcome.name}: {line}"


def _comparable(what: str, outcome: Outcome) -> dict[str, int]:
    """Return stored counts, as far as they must be the same: a page that two layers drop is counted by the first."""
    counts = outcome.stored[what]
    if what != "aliases":
        return dict(counts)
    redirects = counts.get("redirect", 0)
    return {"redirects": redirects, "others": sum(counts.values()) - redirects}


def _figures(outcome: Outcome, one: Outcome) -> dict[str, Any]:
    return {
        "name": outcome.name,
        "workers": len(outcome.workers),
        "seconds": round(outcome.seconds, 1),
        "items": outcome.times.total(),
        "pages": len(outcome.times),
        "again after the kill": outcome.excused,
        "responses": outcome.asked.total(),
        "addresses asked twice": sum(times > 1 for path, times in outcome.asked.items() if path[2:3] == "/"),
        "links dropped": outcome.total("dedup/url/dropped"),
        "redirects": outcome.total("dedup/canonical/redirects"),
        "canonical dropped": outcome.total("dedup/canonical/dropped"),
        "duplicate dropped": outcome.total("dedup/duplicate/dropped"),
        "texts as one crawler's": sum(outcome.texts.get(number) == text for number, text in one.texts.items()),
        "requests reclaimed": outcome.total("dedup/queue/reclaimed"),
        "claims lost": outcome.total("dedup/claims/lost"),
        "deadlocks": outcome.deadlocks,
        **outcome.stored,
    }


def _show(outcomes: list[Outcome]) -> None:
    columns = [_figures(outcome, outcomes[0]) for outcome in outcomes]
    for name in columns[0]:
        print(f"{name:24}" + "".join(f"{column[name]!s:>36}" for column in columns))


def _lines(worker: Worker) -> int:
    path = worker.folder / "arrived.jsonl"
    return path.read_bytes().count(b"}") if path.exists() else 0


def _asked(origin: str) -> Counter[str]:
    with urllib.request.urlopen(f"{origin}/asked", timeout=60) as answer:
        return Counter(json.load(answer))


if __name__ == "__main__":
    main()

"""Crawls of one site by one or several processes, with trouble in the middle, and what came of them."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import redis

from benchmarks.servers import Daemon
from benchmarks.shared_site import SharedSite
from scrapy_dedup.core.urls.normal_form import UrlRules, page_key

PATIENCE_SECONDS = 3_600
_COUNTED = {
    "documents": "select status, count(*) from documents group by 1 order by 1",
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


@dataclass(frozen=True, slots=True)
class Kill:
    """When a worker was killed, and which pages were lent then: the queue had not been told that they were done."""

    at: float
    lent: frozenset[bytes]


@dataclass(slots=True)
class Outcome:
    """What came of one crawl by one or several workers."""

    name: str
    seconds: float
    cpu_seconds: float
    """Of all workers, without the servers."""
    workers: list[Worker]
    asked: Counter[str]
    stored: dict[str, Any]
    deadlocks: int
    kill: "Kill | None" = None
    texts: dict[int, str] = field(default_factory=dict)
    times: Counter[int] = field(default_factory=Counter)
    excused: int = 0
    """Pages that came again because of a kill: given by the worker, and not given back to the queue when it died."""
    excused_seconds: float = 0.0
    """How long before its death it had given the first of them."""
    twice: list[int] = field(default_factory=list)
    wrong: list[int] = field(default_factory=list)
    """Pages that went out under the key of another."""

    def look(self, site: SharedSite, origin: str) -> None:
        """Find out which pages came, and how often."""
        keys = {page_key(f"{origin}/p/{number}", UrlRules()).hex(): number for number in range(site.documents)}
        late: dict[int, float] = {}
        for worker in self.workers:
            for item in worker.arrived():
                number = item["number"]
                self.times[number] += 1
                self.texts[number] = item["text"]
                if self.kill is not None and worker.was_killed and page_key(item["url"], UrlRules()) in self.kill.lent:
                    late[number] = item["at"]
                if keys.get(item["page_key"]) != number:
                    self.wrong.append(number)
        again = [number for number, times in self.times.items() if times > 1]
        excused = [number for number in again if self.times[number] == 2 and number in late]
        self.twice = [number for number in again if number not in excused]
        self.excused = len(excused)
        if self.kill is not None and excused:
            self.excused_seconds = self.kill.at - min(late[number] for number in excused)

    @property
    def crawl_seconds(self) -> float:
        """How long it took from the first page that any worker gave to the last."""
        times = [item["at"] for worker in self.workers for item in worker.arrived()]
        return float(max(times) - min(times))

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
        before, began, used = self._deadlocks(), time.monotonic(), _cpu_seconds()
        workers = [self._start(name, number, crawlers, settings) for number in range(crawlers)]
        kill = self._trouble(workers, trouble) if trouble else None
        for worker in workers:
            worker.process.wait(PATIENCE_SECONDS)
        seconds, used = time.monotonic() - began, _cpu_seconds() - used
        stored = self._stored(name)
        asked = _asked(self.origin)
        outcome = Outcome(name, seconds, used, workers, asked, stored, self._deadlocks() - before, kill)
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
            "SCHEDULER_PERSIST": True,
            "REDIS_URL": f"redis://127.0.0.1:{self.redis.port}/0",
            "DEDUP_SHARED_JOB": name,
        }

    def _trouble(self, workers: list[Worker], kind: str) -> Kill | None:
        """Wait until a third of the pages have come, and make trouble."""
        while sum(_lines(worker) for worker in workers) < self.site.documents / 3:
            if all(worker.process.poll() is not None for worker in workers):
                raise RuntimeError(f"all workers have ended: {workers[0].log()[-3000:]}")
            time.sleep(0.05)
        if kind == "kill":
            at = time.time()
            os.kill(workers[1].process.pid, signal.SIGKILL)
            workers[1].was_killed = True
            return Kill(at, self._lent())
        self.postgresql.stop()
        print("PostgreSQL is stopped", flush=True)
        time.sleep(self._away_seconds)
        self.postgresql.start()
        print("PostgreSQL runs again", flush=True)
        return None

    def _lent(self) -> frozenset[bytes]:
        """Return the keys of the pages that workers have."""
        with redis.Redis(port=self.redis.port) as client:
            (bodies,) = client.scan_iter("*:bodies", count=10_000)
            ids = [
                one
                for kind in ("flight", "held")
                for key in client.keys(f"*:{kind}:*")
                for one in client.zrange(key, 0, -1)
            ]
            found = client.hmget(bodies, ids) if ids else []
        return frozenset(page_key(json.loads(body)["url"], UrlRules()) for body in found if body)

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


def _cpu_seconds() -> float:
    """Return what the processes have used that were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _lines(worker: Worker) -> int:
    path = worker.folder / "arrived.jsonl"
    return path.read_bytes().count(b"}") if path.exists() else 0


def _asked(origin: str) -> Counter[str]:
    with urllib.request.urlopen(f"{origin}/asked", timeout=60) as answer:
        return Counter(json.load(answer))

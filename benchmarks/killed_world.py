"""A small site, its crawler and its store, through many crawls of which some are killed; and what must hold of them."""

import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field, fields
from datetime import timedelta
from pathlib import Path
from random import Random
from statistics import median
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import select, update

from benchmarks.changing_site import ChangingSite
from benchmarks.forked_crawls import Crawls, Ended
from scrapy_dedup.core.urls.normal_form import UrlRules, page_key
from scrapy_dedup.service.cache.cache import verify
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.engine.database import make_engine, parse_url
from scrapy_dedup.store.engine.errors import StoreError, file_of
from scrapy_dedup.store.records.stored import StoredRun
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.tables.columns import UtcDateTime
from scrapy_dedup.store.tables.models import Base, VisitRow
from scrapy_dedup.store.writer import ProjectStore

PIPELINE, FEED, BATCHES = "pipeline", "feed", "feed in batches"
FIRST_GUESS_SECONDS = 1.0
_RULES = UrlRules()
Version = tuple[str, int]
"""Path of a page, and which version of it."""


@dataclass(slots=True)
class Findings:
    """What came of some kills."""

    kills: int = 0
    crawls: int = 0
    too_late: int = 0
    """Crawls that had ended before they could be killed."""
    items: int = 0
    repeated: int = 0
    """Items that arrived although the same version had arrived last."""
    unchanged: int = 0
    """Visits by which a page counted as unchanged."""
    moments: Counter[str] = field(default_factory=Counter)
    """How far killed crawls had come."""
    kills_by: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    wrongly_seen: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    """Crawls that ended otherwise than they should."""
    damaged: list[str] = field(default_factory=list)
    """Stores of which something is not what was written."""

    def add(self, other: "Findings") -> None:
        for name in ("kills", "crawls", "too_late", "items", "repeated", "unchanged"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.moments += other.moments
        self.kills_by += other.kills_by
        self.lost += other.lost
        self.wrongly_seen += other.wrongly_seen
        self.failed += other.failed
        self.damaged += other.damaged

    def figures(self) -> dict[str, Any]:
        """Return what came of them, by name; `asdict` does not know counters."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @property
    def are_good(self) -> bool:
        """Whether nothing was lost, and nothing seen that never arrived."""
        return not (self.lost or self.wrongly_seen or self.failed or self.damaged)


@dataclass(slots=True)
class World:
    """One site and its store."""

    folder: Path
    site: ChangingSite
    crawls: Crawls
    chosen: Random
    output: str
    uses_jobdir: bool
    database: str = ""
    """The URL of the store; empty: of a file in the folder."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Over those that are chosen."""
    findings: Findings = field(default_factory=Findings)
    _crawled: int = 0
    _seconds: list[float] = field(default_factory=list)
    """Of crawls that ended by themselves."""
    _arrived: set[Version] = field(default_factory=set)
    _last: dict[str, int] = field(default_factory=dict)
    """Path to the version that arrived last."""
    _served: set[str] = field(default_factory=set)
    _hashes: dict[bytes, set[str]] = field(default_factory=dict)
    """Page key to the content hashes of its items."""
    _read: dict[str, int] = field(default_factory=dict)
    """Files to how much of them was read."""
    _runs: set[Any] = field(default_factory=set)
    """Of crawls that are over and looked at."""

    @property
    def name(self) -> str:
        """What is special about it."""
        job = " with JOBDIR" if self.uses_jobdir else ""
        return f"{self.output}{job}, {'ETags' if self.site.etags else 'no validators'}"

    def kill_and_crawl_again(self, *, undone: float) -> bool:
        """Kill a crawl at a random moment, and crawl to the end; say whether it could be killed.

        Args:
            undone: odds that the site's last change is undone in between.
        """
        if self.chosen.random() < 0.7:
            self.site.change(self.chosen)
        self.site.asked.clear()
        whole = median(self._seconds) if self._seconds else FIRST_GUESS_SECONDS
        # Half of them late: where a crawl writes and closes, most can go wrong.
        ended = self._crawl(kill_after=whole * self.chosen.uniform(self.chosen.choice([0.02, 0.5]), 1.1))
        if ended.was_killed:
            self.findings.kills += 1
            self.findings.kills_by[self.name] += 1
            self.findings.moments[self._moment()] += 1
        else:
            self.findings.too_late += 1
        self._look(ended)
        # A resumed crawl leaves out what is safe, whether or not it has changed meanwhile.
        if self.uses_jobdir and ended.was_killed:
            self._mend_job()
        else:
            self._forget_job()
            self.site.asked.clear()
            if self.chosen.random() < undone:
                self.site.undo()
            elif self.chosen.random() < 0.3:
                self.site.change(self.chosen)
        self._look(self._crawl())
        self._forget_job()
        return ended.was_killed

    def fail_and_crawl_again(self, fault: str, at: int) -> bool:
        """Let a crawl meet a fault before one of its statements, and crawl to the end; say whether it met it.

        Args:
            fault: one of `failing_store.FAULTS`.
            at: the number of the statement, from 1.
        """
        self.site.asked.clear()
        ended = self._crawl(fault=fault, at=at)
        met = self.statements() >= at
        self.findings.kills += met
        self.findings.too_late += not met
        self.findings.kills_by[f"{fault}, {self.name}"] += met
        self.findings.moments[self._moment()] += met
        self._look(ended, failing=True)
        self.site.asked.clear()
        self._look(self._crawl())
        return met

    def crawl(self) -> None:
        """Crawl to the end."""
        self.site.asked.clear()
        self._look(self._crawl())

    def turn_clock_back(self, by: timedelta) -> None:
        """Let all that the store knows have been so much later: for the next crawl the clock has gone back."""
        engine = make_engine(parse_url(self._database), timedelta(seconds=10))
        with engine.begin() as connection:
            for table in Base.metadata.sorted_tables:
                times = [column for column in table.columns if isinstance(column.type, UtcDateTime)]
                for row in connection.execute(select(table)).mappings().all() if times else []:
                    of_row = [column == row[column.name] for column in table.primary_key]
                    later = {at.name: row[at.name] + by for at in times if row[at.name] is not None}
                    if later:
                        connection.execute(update(table).where(*of_row).values(later))
        engine.dispose()

    def statements(self) -> int:
        """Return how many statements the writes of the last crawl had."""
        return len(self._statements.read_text().splitlines())

    def _mend_job(self) -> None:
        """Take out the state that Scrapy was writing when it was killed: an empty file fails the next start."""
        state = self.folder / "job" / "spider.state"
        if state.exists() and not state.stat().st_size:
            state.unlink()

    def _forget_job(self) -> None:
        shutil.rmtree(self.folder / "job", ignore_errors=True)

    def _crawl(self, kill_after: float | None = None, fault: str | None = None, at: int = 0) -> Ended:
        self._crawled += 1
        self.findings.crawls += 1
        settings = self._settings() | self.settings
        if fault is not None:
            settings["ADDONS"] |= {"benchmarks.failing_store.FailingStore": 800}
            settings |= {"FAULT": fault, "FAULT_AT": at, "FAULT_LOG": str(self._statements)}
        ended = self.crawls.crawl("killed", settings, kill_after=kill_after, start=self.site.start)
        if not ended.was_killed:
            self._seconds = [*self._seconds[-6:], ended.seconds]
        return ended

    def _settings(self) -> dict[str, Any]:
        feed: dict[str, Any] = {"format": "jsonlines"}
        if self.output == BATCHES:
            feed |= {"batch_item_count": self.chosen.choice([1, 4, 15])}
        name = f"{self._crawled}-%(batch_id)d.jsonl" if self.output == BATCHES else f"{self._crawled}.jsonl"
        pipelines = {"benchmarks.killed_spider.WritesThrough": 800} if self.output == PIPELINE else {}
        return {
            "ADDONS": {"scrapy_dedup.Addon": 700},
            "SPIDER_MODULES": ["benchmarks.killed_spider"],
            "BOT_NAME": "kills",
            "ITEM_PIPELINES": pipelines,
            "EXTENSIONS": {"benchmarks.killed_spider.StoredFeeds": 0},
            "FEEDS": {} if self.output == PIPELINE else {str(self.folder / "feeds" / name): feed},
            "JOBDIR": str(self.folder / "job") if self.uses_jobdir else None,
            "ARRIVED": str(self.folder / "arrived.jsonl"),
            "ARRIVING_SECONDS": self.chosen.choice([0.0, 0.003, 0.02]),
            "STORED_FEEDS": str(self.folder / "stored.txt"),
            "LOG_FILE": str(self._log),
            "LOG_LEVEL": "INFO",
            "TELNETCONSOLE_ENABLED": False,
            "REMOTE_CONTROL_ENABLED": False,
            "CONCURRENT_REQUESTS_PER_DOMAIN": self.chosen.choice([4, 16]),
            "DOWNLOAD_DELAY": self.chosen.choice([0, 0, 0.01]),
            "DEDUP_DATABASE_URL": self._database,
            # So that a crawl of a second is written in many parts.
            "DEDUP_WRITE_EVERY": self.chosen.choice([1, 10, 60, 500]),
            "DEDUP_BATCH": {"pages": self.chosen.choice([4, 16]), "max_wait": 1},
        }

    @property
    def _database(self) -> str:
        return self.database or f"sqlite:///{self.folder / 'dedup.db'}"

    @property
    def _statements(self) -> Path:
        return self.folder / "statements.txt"

    @property
    def _log(self) -> Path:
        return self.folder / f"{self._crawled}.log"

    # What must hold.

    def _look(self, ended: Ended, *, failing: bool = False) -> None:
        """Check what a crawl left; one whose store fails may say so, and not begin."""
        self._take_in()
        reached = self.site.pages()
        refused = failing and ended.exit_code > 0 and not self.site.asked
        if not (ended.was_killed or refused):
            problems = [line for line in self._log.read_text().splitlines() if " ERROR: " in line or "CRITICAL" in line]
            if ended.exit_code or (problems and not failing):
                self.findings.failed.append(f"{self._where()}: exit code {ended.exit_code}: {problems[:3]}")
            for path, version in reached.items():
                if path not in self.site.asked:
                    self.findings.lost.append(f"{self._where()}: {path} was not asked for")
                elif self._last.get(path) != version:
                    last = self._last.get(path, "nothing")
                    self.findings.lost.append(f"{self._where()}: {path}: {version} was served, {last} arrived last")
                    self._last[path] = version  # told once
        self._served.update(reached)
        # A kill may have come before there was a store; if it is damaged, the next crawl fails.
        with suppress(*[StoreError] * (ended.was_killed or failing)), Store.open(self._database, create=False) as store:
            self._look_at_file()
            if (project := store.find_project("kills")) is not None:
                check = verify(project, Settings(), lambda _: None)
                self.findings.damaged += [f"{self._where()}: {one.part} of {one.url}" for one in check.damages]
                self._look_at_documents(project)
                self._look_at_runs(project, reached)

    def _look_at_file(self) -> None:
        if (path := file_of(parse_url(self._database))) is not None:
            with closing(sqlite3.connect(path)) as connection:
                found = connection.execute("PRAGMA integrity_check").fetchall()
                found += connection.execute("PRAGMA foreign_key_check").fetchall()
            self.findings.damaged += [f"{self._where()}: {one}" for one in found if one != ("ok",)]

    def _look_at_runs(self, project: ProjectStore, reached: dict[str, int]) -> None:
        for run in project.last_runs(3):
            if run.id not in self._runs:
                self._look_at_visits(project, run, reached)
                if run.status != "running" or not self.uses_jobdir:
                    self._runs.add(run.id)

    def _look_at_documents(self, project: ProjectStore) -> None:
        """Check that the last version of every page that counts as seen has arrived."""
        for key, state in project.page_states(self._keys()).items():
            hashes = self._hashes.setdefault(key, set())
            if state.content_hash is not None and state.content_hash.hex() not in hashes:
                self.findings.wrongly_seen.append(f"{self._where()}: {state.url}: its content never arrived")
                hashes.add(state.content_hash.hex())  # told once

    def _look_at_visits(self, project: ProjectStore, run: StoredRun, reached: dict[str, int]) -> None:
        """Check that what was served to visits that count has arrived."""
        paths = {page_key(self._url(path), _RULES): path for path in reached}
        visits = select(VisitRow.page_key, VisitRow.verdict).where(VisitRow.run_id == run.id)
        with project.transaction() as connection:
            found = connection.execute(visits.order_by(VisitRow.at, VisitRow.page_key)).all()
        for visit in found:
            path = paths.get(visit.page_key)
            if path is None:
                continue
            self.findings.unchanged += visit.verdict == "unchanged"
            if (path, reached[path]) not in self._arrived:
                told = f"{path}: {reached[path]} counts as {visit.verdict}, and never arrived"
                self.findings.wrongly_seen.append(f"{self._where()}: {told}")
                self._arrived.add((path, reached[path]))  # told once

    def _keys(self) -> set[bytes]:
        return {page_key(self._url(path), _RULES) for path in self._served}

    def _url(self, path: str) -> str:
        return self.site.start.removesuffix("/p/0") + path

    def _where(self) -> str:
        return f"{self.name}, {self.folder.name}, crawl {self._crawled}"

    # What has arrived.

    def _take_in(self) -> None:
        for item in self._new_items():
            path, version = urlsplit(item["url"]).path, item["version"]
            self.findings.items += 1
            self.findings.repeated += self._last.get(path) == version
            self._last[path] = version
            self._arrived.add((path, version))
            self._hashes.setdefault(page_key(item["url"], _RULES), set()).add(item["dedup"]["content_hash"])

    def _new_items(self) -> Iterator[dict[str, Any]]:
        """Iterate over what arrived since the last call; of feeds only what was stored counts."""
        for line in self._new_lines(self.folder / "arrived.jsonl"):
            # A kill may have cut a line off: it has not arrived.
            with suppress(json.JSONDecodeError):
                yield json.loads(line)
        stored = self.folder / "stored.txt"
        for name in stored.read_text().splitlines() if stored.exists() else []:
            yield from map(json.loads, self._new_lines(Path(name)))

    def _new_lines(self, path: Path) -> list[bytes]:
        if not path.exists():
            return []
        text = path.read_bytes()
        new = text[self._read.get(str(path), 0) :]
        self._read[str(path)] = len(text)
        return [line for line in new.splitlines() if line]

    def _moment(self) -> str:
        """Say how far a killed crawl had come."""
        log = self._log.read_text() if self._log.exists() else ""
        if "Spider closed" in log:
            return "after the spider was closed"
        if "Closing spider" in log:
            return "while it closed"
        return "while it crawled" if self.site.asked else "before the first request"

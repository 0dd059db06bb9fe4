"""What a dashboard that is looked at costs a crawl that writes to the same store.

Crawls come in pairs, alone and beside a server whose overview, domains and runs are asked for every two seconds, as an
open dashboard does. Counted are the CPU seconds of the crawler's process; what the server itself uses is not the
crawl's. Both crawls must give the same pages.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from benchmarks import results
from benchmarks.crawls import ON, ROOT, Measured, crawl_in
from benchmarks.local_site import serving
from scrapy_dedup.store.store import Store

PAGES = 600
EVERY_SECONDS = 2.0
MOST = 1.05
"""Target: the median ratio of CPU seconds."""


def beside(pairs: int, token: str) -> dict[str, Any]:
    """Return the CPU seconds of crawls alone and beside a dashboard, in turn, and print them."""
    alone: list[Measured] = []
    watched: list[Measured] = []
    asked: list[int] = []
    with serving(PAGES) as (start,):
        for number in range(pairs):
            # Which of the two comes first changes, so that a machine that gets slower favours neither.
            for is_watched in (False, True) if number % 2 else (True, False):
                crawl, requests = _crawl(start, token, is_watched=is_watched)
                (watched if is_watched else alone).append(crawl)
                asked.append(requests)
    ratios = [one.cpu_seconds / other.cpu_seconds for one, other in zip(watched, alone, strict=True)]
    print(f"{PAGES} pages, {pairs} pairs, {max(asked)} requests of the dashboard in a crawl")
    print(f"alone {results.spread([each.cpu_seconds for each in alone])} s of CPU")
    print(f"beside {results.spread([each.cpu_seconds for each in watched])} s, ratio {results.spread(ratios)}")
    return {
        "pages": PAGES,
        "requests": max(asked),
        "alone_seconds": [each.cpu_seconds for each in alone],
        "beside_seconds": [each.cpu_seconds for each in watched],
        "ratio": ratios,
        "median_ratio": statistics.median(ratios),
        "target": MOST,
    }


def _crawl(start: str, token: str, *, is_watched: bool) -> tuple[Measured, int]:
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{folder}/dedup.db"
        with Store.open(database):
            pass  # so that neither crawl makes it
        if is_watched:
            with _looked_at(database, token) as asked:
                crawl = crawl_in(Path(folder), start, ON)
            requests = len(asked)
        else:
            crawl, requests = crawl_in(Path(folder), start, ON), 0
        items = crawl.stats.get("item_scraped_count")
        with Store.open(database) as store:
            (project,) = store.project_names().values()
            (run,) = store.project(project).runs(1)
    if items != PAGES or run.visits != PAGES:
        raise RuntimeError(f"of {PAGES} pages {items} came out, and {run.visits} visits were stored")
    return crawl, requests


@contextmanager
def _looked_at(database: str, token: str) -> Iterator[list[int]]:
    """Serve a store, and look at three pages of it again and again; give the statuses of the answers."""
    settings = {"DEDUP_DATABASE_URL": database, "DEDUP_SERVE": json.dumps({"token": token})}
    command = [sys.executable, "-m", "scrapy", "dedup", "serve", "--port", "0", "--json"]
    for name, value in settings.items():
        command += ["-s", f"{name}={value}"]
    over, statuses = threading.Event(), list[int]()
    with subprocess.Popen(command, cwd=ROOT / "example_project", stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            home = _home(process.stdout)
            looking = threading.Thread(target=_look, args=(home, token, over, statuses))
            looking.start()
            yield statuses
            over.set()
            looking.join()
        finally:
            process.terminate()
    if not statuses or any(status != httpx.codes.OK for status in statuses):
        raise RuntimeError(f"the dashboard answered {sorted(set(statuses))}")


def _home(said: Any) -> str:
    for line in said:
        if '"url"' in line:
            return str(line.split('"')[3])
    raise RuntimeError("the server did not start")


def _look(home: str, token: str, over: threading.Event, statuses: list[int]) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(headers=headers, follow_redirects=True, timeout=30) as client:
        base = str(client.get(home).url).rstrip("/")
        while not over.is_set():
            statuses.extend(client.get(f"{base}{path}").status_code for path in ("/", "/domains", "/runs"))
            over.wait(EVERY_SECONDS)

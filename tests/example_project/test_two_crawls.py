"""The demo as a whole, on the site that ships with it: two crawls in processes of their own."""

import json
import os
import sqlite3
import time
from contextlib import closing
from functools import cache, partial
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

import pytest
from msgspec import to_builtins
from msgspec.structs import replace
from selectolax.lexbor import LexborHTMLParser

from tests.commands.running import scrapy
from tests.report.builders import a_report
from tests.warm import start_scrapy

CHANGED = {"/walks/salt-marsh.html", "/shop/bay-map.html", "/journal/index.html", "/journal/tide-gauge.html"}
"""As `test_demo_site` finds them by their main elements."""


@pytest.fixture
def demo() -> Any:
    return import_module("demo")


@pytest.mark.parametrize(
    ("slow", "then", "compared"),
    [
        pytest.param(set(), 500, True, id="time-for-all"),
        pytest.param({0}, 30, True, id="first-crawl-stopped"),
        pytest.param({0, 2}, 30, False, id="another-stopped-too"),
    ],
)
def test_ways_are_compared_if_they_had_time_for_as_many_pages(demo, files, capsys, slow, then, compared):
    asked = []

    def crawl(of: Any, its: Any, feed: Any, *settings: str, seconds: float) -> bool:
        asked.append(of.pages)
        for path in (its.store, feed):
            path.write_text("{}\n")
        return len(asked) - 1 not in slow

    run = {"visits": 30, "bytes_received": 1, "callbacks": 1, "verdicts": {}, "seconds": 1.0}
    answers = {"runs": {"runs": [run, run]}, "report": to_builtins(replace(a_report(), layouts=(), alarms=()))}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "crawl", crawl)
        patch.setattr(demo, "dedup", lambda _of, verb, *_options: answers[verb])
        demo.run(demo.site("", files.cache, lambda _cache: []), files, time.monotonic())

    assert asked == [500, then, then, then]
    assert ("Three ways to crawl again" in capsys.readouterr().out) is compared


@pytest.fixture
def files(demo, tmp_path) -> Any:
    return demo.prepare_output(tmp_path / "demo-output")


def path(url: str) -> str:
    return urlsplit(url).path


def verdicts(files: Any) -> dict[str, set[str]]:
    query = (
        "SELECT visits.verdict, url FROM visits JOIN documents USING (project_id, page_key) "
        "WHERE visits.run_id = (SELECT id FROM crawl_runs ORDER BY started_at DESC LIMIT 1)"
    )
    found: dict[str, set[str]] = {}
    with closing(sqlite3.connect(files.store)) as store:
        for verdict, url in store.execute(query):
            found.setdefault(verdict, set()).add(path(url))
    return found


def test_second_crawl_finds_what_changed_and_nothing_else(demo, files, capsys, monkeypatch):
    @cache
    def dedup(of: Any, *words: str) -> Any:
        """Run a verb as the demo does, but for what Python needs to start: it asks for some fifteen."""
        return scrapy("dedup", *words, "--json", "-s", of.store_setting, folder=demo.PROJECT).json

    starts = iter([demo.scrapy])

    def start(words: list[str]) -> Any:
        """Start a crawl as the demo does; all but the first need no interpreter of their own."""
        usual = partial(start_scrapy, folder=demo.PROJECT, environment=os.environ, stdout=os.devnull, stderr=os.devnull)
        return next(starts, usual)(words)

    with monkeypatch.context() as patch:
        patch.setattr(demo, "dedup", dedup)
        patch.setattr(demo, "scrapy", start)
        demo.run(demo.site("", files.cache, lambda _cache: []), files, time.monotonic())
        ways = [demo.way_of(name, files) for name in demo.WAYS]

    printed = capsys.readouterr().out
    assert "28 pages in" in printed
    assert "Second crawl: 1 new, 4 changed, 22 unchanged, 1 removed" in printed
    assert [(way.callbacks, way.items) for way in ways[:2]] == [(28, 27), (28, 5)]
    # A few callbacks more are run to compare what is kept with what they yield now.
    assert ways[2].items == 5
    assert 5 <= ways[2].callbacks <= 10
    assert "Three ways to crawl again" in printed
    found = verdicts(files)
    assert found["changed"] == CHANGED
    assert (found["new"], found["removed"]) == ({"/notices.html"}, {"/journal/ships-biscuit.html"})
    assert "/index.html" in found["unchanged"]
    lines = files.feed_of("delta feed").read_text(encoding="utf-8").splitlines()
    assert {path(json.loads(line)["url"]) for line in lines} == CHANGED | {"/notices.html"}
    links = LexborHTMLParser(files.report.read_text(encoding="utf-8")).css("article.change a")
    assert len({path(link.attributes["href"] or "") for link in links} & CHANGED) == len(links) == 3

"""`scrapy dedup templates refine` after crawls: pages cut before their site was known go out again, once."""

import json
import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.commands.running import Outcome, at_a_terminal, scrapy
from tests.end_to_end.crawling import ADDON, BASE, ROOT, Lines, Project, lines_of
from tests.end_to_end.recrawl_site import copied, rows
from tests.refining_site import PROMOTION, publish
from tests.server import WebServer, serving
from tests.waiting import wait_for
from tests.warm import WarmProcess, start_scrapy

pytestmark = pytest.mark.crawl

PAGES = 12
STORAGE = BASE["ITEM_PIPELINES"]
KEYS = {"url", "cleaned_content", "title", "date", "author", "dedup"}


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    with serving(1, lambda _: {}) as running:
        publish(running, PAGES)
        yield running


@pytest.fixture(scope="module")
def crawled(server, tmp_path_factory) -> Project:
    """A project that has crawled a site in one batch, too small to be sure of anything, and learned the rest later."""
    project = Project(tmp_path_factory.mktemp("crawled") / "project", dict(ADDON))
    for pages in (3, PAGES):
        start = publish(server, pages)[0]
        project.crawl("walker", "-a", f"start={start}")
    return project


@pytest.fixture
def project(crawled, tmp_path) -> Project:
    """A copy of its own for a test, without what the crawls emitted."""
    project = copied(crawled, tmp_path / "project")
    for name in ("feed", "stored"):
        (project.folder / f"{name}.jsonl").unlink()
    return project


def configure(project: Project, **settings: Any) -> None:
    lines = [f"{name} = {value!r}" for name, value in {**BASE, **project.settings, **settings}.items()]
    (project.folder / "project_settings.py").write_text("\n".join(lines) + "\n", encoding="utf-8")


def dedup(project: Project, *arguments: str, **settings: Any) -> Outcome:
    configure(project, **settings)
    return scrapy("dedup", *arguments, folder=project.folder, PYTHONPATH=str(ROOT), PYTHONDONTWRITEBYTECODE="1")


def refine(project: Project, *arguments: str, **settings: Any) -> dict[str, Any]:
    told = dedup(project, "templates", "refine", "--json", *arguments, **settings)
    assert (told.code, told.err) == (0, "")
    found: dict[str, Any] = told.json
    return found


def changes(project: Project) -> int:
    return sum(domain["changed"] for domain in refine(project, "--dry-run")["domains"])


def emitted(project: Project, file: str = "feed.jsonl") -> Lines:
    return sorted(lines_of(project.folder / file), key=lambda item: str(item["url"]))


def texts(project: Project) -> list[str]:
    """Return the clean texts in the store, in the order of URLs."""
    return [text for (text,) in rows(project, "SELECT cleaned_content FROM sources ORDER BY url")]


def test_dry_run_tells_the_churn_and_writes_nothing(project, server):
    before = texts(project)

    told = refine(project, "--dry-run")

    domain = told["domains"][0]
    assert told.keys() == {"project", "dry_run", "domains"}
    assert (domain["domain"], domain["pages"], domain["changed"]) == (server.origins[0][7:], PAGES, PAGES)
    assert domain["chars_before"] - domain["chars_after"] >= PAGES * len(PROMOTION)
    assert domain["example"].startswith(server.origins[0])
    assert (domain["passed_over"], domain["not_kept"]) == ({}, 0)
    assert texts(project) == before
    assert emitted(project) == emitted(project, "stored.jsonl") == []


def test_pages_go_out_through_pipelines_and_feeds_and_only_once(project, server):
    runs = rows(project, "SELECT count(*) FROM crawl_runs")
    versions = rows(project, "SELECT page_key, content_hash FROM documents ORDER BY page_key")
    server.requests.clear()
    model = {"tests.end_to_end.recrawl_pipelines.Model": 900}

    told = refine(project, ITEM_PIPELINES=STORAGE | model)

    items = emitted(project)
    assert told["emitted"] == {
        "pages": PAGES,
        "items": PAGES,
        # No outcomes are kept: a dict stands for the callback's item.
        "made_anew": PAGES,
        "dropped": 0,
        "failed": 0,
        "stored": PAGES,
        "complete": True,
        "reason": "finished",
    }
    assert [item["url"] for item in items] == sorted(publish(server, PAGES))
    assert not any(PROMOTION in item["cleaned_content"] for item in items)
    assert all(item["dedup"]["refined"] for item in items)
    assert all(item["summary"] for item in items), "pipelines work on the new text"
    assert all(item.keys() == KEYS | {"summary"} for item in items)
    assert {item["title"] for item in items} == {f"On p{number}" for number in range(PAGES)}
    assert len(lines_of(project.folder / "stored.jsonl")) == PAGES
    assert texts(project) == [item["cleaned_content"] for item in items]
    assert server.requests == []
    assert rows(project, "SELECT count(*) FROM crawl_runs") == runs
    assert rows(project, "SELECT page_key, content_hash FROM documents ORDER BY page_key") == versions
    assert refine(project)["emitted"]["pages"] == 0
    assert len(emitted(project)) == PAGES


def test_next_crawl_finds_pages_unchanged_and_gives_the_new_text(project, server):
    refine(project)
    (project.folder / "feed.jsonl").unlink()
    (project.folder / "stored.jsonl").unlink()

    again = project.crawl("walker", "-a", f"start={server.origins[0]}/p0")

    assert len(again.yielded) == len(again.fed) == PAGES
    assert {report["verdict"] for report in again.reports.values()} == {"unchanged"}
    assert not any(PROMOTION in item["cleaned_content"] for item in again.fed)
    assert dedup(project, "store", "cache", "verify", "--json").json["damaged"] == {}


def test_file_that_cannot_be_written_leaves_the_store_as_it_was(project):
    told = dedup(project, "templates", "refine", "-O", ".")

    assert told.code == 1
    assert "is a folder" in told.err
    assert changes(project) == PAGES


def test_outside_of_a_project_a_file_is_needed(project, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    store = ["-s", f"DEDUP_DATABASE_URL=sqlite:///{project.folder}/.scrapy/dedup.db"]

    refused = scrapy("dedup", "templates", "refine", *store, folder=tmp_path / "elsewhere")
    told = scrapy("dedup", "templates", "refine", "-O", "out.jsonl", "--json", *store, folder=tmp_path / "elsewhere")

    assert refused.code == 2
    assert "name a file by -O" in refused.err
    assert (told.code, told.json["emitted"]["pages"]) == (0, PAGES)


def test_project_that_would_lose_the_items_is_refused(project):
    told = dedup(project, "templates", "refine", FEEDS={}, ITEM_PIPELINES={}, EXTENSIONS={})

    assert told.code == 2
    assert "no feeds and no pipelines" in told.err
    assert "FEEDS" in told.err
    assert changes(project) == PAGES


def test_decision_of_a_person_goes_out(project, server):
    refine(project)
    domain = server.origins[0].removeprefix("http://")
    for one in dedup(project, "templates", "list", domain, "--json").json["templates"]:
        layout = one["layout"] if one["layout"].strip("0") else "rest"
        assert dedup(project, "templates", "override", domain, layout, "--drop", "h1").code == 0
    (project.folder / "feed.jsonl").unlink()

    refine(project)

    assert len(emitted(project)) == PAGES
    assert not any("# On p" in item["cleaned_content"] for item in emitted(project))


def test_what_was_removed_wrongly_and_is_kept_goes_out(project, server):
    refine(project)
    url = f"{server.origins[0]}/p2"
    block = next(one for one in dedup(project, "explain", url, "--json").json["removed"] if one["text"] == PROMOTION)
    assert not any(PROMOTION in item["cleaned_content"] for item in emitted(project))
    (project.folder / "feed.jsonl").unlink()

    told = dedup(project, "undo", f"{block['rule']}: {block['rule_path']}")
    refine(project)

    assert "run `scrapy dedup templates refine`" in " ".join(told.out.split())
    assert [PROMOTION in item["cleaned_content"] for item in emitted(project)] == [True] * PAGES
    assert PROMOTION not in dedup(project, "explain", url).out


def test_domains_can_be_chosen(project, server):
    unknown = dedup(project, "templates", "refine", "--domain", "nowhere.example")

    assert unknown.code == 1
    assert "has no pages of 'nowhere.example'" in unknown.err
    domain = server.origins[0].removeprefix("http://")
    assert refine(project, "--domain", domain.upper())["emitted"]["pages"] == PAGES


class TestSafety:
    """The store has a new text only when the items are safe."""

    def test_page_whose_item_a_pipeline_fails_on_comes_again(self, project):
        failing = {"tests.end_to_end.recrawl_pipelines.Failing": 600}

        told = dedup(project, "templates", "refine", "--json", ITEM_PIPELINES=STORAGE | failing, FAILS=["p2", "p5"])

        assert told.code == 1
        assert "the database is full" in told.err
        assert (told.json["emitted"]["pages"], told.json["emitted"]["failed"]) == (PAGES - 2, 2)
        assert refine(project)["emitted"]["pages"] == 2

    def test_pages_whose_feed_was_not_stored_come_again(self, project):
        storages = {"broken": "tests.end_to_end.recrawl_pipelines.BrokenStorage"}
        feeds = {"broken:all": {"format": "jsonlines"}}

        told = dedup(project, "templates", "refine", "--json", FEEDS=feeds, FEED_STORAGES=storages)

        assert (told.json["emitted"]["pages"], told.json["emitted"]["stored"]) == (PAGES, 0)
        assert refine(project)["emitted"]["stored"] == PAGES

    def test_killed_call_emits_again_what_was_not_safe(self, project):
        killed = start(project)
        wait_for(lambda: len(lines_of(project.folder / "stored.jsonl")) >= 3)
        killed.kill()
        killed.wait()
        first = len(lines_of(project.folder / "stored.jsonl"))

        refine(project, FEEDS={})

        stored = [line["id"] for line in lines_of(project.folder / "stored.jsonl")]
        assert 3 <= first < PAGES
        assert len(set(stored)) == PAGES
        assert changes(project) == 0

    def test_interrupted_call_ends_well_and_the_next_goes_on(self, project):
        stopped = start(project)
        wait_for(lambda: len(lines_of(project.folder / "stored.jsonl")) >= 3)
        stopped.send_signal(signal.SIGINT)

        code = stopped.wait(60)

        first = len(lines_of(project.folder / "stored.jsonl"))
        assert code == 130
        assert 3 <= first < PAGES
        assert refine(project, FEEDS={})["emitted"]["pages"] == PAGES - first


def start(project: Project) -> WarmProcess:
    configure(project, FEEDS={}, STORAGE_SECONDS=0.2, CONCURRENT_ITEMS=1)
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    return start_scrapy(
        ["dedup", "templates", "refine"], project.folder, environment, stdout=os.devnull, stderr=os.devnull
    )


def test_pages_whose_originals_are_not_kept_are_counted(project):
    with closing(sqlite3.connect(project.folder / ".scrapy" / "dedup.db")) as store, store:
        store.execute("DELETE FROM sources")

    told = dedup(project, "templates", "refine", "--dry-run")

    assert told.code == 0
    assert f"Not to be cleaned again: {PAGES} pages whose original is not kept" in told.out


def test_people_see_a_table_and_a_terminal_a_bar(project, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    configure(project)

    shown = dedup(project, "templates", "refine", "--dry-run").out
    told = at_a_terminal("dedup", "templates", "refine", "-O", "out.jsonl", folder=project.folder)

    assert f"The clean text of {PAGES} of {PAGES} pages would change." in shown
    assert shown.endswith("Dry run: nothing was written.\n")
    assert told.code == 0
    assert f"{PAGES}/{PAGES}" in told.out
    assert f"Emitted: {PAGES} pages with {PAGES} items, to out.jsonl." in told.out
    assert json.loads((project.folder / "out.jsonl").read_text().splitlines()[0])["dedup"]["refined"]

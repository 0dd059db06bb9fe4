import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.commands.running import SECONDS, Outcome, scrapy
from tests.end_to_end.crawling import ADDON, BASE, ROOT, Project, lines_of
from tests.server import Answer, Site, WebServer, serving
from tests.sites import html_page
from tests.tables import table
from tests.waiting import wait_for
from tests.warm import start_scrapy

pytestmark = [pytest.mark.crawl, pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")]

PAGES = 30
SETTINGS: dict[str, Any] = {
    **BASE,
    **ADDON,
    "EXTENSIONS": {**BASE["EXTENSIONS"], "scrapy_dedup.plugin.addon.Heartbeat": 1},
    "JOBDIR": "job",
    "CONCURRENT_REQUESTS": 4,
}
# Where others have the processors a crawl that goes on may be silent for some seconds.
QUICKLY = ("--hung-after", "10", "--grace", "0.2")


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    def build(origins: list[str]) -> Site:
        urls = [f"{origins[0]}/p{number}" for number in range(PAGES)]
        pages = {url: Answer(html_page(url, links=urls[at + 1 : at + 6])) for at, url in enumerate(urls)}
        return {f"{origins[0]}/hub": Answer(html_page("hub", links=urls[:5])), **pages}

    with serving(1, build) as running:
        yield running


@pytest.fixture
def project(tmp_path) -> Project:
    project = Project(tmp_path / "project")
    lines = [f"{name} = {value!r}" for name, value in SETTINGS.items()]
    (project.folder / "project_settings.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return project


def supervise(project: Project, *arguments: str) -> Outcome:
    return scrapy("dedup", "supervise", *arguments, folder=project.folder, PYTHONPATH=str(ROOT))


def crawl(server: WebServer, *arguments: str) -> list[str]:
    start = f"start={server.origins[0]}/hub"
    return ["--", sys.executable, "-m", "scrapy", "crawl", "hangs-once", "-a", start, *arguments]


def test_crawl_that_hangs_is_brought_to_its_end_with_nothing_lost(project, server):
    done = supervise(project, *QUICKLY, "--json", *crawl(server, "-a", "at=/p17"))

    assert (project.folder / "has-hung").exists()
    ended = json.loads(done.out)
    assert (ended["exit_code"], ended["reason"], ended["restarts"]) == (0, "it ended by itself", ["it hung"])
    assert done.code == 0
    assert "it hung; it is started again in 1 s" in done.err
    fed = {item["url"] for item in lines_of(project.folder / "feed.jsonl")}
    assert fed == {f"{server.origins[0]}/p{number}" for number in range(PAGES)}


def test_ctrl_c_ends_both_in_good_order(project, server):
    with tempfile.TemporaryDirectory() as outputs:
        err = Path(outputs, "err")
        command = crawl(server, "-a", "at=nowhere", "-s", "DOWNLOAD_DELAY=0.3", "-s", 'DEDUP_BATCH={"pages": 3}')
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        run = start_scrapy(["dedup", "supervise", *command], project.folder, environment, stdout=os.devnull, stderr=err)
        wait_for(lambda: bool(lines_of(project.folder / "stored.jsonl")))
        run.send_signal(signal.SIGINT)

        assert run.wait(SECONDS) == 0
        log = err.read_text()
    assert "Spider closed (shutdown)" in log
    assert "Received SIGINT twice" not in log
    assert "started again" not in log
    assert 0 < len(lines_of(project.folder / "stored.jsonl")) < PAGES


@table("commands/supervise_exits")
def test_exit_code_tells_what_came_of_it(tmp_path, command, code, err):
    done = scrapy("dedup", "supervise", *command, folder=tmp_path)

    assert done.code == code
    assert err in done.err


@pytest.mark.parametrize(("jobdir", "warned"), [([], True), (["-s", "JOBDIR=job"], False)], ids=["none", "set"])
def test_restarts_without_jobdir_are_warned_of(tmp_path, jobdir, warned):
    done = scrapy("dedup", "supervise", "--", "echo", "hello", *jobdir, folder=tmp_path)

    assert ("neither the command nor the project sets JOBDIR" in done.err) is warned
    assert done.out.startswith("hello")

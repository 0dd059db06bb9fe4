"""The ways in which a crawl ends, and what holds of each: the table of docs/operations.md, row by row."""

import re
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct, field

from tests.end_to_end.crawling import ADDON, BASE, Project, all_accounted_for, cut_half_line
from tests.server import Answer, Site, WebServer, serving
from tests.sites import html_page

DOCS = Path(__file__).parents[2] / "docs" / "operations.md"
PAGES = 24
STOPS_AFTER = 10
HUGE = "<!--" + "x" * 1_500_000 + "-->"
PIPELINES = "tests.end_to_end.recrawl_pipelines"


class Ending(Struct, frozen=True):
    """How a first crawl ends, and what of it may come twice.

    Attributes:
        arguments: of the spider.
        signals: sent one after the other once some items are stored.
        once: whether no item comes twice.
        huge: whether a page is of megabytes.
    """

    settings: dict[str, Any] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    signals: tuple[signal.Signals, ...] = ()
    once: bool = True
    huge: bool = False


TWO = "two crawls on one store, killed in turn"
INT, KILL = signal.SIGINT, signal.SIGKILL
BATCHES: dict[str, Any] = {"FEEDS": {"feed-%(batch_id)d.jsonl": {"format": "jsonlines", "batch_item_count": 4}}}
SLOW = {"STORAGE_SECONDS": 0.3}
BROKEN = {
    "ITEM_PIPELINES": {**BASE["ITEM_PIPELINES"], f"{PIPELINES}.Failing": 10, f"{PIPELINES}.FailingBehind": 600},
    "FAILS": ["p3", "p4"],
    "FAILS_BEHIND": ["p5", "p6"],
}
ENDINGS = {
    "end": Ending(),
    "Ctrl+C once": Ending(signals=(INT,)),
    "CLOSESPIDER_ITEMCOUNT": Ending({"CLOSESPIDER_ITEMCOUNT": STOPS_AFTER}),
    "CLOSESPIDER_PAGECOUNT": Ending({"CLOSESPIDER_PAGECOUNT": STOPS_AFTER}),
    "CLOSESPIDER_TIMEOUT": Ending({"CLOSESPIDER_TIMEOUT": 1, "DOWNLOAD_DELAY": 0.1}),
    "CLOSESPIDER_ERRORCOUNT": Ending({"CLOSESPIDER_ERRORCOUNT": 1}, ("-a", "break_on=p3")),
    "JOBDIR, Ctrl+C": Ending({"JOBDIR": "job"}, signals=(INT,)),
    "JOBDIR, Ctrl+C twice": Ending({"JOBDIR": "job", **SLOW}, signals=(INT, INT)),
    "slow storage, Ctrl+C": Ending(SLOW, signals=(INT,)),
    "exception in a callback; in a pipeline before ours; in one after ours": Ending(BROKEN, ("-a", "break_on=p2")),
    "CloseSpider in a callback": Ending(arguments=("-a", f"close_after={STOPS_AFTER}"), once=False),
    "kill, feed in batches": Ending(BATCHES, signals=(KILL,), once=False),
    TWO: Ending(BATCHES, signals=(KILL,), once=False),
    "kill": Ending(signals=(KILL,), once=False),
    "JOBDIR, kill": Ending({"JOBDIR": "job"}, signals=(KILL,), once=False),
    "slow storage, kill": Ending(SLOW, signals=(KILL,), once=False),
    "items of megabytes, kill": Ending(signals=(KILL,), once=False, huge=True),
}


@pytest.fixture(params=[False])
def server(request) -> Iterator[WebServer]:
    def site(origins: list[str]) -> Site:
        urls = [f"{origins[0]}/p{number}" for number in range(PAGES)]
        more = HUGE if request.param else ""
        found: Site = {url: Answer(html_page(url) + more, delay_seconds=0.02) for url in urls}
        return {f"{origins[0]}/hub": Answer(html_page("hub", links=urls)), **found}

    with serving(1, site) as running:
        yield running


def start(server: WebServer) -> tuple[str, str, str]:
    return "pages", "-a", f"start={server.origins[0]}/hub"


def arrived(project: Project) -> Counter[str]:
    """Return what is in stored feeds, by the name of the page."""
    fed = "".join(path.read_text(encoding="utf-8") for path in sorted(project.folder.glob("feed*.jsonl")))
    return Counter(re.findall(r'^\{"url": "[^"]*/(p\d+)"', fed, re.MULTILINE))


NAMES = {f"p{number}" for number in range(PAGES)}


@pytest.mark.parametrize(
    ("server", "ending"),
    [pytest.param(one.huge, one, id=name) for name, one in ENDINGS.items() if name != TWO],
    indirect=["server"],
)
def test_what_the_first_crawl_did_not_give_the_second_gives(project, server, ending):
    project.settings |= {"CONCURRENT_REQUESTS": 4, "DEDUP_UNCHANGED": "skip", "DOWNLOAD_DELAY": 0.02, **ending.settings}
    crawl_to(project, server, ending)
    ends = ("CLOSESPIDER_ITEMCOUNT", "CLOSESPIDER_PAGECOUNT", "CLOSESPIDER_TIMEOUT", "FAILS", "FAILS_BEHIND")
    for name in (*ends, "DOWNLOAD_DELAY", "STORAGE_SECONDS"):
        project.settings.pop(name, None)

    second = project.crawl(*start(server), clean=False)

    assert second.stats["finish_reason"] == "finished"
    found = arrived(project)
    assert set(found) == NAMES
    assert not ending.once or max(found.values()) == 1


def crawl_to(project: Project, server: WebServer, ending: Ending) -> None:
    running = project.start(*start(server), *ending.arguments)
    for place, number in enumerate(ending.signals):
        running.send_when(number, stored=STOPS_AFTER if place == 0 else 0)
        if place + 1 < len(ending.signals):
            running.wait_for(lambda: "Received SIGINT" in running.log())
    crawled = running.finish()
    if ending.once:
        all_accounted_for(crawled)
    cut_half_lines(project)


def cut_half_lines(project: Project) -> None:
    for path in project.folder.glob("feed*.jsonl"):
        cut_half_line(path)


def test_two_crawls_on_one_store_that_are_killed_in_turn_leave_nothing_out(make_project, server, tmp_path):
    settings = {
        "DEDUP_DATABASE_URL": f"sqlite:///{tmp_path / 'both.db'}",
        "DEDUP_UNCHANGED": "skip",
        "BOT_NAME": "both",
    }
    projects = [make_project(name, **ADDON, **settings) for name in ("one", "other")]
    running = [project.start(*start(server), **BATCHES, DOWNLOAD_DELAY=0.05) for project in projects]
    for each in running:
        each.send_when(KILL, stored=5)
    for each in running:
        each.finish()
    for project in projects:
        cut_half_lines(project)
        project.crawl(*start(server), clean=False, **BATCHES)

    assert set(arrived(projects[0])) | set(arrived(projects[1])) == NAMES


def test_documentation_has_each_ending():
    text = DOCS.read_text(encoding="utf-8").partition("## How a crawl may end")[2].partition("\n## ")[0]
    first = [line.split("|")[1].strip().replace("`", "") for line in text.splitlines() if line.startswith("| ")][2:]

    assert "; ".join(first) == "; ".join(ENDINGS)

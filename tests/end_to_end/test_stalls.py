"""Each of the six causes of a stall, produced for real and named rightly."""

import re
import socket
from typing import Any

import pytest

from tests.end_to_end.crawling import BASE, Crawled, Project
from tests.server import Answer, Site, WebServer
from tests.sites import html_page

AFTER_SECONDS = 2
STALL = {"after": AFTER_SECONDS, "action": "stop"}
STALLS = {
    # With traps no crawl gets as far as to stall in known content.
    "DEDUP_RESILIENCE": {"enabled": True, "traps": "off", "pagination": False},
    "DEDUP_STALL": STALL,
    "EXTENSIONS": {**BASE["EXTENSIONS"], "scrapy_dedup.plugin.resilience.stall_monitor.StallMonitor": 120},
    "RETRY_ENABLED": False,
    "DOWNLOAD_TIMEOUT": 2,
}
SLOWLY: dict[str, Any] = {"DOWNLOAD_DELAY": 0.05, "RANDOMIZE_DOWNLOAD_DELAY": False}
"""Long enough a queue lasts longer than the stall."""
MANY = 80
MENU = 2
"""Pages that the menu links to."""
CAPTCHA = html_page("Are you a person?", body='<form action="/check"><input name="captcha"></form>')
COPY = html_page("copy")


SERVED: tuple[int, Any] = 2, lambda _: {}


@pytest.fixture(scope="module")
def closed_port() -> str:
    """An origin where nobody listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{one.getsockname()[1]}"


class Rest(dict[str, Any]):
    """A site with one answer for all other paths."""

    def __init__(self, site: Site, answer: Any) -> None:
        super().__init__(site)
        self.answer = answer

    def get(self, url: str, default: Any = None) -> Any:  # noqa: ARG002 - as dict has it
        answer = self.answer(url) if callable(self.answer) else self.answer
        return super().get(url, Answer("", 404) if url.endswith("/robots.txt") else answer)


def publish(server: WebServer, answer: Any, *, origin: str = "", path: str = "/page-{}") -> str:
    """Put a home page on the server that links to many others, and return its URL."""
    home = f"{server.origins[0]}/"
    links = [f"{origin or server.origins[0]}{path.format(number)}" for number in range(MANY)]
    server.requests.clear()
    server.site = Rest({home: Answer(html_page("home", links=links))}, answer)
    return home


def crawl(project: Project, home: str, spider: str = "walker", **settings: Any) -> Crawled:
    return project.crawl(spider, "-a", f"start={home}", clean=False, **{**STALLS, **settings})


def cause_of(crawled: Crawled) -> str:
    """Return the cause for which a crawl ended, and check that log and stats tell the same."""
    assert "defect in scrapy_dedup" not in crawled.log
    found = re.search(r"The crawl has stalled: (\w+) \((.+?)\)\. It ends\. Figures: (\d+) s without", crawled.log)
    assert found is not None, crawled.log[-3000:]
    assert crawled.count(f"stall/{found[1]}") == crawled.sum("stall/") == 1
    assert crawled.stats["finish_reason"] == f"dedup_stalled_{found[1]}"
    assert crawled.exit_code == 0
    return found[1]


def test_site_that_hangs_is_slow(project, server):
    probe = f"{server.origins[1]}/mine"
    home = publish(server, lambda url: Answer(COPY, delay_seconds=0 if url == probe else 20))

    crawled = crawl(project, home, DEDUP_STALL=STALL | {"probe_url": probe})

    assert cause_of(crawled) == "slow"
    assert server.requests.count(probe) == 1
    assert "the probe answers" in crawled.log


def test_site_that_asks_for_a_person_blocks(project, server):
    """One that says so by its status does in `test_stall_actions.py`."""
    assert cause_of(crawl(project, publish(server, Answer(CAPTCHA)), **SLOWLY)) == "blocked"


def test_nobody_answers_without_a_network(project, server, closed_port):
    home = publish(server, Answer(), origin=closed_port)

    crawled = crawl(project, home, DEDUP_STALL=STALL | {"probe_url": f"{closed_port}/mine"}, **SLOWLY)

    assert cause_of(crawled) == "no_network"
    assert "the probe does not answer" in crawled.log


def test_pages_that_all_say_the_same_are_only_duplicates(project, server):
    assert cause_of(crawl(project, publish(server, Answer(COPY)), **SLOWLY)) == "only_duplicates"


def test_calendar_is_a_trap(project, server):
    def month(url: str) -> Answer:
        number = int(url.rpartition("/")[2]) if "/calendar/" in url else 0
        days = "".join(f"<td>{day}</td>" for day in range(1, 29))
        body = f"<h1>Calendar: {number % 12 + 1}/{2030 + number // 12}</h1><table><tr>{days}</tr></table>"
        return Answer(html_page("Calendar", body=body, links=[f"/calendar/{number + 1}"]))

    home = publish(server, month)
    server.site[home] = Answer(html_page("home", links=["/calendar/1"]))

    crawled = crawl(project, home, **SLOWLY)

    assert cause_of(crawled) == "trap"
    assert "/calendar/# lead to each other" in crawled.log


def test_spider_that_is_held_open_is_finished(project, server):
    home = publish(server, lambda url: Answer(html_page(url)), path="/p{}")

    assert cause_of(crawl(project, home, "held-open")) == "finished"


def test_crawls_that_go_through_their_pages_do_not_stall(project, server):
    """Also when nothing has changed since the last one."""
    home = publish(server, lambda url: Answer(html_page(url)))

    first, second = (crawl(project, home, DOWNLOAD_DELAY=0.03) for _ in range(2))

    assert [crawled.stats["finish_reason"] for crawled in (first, second)] == ["finished"] * 2
    assert first.sum("stall/") == second.sum("stall/") == 0
    assert len(first.stored) == second.count("unchanged/unchanged") == MANY + MENU + 1

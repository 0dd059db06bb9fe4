"""What a stalled crawl does, as the site sees it."""

import base64
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import Any

from msgspec import Struct, field

from tests.end_to_end.crawling import Crawled, Project
from tests.end_to_end.test_stalls import SLOWLY, STALL, STALLS
from tests.sites import html_page

PASSWORD = "user:secret"
PATIENTLY = {"after": 3}
"""On a busy machine a crawl may bring nothing for a second after its first turn."""


class Asked(Struct):
    """A request as the site, or a proxy in front of it, gets it."""

    path: str
    agent: str
    proxied: bool
    credentials: str
    at: float = field(default_factory=time.monotonic)


class Guarded(BaseHTTPRequestHandler):
    """A site that is its own proxy: who asks it for whole URLs came through one."""

    protocol_version = "HTTP/1.1"
    asked: list[Asked]
    lets_pass: Callable[[Asked], int]
    pages: int

    def do_GET(self) -> None:
        proxied = self.path.startswith("http")
        path = "/" + self.path.split("/", 3)[3] if proxied else self.path
        headers = self.headers
        asked = Asked(path, headers.get("User-Agent", ""), proxied, headers.get("Proxy-Authorization", ""))
        status = 404 if path == "/robots.txt" else 200 if path == "/" else type(self).lets_pass(asked)
        links = [f"/page-{number}" for number in range(self.pages)] if path == "/" else []
        body = html_page(path, links=links).encode() if status == 200 else b"<p>No</p>"
        if path.startswith("/page"):
            self.asked.append(asked)
        self.send_response_only(status)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the standard library's name
        """Be silent."""


@contextmanager
def guarded(lets_pass: Callable[[Asked], int], pages: int = 100) -> Iterator[tuple[str, list[Asked]]]:
    """Serve pages to some, twenty a second; gives the origin, and who asked."""
    asked: list[Asked] = []
    handler = type("Handler", (Guarded,), {"asked": asked, "lets_pass": staticmethod(lets_pass), "pages": pages})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


def crawl(project: Project, origin: str, action: str, stall: dict[str, Any] | None = None, **settings: Any) -> Crawled:
    chosen = {**SLOWLY, "DEDUP_STALL": STALL | {"action": action} | (stall or {}), **settings}
    return project.crawl("walker", "-a", f"start={origin}/", clean=False, **(STALLS | chosen))


class Overloaded:
    """Refuses until it is left alone for a while."""

    def __init__(self) -> None:
        self._last = float("inf")
        self._refuses = True

    def __call__(self, asked: Asked) -> int:
        self._refuses = self._refuses and asked.at - self._last < 0.5
        self._last = asked.at
        return 429 if self._refuses else 200


def test_wait_asks_less_often_until_pages_come(project):
    with guarded(Overloaded()) as (origin, asked):
        crawled = crawl(project, origin, "wait", {"longest_delay": 0.8})
    pauses = [later.at - earlier.at for earlier, later in pairwise(asked)]

    assert crawled.count("stall/blocked") == crawled.count("stall/back_offs") >= 1
    assert crawled.sum("stall/") == 2 * crawled.count("stall/blocked")
    assert max(pauses) > 0.5
    # Afterwards each of them would have waited for as long.
    assert sum(pauses[-15:]) < 15 * 0.7
    assert len(crawled.stored) > 1
    assert crawled.stats["finish_reason"] == "finished"


def test_rotate_goes_on_as_somebody_else(project):
    with guarded(lambda asked: 200 if asked.agent == "Third/3.0" else 403, 200) as (origin, asked):
        agents = ["Second/2.0", "Third/3.0", "Fourth/4.0"]
        crawled = crawl(project, origin, "rotate", PATIENTLY | {"user_agents": agents}, USER_AGENT="First/1.0")

    assert list(dict.fromkeys(one.agent for one in asked)) == ["First/1.0", "Second/2.0", "Third/3.0"]
    assert crawled.count("stall/rotations") == crawled.count("stall/blocked") == 2
    assert len(crawled.stored) > 1


def test_rotate_goes_on_by_a_proxy(project):
    with guarded(lambda asked: 200 if asked.proxied else 403, 120) as (origin, asked):
        proxy = origin.replace("//", f"//{PASSWORD}@")
        crawled = crawl(project, origin, "rotate", PATIENTLY | {"proxies": [proxy]})

    assert {one.credentials for one in asked if one.proxied} == {
        f"Basic {base64.b64encode(PASSWORD.encode()).decode()}"
    }
    assert crawled.count("stall/rotations") == 1
    assert len(crawled.stored) > 1
    assert f"proxy {origin.removeprefix('http://')}" in crawled.log
    told = [line for line in crawled.log.splitlines() if "The crawl has stalled" in line]
    assert not [line for line in told if "secret" in line]


def test_exit_ends_the_crawl_with_a_code_of_its_own(project):
    with guarded(lambda _: 429) as (origin, _):
        crawled = crawl(project, origin, "exit")

    assert crawled.exit_code == 75
    assert crawled.stats["finish_reason"] == "dedup_stalled_blocked"
    assert "It ends with exit code 75" in crawled.log

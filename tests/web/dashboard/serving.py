"""The dashboard as it is served, in a thread, and as a browser sees it."""

import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import uvicorn
from playwright.sync_api import Browser, Page, Request, Response
from selectolax.lexbor import LexborHTMLParser

from scrapy_dedup.core.addresses import hosts_of
from scrapy_dedup.service.jobs import listen
from scrapy_dedup.service.projects import project_of
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from scrapy_dedup.web.app import make_app
from scrapy_dedup.web.security import Access
from scrapy_dedup.web.server import Server
from tests.browser import Scheme, empty_page
from tests.commands.running import scrapy
from tests.web.dashboard.filled import HOSTILE_PROJECT, PROJECT, Filled

TOKEN = "a-token-for-tests"
# Each theme and each width once: axe takes most of the time.
LOOKS: tuple[tuple[int, Scheme], ...] = ((1280, "light"), (390, "dark"))
TABLET = 768


@dataclass(frozen=True)
class Dashboard:
    """A server under way, and the store behind it."""

    origin: str
    filled: Filled
    server: Server

    @property
    def folder(self) -> Path:
        return self.filled.folder

    @property
    def store(self) -> Store:
        return self.server.store

    @property
    def project(self) -> ProjectStore:
        return project_of(self.store, PROJECT)

    @property
    def hostile(self) -> ProjectStore:
        return project_of(self.store, HOSTILE_PROJECT)

    def path(self, *steps: str, project: ProjectStore | None = None) -> str:
        """Return the path of a page of the project; `steps` are quoted."""
        found = project or self.project
        return f"/p/{found.id}/" + "/".join(quote(step, safe="") for step in steps)

    @contextmanager
    def client(self) -> Iterator[httpx.Client]:
        """Yield one with a session, for what needs no browser."""
        with httpx.Client(base_url=self.origin) as client:
            client.get("/login", params={"token": TOKEN})
            yield client

    def refused(self, path: str, status: int) -> str:
        """Return what the page says that is answered with this status; none has a script of its own."""
        with self.client() as client:
            answer = client.get(path)
        page = LexborHTMLParser(answer.text)
        assert answer.status_code == status, path
        assert page.css("script:not([src])") == [], path
        return page.css("main")[0].text()

    def json(self, *verb: str) -> Any:
        """Return what a command says of the same store by `--json`."""
        options = [part for name, value in self.filled.settings.items() for part in ("-s", f"{name}={value}")]
        done = scrapy("dedup", *verb, "--json", *options, folder=self.folder)
        assert done.code == 0, done.err
        return json.loads(done.out)


@contextmanager
def served(filled: Filled) -> Iterator[Dashboard]:
    settings = Settings.read({**filled.settings, "DEDUP_SERVE": {"rate": "1000000"}})
    listening = listen("127.0.0.1", 0)
    port = listening.getsockname()[1]
    options = [part for name, value in filled.settings.items() for part in ("-s", f"{name}={value}")]
    with Store.open(filled.url) as store, closing(listening):
        server = Server(store, settings, PROJECT, arguments=tuple(options), folder=filled.folder)
        access = Access(TOKEN, hosts_of("127.0.0.1", port, ()), requests_a_minute=1_000_000)
        app = make_app(server, access)
        config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", ws="none")
        running = uvicorn.Server(config)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield Dashboard(f"http://127.0.0.1:{port}", filled, server)
        finally:
            running.should_exit = True
            thread.join()
            server.jobs.close()


@dataclass
class Seen:
    """A page that is open in a browser, with all it asked for and complained of."""

    page: Page
    origin: str
    asked: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    @property
    def asked_elsewhere(self) -> list[str]:
        return [url for url in self.asked if not url.startswith((f"{self.origin}/", "data:", "about:"))]

    @property
    def overhang(self) -> int:
        """Pixels by which the document is wider than the window."""
        # Where a form was sent, the new page's words may be there before its styles.
        self.page.wait_for_load_state("load")
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    @property
    def folded_names(self) -> list[str]:
        """Names of rows that have less room than a date needs, so that they are broken within words."""
        rooms = "names => names.filter(name => name.offsetWidth < 150).map(name => name.innerText)"
        return list(self.page.eval_on_selector_all(".listing tbody th", rooms))

    @property
    def has_run(self) -> bool:
        return bool(self.page.evaluate("window.__ran === 1 || window.hacked === 1"))

    def go(self, path: str) -> None:
        self.page.goto(self.origin + path, wait_until="load")

    def look(self, width: int, scheme: Scheme) -> None:
        """Look at the page that is open on another screen."""
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.emulate_media(color_scheme=scheme)

    def assert_clean(self) -> None:
        """Assert that nothing was complained of, failed, asked elsewhere, ran, or is too wide."""
        assert self.complaints == []
        assert self.failed == []
        assert self.asked_elsewhere == []
        assert not self.has_run
        assert self.overhang <= 0, self.page.url


@contextmanager
def seen(
    browser: Browser,
    dashboard: Dashboard,
    path: str = "/",
    *,
    width: int = 1280,
    scheme: Scheme = "light",
    with_script: bool = True,
) -> Iterator[Seen]:
    """Yield a page of the dashboard, opened with a session of its own."""
    with empty_page(browser, width=width, scheme=scheme, with_script=with_script) as page:
        watched = Seen(page, dashboard.origin)
        # What is sent there is kept for the page, too, and nothing is drawn for it.
        page.request.get(f"{dashboard.origin}/login?token={TOKEN}", max_redirects=0)

        def note_failure(request: Request) -> None:
            # What a page asks for as it is left is no failure.
            if request.failure != "net::ERR_ABORTED":
                watched.failed.append(f"{request.failure}: {request.url}")

        def note_request(request: Request) -> None:
            watched.asked.append(request.url)

        def note_response(response: Response) -> None:
            if response.status >= 400:
                watched.failed.append(f"{response.status} {response.url}")

        page.on("request", note_request)
        page.on("response", note_response)
        page.on("requestfailed", note_failure)
        page.on("console", lambda message: watched.complaints.append(message.text))
        page.on("pageerror", lambda error: watched.complaints.append(str(error)))
        page.goto(dashboard.origin + path, wait_until="load")
        yield watched

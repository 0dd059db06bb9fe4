"""A Chromium for tests that look at pages, and a record of what a page does there."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, BrowserContext, Page, Request, ViewportSize, sync_playwright

from scrapy_dedup.teacher.browser import NAMES
from tests.servers_here import Started, is_hidden, is_missing, one_for_the_run
from tests.waiting import wait_for

Scheme = Literal["light", "dark"]

# Chromium must neither need a sandbox (root in a container) nor ask anything of the network on its own account.
ARGUMENTS = (
    "--no-sandbox",
    # A page that is shown again from there tells nobody that it was loaded.
    "--disable-back-forward-cache",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium_path() -> str | None:
    """Return the browser that is installed; Debian's place first."""
    if is_hidden("chromium"):
        return None
    debian_first = os.pathsep.join(["/usr/bin", os.environ.get("PATH", os.defpath)])
    return next(filter(None, (shutil.which(name, path=debian_first) for name in NAMES)), None)


def required_chromium() -> str:
    """Return the browser that is installed; skip the test where there is none, in CI fail."""
    path = chromium_path()
    if path is None:
        is_missing("no Chromium found: install it (apt-get install chromium-headless-shell) to run the browser tests")
    return path


@contextmanager
def chromium() -> Iterator[Browser]:
    """Yield a headless browser of one's own; where there is none, as `required_chromium` says."""
    path = required_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def shared_chromium() -> Iterator[Browser]:
    address = one_for_the_run("chromium", _start)["address"]
    with sync_playwright() as playwright:
        yield playwright.chromium.connect_over_cdp(address)


def _start(folder: Path) -> Started:
    command = [
        required_chromium(),
        *ARGUMENTS,
        "--headless",
        "--hide-scrollbars",
        "--remote-debugging-port=0",
        f"--user-data-dir={folder}",
    ]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    note = folder / "DevToolsActivePort"
    # It is there before anything stands in it.
    wait_for(lambda: note.exists() and "\n" in note.read_text(encoding="utf-8"))
    port = note.read_text(encoding="utf-8").split()[0]
    return Started(process, signal.SIGTERM, {"address": f"http://127.0.0.1:{port}"})


@dataclass(slots=True)
class Observed:
    """An open page with everything it asked for and complained of."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    @property
    def requests_elsewhere(self) -> list[str]:
        """Requests for anything but files that were named by the test and data in the page itself."""
        return [url for url in self.requests if not url.startswith(("file:", "data:", "about:"))]

    @property
    def overhang(self) -> int:
        """Pixels by which the document is wider than the window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


@cache
def _context(browser: Browser, width: int, scheme: Scheme, with_script: bool) -> BrowserContext:  # noqa: FBT001
    size = ViewportSize(width=width, height=900)
    return browser.new_context(viewport=size, color_scheme=scheme, java_script_enabled=with_script)


@contextmanager
def empty_page(browser: Browser, *, width: int, scheme: Scheme, with_script: bool = True) -> Iterator[Page]:
    """Yield a page without cookies, in the context of all that look like it: one of its own takes twice as long."""
    context = _context(browser, width, scheme, with_script)
    context.clear_cookies()
    page = context.new_page()
    try:
        yield page
    finally:
        page.close()


@contextmanager
def opened(browser: Browser, url: str, *, width: int, scheme: Scheme = "light") -> Iterator[Observed]:
    """Yield the page at `url` once it has loaded, watched from its first request on."""
    with empty_page(browser, width=width, scheme=scheme) as page:
        observed = Observed(page)

        def note_request(request: Request) -> None:
            observed.requests.append(request.url)

        page.on("request", note_request)
        page.on("console", lambda message: observed.complaints.append(message.text))
        page.on("pageerror", lambda error: observed.complaints.append(str(error)))
        page.goto(url, wait_until="load")
        yield observed

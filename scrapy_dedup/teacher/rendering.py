"""One page in the browser: brought there from memory, looked at, and ended, whatever it does."""

import asyncio
import base64
import json
import os
import re
import signal
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from playwright.async_api import (
    Browser,
    BrowserContext,
    CDPSession,
    Error,
    Page,
    Playwright,
    Request,
    Route,
    async_playwright,
)
from playwright.async_api import TimeoutError as PlaywrightTimeoutError

from scrapy_dedup.core.teacher import Snapshot
from scrapy_dedup.teacher import Fetch, NotShown, NotShownReason, RenderedPage, Resource, Showing, WantedResource

_MOST_LAUNCH_SECONDS: Final = 30
_END_SECONDS: Final = 5
_ANSWER_SECONDS: Final = 10

# Each alone keeps a page from the network in all cases that tests know; together they do so where one is changed.
ARGUMENTS: Final = (
    # Names and addresses alike: nothing is asked of a name server, nothing connects.
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--no-proxy-server",
    # STUN goes by UDP and past the rules for hosts.
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy",
    "--disable-quic",
    "--dns-prefetch-disable",
    "--no-pings",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-gpu",
    # A page that takes more of its heap ends; what it holds elsewhere is watched, see `memory`.
    "--js-flags=--max-old-space-size=512",
)

# Playwright's, for tests of one's own pages: with them a page may open windows and navigate as often as it likes.
_NOT_ARGUMENTS: Final = ("--disable-popup-blocking", "--disable-ipc-flooding-protection")


class Running:
    """A browser that was started."""

    def __init__(self, playwright: Playwright, browser: Browser, session: CDPSession, process: int) -> None:
        self.browser = browser
        self.session = session
        """With the browser, not with a page."""
        self.process = process
        """Its process id; 0 where it is not known."""
        self.version = f"Chromium {browser.version}"
        self.is_doubted = False
        """A page did not end when it was told to."""
        self._playwright = playwright

    async def answers(self) -> bool:
        """Return whether it can show one more page; asked, for that it has ended is told late."""
        if self.is_doubted or not self.browser.is_connected():
            return False
        try:
            await asyncio.wait_for(self.session.send("Browser.getVersion"), _ANSWER_SECONDS)
        except (TimeoutError, Error):
            return False
        return True

    async def close(self) -> None:
        """End it, by force where it does not end by itself."""
        with suppress(Exception):
            await asyncio.wait_for(self.browser.close(), _END_SECONDS)
        if self.browser.is_connected():
            self._kill()
        with suppress(Exception):
            await asyncio.wait_for(self._playwright.stop(), _END_SECONDS)

    def _kill(self) -> None:
        # Playwright gives the browser a process group of its own.
        if self.process and hasattr(os, "killpg"):
            with suppress(OSError):
                os.killpg(self.process, signal.SIGKILL)


async def start(path: str, seconds: float) -> Running:
    """Return a browser that was started within the time, but never more than half a minute.

    Raises:
        Exception: of whatever kind Playwright has for it.
    """
    playwright = await asyncio.wait_for(async_playwright().start(), _MOST_LAUNCH_SECONDS)
    try:
        browser = await playwright.chromium.launch(
            executable_path=path,
            args=list(ARGUMENTS),
            ignore_default_args=list(_NOT_ARGUMENTS),
            # Chromium has none for root. What it shows is hostile: everyone else has it.
            chromium_sandbox=not (hasattr(os, "geteuid") and os.geteuid() == 0),
            # Ctrl-C is for the crawl, which ends the browser when it has ended.
            handle_sigint=False,
            handle_sigterm=False,
            handle_sighup=False,
            timeout=min(seconds, _MOST_LAUNCH_SECONDS) * 1000,
        )
        session = await browser.new_browser_cdp_session()
        return Running(playwright, browser, session, await _process(session))
    except BaseException:
        with suppress(Exception):
            await asyncio.wait_for(playwright.stop(), _END_SECONDS)
        raise


async def _process(session: CDPSession) -> int:
    answer = await session.send("SystemInfo.getProcessInfo")
    return next((int(entry["id"]) for entry in answer["processInfo"] if entry["type"] == "browser"), 0)


MOST_RESOURCES: Final = 60
MOST_RESOURCE_BYTES: Final = 8_000_000
_MOST_REFUSED: Final = 20
_MOST_URL_CHARS: Final = 8_192

STYLES: Final = frozenset({"stylesheet"})
STYLES_AND_SCRIPTS: Final = STYLES | {"script", "xhr", "fetch"}

# Others would set cookies, load more (`link`), or lead away (`refresh`, `location`); lengths and encodings are those
# of the connection.
_PASSED_HEADERS: Final = re.compile(r"content-type|content-language|access-control-.*|cross-origin-resource-policy")
# Pictures, fonts, frames, workers and sockets are not even asked for: each question would take milliseconds.
_POLICY: Final = (
    "default-src 'none'; style-src http: https: data: 'unsafe-inline'; img-src data:; font-src data:; frame-src 'none';"
    " worker-src 'none'; object-src 'none'; form-action 'none'; webrtc 'block'"
)
_SCRIPT_POLICY: Final = (
    f"{_POLICY}; script-src http: https: data: blob: 'unsafe-inline' 'unsafe-eval'; connect-src http: https:"
)

# Of one page's process; large pages of real sites take 300 MB. Scripts can take far more than the limit of their heap.
MOST_PAGE_BYTES: Final = 1_000_000_000
_MEMORY_LOOK_SECONDS: Final = 0.5

WIDTH: Final = 1366
HEIGHT: Final = 900
MOST_HTML_BYTES: Final = 2_000_000
MOST_PICTURE_HEIGHT: Final = 4_000
_MOST_NAVIGATION_SECONDS: Final = 15
# Of the time for the whole page, so that one that waits for a style sheet in vain is still looked at.
_RESOURCES_SHARE: Final = 0.4
_NAVIGATION_SHARE: Final = 0.6
_QUIET_SECONDS: Final = 0.5
_EVERY_SECONDS: Final = 0.03
# Longer than any machine needs, however busy: a page that does not end by then costs the browser.
_CLOSE_SECONDS: Final = 10
_WORLD: Final = "look"
# How Playwright's messages say that a page or the browser has ended; its class for it is the same as for closing.
_ENDINGS: Final = ("has been closed", "crashed", "Connection closed", "disconnected")
# And how Chromium's say that a document made way for another while it was asked.
_GONE: Final = ("Cannot find context", "context was destroyed", "No frame", "navigated or closed")
_MOST_DOCUMENTS: Final = 5
_DRAWING_URL: Final = "http://drawing.invalid/"

_T = TypeVar("_T")


class PageGate:
    """Answers the requests of one page; its first navigation is answered by the page, any other is refused."""

    def __init__(self, url: str, html: str, fetch: Fetch | None, *, scripts: bool = False, until: float = 0) -> None:
        """Begin with nothing asked.

        *fetch* gets resources, None refuses them all; *scripts*: let scripts and what they ask for in, too; what has
        not come by *until*, of the loop's clock, is refused.
        """
        self.fetched = 0
        self.served = ""
        """The page's URL as the browser spells it, once it has asked for the page."""
        self._url = url
        self._html = html
        self._fetch = fetch
        self._kinds = STYLES_AND_SCRIPTS if scripts else STYLES
        self._policy = _SCRIPT_POLICY if scripts else _POLICY
        self._until = until
        self._asked = 0
        self._bytes = 0
        self._refused: dict[str, None] = {}
        self._open = 0
        self._last_change = 0.0

    @property
    def refused(self) -> tuple[str, ...]:
        """URLs that were asked for and not given, in the order of asking."""
        return tuple(self._refused)

    async def answer(self, route: Route) -> None:
        """Answer one request; one whose page has gone needs none."""
        self._open += 1
        try:
            await self._answer(route, route.request)
        except Error:
            pass
        finally:
            self._open -= 1
            self._last_change = asyncio.get_running_loop().time()

    async def quiet(self, seconds: float) -> None:
        """Wait until nothing was asked for so long, or until resources are too late."""
        clock = asyncio.get_running_loop().time
        self._last_change = max(self._last_change, clock())
        while clock() < self._until and (self._open or clock() - self._last_change < seconds):  # noqa: ASYNC110 (it waits for a time without events)
            await asyncio.sleep(0.05)

    async def _answer(self, route: Route, request: Request) -> None:
        if request.is_navigation_request():
            await self._navigate(route)
            return
        resource = await self._resource(request)
        if resource is None:
            if len(self._refused) < _MOST_REFUSED:
                self._refused[request.url[:_MOST_URL_CHARS]] = None
            await route.abort("blockedbyclient")
            return
        self.fetched += 1
        headers = {name: value for name, value in resource.headers.items() if _PASSED_HEADERS.fullmatch(name)}
        await route.fulfill(status=resource.status, headers=headers, body=resource.body)

    async def _navigate(self, route: Route) -> None:
        if self.served:
            # Any other error would put the browser's own page about it in the place of the page.
            await route.abort("aborted")
            return
        self.served = route.request.url
        headers = {"content-type": "text/html; charset=utf-8", "content-security-policy": self._policy}
        await route.fulfill(status=200, headers=headers, body=self._html.encode("utf-8", "replace"))

    async def _resource(self, request: Request) -> Resource | None:
        if self._fetch is None or not self._may_ask(request):
            return None
        self._asked += 1
        wanted = WantedResource(request.url, request.resource_type, self._url)
        left = self._until - asyncio.get_running_loop().time()
        try:
            resource = await asyncio.wait_for(asyncio.wrap_future(self._fetch(wanted)), left)
        except Exception:  # noqa: BLE001 (whatever keeps a resource away, the page is shown without it)
            return None
        if resource is None or not 200 <= resource.status <= 599 or 300 <= resource.status <= 399:
            return None
        self._bytes += len(resource.body)
        return resource if self._bytes <= MOST_RESOURCE_BYTES else None

    def _may_ask(self, request: Request) -> bool:
        return (
            request.resource_type in self._kinds
            and request.method == "GET"
            and request.url.startswith(("http://", "https://"))
            and len(request.url) <= _MOST_URL_CHARS
            and self._asked < MOST_RESOURCES
            and self._bytes < MOST_RESOURCE_BYTES
        )


async def watch_memory(session: CDPSession) -> None:
    """Go on until cancelled, and end each process of a page that takes too much; nothing where the system has no /proc.

    The *session* is the browser's, not a page's.
    """
    while _resident_bytes(os.getpid()):
        await asyncio.sleep(_MEMORY_LOOK_SECONDS)
        answer = await session.send("SystemInfo.getProcessInfo")
        for entry in answer["processInfo"]:
            process = int(entry["id"])
            if entry["type"] == "renderer" and _resident_bytes(process) > MOST_PAGE_BYTES:
                with suppress(OSError):
                    os.kill(process, signal.SIGKILL)


def _resident_bytes(process: int) -> int:
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text("ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


class _EndedError(Exception):
    """The page is not to be looked at any more."""

    def __init__(self, reason: NotShownReason, text: str) -> None:
        super().__init__(text)
        self.reason = reason


async def show_page(running: Running, showing: Showing, fetch: Fetch, seconds: float) -> RenderedPage | NotShown:
    """Return what a page looks like, within the time, and a little for ending it."""
    if not showing.url.lower().startswith(("http://", "https://")):
        return NotShown(NotShownReason.FAILED, f"{showing.url[:200]!r}: needs an http or https URL")
    if len(showing.page.html) > MOST_HTML_BYTES or len(showing.page.html.encode("utf-8", "replace")) > MOST_HTML_BYTES:
        return NotShown(NotShownReason.TOO_LARGE, f"more than {MOST_HTML_BYTES} bytes of HTML")
    until = asyncio.get_running_loop().time() + seconds * _RESOURCES_SHARE
    gate = PageGate(showing.url, showing.page.html, fetch, scripts=showing.scripts, until=until)

    async def look() -> RenderedPage:
        async with _tab(running, gate, scripts=showing.scripts) as tab:
            return await tab.unless_crashed(_look(tab, showing, seconds))

    return await _outcome(look(), seconds)


async def draw_page(running: Running, html: str, size: tuple[int, int], seconds: float) -> bytes | NotShown:
    """Return a PNG of a page of our own, which asks for nothing."""
    gate = PageGate(_DRAWING_URL, html, None)

    async def draw() -> bytes:
        async with _tab(running, gate, size=size) as tab:
            return await tab.unless_crashed(_draw(tab, size, seconds))

    return await _outcome(draw(), seconds)


async def _draw(tab: "_Tab", size: tuple[int, int], seconds: float) -> bytes:
    await tab.open(_DRAWING_URL, seconds)
    return await tab.picture(*size)


async def _outcome(work: Awaitable[_T], seconds: float) -> _T | NotShown:
    """Return what comes of it, or why nothing does: never an exception."""
    try:
        async with asyncio.timeout(seconds):
            return await work
    except _EndedError as error:
        return NotShown(error.reason, str(error))
    except (TimeoutError, PlaywrightTimeoutError) as error:
        return NotShown(NotShownReason.TIMEOUT, _first_line(error) or f"not done after {seconds:g} s")
    except Error as error:
        text = _first_line(error)
        is_end = any(word in text for word in _ENDINGS)
        return NotShown(NotShownReason.CRASHED if is_end else NotShownReason.FAILED, text)
    except Exception as error:  # noqa: BLE001 (a page can make the browser answer anything; the crawl goes on)
        return NotShown(NotShownReason.FAILED, f"{type(error).__name__}: {_first_line(error)}")


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0][:300]


class _Tab:
    """A page that is open."""

    def __init__(self, page: Page, gate: PageGate, session: CDPSession, crashed: "asyncio.Future[None]") -> None:
        self.page = page
        self.gate = gate
        self._session = session
        self._crashed = crashed

    async def unless_crashed(self, work: Awaitable[_T]) -> _T:
        """Return what comes of it; questions to a page that has crashed are never answered."""
        task = asyncio.ensure_future(work)
        # What comes of it later is nobody's, an error neither.
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        awaited: set[asyncio.Future[Any]] = {task, self._crashed}
        try:
            await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise _EndedError(NotShownReason.CRASHED, "the page's process, or the browser, has ended")
            return task.result()
        finally:
            task.cancel()

    async def open(self, url: str, seconds: float) -> None:
        """Go to the page and wait until it has loaded.

        Playwright's own waiting for that does not end where a page has tried to lead away while it loaded.
        """
        try:
            async with asyncio.timeout(seconds):
                await self.page.goto(url, wait_until="commit", timeout=seconds * 1000)
                while await self.ask("document.readyState", seconds) != "complete":  # noqa: ASYNC110 (no event says it)
                    await asyncio.sleep(_EVERY_SECONDS)
        except TimeoutError as error:
            raise _EndedError(NotShownReason.TIMEOUT, f"not loaded after {seconds:g} s") from error

    async def ask(self, expression: str, seconds: float) -> Any:
        """Return the value of an expression; of the document that is there, where one made way for another."""
        for _ in range(_MOST_DOCUMENTS):
            try:
                return await self._ask(expression, seconds)
            except Error as error:
                if not any(word in str(error) for word in _GONE):
                    raise
                await asyncio.sleep(_EVERY_SECONDS)
        raise _EndedError(NotShownReason.LED_AWAY, f"the page leads elsewhere again and again: {self.page.url[:200]!r}")

    async def _ask(self, expression: str, seconds: float) -> Any:
        """Ask in a world of its own, where the page's scripts change nothing."""
        tree = await self._session.send("Page.getFrameTree")
        frame = tree["frameTree"]["frame"]["id"]
        world = await self._session.send("Page.createIsolatedWorld", {"frameId": frame, "worldName": _WORLD})
        question = {
            "expression": expression,
            "contextId": world["executionContextId"],
            "returnByValue": True,
            "timeout": max(1, seconds * 1000),
        }
        answer = await self._session.send("Runtime.evaluate", question)
        if "exceptionDetails" in answer:
            raise Error(str(answer["exceptionDetails"].get("exception", {}).get("description", "it threw"))[:300])
        return answer["result"].get("value")

    async def picture(self, width: int, height: int) -> bytes:
        """Return a PNG of the page's upper left part."""
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        question = {"format": "png", "clip": clip, "captureBeyondViewport": True}
        return base64.b64decode((await self._session.send("Page.captureScreenshot", question))["data"])


@asynccontextmanager
async def _tab(
    running: Running, gate: PageGate, *, scripts: bool = False, size: tuple[int, int] = (WIDTH, HEIGHT)
) -> AsyncIterator[_Tab]:
    """Yield a page without a network, in a context of its own: nothing of it is left for the next."""
    context = await _new_context(running, size, scripts=scripts)
    crashed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def note_crash(_: object) -> None:
        if not crashed.done():
            crashed.set_result(None)

    watch = asyncio.ensure_future(watch_memory(running.session))
    try:
        await context.route("**/*", gate.answer)
        await context.route_web_socket("**/*", lambda socket: socket.close())
        page = await context.new_page()
        page.on("crash", note_crash)
        running.browser.on("disconnected", note_crash)
        # Pages that the page opens.
        context.on("page", _close_popup)
        yield _Tab(page, gate, await context.new_cdp_session(page), crashed)
    finally:
        watch.cancel()
        with suppress(asyncio.CancelledError, Error):
            await watch
        running.browser.remove_listener("disconnected", note_crash)
        await _end(running, context)


async def _new_context(running: Running, size: tuple[int, int], *, scripts: bool) -> BrowserContext:
    try:
        return await running.browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            java_script_enabled=scripts,
            offline=True,
            service_workers="block",
            accept_downloads=False,
            reduced_motion="reduce",
        )
    except asyncio.CancelledError:
        # It may come yet, and nobody would close it.
        running.is_doubted = True
        raise


async def _close_popup(page: Page) -> None:
    try:
        await page.close()
    except Error:
        return


async def _end(running: Running, context: BrowserContext) -> None:
    try:
        await asyncio.wait_for(context.close(), _CLOSE_SECONDS)
    except (TimeoutError, Error):
        running.is_doubted = True


async def _look(tab: _Tab, showing: Showing, seconds: float) -> RenderedPage:
    await tab.open(showing.url, min(_MOST_NAVIGATION_SECONDS, seconds * _NAVIGATION_SHARE))
    if showing.scripts:
        await tab.gate.quiet(_QUIET_SECONDS)
    value = await tab.ask(f"(\n{_look_source()}\n)({json.dumps(showing.page.attribute)})", seconds)
    try:
        snapshot = Snapshot.from_json(value)
    finally:
        _expect_still_there(tab)
    html = await tab.ask(_HTML, seconds) if showing.scripts else None
    if showing.scripts and html is None:
        text = f"more than {MOST_HTML_BYTES} characters of HTML after its scripts ran"
        raise _EndedError(NotShownReason.TOO_LARGE, text)
    picture = None
    if showing.picture:
        picture = await tab.picture(WIDTH, max(1, min(snapshot.height, MOST_PICTURE_HEIGHT)))
    return RenderedPage(snapshot, picture, html, tab.gate.fetched, tab.gate.refused, "")


_HTML: Final = f"""(() => {{
  const html = document.documentElement ? document.documentElement.outerHTML : "";
  return html.length > {MOST_HTML_BYTES} ? null : html;
}})()"""


def _expect_still_there(tab: _Tab) -> None:
    """Raise where another document was looked at; a page may give itself another URL, of its own origin."""
    here, asked = urlsplit(tab.page.url), urlsplit(tab.gate.served)
    if (here.scheme, here.netloc) != (asked.scheme, asked.netloc):
        raise _EndedError(NotShownReason.LED_AWAY, f"the page has led to {tab.page.url[:200]!r}")


@cache
def _look_source() -> str:
    return (files("scrapy_dedup.teacher") / "look.js").read_text("utf-8")

"""The teacher's browser, for callers of any kind: which one it is; a thread of its own, one process, two pages at once.

No part of Playwright is imported to find one, or to say what to install.
"""

import asyncio
import atexit
import json
import logging
import os
import platform
import shutil
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from datetime import timedelta
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from scrapy_dedup.teacher import Fetch, NotShown, NotShownReason, RenderedPage, Showing

if TYPE_CHECKING:
    from scrapy_dedup.teacher.rendering import Running


SETTING: Final = 'DEDUP_BROWSER["path"]'
# Playwright itself reads none for a browser's path; this one is what packagers of it and many projects agreed on.
VARIABLE: Final = "PLAYWRIGHT_CHROMIUM_EXECUTABLE_PATH"
# The best first: a shell without windows starts and draws with half of a browser's CPU.
NAMES: Final = (
    "chromium-headless-shell",
    "chrome-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "microsoft-edge",
    "microsoft-edge-stable",
    "chrome",
    "msedge",
)
INSTALL_EXTRA: Final = "pip install 'scrapy_dedup[teacher]'"
INSTALL_OWN: Final = "playwright install chromium"
INSTALL_DEBIAN: Final = "apt-get install chromium-headless-shell"
LEAVE_EMPTY: Final = "scrapy dedup doctor -s DEDUP_BROWSER={}"

# What Playwright calls its downloads, in the order in which it takes them for a browser without a window.
_DOWNLOADS: Final = ("chromium-headless-shell", "chromium")
_EXECUTABLES: Final = (
    "chrome-headless-shell",
    "chrome-headless-shell.exe",
    "headless_shell",
    "headless_shell.exe",
    "chrome",
    "chrome.exe",
    "Chromium",
    "Google Chrome for Testing",
)
# As deep as any of them lies below its folder: in an application folder of macOS.
_MOST_FOLDERS: Final = 5


class Origin(StrEnum):
    """Where a browser was found."""

    SETTING = "setting"
    ENVIRONMENT = "environment"
    PLAYWRIGHT = "playwright"
    """Downloaded by `playwright install`."""
    PATH = "path"


class FoundBrowser(Struct, frozen=True):
    """A browser to start."""

    path: str
    origin: Origin


class Missing(Struct, frozen=True):
    """No browser to start, and the one command that mends it."""

    kind: NotShownReason
    """NO_PLAYWRIGHT or NO_BROWSER."""
    reason: str
    command: str

    @property
    def not_shown(self) -> NotShown:
        """The same as an answer to a page that was to be shown."""
        return NotShown(self.kind, f"{self.reason}; to mend it: {self.command}")


def find_browser(path: str = "", environment: Mapping[str, str] = os.environ) -> FoundBrowser | Missing:
    """Return the browser to use: of the setting, the environment, Playwright's own, or the first on PATH.

    *path* is DEDUP_BROWSER["path"], empty: not set. One that is set and is no program is an error, never passed over.
    PATH and Playwright's variables are read in the *environment*.
    """
    folder = _playwright_folder()
    if folder is None:
        return Missing(NotShownReason.NO_PLAYWRIGHT, "Playwright is not installed", INSTALL_EXTRA)
    if path:
        return FoundBrowser(path, Origin.SETTING) if _is_program(path) else _wrong_path(SETTING, path, LEAVE_EMPTY)
    if named := environment.get(VARIABLE):
        return (
            FoundBrowser(named, Origin.ENVIRONMENT)
            if _is_program(named)
            else _wrong_path(VARIABLE, named, f"unset {VARIABLE}")
        )
    if downloaded := next(_downloaded(folder / "driver" / "package", environment), None):
        return FoundBrowser(downloaded, Origin.PLAYWRIGHT)
    for name in NAMES:
        if installed := shutil.which(name, path=environment.get("PATH", os.defpath)):
            return FoundBrowser(installed, Origin.PATH)
    return Missing(NotShownReason.NO_BROWSER, "no Chromium, Chrome or Edge is installed", _install(environment))


def _wrong_path(name: str, path: str, command: str) -> Missing:
    return Missing(
        NotShownReason.NO_BROWSER, f"{name}={path!r}: needs the path of a Chromium, or leave it empty", command
    )


def _is_program(path: str) -> bool:
    return Path(path).is_file() and os.access(path, os.X_OK)


def _install(environment: Mapping[str, str]) -> str:
    """Return how to install one here; only Debian's own package is a browser and brings its libraries."""
    try:
        is_debian = platform.freedesktop_os_release().get("ID") == "debian"
    except OSError:
        is_debian = False
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    has_apt = shutil.which("apt-get", path=environment.get("PATH", os.defpath)) is not None
    return INSTALL_DEBIAN if is_debian and is_root and has_apt else INSTALL_OWN


def _downloaded(package: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield programs that `playwright install` has put for this version of Playwright; the best first.

    Playwright says it only after its driver was started, which takes a second, and names the browser with a window.
    """
    try:
        listed = json.loads((package / "browsers.json").read_text("utf-8"))["browsers"]
        revisions = {entry["name"]: entry["revision"] for entry in listed}
    except (OSError, ValueError, KeyError, TypeError):
        return
    kept = _downloads_folder(environment, package)
    for name in _DOWNLOADS:
        folder = kept / f"{name.replace('-', '_')}-{revisions.get(name, '')}"
        if (folder / "INSTALLATION_COMPLETE").is_file():
            yield from _programs(folder)


def _programs(folder: Path) -> Iterator[str]:
    for depth in range(1, _MOST_FOLDERS + 1):
        for executable in _EXECUTABLES:
            yield from filter(_is_program, map(str, sorted(folder.glob("*/" * depth + executable))))


def _playwright_folder() -> Path | None:
    try:
        spec = find_spec("playwright")
    except (ImportError, ValueError):
        return None
    places = spec.submodule_search_locations if spec is not None else None
    return Path(next(iter(places))) if places else None


def _downloads_folder(environment: Mapping[str, str], package: Path) -> Path:
    """Return where Playwright keeps its browsers, by its own rules."""
    set_folder = environment.get("PLAYWRIGHT_BROWSERS_PATH")
    if set_folder == "0":
        return package / ".local-browsers"
    if set_folder:
        return Path(set_folder).absolute()
    home = Path(environment.get("HOME") or environment.get("USERPROFILE") or Path.home())
    if sys.platform == "darwin":
        cache = home / "Library" / "Caches"
    elif sys.platform == "win32":
        cache = Path(environment.get("LOCALAPPDATA") or home / "AppData" / "Local")
    else:
        cache = Path(environment.get("XDG_CACHE_HOME") or home / ".cache")
    return cache / "ms-playwright"


logger = logging.getLogger(__name__)

# A third takes twice the time of each for a tenth more pages.
_PAGES_AT_ONCE: Final = 2
# A browser that ended once is started again; so many pages later that is forgotten.
_FORGIVEN_AFTER_PAGES: Final = 25
_CLOSE_SECONDS: Final = 20

_T = TypeVar("_T")


class Browser:
    """Shows pages in a Chromium that reaches no network; it is started for the first of them.

    All methods may be called from any thread. An answer's callbacks run in the browser's own thread.
    """

    def __init__(self, path: str = "", *, timeout: timedelta = timedelta(seconds=30)) -> None:
        """Begin with nothing started.

        *path* is DEDUP_BROWSER["path"], empty: find one; *timeout* is what one page may take, from when its turn comes.
        """
        self._path = path
        self._seconds = timeout.total_seconds()
        self._guard = threading.Lock()
        self._is_closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._version = ""
        self._running: Running | None = None
        self._endings = 0
        self._pages_since = 0
        self._never: NotShown | None = None
        self._tasks: set[asyncio.Task[object]] = set()
        self._slots = asyncio.Semaphore(_PAGES_AT_ONCE)
        self._starting = asyncio.Lock()

    @property
    def version(self) -> str:
        """Name and version; empty before the first start."""
        return self._version

    def start(self) -> "Future[str | NotShown]":
        """Return, once it runs, its name and version, or why it does not."""

        async def version() -> str | NotShown:
            running = await self._ready()
            return running if isinstance(running, NotShown) else running.version

        return self._submit(version)

    def show(self, showing: Showing, fetch: Fetch) -> "Future[RenderedPage | NotShown]":
        """Return what a page looks like, or why that is not known; never an exception, but cancellation."""

        async def show(running: "Running") -> RenderedPage | NotShown:
            from scrapy_dedup.teacher.rendering import show_page  # noqa: PLC0415 (needs Playwright)

            shown = await show_page(running, showing, fetch, self._seconds)
            return replace(shown, browser=running.version) if isinstance(shown, RenderedPage) else shown

        return self._submit(lambda: self._in_turn(show))

    def draw(self, html: str, width: int, height: int) -> "Future[bytes | NotShown]":
        """Return a PNG of a page of our own making, which may hold what it needs as `data:` URLs."""

        async def draw(running: "Running") -> bytes | NotShown:
            from scrapy_dedup.teacher.rendering import draw_page  # noqa: PLC0415 (needs Playwright)

            return await draw_page(running, html, (width, height), self._seconds)

        return self._submit(lambda: self._in_turn(draw))

    def close(self) -> None:
        """End the browser and its thread, within seconds; pages not yet shown are cancelled. Twice is once.

        Never from an answer's callback: that is the thread which is waited for.
        """
        with self._guard:
            self._is_closed = True
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None:
            return
        atexit.unregister(self.close)
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(self._end(), loop).result(_CLOSE_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_CLOSE_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _submit(self, work: Callable[[], Awaitable[_T]]) -> "Future[_T]":
        async def tracked() -> _T:
            task = asyncio.current_task()
            assert task is not None
            self._tasks.add(task)
            try:
                return await work()
            finally:
                self._tasks.discard(task)

        with self._guard:
            if self._is_closed:
                cancelled: Future[_T] = Future()
                cancelled.cancel()
                return cancelled
            if self._loop is None:
                self._loop = _new_loop()
                self._thread = threading.Thread(target=_run, args=(self._loop,), name="teacher", daemon=True)
                self._thread.start()
                atexit.register(self.close)
            return asyncio.run_coroutine_threadsafe(tracked(), self._loop)

    async def _in_turn(self, work: "Callable[[Running], Awaitable[_T | NotShown]]") -> _T | NotShown:
        async with self._slots:
            running = await self._ready()
            if isinstance(running, NotShown):
                return running
            self._pages_since += 1
            return await work(running)

    async def _ready(self) -> "Running | NotShown":
        """Return the browser, started if need be; why there is none and will be none."""
        async with self._starting:
            if self._never is not None:
                return self._never
            if self._running is not None:
                if await self._running.answers():
                    return self._running
                await self._note_end(self._running)
            if self._never is None:
                await self._launch()
            return self._never or self._running or NotShown(NotShownReason.NO_LAUNCH, "it did not start")

    async def _note_end(self, running: "Running") -> None:
        self._running = None
        await running.close()
        if self._endings and self._pages_since < _FORGIVEN_AFTER_PAGES:
            self._never = NotShown(NotShownReason.NO_LAUNCH, "the browser has ended twice")
        self._endings += 1
        self._pages_since = 0

    async def _launch(self) -> None:
        found = find_browser(self._path)
        if isinstance(found, Missing):
            self._never = found.not_shown
            return
        try:
            from scrapy_dedup.teacher.rendering import start  # noqa: PLC0415 (needs Playwright)

            self._running = await start(found.path, self._seconds)
        except Exception as error:  # noqa: BLE001 (whatever keeps it from starting, the crawl goes on)
            reason = " ".join(str(error).split())[:300]
            self._never = NotShown(NotShownReason.NO_LAUNCH, f"{found.path}: {reason}")
        else:
            self._version = self._running.version

    async def _end(self) -> None:
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._running is not None:
            await self._running.close()
            self._running = None


def _new_loop() -> asyncio.AbstractEventLoop:
    # Scrapy chooses loops for Windows that start no processes.
    if sys.platform == "win32":
        return asyncio.ProactorEventLoop()
    return asyncio.new_event_loop()


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    # Answers that Playwright gets for pages that have ended: the page's own answer has said all there is to say.
    loop.set_exception_handler(lambda _, context: logger.debug("The browser: %s", context.get("message")))
    try:
        loop.run_forever()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
    finally:
        loop.close()

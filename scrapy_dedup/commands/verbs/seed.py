"""`scrapy dedup seed FILE...`: take what earlier crawls saw for seen, so that it is not paid for again.

FILE is a file of JSON lines (also packed by gzip, a JSON feed with an item a line, or a list of URLs), a folder with
Scrapy's HTTP cache in files, or a database of scrapy-deltafetch, whose URLs --urls names. The first crawl compares a
page whose HTML is known, and is the baseline of the others; of what has not changed the callback runs once more, for
its links, and the items count as delivered.

JSON: `project`; `dry_run`; `interrupted`; `read`, lines and entries, of which: `seeded`, `joined` (further items of a
seeded page), `known` (the store knows as much), `no_page` (redirects, errors, images), `unreadable`; `comparable`, of
the seeded those with HTML; `items_left`, items that cannot be replayed; `examples` of the unreadable, each with where
and reason; `deltafetch`, each with file, keys, matched (keys), own_keys (that are no fingerprints), unknown_urls.

The exit code is 1 where nothing at all could be read.
"""

import argparse
import dataclasses
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.text import Text

from scrapy_dedup.commands.call import DONE, INTERRUPTED, NOT_DONE, Call, print_json
from scrapy_dedup.commands.terminal import errors, one_line, output, shown
from scrapy_dedup.plugin.store_address import database_url
from scrapy_dedup.report.numbers import count, whole
from scrapy_dedup.service.seeding import Outcome, Seeding
from scrapy_dedup.service.seeding_deltafetch import Database
from scrapy_dedup.service.seeding_lines import Fields
from scrapy_dedup.service.seeding_pages import Advance
from scrapy_dedup.service.seeding_sources import FORMATS, Reading, Source, find_sources
from scrapy_dedup.service.store_policies import keep_policy
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.engines import file_of, parse_url
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the files, and how they are to be read."""
    add = parser.add_argument
    add("files", metavar="FILE", nargs="+", type=Path, help="JSON lines, an HTTP cache's folder, a deltafetch database")
    add("--format", choices=("auto", *sorted(FORMATS)), default="auto", help="what the files are; auto: find out")
    add("--urls", metavar="FILE", action="append", type=Path, help="deltafetch: URLs or items to look up (repeatable)")
    add("--url-field", metavar="NAME", help="item field with the URL, instead of DEDUP_URL_FIELD")
    add("--html-field", metavar="NAME", help="item field with the HTML, instead of DEDUP_HTML_FIELD")
    add("--content-field", metavar="NAME", help="item field with text or Markdown, instead of DEDUP_CONTENT_FIELD")
    add("--time-field", metavar="NAME", default="", help="item field with the time of its crawl; else the file's time")
    add("--key-field", metavar="NAME", default="", help="deltafetch: item field that was the request's deltafetch_key")
    add("--dry-run", action="store_true", help="read everything and write nothing")


def run(call: Call) -> int:
    """Seed the pages; what was seeded before an interruption stays, and is passed over the next time."""
    options = call.options
    settings = _chosen(call)
    fields = Fields.of(settings, options.time_field, options.key_field)
    reading = Reading(settings, fields, datetime.now(UTC), options.urls or ())
    sources = find_sources(options.files, None if options.format == "auto" else options.format, reading)
    with _project(call, settings) as project:
        seeding = Seeding(project, settings, dry_run=options.dry_run)
        interrupted = _seed(seeding, sources, reading)
    databases = [database for source in sources for database in source.databases]
    if options.json:
        print_json(as_json(call, seeding.outcome, databases, interrupted=interrupted))
    else:
        show(call, seeding.outcome, databases, interrupted=interrupted)
    if interrupted:
        return INTERRUPTED
    return NOT_DONE if seeding.outcome.read == seeding.outcome.unreadable > 0 else DONE


def _chosen(call: Call) -> Settings:
    names = ("url_field", "html_field", "content_field")
    given = {name: getattr(call.options, name) for name in names}
    return call.settings.override({name: value for name, value in given.items() if value is not None}, "")


@contextmanager
def _project(call: Call, settings: Settings) -> Iterator[ProjectStore | None]:
    """Give the project, new if need be; in a dry run None where there is none."""
    dry_run: bool = call.options.dry_run
    file = file_of(parse_url(database_url(settings)))
    if dry_run and file is not None and not file.exists():
        yield None
        return
    with Store.open(database_url(settings), timeout=settings.database_timeout, create=not dry_run) as store:
        yield store.find_project(call.project) if dry_run else store.project(call.project, keep_policy(settings))


def _seed(seeding: Seeding, sources: Sequence[Source], reading: Reading) -> bool:
    """Read all sources; return whether that was interrupted."""
    try:
        for source in sources:
            with _progress(source) as advance:
                seeding.take(source.read(reading, advance))
    except KeyboardInterrupt:
        return True
    return False


@contextmanager
def _progress(source: Source) -> Iterator[Advance]:
    """Give what moves a bar; nothing happens where nobody looks at it."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    name = TextColumn("{task.description}", markup=False)
    columns = (name, BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Bar(*columns, console=errors(), transient=True) as bar:
        task = bar.add_task(one_line(source.path.name, 40), total=source.total)
        yield lambda some: bar.update(task, advance=some)


def as_json(call: Call, outcome: Outcome, databases: Sequence[Database], *, interrupted: bool) -> dict[str, Any]:
    """Return the outcome as JSON has it."""
    return {
        "project": call.project,
        "dry_run": call.options.dry_run,
        "interrupted": interrupted,
        **dataclasses.asdict(outcome),
        "deltafetch": [
            {
                "file": str(database.path),
                "keys": len(database.seen),
                "matched": len(database.matched),
                "own_keys": database.own_keys,
                "unknown_urls": database.unknown_urls,
            }
            for database in databases
        ],
    }


def show(call: Call, outcome: Outcome, databases: Sequence[Database], *, interrupted: bool) -> None:
    """Print what was done, and what could not be."""
    tell = output().print
    would = call.options.dry_run
    tell(shown(f"Seeding of project {call.project}", 300, style="bold"), soft_wrap=True)
    for number, what in _lines(outcome, would=would):
        tell(Text.assemble(f"{whole(number):>12}  ", what), soft_wrap=True)
    for example in outcome.examples:
        tell(Text.assemble(" " * 14, shown(f"{example.where}: {example.reason}", 300, style="dim")), soft_wrap=True)
    if outcome.unreadable > len(outcome.examples):
        tell(Text(f"{'':14}and {whole(outcome.unreadable - len(outcome.examples))} more", style="dim"))
    for database in databases:
        _show_database(database, tell)
    if interrupted:
        tell("\nInterrupted: the figures are those of what was read; call it again to go on.")
    if would:
        tell(Text("\nDry run: nothing was written.", style="bold"))


def _lines(outcome: Outcome, *, would: bool) -> Iterator[tuple[int, str]]:
    yield outcome.read, "read"
    seeded = "would be seeded" if would else "seeded"
    yield outcome.seeded, f"{seeded}, {whole(outcome.comparable)} of them with HTML to compare"
    if outcome.joined:
        yield outcome.joined, "further items of these pages"
    yield outcome.known, "already known"
    if outcome.no_page:
        yield outcome.no_page, "no pages: redirects, errors, images"
    yield outcome.unreadable, "unreadable"
    if outcome.items_left:
        yield outcome.items_left, "items not kept for replay: too large, or nested too deep"


def _show_database(database: Database, tell: Callable[..., None]) -> None:
    keys, matched = len(database.seen), len(database.matched)
    tell(
        shown(f"\n{database.path}: a URL was found for {whole(matched)} of {count(keys, 'key')}.", 500), soft_wrap=True
    )
    if matched < keys:
        tell(
            "The pages of the others count as new when they are crawled. To seed them, too, add their URLs to --urls: "
            "of older feeds, a sitemap, the crawl's log.",
            soft_wrap=True,
        )
    if database.own_keys:
        tell(
            f"{count(database.own_keys, 'key')} came from the spider's deltafetch_key, not from a URL: give the "
            "items by --urls, and the field that the key was made of by --key-field.",
            soft_wrap=True,
        )
    if database.unknown_urls:
        are = "is" if database.unknown_urls == 1 else "are"
        tell(f"{count(database.unknown_urls, 'URL')} of --urls {are} not in the database, and not seeded.")

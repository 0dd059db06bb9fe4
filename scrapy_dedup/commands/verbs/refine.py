"""`scrapy dedup refine`: clean the stored pages again by what is known now, and emit those whose text changes.

In a Scrapy project the items go through its pipelines, extensions and feeds, by a Scrapy run that asks for no page;
with -O FILE or -o FILE they are written there as JSON lines. The store has the new text of a page once its items are
safe, so that a call that was stopped goes on where it was, and a second one emits nothing.

JSON: `project`; `dry_run`; `domains`, each with domain, pages (kept, and looked at), changed, chars_before and
chars_after (of the clean texts that change), example (URL), passed_over (pages by why they were not cleaned again:
no_knowledge, unreadable, not_seen, removed, without_items), not_kept (pages whose original is not kept); then, unless
it is a dry run, `output` (file or null), `emitted` (pages, items, made_anew, dropped, failed, stored, complete,
reason).

The exit code is 1 where a page could not be emitted, or the run ended before all were.
"""

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from shutil import copyfileobj
from typing import BinaryIO

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from scrapy.settings import Settings as ScrapySettings
from scrapy.spiderloader import get_spider_loader
from scrapy.utils.project import inside_project

from scrapy_dedup.commands.call import DONE, INTERRUPTED, NOT_DONE, Call, CommandError, WrongCallError
from scrapy_dedup.commands.terminal import errors, one_line
from scrapy_dedup.commands.verbs.refine_report import Outcome, tell
from scrapy_dedup.plugin.refined_file import RefinedFile
from scrapy_dedup.plugin.refined_items import Renewer
from scrapy_dedup.plugin.refining import Emission, Emitted, Keeper, Lots
from scrapy_dedup.plugin.refining_run import emit, leads_nowhere
from scrapy_dedup.service.cleaning_run_output import replacing_alone
from scrapy_dedup.service.refined_outcomes import by_pages
from scrapy_dedup.service.refining import Progress, Refiner

_FINISHED = "finished"
_SHUTDOWN = "shutdown"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add which pages are refined, and where they go."""
    add = parser.add_argument
    add("--domain", metavar="DOMAIN", action="append", help="only this domain (may be repeated)")
    add("--dry-run", action="store_true", help="say how many texts would change, and write nothing")
    add("-O", "--overwrite-output", metavar="FILE", dest="overwrite", help="write JSON lines in place of FILE")
    add("-o", "--output", metavar="FILE", dest="append", help="add JSON lines at the end of FILE")


def run(call: Call) -> int:
    """Look through the pages, and emit those that change."""
    settings = _check(call)
    options = call.options
    output = options.overwrite or options.append
    with call.opened() as (store, project):
        refiner = Refiner(store, project, call.settings)
        domains = refiner.domains([domain.lower() for domain in options.domain or ()])
        emitted = Emitted()
        with _progress(sum(domains.values())) as progress, closing(refiner.lots(domains, progress)) as lots:
            if options.dry_run:
                for _ in lots:
                    pass
            else:
                _import_spiders(settings)
                renewer = Renewer(call.settings, project.name)
                keeper = Keeper(store, project, call.settings, emitted)
                if output is None:
                    emit(Emission(lots, renewer, keeper, emitted, call.settings.ack), settings)
                else:
                    _to_file(Path(output), lots, renewer, keeper, emitted, appends=options.overwrite is None)
                if emitted.complete:
                    refiner.forget_stale()
    return _ended(call, Outcome(options.dry_run, output, refiner.churns, emitted))


def _check(call: Call) -> ScrapySettings:
    options, settings = call.options, call.source
    assert isinstance(settings, ScrapySettings)
    if options.overwrite and options.append:
        raise WrongCallError("-O replaces its file and -o adds to it: give one of them")
    if options.overwrite or options.append or options.dry_run:
        return settings
    if not inside_project():
        raise WrongCallError(
            "there is no Scrapy project here whose pipelines and feeds could be used: name a file by -O"
        )
    if leads_nowhere(settings):
        raise WrongCallError(
            "this project has no feeds and no pipelines that take items: name a file by -O, or FEEDS in its settings"
        )
    return settings


def _import_spiders(settings: ScrapySettings) -> None:
    """Import the project's spiders, and with them the classes of its items: what is held names them alone."""
    try:
        get_spider_loader(settings)
    except Exception as error:
        raise CommandError(f"the project's spiders cannot be imported ({type(error).__name__}: {error})") from error


def _to_file(path: Path, lots: Lots, renewer: Renewer, keeper: Keeper, emitted: Emitted, *, appends: bool) -> None:
    """Write a file, which is there whole or as it was before; then the store."""
    with replacing_alone(path) as file:
        if appends:
            _copy(path, file)
        refined = RefinedFile(file, renewer, emitted)
        for lot in lots:
            refined.add(lot)
        emitted.complete = True
    for some in by_pages(refined.written.take()):
        keeper.write(some)
    emitted.reason = _FINISHED


def _copy(path: Path, file: BinaryIO) -> None:
    """Copy what is in a file; a last line that was broken off is ended, so that the next one is whole."""
    if not path.is_file():
        return
    with path.open("rb") as old:
        copyfileobj(old, file)
        if old.tell():
            old.seek(-1, os.SEEK_END)
            if old.read(1) != b"\n":
                file.write(b"\n")


def _ended(call: Call, outcome: Outcome) -> int:
    emitted = outcome.emitted
    if emitted.errors:
        raise emitted.errors[0]
    if not outcome.dry_run and not emitted.reason:
        raise CommandError("the Scrapy run did not begin, and nothing was emitted; -L ERROR shows why")
    tell(call.project, outcome, as_json=call.options.json)
    if outcome.dry_run or (emitted.complete and not emitted.failed):
        return DONE
    return INTERRUPTED if emitted.reason == _SHUTDOWN else NOT_DONE


@contextmanager
def _progress(pages: int) -> Iterator[Progress | None]:
    """Give what moves a bar; nothing where nobody looks at it."""
    if not sys.stderr.isatty():
        yield None
        return
    name = TextColumn("{task.description}", markup=False)
    with Bar(name, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=errors(), transient=True) as bar:
        task = bar.add_task("", total=pages)
        yield lambda domain, read: bar.update(task, description=one_line(domain, 40), advance=read)

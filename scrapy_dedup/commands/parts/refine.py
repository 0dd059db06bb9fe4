"""`scrapy dedup templates refine`: clean the stored pages again, and emit those whose text changes.

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
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import islice
from pathlib import Path
from shutil import copyfileobj
from typing import Any, BinaryIO, Final

from msgspec import Struct, to_builtins
from scrapy.settings import Settings as ScrapySettings
from scrapy.spiderloader import get_spider_loader
from scrapy.utils.project import inside_project

from scrapy_dedup.commands.call import DONE, INTERRUPTED, NOT_DONE, Call, CommandError, WrongCallError, print_json
from scrapy_dedup.commands.terminal import named_progress, print_table, say, say_dry_run, say_more
from scrapy_dedup.plugin.refining import Emission, Emitted, Keeper, Lots, RefinedFile, Renewer, emit, leads_nowhere
from scrapy_dedup.report.numbers import count, whole
from scrapy_dedup.service.files.output import replacing_alone
from scrapy_dedup.service.stored.refining import PAGES_AT_ONCE, DomainChurn, PassedOver, Refiner

_DOMAINS_SHOWN: Final = 200
_WHY: Final = {
    PassedOver.NO_KNOWLEDGE: "of domains without a template or other knowledge",
    PassedOver.UNREADABLE: "not to be parsed",
    PassedOver.NOT_SEEN: "whose last version was not acknowledged, and comes again by itself",
    PassedOver.REMOVED: "removed from their site",
    PassedOver.WITHOUT_ITEMS: "whose callback gives no items today",
}

_FINISHED = "finished"
_SHUTDOWN = "shutdown"


class RefineOutcome(Struct, frozen=True):
    """What became of a call."""

    dry_run: bool
    output: str | None
    churns: Mapping[str, DomainChurn]
    emitted: Emitted


def tell(project: str, outcome: RefineOutcome, *, as_json: bool) -> None:
    """Print the outcome: as JSON, or for a person."""
    if as_json:
        print_json(_as_json(project, outcome))
        return
    _show(project, outcome)
    for line in _lines(outcome):
        say(line, limit=1_000)
    say_dry_run(dry_run=outcome.dry_run)


def _as_json(project: str, outcome: RefineOutcome) -> dict[str, Any]:
    found: dict[str, Any] = {
        "project": project,
        "dry_run": outcome.dry_run,
        "domains": [_domain(churn) for churn in outcome.churns.values()],
    }
    if not outcome.dry_run:
        emitted = to_builtins(outcome.emitted)
        del emitted["errors"]
        found |= {"output": outcome.output, "emitted": emitted}
    return found


def _domain(churn: DomainChurn) -> dict[str, Any]:
    names = "domain pages changed chars_before chars_after example".split()
    why = {str(reason): pages for reason, pages in sorted(churn.passed_over.items())}
    return {name: getattr(churn, name) for name in names} | {"passed_over": why, "not_kept": churn.not_kept}


def _show(project: str, outcome: RefineOutcome) -> None:
    """Print a table, the domains with most changes first."""
    changing = [churn for churn in outcome.churns.values() if churn.changed]
    if not changing:
        return
    changes = "Would change" if outcome.dry_run else "Changed"
    changing.sort(key=lambda churn: (-churn.changed, churn.domain))
    rows = (
        (one.domain, one.example, one.pages, one.changed, one.chars_before, one.chars_after)
        for one in changing[:_DOMAINS_SHOWN]
    )
    columns = f"Domain, Such as, Pages, {changes}, Characters before, After"
    print_table(f"Texts of project {project} that {changes.lower()}", columns, rows, texts=2)
    say_more(len(changing) - _DOMAINS_SHOWN)


def _lines(outcome: RefineOutcome) -> Iterator[str]:
    churns = outcome.churns.values()
    pages, changed = sum(churn.pages for churn in churns), sum(churn.changed for churn in churns)
    changes = "would change" if outcome.dry_run else "changes"
    yield f"The clean text of {whole(changed)} of {count(pages, 'page')} {changes}."
    if not outcome.dry_run:
        yield from _emitted(outcome)
    why = sum((churn.passed_over for churn in churns), Counter[PassedOver]())
    for reason, number in sorted(why.items()):
        yield f"Passed over: {count(number, 'page')} {_WHY[reason]}."
    if not_kept := sum(churn.not_kept for churn in churns):
        yield (
            f"Not to be cleaned again: {count(not_kept, 'page')} whose original is not kept (DEDUP_KEEP_PAGES, "
            'DEDUP_KEEP["store_bytes"]).'
        )


def _emitted(outcome: RefineOutcome) -> Iterator[str]:
    emitted = outcome.emitted
    where = f", to {outcome.output}" if outcome.output else ""
    yield f"Emitted: {count(emitted.pages, 'page')} with {count(emitted.items, 'item')}{where}."
    if emitted.made_anew:
        yield (
            f"Of {count(emitted.made_anew, 'page')} the callback's items are not held, or could not be made again: a "
            "dict with url, cleaned_content, title, date, author and dedup stands for them."
        )
    if emitted.dropped:
        yield f"Dropped by the project's pipelines: {count(emitted.dropped, 'item')}."
    if emitted.failed:
        yield f"Failed: {count(emitted.failed, 'page')}; the next call emits them again."
    if waiting := emitted.pages - emitted.stored:
        yield f"Not stored: {count(waiting, 'page')} whose feed was not stored, or that changed meanwhile."
    if not emitted.complete:
        yield f"Ended early ({emitted.reason}): the next call emits the rest."


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
        with named_progress(sum(domains.values())) as progress, closing(refiner.lots(domains, progress)) as lots:
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
                    refiner.settle()
    return _ended(call, RefineOutcome(options.dry_run, output, refiner.churns, emitted))


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
    written = refined.written.take()
    while some := list(islice(written, PAGES_AT_ONCE)):
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


def _ended(call: Call, outcome: RefineOutcome) -> int:
    emitted = outcome.emitted
    if emitted.errors:
        raise emitted.errors[0]
    if not outcome.dry_run and not emitted.reason:
        raise CommandError("the Scrapy run did not begin, and nothing was emitted; -L ERROR shows why")
    tell(call.project, outcome, as_json=call.options.json)
    if outcome.dry_run or (emitted.complete and not emitted.failed):
        return DONE
    return INTERRUPTED if emitted.reason == _SHUTDOWN else NOT_DONE

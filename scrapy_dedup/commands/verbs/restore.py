"""`scrapy dedup restore FILE`: a backup takes the place of the store, whichever database either is in.

JSON: `file`; `restored` (false where nothing was done); `manifest`, as `backup` has it; `rows`, restored, by table;
`lost`: what the store held, each with name, pages, runs; `problem` (why the store could not be read, or null); `aside`
(where the old store is kept, or null).
"""

import argparse
import dataclasses
import sys
from pathlib import Path

from scrapy_dedup.commands.call import DONE, NOT_DONE, Call, CommandError, WrongCallError, print_json
from scrapy_dedup.commands.terminal import a_table, errors, output, print_table, shown
from scrapy_dedup.commands.verbs.restore_progress import steps
from scrapy_dedup.plugin.store_address import database_url
from scrapy_dedup.report.numbers import count, whole
from scrapy_dedup.service.store_upkeep_backup import Manifest, read_manifest
from scrapy_dedup.service.store_upkeep_restore import Restored, Standing, restore, standing


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the file, and the safeguards."""
    parser.add_argument("file", metavar="FILE", help="a file that `scrapy dedup backup` wrote")
    parser.add_argument("--replace", action="store_true", help="take the place of a store that is not empty")
    parser.add_argument("--yes", action="store_true", help="with --replace: do not ask")


def run(call: Call) -> int:
    """Say what would be lost; restore where that is wanted."""
    options, file, url = call.options, Path(call.options.file), database_url(call.settings)
    if options.replace and not options.yes and (options.json or not sys.stdin.isatty()):
        raise WrongCallError("restore --replace asks before it replaces, and here it cannot: repeat it with --yes")
    manifest = read_manifest(file)
    found = standing(url, call.settings.database_timeout)
    if not found.is_empty:
        if not options.replace:
            raise CommandError(f"{_words(found)}: repeat it with --replace to put the backup in its place")
        if not options.json:
            _show(found)
        if not options.yes and not _confirmed(manifest):
            output().print("Nothing was restored.")
            return NOT_DONE
    with steps() as progress:
        restored = restore(file, manifest, url, call.settings.database_timeout, progress)
    _tell(file, restored, found, as_json=options.json)
    return DONE


def _words(found: Standing) -> str:
    if found.problem is not None:
        return f"what is there cannot be read ({found.problem})"
    return f"the store is not empty, it holds {count(len(found.projects), 'project')}"


def _show(found: Standing) -> None:
    if found.problem is not None:
        output().print(shown(f"To be replaced: {_words(found)}.", 2_000), soft_wrap=True)
        return
    table = a_table("Name", "Pages", "Runs")
    for each in found.projects:
        table.add_row(shown(each.name, 100), whole(each.pages), whole(each.runs))
    print_table("To be replaced: the projects of the store", table)


def _confirmed(manifest: Manifest) -> bool:
    backup = f"the backup of {manifest.made_at} with {count(len(manifest.projects), 'project')}"
    question = shown(f"Replace the store by {backup}? [y/N] ", 300)
    return errors().input(question).strip().lower() in ("y", "yes")


def _tell(file: Path, restored: Restored, found: Standing, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "file": str(file),
                "restored": True,
                "manifest": dataclasses.asdict(restored.manifest),
                "rows": dict(restored.rows),
                "lost": [{"name": one.name, "pages": one.pages, "runs": one.runs} for one in found.projects],
                "problem": found.problem,
                "aside": str(restored.aside) if restored.aside else None,
            }
        )
        return
    rows = sum(restored.rows.values())
    what = f"{count(len(restored.manifest.projects), 'project')}, {count(rows, 'row')}"
    output().print(shown(f"Restored: {what}, of {restored.manifest.made_at}.", 2_000), soft_wrap=True)
    if restored.aside is not None:
        output().print(shown(f"The old store is kept in {restored.aside}.", 2_000), soft_wrap=True)

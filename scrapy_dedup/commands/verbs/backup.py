"""`scrapy dedup backup FILE`: the whole store in one file, all projects, while crawls go on.

JSON: `file`; `manifest`, as it stands in the file: format, made_at, version, schema, database, projects, rows (by
table), size_bytes (unpacked), packed_bytes, sha256.
"""

import argparse
import dataclasses
from pathlib import Path

from scrapy_dedup.commands.call import DONE, Call, print_json
from scrapy_dedup.commands.terminal import output, shown
from scrapy_dedup.commands.verbs.restore_progress import steps
from scrapy_dedup.report.numbers import count, short
from scrapy_dedup.service.store_upkeep_restore import back_up


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the file, and what becomes of one that is there."""
    parser.add_argument("file", metavar="FILE", help="where to; it is there when it is whole")
    parser.add_argument("--replace", action="store_true", help="take the place of a file that is there")


def run(call: Call) -> int:
    """Write the file."""
    file = Path(call.options.file)
    with call.store() as store, steps() as progress:
        manifest = back_up(store, file, progress, replace=call.options.replace)
    if call.options.json:
        print_json({"file": str(file), "manifest": dataclasses.asdict(manifest)})
        return DONE
    rows = sum(manifest.rows.values())
    what = f"{count(len(manifest.projects), 'project')}, {count(rows, 'row')}, {short(manifest.packed_bytes)} bytes"
    output().print(shown(f"Backed up: {what} in {file}.", 2_000), soft_wrap=True)
    return DONE

"""`scrapy dedup templates ACTION`: how the pages of each layout are cut, and what a person decides about it.

LAYOUT is `rest` (the pages of no known layout) or the first digits of a signature, as `scrapy dedup layouts` and
`templates list` show them.

JSON of list: `project`; `templates`, by domain and layout, each with domain, layout (16 hex digits), kind, version,
state (probation: not good enough yet; live: pages are cut by it; retired), reason, confidence, pages (learned from so
many), url_pattern, source (static, override, import, visual), overrides (how many), versions (how many are kept),
created_at, state_at. show: `templates`, each with the same, structure, `versions` (version, state), `content` and
`exclude` (selector, evidence), `fields` (title, date, author: selectors), `overrides` (action, selector, at, by). diff:
`domain`, `layout`, `before` and `after` (version numbers), `added` and `removed` (selectors by what they are for),
`verdicts` (path, before, after, evidence), `decided` and `undecided` (action, selector).

override, rollback: `domain`, `layout`, `version` (the new or the restored one; null where override made none),
`changed`, `dry_run`, `trial` (of a dry run, else null: pages, stored ones of the layout that were cut both ways, and
effects: url, gone, back, texts that would be left out, or come back). import: `file`, `dry_run`, `added`, `unchanged`,
`domains`. export writes JSON by itself; with --json and a FILE: `file`, `templates` (how many).
"""

import argparse
import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from scrapy_dedup.commands.actions import Action, add_actions, run_action
from scrapy_dedup.commands.call import DONE, NOT_DONE, Call, CommandError, WrongCallError
from scrapy_dedup.commands.verbs import template_tables as tables
from scrapy_dedup.service import template_upkeep as upkeep
from scrapy_dedup.service.template_changes import TemplateDesk
from scrapy_dedup.service.template_diff import diff_templates
from scrapy_dedup.service.template_files import (
    TemplateFileError,
    export_templates,
    import_templates,
    read_templates,
)
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options; which belong together is checked when it runs."""
    add_actions(parser, ACTIONS)
    add = parser.add_argument
    add("--version", metavar="N", type=int, help="show: this version")
    for word, what in _DECISIONS.items():
        add(f"--{word}", dest="decisions", action="append", metavar="CSS", type=_decide(word), help=f"override: {what}")
    add("--domain", metavar="DOMAIN", help="export: only this one")
    add("--dry-run", action="store_true", help="override, rollback, import: only say what would change")


def _decide(word: Literal["keep", "drop", "forget"]) -> Callable[[str], upkeep.Decision]:
    return lambda css: (word, css)


def run(call: Call) -> int:
    """Do what was asked for."""
    return run_action(call, "templates", ACTIONS, _OPTIONS)


def _list(call: Call) -> int:
    with call.opened() as (_, project):
        found = upkeep.list_templates(project, *map(str.lower, call.options.targets))
    tables.show_list(call.project, found, as_json=call.options.json)
    return DONE


def _show(call: Call) -> int:
    domain, layout = call.options.targets[0].lower(), (call.options.targets[1:] or [None])[0]
    if call.options.version is not None and layout is None:
        raise WrongCallError("templates show --version needs the layout, too: show DOMAIN LAYOUT --version N")
    with call.opened() as (_, project):
        found = upkeep.show_templates(project, domain, layout, call.options.version)
    tables.show_templates(call.project, found, as_json=call.options.json)
    return DONE


def _diff(call: Call) -> int:
    domain, layout, *words = call.options.targets
    numbers = _number(words[0]), _number(words[1])
    with call.opened() as (_, project):
        found = diff_templates(project, domain.lower(), layout, numbers)
    tables.show_diff(found, as_json=call.options.json)
    return DONE


def _override(call: Call) -> int:
    options = call.options
    domain, layout = options.targets[0].lower(), options.targets[1]
    if not options.decisions:
        raise WrongCallError("templates override needs --keep CSS, --drop CSS or --forget CSS")
    with call.opened() as (store, project):
        change = _desk(call, store, project).override(domain, layout, options.decisions)
    tables.show_override(change, as_json=options.json)
    return DONE


def _desk(call: Call, store: Store, project: ProjectStore) -> TemplateDesk:
    return TemplateDesk(store, project, call.settings, datetime.now(UTC), dry_run=call.options.dry_run)


def _rollback(call: Call) -> int:
    options = call.options
    domain, layout, *words = options.targets
    number = _number(words[0]) if words else None
    with call.opened() as (store, project):
        change = _desk(call, store, project).roll_back(domain.lower(), layout, number)
    tables.show_rollback(change, as_json=options.json)
    return DONE


def _export(call: Call) -> int:
    options = call.options
    with call.opened() as (_, project):
        found = export_templates(project, options.domain.lower() if options.domain else None)
    # In ASCII, so that nothing in it acts on a terminal.
    text = json.dumps(found, indent=1, ensure_ascii=True) + "\n"
    if not options.targets:
        sys.stdout.write(text)
        return DONE
    file = Path(options.targets[0])
    file.write_text(text, encoding="ascii")
    tables.show_export(file, len(found["templates"]), as_json=options.json)
    return DONE


def _import(call: Call) -> int:
    file, dry_run = Path(call.options.targets[0]), call.options.dry_run
    try:
        records = read_templates(file.read_text(encoding="utf-8"), datetime.now(UTC))
    except (TemplateFileError, UnicodeDecodeError) as error:
        raise CommandError(f"{file}: {error}") from error
    with call.filled(dry_run=dry_run) as (store, project):
        done = import_templates(store, project, records, dry_run=dry_run)
    tables.show_import(file, done, as_json=call.options.json)
    return DONE if records else NOT_DONE


def _number(word: str) -> int:
    if not (word.isascii() and word.isdigit() and len(word) < 10):
        raise WrongCallError(f"{word!r} is no number of a version; templates show lists those there are")
    return int(word)


_DECISIONS: Final[dict[Literal["keep", "drop", "forget"], str]] = {
    "keep": "keep what this selects",
    "drop": "leave out what this selects",
    "forget": "take back what was decided about it",
}
_OPTIONS: Final = {
    "version": "--version",
    "decisions": "--keep, --drop or --forget",
    "domain": "--domain",
    "dry_run": "--dry-run",
}
ACTIONS: Final = {
    "list": Action(_list, "[DOMAIN]", 0, 1),
    "show": Action(_show, "DOMAIN [LAYOUT]", 1, 2, frozenset({"version"})),
    "diff": Action(_diff, "DOMAIN LAYOUT VERSION VERSION", 4, 4),
    "override": Action(_override, "DOMAIN LAYOUT", 2, 2, frozenset({"decisions", "dry_run"})),
    "rollback": Action(_rollback, "DOMAIN LAYOUT [VERSION]", 2, 3, frozenset({"dry_run"})),
    "export": Action(_export, "[FILE]", 0, 1, frozenset({"domain"})),
    "import": Action(_import, "FILE", 1, 1, frozenset({"dry_run"})),
}

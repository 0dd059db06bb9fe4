"""`scrapy dedup store cache ACTION`: what is held of pages, so that they need not be fetched and extracted again.

JSON: as the answers in `scrapy_dedup.answers.projects`. The exit code is 1 for a URL that has no page, and for damage
that was found and not fixed.
"""

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from scrapy_dedup.commands.call import (
    DONE,
    NOT_DONE,
    Action,
    Call,
    WrongCallError,
    add_actions,
    age,
    ago,
    print_answer,
    run_action,
)
from scrapy_dedup.commands.terminal import errors, output, print_table, progress, say, shown
from scrapy_dedup.report.numbers import count, percent, short, whole
from scrapy_dedup.service.cache import cache
from scrapy_dedup.service.cache.content_index import count_files, export_cache, import_cache
from scrapy_dedup.store.records.stored import ExtractionChoice
from scrapy_dedup.store.upkeep.cache import StoredCache

_TOLD: Final = 10


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options; which belong together is checked when it runs."""
    add_actions(parser, ACTIONS)
    add = parser.add_argument
    add("--domain", metavar="DOMAIN", help="invalidate: all pages of this domain")
    add("--all", action="store_true", help="invalidate: everything")
    add("--older-than", type=age, metavar="AGE", help="expire: made so long ago, such as 30d, 12h, 2w")
    add("--fix", action="store_true", help="verify: delete what is damaged, so that its pages come again")
    add("--dry-run", action="store_true", help="invalidate, expire, clean, verify, import: only say what would be done")


def run(call: Call) -> int:
    """Do what was asked for."""
    return run_action(call, "store cache", ACTIONS)


def _stats(call: Call) -> int:
    with call.opened() as project:
        stats = cache.cache_stats(project)
    if print_answer(call, "projects", lambda answers: answers.CacheStatsAnswer.of(stats)):
        return DONE
    rows = []
    for one in [*stats.domains, *([stats.total] if len(stats.domains) != 1 else [])]:
        name, rate = "all" if one is stats.total else one.domain or "(unknown)", percent(one.hits, one.visits)
        rows.append((name, one.visits, one.hits, one.misses, rate, one.not_modified, short(one.bytes_saved)))
    run = f"run of {stats.run.spider}, {stats.run.started_at:%Y-%m-%d %H:%M} UTC" if stats.run else "all visits kept"
    columns = "Domain, Visits, Hits, Misses, Hit rate, 304, Bytes saved"
    print_table(f"Cache of project {stats.project}: {run}", columns, rows)
    held = f"{count(stats.total.extractions, 'extraction')} held in {short(stats.total.packed_bytes)} bytes"
    held += f", {count(stats.memos.memos, 'memo')} in {short(stats.memos.size_bytes)}"
    output().print(f"\n{short(stats.total.bytes_received)} bytes received; {held}.")
    return DONE


def _invalidate(call: Call) -> int:
    options = call.options
    if bool(options.targets) + (options.domain is not None) + options.all != 1:
        raise WrongCallError("store cache invalidate needs one of: URLs, --domain, --all")
    with call.opened() as project:
        chosen = {"urls": options.targets or None, "domain": options.domain}
        return _show_removal(call, cache.invalidate(project, call.settings, **chosen, dry_run=options.dry_run))


def _expire(call: Call) -> int:
    if call.options.older_than is None:
        raise WrongCallError("store cache expire needs --older-than AGE, such as --older-than 30d")
    return _remove(call, ExtractionChoice(created_before=ago(call.options.older_than)))


def _remove(call: Call, choice: ExtractionChoice) -> int:
    with call.opened() as project:
        return _show_removal(call, cache.remove(project, choice, dry_run=call.options.dry_run))


def _show_removal(call: Call, removal: cache.CacheRemoval) -> int:
    if not print_answer(call, "projects", lambda answers: answers.CacheRemovalAnswer.of(removal)):
        memos = f" and {count(removal.memos, 'memo')}" if removal.memos else ""
        found = f"{count(removal.extractions, 'extraction')}{memos} of {short(removal.packed_bytes)} bytes"
        say(f"Would be deleted: {found}." if removal.dry_run else f"Deleted: {found}.")
        _warn((f"{url}: there is no such page" for url in removal.unknown), len(removal.unknown))
    return NOT_DONE if removal.unknown else DONE


def _verify(call: Call) -> int:
    fix = call.options.fix and not call.options.dry_run
    with call.opened() as project, progress("pages", StoredCache(project).count_pages()) as told:
        check = cache.verify(project, call.settings, told, fix=fix)
    if not print_answer(call, "projects", lambda answers: answers.CacheCheckAnswer.of(check)):
        say(f"Checked: {count(check.pages, 'page')} with {count(check.extractions, 'extraction')}.")
        _warn((f"{one.url}: {one.part}: {one.reason}" for one in check.damages), check.damaged.total())
        parts = ", ".join(f"{part} {whole(number)}" for part, number in sorted(check.damaged.items()))
        if not parts:
            say("All is as it was stored.")
        elif fix:
            say(f"Damaged and deleted: {parts}. Their pages come again.")
        else:
            say(f"Damaged: {parts}. With --fix it is deleted, so that its pages come again.")
    return NOT_DONE if check.damaged and not fix else DONE


def _export(call: Call) -> int:
    folder = Path(call.options.targets[0])
    with call.opened() as project, progress("pages", StoredCache(project).count_pages()) as told:
        done = export_cache(project, folder, told)
    if not print_answer(call, "projects", lambda answers: answers.CacheTransferAnswer.of(done)):
        say(f"Exported: {count(done.pages, 'page')} to {folder}.")
        _warn(done.problems, done.pages_left_out)
    return DONE


def _import(call: Call) -> int:
    folder, dry_run = Path(call.options.targets[0]), call.options.dry_run
    with call.filled(dry_run=dry_run) as project, progress("files", count_files(folder)) as told:
        done = import_cache(project, folder, call.settings, told, dry_run=dry_run)
    if print_answer(call, "projects", lambda answers: answers.CacheTransferAnswer.of(done)):
        return DONE
    if done.index_rebuilt:
        _warn([f"{done.index_rebuilt}: the extraction files are taken for it"], 1)
    _warn(done.problems, done.pages_left_out)
    taken = f"{count(done.pages, 'page')}, {count(done.extractions, 'extraction')}"
    held = f"in the store already, as they are or newer: {count(done.pages_held, 'page')}"
    say(f"{'Would be imported' if dry_run else 'Imported'}: {taken}; {held}.")
    return DONE


def _warn(lines: Iterable[str], total: int) -> None:
    """Print the first lines on standard error, and how many more there are."""
    for number, line in enumerate(lines):
        if number == _TOLD:
            errors().print(f"scrapy dedup: and {whole(total - _TOLD)} more; --json has some of them", soft_wrap=True)
            return
        errors().print(shown(f"scrapy dedup: {line}", 500), soft_wrap=True)


_DRY: Final = frozenset({"dry_run"})
ACTIONS: Final = {
    "stats": Action(_stats),
    "invalidate": Action(_invalidate, "URL...", 0, None, _DRY | {"domain", "all"}),
    "expire": Action(_expire, options=_DRY | {"older_than"}),
    "clean": Action(lambda call: _remove(call, ExtractionChoice(outdated=True)), options=_DRY),
    "verify": Action(_verify, options=_DRY | {"fix"}),
    "export": Action(_export, "DIR", 1, 1),
    "import": Action(_import, "DIR", 1, 1, _DRY),
}

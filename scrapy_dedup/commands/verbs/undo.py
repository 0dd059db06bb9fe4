"""`scrapy dedup undo BLOCK|PAGE|RULE`: a wrong removal becomes a rule of what is kept.

BLOCK is 16 hexadecimal digits, PAGE a URL, RULE a name, a path, a selector or an expression, each as `explain` shows
it. It holds for one domain; --domain says for which, where several lost the same. --list tells all that is kept,
--remove takes one back. Pages are cleaned by it with the next crawl, or by `scrapy dedup templates refine`.

JSON: `UndoneAnswer` of `scrapy_dedup.answers.domains`; with --list `KeptListAnswer`.
"""

import argparse
from datetime import UTC, datetime

from scrapy_dedup.commands.call import DONE, Call, WrongCallError, print_answer
from scrapy_dedup.commands.terminal import print_table, say
from scrapy_dedup.report.numbers import count, whole
from scrapy_dedup.service.views.undoing import KeptEntry, Undone, find, find_kept, kept_things, undo


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what is to be kept, and where."""
    add = parser.add_argument
    add("target", nargs="?", metavar="BLOCK|PAGE|RULE", help="16 hexadecimal digits, a URL, or a rule's name or path")
    add("--domain", help="where, if it was removed on several domains")
    add("--dry-run", action="store_true", help="only say how many stored pages would change")
    add("--list", action="store_true", help="list all that is kept")
    add("--remove", action="store_true", help="take it back: rules act on it again")


def run(call: Call) -> int:
    """Keep something from now on, or tell what is kept."""
    options = call.options
    if options.list == (options.target is not None):
        raise WrongCallError("undo takes a block, a page's URL or a rule; or --list alone")
    if options.list and (options.dry_run or options.remove):
        raise WrongCallError("undo --list takes neither --dry-run nor --remove")
    domain = call.domain(options.domain) if options.domain else None
    with call.opened() as project:
        if options.list:
            _list(call, kept_things(project, domain))
            return DONE
        search = find_kept if options.remove else find
        kept = search(project, options.target, domain, call.settings)
        at = None if options.dry_run else datetime.now(UTC)
        done = undo(project, kept, call.settings, at, take_back=options.remove)
    if not print_answer(call, "domains", lambda answers: answers.UndoneAnswer.made(done)):
        _show(done, take_back=options.remove)
    return DONE


def _list(call: Call, kept: list[KeptEntry]) -> None:
    if print_answer(call, "domains", lambda answers: answers.KeptListAnswer.of(kept=kept)):
        return
    if kept:
        rows = ((one.domain, one.kind, one.text) for one in kept)
        print_table("Kept in spite of the rules", "Domain, Kind, Kept", rows, texts=3)
    else:
        say("Nothing is kept in spite of the rules.")


def _show(done: Undone, *, take_back: bool) -> None:
    kept, trial = done.kept, done.changed.trial
    named = f"The {kept.kind} {kept.text}"
    if done.was_there:
        say(f"{named} was kept on {kept.domain} already: nothing is changed.", limit=1_000)
        return
    lost = count(done.pages, "stored page") + (" is" if done.pages == 1 else " are")
    told = "is not kept any more" if take_back else "is kept from now on"
    if trial is not None:
        told = "would not be kept any more" if take_back else "would be kept from now on"
    say(f"{named} {told} on {kept.domain}; {lost} concerned.", limit=1_000)
    if trial is not None:
        changed = f"Of {count(trial.pages, 'page')} that were tried, {whole(trial.changed)} would change"
        example = f", such as {trial.example}" if trial.example else ""
        say(f"{changed}{example}. Dry run: nothing was written.", limit=1_000)
    else:
        waiting = count(done.changed.stale or 0, "page")
        say(f"{waiting} of the domain are to be cleaned again: run `scrapy dedup templates refine`, or crawl.")

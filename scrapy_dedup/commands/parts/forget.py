"""`scrapy dedup store forget URL|DOMAIN`.

JSON: `project`; `deleted` (false for a dry run); `rows`, deleted or to be deleted, by table; `total`. The exit code is
1 where nothing is known of the page or the domain.
"""

import argparse

from scrapy_dedup.commands.call import NOT_DONE, Call, delete, print_answer, refuse_unasked
from scrapy_dedup.commands.terminal import output, progress, shown
from scrapy_dedup.plugin.dupefilter import key_of_page
from scrapy_dedup.service.policies import url_rules
from scrapy_dedup.service.projects import Deletion, choose, count, forget


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what is to be forgotten, and the safeguards."""
    add = parser.add_argument
    add("target", metavar="URL|DOMAIN", help="a page, with all of its addresses; or a domain, with all names below it")
    add("--dry-run", action="store_true", help="only say what would be removed")
    add("--yes", action="store_true", help="do not ask")


def run(call: Call) -> int:
    """Erase everything that is known of a page or a domain."""
    refuse_unasked(call, "forget")
    rules = url_rules(call.settings)
    with call.opened() as (_, project):
        chosen = choose(project, call.options.target, call.settings)
        named = call.options.target if chosen.pages else ", ".join(chosen.domains) or chosen.words[0]

        def erase(found: Deletion) -> Deletion:
            with progress("rows", found.total) as told:
                return forget(project, chosen, call.settings, lambda url: key_of_page(url, rules), told)

        what, found = f"{named} of project {call.project}", count(project, chosen)
        if found.total:
            return delete(call, what, lambda: found, erase)
        if not call.options.dry_run:
            # Other rows may name it yet: an earlier call was interrupted.
            found = erase(found)
        if not print_answer(call, "projects", lambda answers: answers.DeletionAnswer.of(found)):
            output().print(shown(f"Nothing is known of {what}.", 300), soft_wrap=True)
        return NOT_DONE

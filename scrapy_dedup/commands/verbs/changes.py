"""`scrapy dedup changes`: which pages were found new, changed or removed, and with --diff what changed on them.

JSON: `ChangesAnswer` of `scrapy_dedup.answers.pages`; url and domain are null where the page's document is gone
from the store.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime

from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from scrapy_dedup.commands.call import DONE, Call
from scrapy_dedup.commands.terminal import output, say, shown
from scrapy_dedup.report.markup import visible
from scrapy_dedup.report.numbers import whole
from scrapy_dedup.service.views.changes import (
    LAST,
    VERDICTS,
    ChangesChoice,
    PageChange,
    Since,
    count_changes,
    iterate_changes,
    since,
)
from scrapy_dedup.store.writer import ProjectStore

_LINE_CHARS = 600
_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add from when on, and which changes."""
    add = parser.add_argument
    add(
        "--since",
        metavar="RUN|DATE",
        default=LAST,
        help="from the beginning of a run (its id or how that begins; last: the last one), a date (2026-03-01, "
        "2026-03-01T12:00, in UTC unless it says otherwise), or an age (7d, 12h, 4w)",
    )
    add("--diff", action="store_true", help="show which passages changed")
    add("--domain", metavar="DOMAIN", help="only this domain")
    add("--verdict", choices=VERDICTS, help="only these")


def run(call: Call) -> int:
    """Print the changes as they are read, so that there may be any number of them."""
    options = call.options
    choice = ChangesChoice(call.domain(options.domain) if options.domain else None, options.verdict, diff=options.diff)
    with call.opened() as project:
        start = since(project, options.since, datetime.now(UTC))
        counts = count_changes(project, start, choice)
        changes = _by_verdict(call, project, start, choice, counts)
        if options.json:
            _print_json(call, start, counts, changes)
        else:
            _show(call, start, counts, changes)
    return DONE


def _by_verdict(
    call: Call, project: ProjectStore, start: Since, choice: ChangesChoice, counts: Counter[str]
) -> Iterator[PageChange]:
    for verdict in VERDICTS:
        if counts[verdict]:
            yield from iterate_changes(project, start, replace(choice, verdict=verdict), call.settings)


def _print_json(call: Call, start: Since, counts: Counter[str], changes: Iterator[PageChange]) -> None:
    """Print one object, a line for each change."""
    from scrapy_dedup.answers.pages import ChangeAnswer, ChangesAnswer  # noqa: PLC0415 (pydantic: only for JSON)

    head = ChangesAnswer.made(call.project, start, counts).model_dump(mode="json", exclude={"changes"})
    write = sys.stdout.write
    write(json.dumps(head, ensure_ascii=True)[:-1] + ', "changes": [')
    for number, change in enumerate(changes):
        row = ChangeAnswer.of(change).model_dump(mode="json")
        write((",\n" if number else "\n") + json.dumps(row, ensure_ascii=True))
    write("]}\n")


def _show(call: Call, start: Since, counts: Counter[str], changes: Iterator[PageChange]) -> None:
    from_when = f"run {start.run_id} began, " if start.run_id else ""
    say(f"Changes in project {call.project} since {from_when}{start.at:%Y-%m-%d %H:%M} UTC", "bold")
    console, group = output(), None
    for change in changes:
        if change.verdict != group:
            group = change.verdict
            say("")
            say(f"{str(group).capitalize()} ({whole(counts[str(group)])})", "bold")
        _show_change(change, console)
    say("")
    found = ", ".join(f"{whole(counts[verdict])} {verdict}" for verdict in VERDICTS)
    say(found if counts else "No page was found new, changed or removed.")


def _show_change(change: PageChange, console: Console) -> None:
    kind = f"{change.change_class}: " if change.change_class else ""
    url = change.url or f"a page that is no longer in the store, key {change.page_key.hex()}"
    console.print(Text.assemble((f"{change.at:%Y-%m-%d %H:%M}  ", "dim"), shown(url, 2_000)), soft_wrap=True)
    say(kind + change.reason, "dim", indent=18)
    if change.no_diff:
        say(f"no diff: {change.no_diff}", "dim", indent=18)
    for line in change.diff.split("\n") if change.diff else ():
        style = _STYLES.get(line[:1], "")
        console.print(Text.assemble(" " * 18, (visible(line, _LINE_CHARS), style)), soft_wrap=True)

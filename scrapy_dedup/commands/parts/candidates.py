"""`scrapy dedup domains candidates FILE...`: URLs that search engines proposed become domains, and one candidate each.

A line of a file is JSON with `url` and `engine`, and `title`, `confidence` (0.0 to 1.0) and `rank` if there are any;
`-` is standard input.

Outcomes: new (domain and candidate are added), known (registered, not processed yet), processed, blacklisted, twin (the
name with or without www. is registered: the domain is added, no candidate), invalid (no http or https URL).

JSON: `CandidatesAnswer` of `scrapy_dedup.answers.domains`, with 100,000 URLs at most.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from scrapy_dedup.commands.call import DONE, INTERRUPTED, NOT_DONE, STANDARD_INPUT, Call, opened_input, print_answer
from scrapy_dedup.commands.terminal import one_line, progress, say_dry_run
from scrapy_dedup.commands.verbs.domains import show_new, show_tally
from scrapy_dedup.core.domains import CandidateOutcome
from scrapy_dedup.service.domains.candidates import (
    BadProposal,
    CandidateIntake,
    JudgedCandidate,
    Proposal,
    read_proposals,
)

_MOST_TOLD: Final = 100_000
_MOST_WARNINGS: Final = 20


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the files, and what they are called."""
    add = parser.add_argument
    add("files", metavar="FILE", nargs="+", help="search results as JSON; - for standard input")
    add("--engine", metavar="NAME", help="of results that do not name their engine (the file's name)")
    add("--session", metavar="NAME", help="of the discovery session; one of that name goes on (the time of day)")
    add("--dry-run", action="store_true", help="read everything and write nothing")


def run(call: Call) -> int:
    """Take the files in; what was taken in before an interruption stays, and is known the next time."""
    options, at = call.options, datetime.now(UTC)
    session = options.session or f"{at:%Y-%m-%d %H:%M:%S}"
    _check(options.files)
    with call.filled(dry_run=options.dry_run) as (_, project):
        listing = _Listing()
        intake = CandidateIntake(project, call.settings, session, dry_run=options.dry_run)
        interrupted = _take(call, intake, listing)
    read = intake.tally.outcomes.total()
    if not print_answer(
        call,
        "domains",
        lambda answers: answers.CandidatesAnswer.made(call.project, intake, listing.urls, interrupted=interrupted),
    ):
        show_tally(f"Candidates of session {session}", intake.tally)
        show_new(intake.tally, [one.url for one in listing.urls if one.outcome is CandidateOutcome.NEW])
        say_dry_run(dry_run=options.dry_run)
    if interrupted:
        return INTERRUPTED
    return NOT_DONE if read == intake.tally.outcomes[CandidateOutcome.INVALID] else DONE


class _Listing(Struct):
    """What became of the first URLs, and how many warnings there were."""

    urls: list[JudgedCandidate] = field(default_factory=list)
    warnings: int = 0

    def add(self, judged: JudgedCandidate) -> None:
        """Keep it, if there is room, and warn of an invalid one."""
        if len(self.urls) < _MOST_TOLD:
            self.urls.append(judged)
        if judged.outcome is CandidateOutcome.INVALID:
            self.warnings += 1
            if self.warnings <= _MOST_WARNINGS:
                url = f"{judged.url}: " if judged.url else ""
                _warn(f"{judged.where}: {url}{judged.reason}; passed over")


def _take(call: Call, intake: CandidateIntake, listing: _Listing) -> bool:
    """Take all files in; return whether that was interrupted."""
    interrupted = False
    try:
        for name in call.options.files:
            with opened_input(name) as file, _progress(name) as advance:
                proposals = read_proposals(file, name, call.options.engine or _engine(name), advance)
                _list(intake, proposals, listing)
    except KeyboardInterrupt:
        interrupted = True
    intake.finish(datetime.now(UTC))
    if listing.warnings > _MOST_WARNINGS:
        _warn(f"and {listing.warnings - _MOST_WARNINGS} more invalid URLs")
    return interrupted


def _list(intake: CandidateIntake, proposals: Iterator[Proposal | BadProposal], listing: _Listing) -> None:
    for judged in intake.take(proposals, datetime.now(UTC)):
        listing.add(judged)


def _check(names: list[str]) -> None:
    """Look at each file before the first is read: a typing error must not leave half of the work done."""
    for name in names:
        if name != STANDARD_INPUT:
            with opened_input(name):
                pass


def _engine(name: str) -> str:
    return "standard input" if name == STANDARD_INPUT else Path(name).name.partition(".")[0]


def _warn(text: str) -> None:
    sys.stderr.write(f"scrapy dedup: {one_line(text, 500)}\n")


def _progress(name: str) -> AbstractContextManager[Callable[[int], None]]:
    """Give what moves a bar, where somebody knows how much there is."""
    if name == STANDARD_INPUT:
        return nullcontext(lambda _: None)
    return progress(Path(name).name, Path(name).stat().st_size)

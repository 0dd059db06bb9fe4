"""`scrapy dedup domains ACTION`: which domains there are, how good they are, and which are never to be requested.

PATTERN is a name, in any spelling or as a URL, or has `*` for any characters and `?` for one.

JSON: as in `scrapy_dedup.answers.domains`; of a dry run, domains as they were and would be changed. export with a FILE:
`file` and `domains` (how many); else it writes JSON lines by itself; candidates tells 100,000 URLs at most.

`candidates` makes domains, and one candidate each, of URLs that search engines proposed. A line of its files is JSON
with `url` and `engine`, and `title`, `confidence` (0.0 to 1.0) and `rank` if there are any; `-` is standard input. URLs
come out as new (domain and candidate are added), known (registered, not processed yet), processed, blacklisted, twin
(the name with or without www. is registered: the domain is added, no candidate) or invalid (no http or https URL).
"""

import argparse
import getpass
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO, Final

from msgspec import Struct, field
from rich.text import Text

from scrapy_dedup.commands.call import (
    DONE,
    INTERRUPTED,
    NOT_DONE,
    STANDARD_INPUT,
    Action,
    Call,
    add_actions,
    number,
    opened_input,
    print_answer,
    print_json,
    run_action,
)
from scrapy_dedup.commands.terminal import one_line, output, print_table, progress, say, say_dry_run, shown
from scrapy_dedup.core.domains import STATUSES, CandidateOutcome, DomainStatus, present_status
from scrapy_dedup.report.numbers import count, percent, whole
from scrapy_dedup.service.domains.candidates import (
    CandidateIntake,
    CandidateTally,
    JudgedCandidate,
    candidates_of,
    read_proposals,
)
from scrapy_dedup.service.domains.files import BadRow, DomainRow, all_domains, import_rows, read_rows, write_domains
from scrapy_dedup.service.domains.registry import ChosenDomains, DomainService, UnknownDomainError
from scrapy_dedup.service.domains.twins import Twins, settle_twins
from scrapy_dedup.service.files.output import replacing_alone
from scrapy_dedup.service.packed_files import lines_of
from scrapy_dedup.settings.parsers import duration
from scrapy_dedup.store.domains.candidates import StoredCandidate
from scrapy_dedup.store.domains.lists import SORTS, DomainChoice, DomainCounts, DomainList
from scrapy_dedup.store.domains.registry import StoredDomain

_MOST_LINE_BYTES: Final = 200_000
_MOST_REFUSED: Final = 1_000
_ADDED: Final = "added"
_MOST_TOLD: Final = 100_000
_MOST_WARNINGS: Final = 20


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options; which belong together is checked when it runs."""
    add_actions(parser, ACTIONS)
    add = parser.add_argument
    add("--status", type=_status, metavar="STATUS", help=f"list, export: only {', '.join(DomainStatus)}")
    add("--sort", choices=SORTS, help="list: by this; domains without a value come last (name)")
    add("--descending", action="store_true", help="list: the other way round")
    add(
        "--limit",
        type=number(1_000, "domains; go on with --after"),
        metavar="DOMAINS",
        help="list: so many at most (50)",
    )
    add("--after", metavar="CURSOR", help="list: go on where a list ended: its `next`")
    add("--reason", help="blacklist: why")
    add("--by", help="blacklist: who says so (the user's login name)")
    add("--expires", type=_expires, metavar="AGE|DATE", help="blacklist: until when: 12h, 30d, 8w, 2027-01-31")
    add("--engine", metavar="NAME", help="candidates: of results that do not name their engine (the file's name)")
    add("--session", metavar="NAME", help="candidates: its discovery session; one of that name goes on (time of day)")
    add("--dry-run", action="store_true", help="all but list, show, export: only say what would happen")


def run(call: Call) -> int:
    """Do what was asked for."""
    return run_action(call, "domains", ACTIONS)


def _list(call: Call) -> int:
    options = call.options
    pattern = options.targets[0] if options.targets else None
    limit = options.limit or DomainChoice().limit
    choice = DomainChoice(
        pattern, options.status, options.sort or "name", descending=options.descending, limit=limit, after=options.after
    )
    with call.opened() as project:
        service = DomainService(project, call.settings)
        found, counts = service.list_domains(choice), service.counts()
    if not print_answer(
        call, "domains", lambda answers: answers.DomainListAnswer.of(found, counts, project=call.project)
    ):
        _show_list(call.project, found, counts, datetime.now(UTC))
    return DONE


def _show(call: Call) -> int:
    at = datetime.now(UTC)
    with call.opened() as project:
        service = DomainService(project, call.settings)
        found = service.find_by_domain_name(call.options.targets[0])
        if found is None:
            raise UnknownDomainError(_unknown(call.options.targets[0]))
        joined = service.joined_with(found)
        candidates = candidates_of(project, (found.domain_name, joined))
    if not print_answer(call, "domains", lambda answers: answers.OneDomainAnswer.made(found, joined, candidates, at)):
        _show_one(found, joined, candidates, at)
    return DONE


def _add(call: Call) -> int:
    with call.filled(dry_run=call.options.dry_run) as project:
        service = DomainService(project, call.settings)
        chosen = service.choose(call.options.targets)
        if not call.options.dry_run:
            service.register_domains(chosen.new, datetime.now(UTC))
        return _changed(call, service, chosen, _ADDED)


def _blacklist(call: Call) -> int:
    options, at = call.options, datetime.now(UTC)
    with call.filled(dry_run=options.dry_run) as project:
        service = DomainService(project, call.settings)
        chosen = service.choose(options.targets)
        if not options.dry_run and chosen.names:
            by = options.by or _login_name()
            service.blacklist_domains(chosen.names, at, by=by, reason=options.reason, expires_at=options.expires)
        return _changed(call, service, chosen, "blacklisted")


def _unblacklist(call: Call) -> int:
    with call.opened() as project:
        service = DomainService(project, call.settings)
        chosen = service.choose(call.options.targets)
        if chosen.new:
            raise UnknownDomainError(_unknown(chosen.new[0]))
        listed = [each for each in chosen.domains if each.status == DomainStatus.BLACKLISTED]
        if chosen.domains and not listed and not call.options.json:
            output().print("None of these is blacklisted: nothing is changed.")
            return NOT_DONE
        if not call.options.dry_run:
            service.unblacklist_domains([each.domain_name for each in listed], datetime.now(UTC))
        return _changed(call, service, ChosenDomains(tuple(listed), (), chosen.unmatched), "taken off the blacklist")


def _changed(call: Call, service: DomainService, chosen: ChosenDomains, what: str) -> int:
    """Tell what was done; where nothing fits, that is no success."""
    dry_run: bool = call.options.dry_run
    now = chosen.domains if dry_run else service.matching(chosen.names)
    answered = {"project": call.project, "dry_run": dry_run, "domains": now}
    if print_answer(call, "domains", lambda answers: answers.ChangedDomainsAnswer.of(chosen, **answered)):
        return DONE if chosen.names else NOT_DONE
    new, known = sorted(chosen.new), len(chosen.domains)
    if what == _ADDED:
        was = ("is" if known == 1 else "are") if dry_run else ("was" if known == 1 else "were")
        _tell_changed(call, new, what, f", {whole(known)} {was} registered already" if known else "")
    elif names := sorted({*(one.domain_name for one in now), *new}):
        _tell_changed(call, names, what, f", {whole(len(new))} of them new" if new else "")
    else:
        say("No domain fits: nothing is changed.")
    if chosen.names:
        told = "fits no registered domain; those to come are not compared with it"
        lost = [f"{one} {told}" for one in chosen.unmatched]
        _show_some(lost, len(lost), "dim")
    return DONE if chosen.names else NOT_DONE


def _join(call: Call) -> int:
    dry_run: bool = call.options.dry_run
    with call.opened() as project:
        names = None
        if call.options.targets:
            chosen = DomainService(project, call.settings).choose(call.options.targets)
            if chosen.new:
                raise UnknownDomainError(_unknown(chosen.new[0]))
            names = chosen.names
        found = settle_twins(project, names, call.settings, None if dry_run else datetime.now(UTC))
    if not print_answer(
        call, "domains", lambda answers: answers.PairsAnswer.of(project=call.project, dry_run=dry_run, pairs=found)
    ):
        _show_twins(found, call.settings.domain_join_pages, dry_run=dry_run)
    return DONE


def _import(call: Call) -> int:
    name = call.options.targets[0]
    refused: list[BadRow] = []
    with opened_input(name) as file, call.filled(dry_run=call.options.dry_run) as project:
        rows = _passing(read_rows(_lines(file), name, call.settings.domain_scope), name, refused)
        done = import_rows(project, rows, datetime.now(UTC), dry_run=call.options.dry_run)
    told = {"project": call.project, "dry_run": call.options.dry_run, "refused": refused}
    if not print_answer(call, "domains", lambda answers: answers.ImportAnswer.of(done, **told)):
        would = "would be " if call.options.dry_run else ""
        say(f"{count(done.new, 'domain')} {would}added, {whole(done.known)} known.")
        told_of = [f"{row.where}: {row.reason}; passed over" for row in refused]
        _show_some(told_of, len(told_of), "dim")
        say_dry_run(dry_run=call.options.dry_run)
    return DONE if done.new or done.known else NOT_DONE


def _lines(file: BinaryIO) -> Iterator[str | None]:
    return (None if line is None else line.decode("utf-8", "replace") for line in lines_of(file, _MOST_LINE_BYTES))


def _passing(rows: Iterable[DomainRow | BadRow], name: str, refused: list[BadRow]) -> Iterator[DomainRow]:
    """Iterate over rows that name domains; of the others note the first, and how many more there are."""
    more = 0
    for row in rows:
        if isinstance(row, DomainRow):
            yield row
        elif len(refused) < _MOST_REFUSED:
            refused.append(row)
        else:
            more += 1
    if more:
        refused.append(BadRow(name, f"and {more} more lines are no domains"))


def _export(call: Call) -> int:
    targets = call.options.targets
    with call.opened() as project:
        found = all_domains(project, call.options.status)
        if not targets:
            write_domains(found, sys.stdout)
            return DONE
        file = Path(targets[0])
        with replacing_alone(file) as whole_file:
            lines = TextIOWrapper(whole_file, "ascii")
            number = write_domains(found, lines)
            lines.detach()
    if call.options.json:
        print_json({"project": call.project, "file": str(file), "domains": number})
    else:
        say(f"{count(number, 'domain')} written to {file}.")
    return DONE


def _unknown(name: str) -> str:
    return f"domain {name!r} is not registered: `scrapy dedup domains list` shows all, `domains add` adds one"


def _login_name() -> str | None:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have none
        return None


def _status(word: str) -> DomainStatus:
    try:
        return DomainStatus(word.upper())
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{word}: is none of {', '.join(DomainStatus)}") from error


def _expires(word: str) -> datetime:
    now = datetime.now(UTC)
    try:
        at = datetime.fromisoformat(word) if "-" in word else now + duration(word)
    except (ValueError, OverflowError) as error:
        raise argparse.ArgumentTypeError(f"{word}: is neither 12h, 30d or 8w nor a date such as 2027-01-31") from error
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at
    if at <= now:
        raise argparse.ArgumentTypeError(f"{word}: is over already")
    return at


def _candidates(call: Call) -> int:
    """Take the files in; what was taken in before an interruption stays, and is known the next time."""
    options, at = call.options, datetime.now(UTC)
    session = options.session or f"{at:%Y-%m-%d %H:%M:%S}"
    _check(options.targets)
    with call.filled(dry_run=options.dry_run) as project:
        listing = _Listing()
        intake = CandidateIntake(project, call.settings, session, dry_run=options.dry_run)
        interrupted = _take(call, intake, listing)
    read = intake.tally.outcomes.total()
    if not print_answer(
        call,
        "domains",
        lambda answers: answers.CandidatesAnswer.made(call.project, intake, listing.urls, interrupted=interrupted),
    ):
        _show_tally(f"Candidates of session {session}", intake.tally)
        _show_new(intake.tally, [one.url for one in listing.urls if one.outcome is CandidateOutcome.NEW])
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
        for name in call.options.targets:
            with opened_input(name) as file, _progress(name) as advance:
                proposals = read_proposals(file, name, call.options.engine or _engine(name), advance)
                for judged in intake.take(proposals, datetime.now(UTC)):
                    listing.add(judged)
    except KeyboardInterrupt:
        interrupted = True
    intake.finish(datetime.now(UTC))
    if listing.warnings > _MOST_WARNINGS:
        _warn(f"and {listing.warnings - _MOST_WARNINGS} more invalid URLs")
    return interrupted


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


_DRY: Final = frozenset({"dry_run"})
ACTIONS: Final = {
    "list": Action(_list, "[PATTERN]", 0, 1, frozenset({"status", "sort", "descending", "limit", "after"})),
    "show": Action(_show, "NAME", 1, 1),
    "add": Action(_add, "NAME...", 1, None, _DRY),
    "blacklist": Action(_blacklist, "PATTERN...", 1, None, _DRY | {"reason", "by", "expires"}),
    "unblacklist": Action(_unblacklist, "PATTERN...", 1, None, _DRY),
    "join": Action(_join, "[PATTERN...]", 0, None, _DRY),
    "import": Action(_import, "FILE (- for standard input)", 1, 1, _DRY),
    "export": Action(_export, "[FILE]", 0, 1, frozenset({"status"})),
    "candidates": Action(_candidates, "FILE... (- for standard input)", 1, None, _DRY | {"engine", "session"}),
}


_MOST_SHOWN: Final = 50


def _show_list(project: str, found: DomainList, counts: DomainCounts, at: datetime) -> None:
    columns = "Domain, Status, Pages, Boilerplate, Best, Mean, High, Low, Crawled"
    print_table(f"Domains of project {project}", columns, (_row(one, at) for one in found.domains), texts=2)
    if found.next is not None:
        output().print(
            f"{whole(len(found.domains))} of {whole(found.total)}; go on with --after {found.next}", soft_wrap=True
        )
    kinds = ", ".join(f"{whole(number)} {STATUSES[status]}" for status, number in counts.statuses.items())
    joined = f"; {whole(counts.joined)} joined to theirs" if counts.joined else ""
    twins = f"{percent(counts.twins, counts.total)} have a twin with or without www. ({whole(counts.twins)}{joined})"
    output().print(f"\n{count(counts.total, 'domain')}: {kinds}\n{twins}", soft_wrap=True)


def _row(one: StoredDomain, at: datetime) -> tuple[object, ...]:
    share = percent(max(one.chars_in - one.chars_out, 0), one.chars_in) if one.chars_in else ""
    scores = (one.best_confidence_score, one.mean_confidence_score)
    counts = (one.high_quality_candidate_count, one.low_quality_candidate_count)
    return one.domain_name, _told_status(one, at), one.pages, share, *scores, *counts, _day(one.last_crawled_at)


def _show_one(domain: StoredDomain, joined: str | None, candidates: Sequence[StoredCandidate], at: datetime) -> None:
    say(domain.domain_name, "bold")
    for name, value in _facts(domain, joined, at):
        output().print(Text.assemble(f"  {name:<14}", shown(value, 1_000)), soft_wrap=True)
    if candidates:
        rows = ((one.url, one.engine, one.session_name, one.confidence, _day(one.created_at)) for one in candidates)
        say("")
        print_table("Candidates", "Candidate, Engine, Session, Confidence, Day", rows, texts=3)


def _facts(domain: StoredDomain, joined: str | None, at: datetime) -> Iterable[tuple[str, str]]:
    yield "status", _told_status(domain, at)
    if domain.blacklisted_at is not None:
        by, why = domain.blacklisted_by or "somebody", domain.blacklist_reason or "no reason given"
        ends = f", until {_minute(domain.blacklist_expires_at)}" if domain.blacklist_expires_at else ""
        yield "blacklist", f"by {by} at {_minute(domain.blacklisted_at)}{ends}: {why}"
    if domain.best_confidence_score is not None:
        mean = domain.mean_confidence_score
        yield (
            "confidence",
            f"{domain.best_confidence_score:.2f} at best{f', {mean:.2f} on average' if mean is not None else ''}",
        )
    high, low = domain.high_quality_candidate_count, domain.low_quality_candidate_count
    yield "candidates", f"{whole(high)} of high quality, {whole(low)} of low quality"
    share = percent(max(domain.chars_in - domain.chars_out, 0), domain.chars_in)
    yield "pages", f"{whole(domain.pages)}, {share} of their text boilerplate, {count(domain.errors, 'error')}"
    if domain.twin is not None:
        compared = f"{count(domain.pages_alike, 'page')} alike, {whole(domain.pages_unlike)} unlike"
        yield "twin", f"{domain.twin}: {'counts as one with it' if joined else 'a domain of its own'} ({compared})"
    yield "discovered", _minute(domain.discovered_at)
    yield "processed", _minute(domain.last_processed_at)
    yield "crawled", _minute(domain.last_crawled_at)


def _tell_changed(call: Call, names: Sequence[str], what: str, more: str) -> None:
    """Print what became of domains, or would become."""
    dry_run: bool = call.options.dry_run
    be = "would be" if dry_run else ("was" if len(names) == 1 else "were")
    say(f"{count(len(names), 'domain')} {be} {what}{more}{':' if names else '.'}")
    _show_some(names, len(names))
    say_dry_run(dry_run=dry_run)


def _show_some(lines: Sequence[str], number: int, style: str = "") -> None:
    for line in lines[:_MOST_SHOWN]:
        say(line, style, indent=2)
    if number > _MOST_SHOWN:
        say(f"and {whole(number - _MOST_SHOWN)} more", "dim", indent=2)


def _show_twins(found: Sequence[Twins], least: int, *, dry_run: bool) -> None:
    if not found:
        say("No domain has a twin with or without www. in the registry.")
        return
    rows = []
    for one in found:
        now, was = ("one" if is_one else "two" for is_one in (one.is_joined, one.was_joined))
        changed = f"{now} (was {was})" if now != was else now
        rows.append((one.name, one.other, changed, one.reason.value, one.evidence.alike, one.evidence.unlike))
    title = f"Twins with and without www.; {count(least, 'page')} must be alike, and nine of ten"
    print_table(title, "Domain, Twin, Now, Why, Alike, Unlike", rows, texts=4)
    say_dry_run(dry_run=dry_run)


def _show_tally(title: str, tally: CandidateTally) -> None:
    """Print how many URLs of which engine had which outcome."""
    names = ", ".join(outcome.value.capitalize() for outcome in CandidateOutcome)
    rows = sorted(tally.engines.items())
    all_rows = [*rows, ("all", tally.outcomes)] if len(rows) != 1 else rows
    cells = ((engine, *(found[one] for one in CandidateOutcome), found.total()) for engine, found in all_rows)
    print_table(title, f"Engine, {names}, All", cells)


def _show_new(tally: CandidateTally, urls: Sequence[str]) -> None:
    """Print some of the new candidates, and how many sites may have been counted twice."""
    new, twins = tally.outcomes[CandidateOutcome.NEW], tally.outcomes[CandidateOutcome.TWIN]
    say("")
    say(f"{count(new, 'new candidate')} of {count(tally.outcomes.total(), 'URL')}; {whole(twins)} by a twin.")
    _show_some(urls, new)


def _told_status(domain: StoredDomain, at: datetime) -> str:
    now = present_status(domain, at)
    ended = " (its blacklist is over)" if now != domain.status else ""
    joined = f", counts as {domain.joined_to}" if domain.joined_to else ""
    return f"{STATUSES[now]}{ended}{joined}"


def _day(at: datetime | None) -> str:
    return "" if at is None else f"{at:%Y-%m-%d}"


def _minute(at: datetime | None) -> str:
    return "never" if at is None else f"{at:%Y-%m-%d %H:%M} UTC"

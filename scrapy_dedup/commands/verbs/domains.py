"""`scrapy dedup domains ACTION`: which domains there are, how good they are, and which are never to be requested.

PATTERN is a name, in any spelling or as a URL, or has `*` for any characters and `?` for one.

JSON: as in `scrapy_dedup.answers.domains`; of a dry run, domains as they were and would be changed. export with a FILE:
`file` and `domains` (how many); else it writes JSON lines by itself.
"""

import argparse
import getpass
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO, Final

from rich.table import Table
from rich.text import Text

from scrapy_dedup.commands.call import (
    DONE,
    NOT_DONE,
    Action,
    Call,
    add_actions,
    number,
    opened_input,
    print_answer,
    print_json,
    run_action,
)
from scrapy_dedup.commands.terminal import a_table, output, print_table, say, shown
from scrapy_dedup.core.domains import CandidateOutcome, DomainStatus, present_status
from scrapy_dedup.report.dashboard_values import STATUSES
from scrapy_dedup.report.numbers import count, percent, whole
from scrapy_dedup.service.domains.candidates import CandidateTally, candidates_of
from scrapy_dedup.service.domains.files import (
    BadRow,
    DomainRow,
    ImportedDomains,
    all_domains,
    import_rows,
    read_rows,
    write_domains,
)
from scrapy_dedup.service.domains.registry import ChosenDomains, DomainService, UnknownDomainError
from scrapy_dedup.service.domains.twins import Twins, settle_twins
from scrapy_dedup.service.packed_files import lines_of
from scrapy_dedup.store.domains.candidates import StoredCandidate
from scrapy_dedup.store.domains.lists import SORTS, DomainChoice, DomainCounts, DomainList
from scrapy_dedup.store.domains.registry import StoredDomain

_AGE: Final = re.compile(r"([0-9]{1,5})([hdw])")
_HOURS: Final = {"h": 1, "d": 24, "w": 7 * 24}
_MOST_LINE_BYTES: Final = 200_000
_MOST_REFUSED: Final = 1_000
_ADDED: Final = "added"


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
    add("--dry-run", action="store_true", help="add, blacklist, unblacklist, join, import: only say what would happen")


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
    with call.opened() as (store, project):
        service = DomainService(store, project, call.settings)
        found, counts = service.list_domains(choice), service.counts()
    if not print_answer(
        call, "domains", lambda answers: answers.DomainListAnswer.of(found, counts, project=call.project)
    ):
        _show_list(call.project, found, counts, datetime.now(UTC))
    return DONE


def _show(call: Call) -> int:
    at = datetime.now(UTC)
    with call.opened() as (store, project):
        service = DomainService(store, project, call.settings)
        found = service.find_by_domain_name(call.options.targets[0])
        if found is None:
            raise UnknownDomainError(_unknown(call.options.targets[0]))
        joined = service.joined_with(found)
        candidates = candidates_of(project, (found.domain_name, joined))
    if not print_answer(call, "domains", lambda answers: answers.OneDomainAnswer.made(found, joined, candidates, at)):
        _show_one(found, joined, candidates, at)
    return DONE


def _add(call: Call) -> int:
    with call.filled(dry_run=call.options.dry_run) as (store, project):
        service = DomainService(store, project, call.settings)
        chosen = service.choose(call.options.targets)
        if not call.options.dry_run:
            service.register_domains(chosen.new, datetime.now(UTC))
        return _changed(call, service, chosen, _ADDED)


def _blacklist(call: Call) -> int:
    options, at = call.options, datetime.now(UTC)
    with call.filled(dry_run=options.dry_run) as (store, project):
        service = DomainService(store, project, call.settings)
        chosen = service.choose(options.targets)
        if not options.dry_run and chosen.names:
            by = options.by or _login_name()
            service.blacklist_domains(chosen.names, at, by=by, reason=options.reason, expires_at=options.expires)
        return _changed(call, service, chosen, "blacklisted")


def _unblacklist(call: Call) -> int:
    with call.opened() as (store, project):
        service = DomainService(store, project, call.settings)
        chosen = service.choose(call.options.targets)
        if chosen.new:
            raise UnknownDomainError(_unknown(chosen.new[0]))
        listed = [each for each in chosen.domains if each.status == DomainStatus.BLACKLISTED]
        if chosen.domains and not listed and not call.options.json:
            output().print("None of these is blacklisted: nothing is changed.")
            return NOT_DONE
        if not call.options.dry_run:
            service.unblacklist_domains([each.domain_name for each in listed], datetime.now(UTC))
        return _changed(call, service, ChosenDomains(tuple(listed), ()), "taken off the blacklist")


def _changed(call: Call, service: DomainService, chosen: ChosenDomains, what: str) -> int:
    """Tell what was done; where nothing fits, that is no success."""
    dry_run: bool = call.options.dry_run
    now = chosen.domains if dry_run else service.matching(chosen.names)
    answered = {"project": call.project, "dry_run": dry_run, "domains": now}
    if print_answer(call, "domains", lambda answers: answers.ChangedDomainsAnswer.of(chosen, **answered)):
        pass
    elif what == _ADDED:
        _show_added(chosen.new, len(chosen.domains), dry_run=dry_run)
    else:
        _show_changed(now, chosen.new, what, dry_run=dry_run)
    return DONE if chosen.names else NOT_DONE


def _join(call: Call) -> int:
    dry_run: bool = call.options.dry_run
    with call.opened() as (store, project):
        names = None
        if call.options.targets:
            chosen = DomainService(store, project, call.settings).choose(call.options.targets)
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
    refused = _Refused(name)
    with opened_input(name) as file, call.filled(dry_run=call.options.dry_run) as (_, project):
        rows = refused.without(read_rows(_lines(file), name, call.settings.domain_scope))
        done = import_rows(project, rows, datetime.now(UTC), dry_run=call.options.dry_run)
    told = {"project": call.project, "dry_run": call.options.dry_run, "refused": refused.told}
    if not print_answer(call, "domains", lambda answers: answers.ImportAnswer.of(done, **told)):
        _show_import(done, refused.told, dry_run=call.options.dry_run)
    return DONE if done.new or done.known else NOT_DONE


def _lines(file: BinaryIO) -> Iterator[str | None]:
    return (None if line is None else line.decode("utf-8", "replace") for line in lines_of(file, _MOST_LINE_BYTES))


class _Refused:
    """The first rows of a file that are none, and how many more there are."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._first: list[BadRow] = []
        self._more = 0

    def without(self, rows: Iterable[DomainRow | BadRow]) -> Iterator[DomainRow]:
        """Iterate over the others."""
        for row in rows:
            if isinstance(row, DomainRow):
                yield row
            elif len(self._first) < _MOST_REFUSED:
                self._first.append(row)
            else:
                self._more += 1

    @property
    def told(self) -> list[BadRow]:
        """What is told of them."""
        return (
            [*self._first, BadRow(self._name, f"and {self._more} more lines are no domains")]
            if self._more
            else self._first
        )


def _export(call: Call) -> int:
    targets = call.options.targets
    with call.opened() as (_, project):
        found = all_domains(project, call.options.status)
        if not targets:
            write_domains(found, sys.stdout)
            return DONE
        file = Path(targets[0])
        with file.open("w", encoding="ascii") as output:
            number = write_domains(found, output)
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
        age = _AGE.fullmatch(word)
        at = now + timedelta(hours=int(age[1]) * _HOURS[age[2]]) if age else datetime.fromisoformat(word)
    except (ValueError, OverflowError) as error:
        raise argparse.ArgumentTypeError(f"{word}: is neither 12h, 30d or 8w nor a date such as 2027-01-31") from error
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at
    if at <= now:
        raise argparse.ArgumentTypeError(f"{word}: is over already")
    return at


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
}


_MOST_SHOWN: Final = 50
_NOTHING_WRITTEN: Final = "Dry run: nothing was written."


def _show_list(project: str, found: DomainList, counts: DomainCounts, at: datetime) -> None:
    print_table(f"Domains of project {project}", _table(found.domains, at))
    tell = output().print
    if found.next is not None:
        tell(
            Text(f"{whole(len(found.domains))} of {whole(found.total)}; go on with --after {found.next}"),
            soft_wrap=True,
        )
    kinds = ", ".join(f"{whole(number)} {STATUSES[status]}" for status, number in counts.statuses.items())
    tell(Text(f"\n{count(counts.total, 'domain')}: {kinds}"), soft_wrap=True)
    joined = f"; {whole(counts.joined)} joined to theirs" if counts.joined else ""
    share = percent(counts.twins, counts.total)
    tell(Text(f"{share} have a twin with or without www. ({whole(counts.twins)}{joined})"), soft_wrap=True)


def _table(found: Iterable[StoredDomain], at: datetime) -> Table:
    table = a_table("Domain", "Status", "Pages", "Boilerplate", "Best", "Mean", "High", "Low", "Crawled", texts=2)
    for each in found:
        table.add_row(
            shown(each.domain_name, 253),
            _told_status(each, at),
            whole(each.pages),
            percent(max(each.chars_in - each.chars_out, 0), each.chars_in) if each.chars_in else "",
            _score(each.best_confidence_score),
            _score(each.mean_confidence_score),
            whole(each.high_quality_candidate_count),
            whole(each.low_quality_candidate_count),
            _day(each.last_crawled_at),
        )
    return table


def _show_one(domain: StoredDomain, joined: str | None, candidates: Sequence[StoredCandidate], at: datetime) -> None:
    tell = output().print
    tell(shown(domain.domain_name, 253, style="bold"), soft_wrap=True)
    for name, value in _facts(domain, joined, at):
        tell(Text.assemble(f"  {name:<14}", shown(value, 1_000)), soft_wrap=True)
    if candidates:
        table = a_table("Candidate", "Engine", "Session", "Confidence", "Day", texts=3)
        for each in candidates:
            words = (shown(each.url, 300), shown(each.engine, 50), shown(each.session_name or "", 50))
            table.add_row(*words, _score(each.confidence), _day(each.created_at))
        tell("")
        print_table("Candidates", table)


def _facts(domain: StoredDomain, joined: str | None, at: datetime) -> Iterable[tuple[str, str]]:
    yield "status", _told_status(domain, at).plain
    if domain.blacklisted_at is not None:
        by, why = domain.blacklisted_by or "somebody", domain.blacklist_reason or "no reason given"
        ends = f", until {_minute(domain.blacklist_expires_at)}" if domain.blacklist_expires_at else ""
        yield "blacklist", f"by {by} at {_minute(domain.blacklisted_at)}{ends}: {why}"
    if domain.best_confidence_score is not None:
        mean = (
            f", {_score(domain.mean_confidence_score)} on average" if domain.mean_confidence_score is not None else ""
        )
        yield "confidence", f"{_score(domain.best_confidence_score)} at best{mean}"
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


def _show_added(new: Sequence[str], known: int, *, dry_run: bool) -> None:
    being = "is" if known == 1 else "are"
    was = being if dry_run else ("was" if known == 1 else "were")
    already = f", {whole(known)} {was} registered already" if known else ""
    _tell_names(sorted(new), "added", already, dry_run=dry_run)


def _show_changed(changed: Iterable[StoredDomain], new: Sequence[str], what: str, *, dry_run: bool) -> None:
    names = sorted({*(each.domain_name for each in changed), *new})
    if not names:
        output().print("No domain fits: nothing is changed.")
        return
    _tell_names(names, what, f", {whole(len(new))} of them new" if new else "", dry_run=dry_run)


def _tell_names(names: Sequence[str], what: str, more: str, *, dry_run: bool) -> None:
    tell = output().print
    be = "would be" if dry_run else ("was" if len(names) == 1 else "were")
    end = ":" if names else "."
    tell(Text(f"{count(len(names), 'domain')} {be} {what}{more}{end}"), soft_wrap=True)
    for name in names[:_MOST_SHOWN]:
        tell(Text.assemble("  ", shown(name, 253)), soft_wrap=True)
    if len(names) > _MOST_SHOWN:
        tell(Text(f"  and {whole(len(names) - _MOST_SHOWN)} more", style="dim"))
    if dry_run:
        tell(_NOTHING_WRITTEN)


def _show_twins(found: Sequence[Twins], least: int, *, dry_run: bool) -> None:
    if not found:
        output().print("No domain has a twin with or without www. in the registry.")
        return
    table = a_table("Domain", "Twin", "Now", "Why", "Alike", "Unlike", texts=4)
    for each in found:
        now = "one" if each.is_joined else "two"
        changed = " (was two)" if each.is_joined and not each.was_joined else ""
        changed = " (was one)" if each.was_joined and not each.is_joined else changed
        row = (shown(each.name, 253), shown(each.other, 253), shown(now + changed), shown(each.reason.value))
        table.add_row(*row, whole(each.evidence.alike), whole(each.evidence.unlike))
    print_table(f"Twins with and without www.; {count(least, 'page')} must be alike, and nine of ten", table)
    if dry_run:
        output().print(_NOTHING_WRITTEN)


def _show_import(done: ImportedDomains, refused: Sequence[BadRow], *, dry_run: bool) -> None:
    tell = output().print
    would = "would be " if dry_run else ""
    tell(Text(f"{count(done.new, 'domain')} {would}added, {whole(done.known)} known."))
    for row in refused[:_MOST_SHOWN]:
        tell(shown(f"  {row.where}: {row.reason}; passed over", 500, style="dim"), soft_wrap=True)
    if len(refused) > _MOST_SHOWN:
        tell(Text(f"  and {whole(len(refused) - _MOST_SHOWN)} more", style="dim"))
    if dry_run:
        tell(_NOTHING_WRITTEN)


def show_tally(title: str, tally: CandidateTally) -> None:
    """Print how many URLs of which engine had which outcome."""
    table = a_table("Engine", *(outcome.value.capitalize() for outcome in CandidateOutcome), "All")
    rows = sorted(tally.engines.items())
    for engine, outcomes in [*rows, ("all", tally.outcomes)] if len(rows) != 1 else rows:
        numbers = [outcomes[outcome] for outcome in CandidateOutcome]
        table.add_row(shown(engine, 100), *map(whole, [*numbers, sum(numbers)]))
    print_table(title, table)


def show_new(tally: CandidateTally, urls: Sequence[str]) -> None:
    """Print some of the new candidates, and how many sites may have been counted twice."""
    tell = output().print
    new, twins = tally.outcomes[CandidateOutcome.NEW], tally.outcomes[CandidateOutcome.TWIN]
    tell(Text(f"\n{count(new, 'new candidate')} of {count(tally.outcomes.total(), 'URL')}; {whole(twins)} by a twin."))
    for url in urls[:_MOST_SHOWN]:
        tell(Text.assemble("  ", shown(url, 300)), soft_wrap=True)
    if new > len(urls[:_MOST_SHOWN]):
        tell(Text(f"  and {whole(new - len(urls[:_MOST_SHOWN]))} more", style="dim"))


def _told_status(domain: StoredDomain, at: datetime) -> Text:
    now = present_status(domain, at)
    ended = " (its blacklist is over)" if now != domain.status else ""
    joined = f", counts as {domain.joined_to}" if domain.joined_to else ""
    return shown(f"{STATUSES[now]}{ended}{joined}", 300)


def _score(score: float | None) -> str:
    return "" if score is None else f"{score:.2f}"


def _day(at: datetime | None) -> str:
    return "" if at is None else f"{at:%Y-%m-%d}"


def _minute(at: datetime | None) -> str:
    return "never" if at is None else f"{at:%Y-%m-%d %H:%M} UTC"

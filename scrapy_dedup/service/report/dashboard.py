"""What the dashboard's first page and its pages of runs say, from the reads that `stats`, `report` and `runs` use.

Also the registry as its table, and changes of many domains: first what they would do, then done.
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from itertools import islice, takewhile
from typing import Final, Literal
from uuid import UUID

from msgspec import Struct

from scrapy_dedup.core.domains.names import domain_name, is_pattern
from scrapy_dedup.core.domains.states import is_blacklisted
from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.report.dashboard_values import STATUSES, FrontPage, RunRow, Step, TableChoice
from scrapy_dedup.report.values import Ledger, ReportDomain
from scrapy_dedup.service.domains.registry import DomainService, DomainStatus, StoredDomain
from scrapy_dedup.service.report.layout_overview import open_alarms
from scrapy_dedup.service.report.ledger import counts_of_run, make_ledger
from scrapy_dedup.service.report.overview import MUCH, overview
from scrapy_dedup.service.views.changes import VERDICTS, ChangesChoice, PageChange, Since, iterate_changes
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.domains.lists import SORTS, DomainChoice, DomainList, domain_sums, list_domains
from scrapy_dedup.store.records.stored import RunFigures
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore

TREND_RUNS: Final = 24
"""As many runs as a phone shows columns side by side."""
WORST_DOMAINS: Final = 8
CHANGES_SHOWN: Final = 100
_RUNS_SUMMED: Final = 10_000


class RunPage(Struct, frozen=True):
    """One run with what its layers did and what it found.

    Attributes:
        verdict: the one whose changes are listed.
        changes: the first of them.
    """

    run: RunRow
    ledger: Ledger | None
    verdict: str
    changes: Sequence[PageChange] = ()


def front_page(store: Store, project: ProjectStore, settings: Settings, at: datetime) -> FrontPage:
    """Return what the first page shows; it reads every document of the project once."""
    stored = overview(store, project)
    total = stored.total
    return FrontPage(
        at=at,
        domains=len(stored.domains),
        above=stored.domains_with_much,
        pages=total.pages,
        chars_in=total.chars_in,
        chars_out=total.chars_out,
        worst=tuple(
            ReportDomain(one.domain, one.pages, one.chars_in, one.chars_out, {})
            for one in stored.domains[:WORST_DOMAINS]
        ),
        ledger=make_ledger(store, project, settings, project.last_runs(_RUNS_SUMMED), None, lists=False),
        steps=tuple(run_row(each, at) for each in reversed(project.runs(TREND_RUNS))),
        alarms=open_alarms(project),
    )


def quick_front_page(store: Store, project: ProjectStore, at: datetime) -> FrontPage:
    """Return what the first page shows while nobody has added up all documents: sums as of the ends of runs."""
    choice = DomainChoice(sort="boilerplate", descending=True, limit=WORST_DOMAINS)
    with store.session(read_only=True) as session:
        sums = domain_sums(session, project.id, MUCH)
        worst = list_domains(session.connection(), project.id, choice).domains
    return FrontPage(
        at=at,
        domains=sums.domains,
        above=sums.above,
        pages=sums.pages,
        chars_in=sums.chars_in,
        chars_out=sums.chars_out,
        worst=tuple(
            ReportDomain(one.domain_name, one.pages, one.chars_in, one.chars_out, {}) for one in worst if one.pages
        ),
        steps=tuple(run_row(each, at) for each in reversed(project.runs(TREND_RUNS))),
        alarms=open_alarms(project),
        is_quick=True,
    )


def run_rows(project: ProjectStore, at: datetime, limit: int) -> list[RunRow]:
    """Return the runs that began last, newest first."""
    return [run_row(each, at) for each in project.runs(limit)]


def run_page(
    store: Store, project: ProjectStore, settings: Settings, at: datetime, *, run_id: str, verdict: str = ""
) -> RunPage | None:
    """Return one run with its first changes of a verdict, of the first one that has any where none is named."""
    found = _find(project, run_id)
    if found is None:
        return None
    shown = verdict if verdict in VERDICTS else next((one for one in VERDICTS if found.verdicts.get(one)), VERDICTS[0])
    changes = _changes(project, settings, found, shown)
    return RunPage(run_row(found, at), _ledger(store, project, settings, found), shown, changes)


def live_run(project: ProjectStore, at: datetime, run_id: str) -> RunRow | None:
    """Return how far a run is; None where there is no such run."""
    found = _find(project, run_id)
    return run_row(found, at) if found else None


def run_row(figures: RunFigures, at: datetime) -> RunRow:
    """Return a run with what it says of itself, as of an instant."""
    run, counts = figures.run, counts_of_run(figures.run)
    return RunRow(
        id=str(run.id),
        spider=run.spider,
        status=run.status,
        reason=run.reason,
        began_at=run.started_at,
        ended_at=run.finished_at,
        seen_at=run.seen_at,
        silent=run.silence(at),
        verdicts=figures.verdicts,
        visits=figures.visits,
        callbacks=figures.callbacks,
        bytes_received=figures.bytes_received,
        chars_in=int(counts.get("pages/chars_in", 0)),
        chars_out=int(counts.get("pages/chars_out", 0)),
        counts={name: number for name, number in run.stats.items() if isinstance(number, int | float)},
    )


def _find(project: ProjectStore, run_id: str) -> RunFigures | None:
    try:
        return project.run_figures(UUID(run_id))
    except ValueError:
        return None


def _ledger(store: Store, project: ProjectStore, settings: Settings, found: RunFigures) -> Ledger | None:
    if not counts_of_run(found.run):
        return None
    return make_ledger(store, project, settings, [found.run], found.run, lists=False)


def _changes(project: ProjectStore, settings: Settings, found: RunFigures, verdict: str) -> Sequence[PageChange]:
    """Return the first changes of one verdict that a run found; later runs' are not looked through."""
    run, last = found.run, found.run.finished_at
    wanted = min(found.verdicts.get(verdict, 0), CHANGES_SHOWN)
    if not wanted:
        return ()
    changes = iterate_changes(project, Since(run.started_at, run.id), ChangesChoice(verdict=verdict), settings)
    during = takewhile(lambda each: last is None or each.visit.at <= last, changes)
    return list(islice((each for each in during if each.visit.run_id == run.id), wanted))


Verb = Literal["blacklist", "unblacklist", "register"]

MOST_NAMES: Final = 10_000
BY: Final = "dashboard"
_LONGEST_TEXT: Final = 300


class DomainFormError(DedupError):
    """A field of a form says nothing that can be done."""


class ChangePlan(Struct, frozen=True):
    """What a change would do.

    Attributes:
        names: that it is about, normal, in the order in which they were named.
        steps: one for each text that was sent.
        before: the domains of them that are registered, as they are.
    """

    verb: Verb
    names: tuple[str, ...]
    steps: tuple[Step, ...]
    before: tuple[StoredDomain, ...]


def domain_table(service: DomainService, choice: TableChoice) -> DomainList:
    """Return the part of the registry that was asked for; what cannot be asked for is left out of the question.

    Raises:
        CursorError: `after` is no cursor of this list.
        StoreError: the store failed.
    """
    return service.list_domains(
        DomainChoice(
            pattern=choice.pattern or None,
            status=DomainStatus(choice.status) if choice.status in STATUSES else None,
            sort=next((one for one in SORTS if one == choice.sort), "name"),
            descending=choice.descending,
            limit=choice.limit,
            after=choice.after or None,
        )
    )


def plan_change(
    service: DomainService, settings: Settings, verb: Verb, texts: Sequence[str], at: datetime
) -> ChangePlan:
    """Return what a change would do to the domains that texts name; nothing is written.

    Args:
        service: of the project.
        settings: by whose scope names are read.
        verb: what is to be done.
        texts: names, URLs, or patterns of registered names, in any spelling.
        at: now.

    Raises:
        DomainFormError: there are too many.
        StoreError: the store failed.
    """
    if len(texts) > MOST_NAMES:
        raise DomainFormError(
            f"{len(texts):,} lines: at most {MOST_NAMES:,} at once; `scrapy dedup domains` takes more"
        )
    read = {text: None if _is_pattern(text) else domain_name(text, settings.domain_scope) for text in texts}
    patterns = [text for text in read if _is_pattern(text)]
    known = {each.domain_name: each for each in service.matching([*filter(None, read.values())])}
    refused, names = [], dict.fromkeys(filter(None, read.values()))
    for pattern in patterns:
        fitting = service.matching([pattern])
        known |= {each.domain_name: each for each in fitting}
        names |= dict.fromkeys(each.domain_name for each in fitting)
        if not fitting:
            refused.append(Step(pattern[:_LONGEST_TEXT], "no registered name fits", is_refused=True))
    if len(names) > MOST_NAMES:
        raise DomainFormError(f"{len(names):,} domains fit: at most {MOST_NAMES:,} at once")
    refused += [
        Step(text[:_LONGEST_TEXT], "is no domain", is_refused=True)
        for text, name in read.items()
        if name is None and not _is_pattern(text)
    ]
    steps = [_step(verb, name, known.get(name), at) for name in names]
    doable = tuple(step.name for step in steps if not step.is_refused)
    return ChangePlan(verb, doable, (*steps, *refused), tuple(known[name] for name in doable if name in known))


def carry_out(
    service: DomainService, plan: ChangePlan, at: datetime, *, reason: str, expires_at: datetime | None
) -> list[StoredDomain]:
    """Do what was planned, all or nothing; return the domains.

    Raises:
        DedupError: a domain is gone meanwhile, or the store failed.
    """
    if plan.verb == "blacklist":
        return service.blacklist_domains(plan.names, at, by=BY, reason=reason or None, expires_at=expires_at)
    if plan.verb == "unblacklist":
        return service.unblacklist_domains(plan.names, at)
    return service.register_domains(plan.names, at)


def take_back(service: DomainService, plan: ChangePlan, at: datetime) -> int:
    """Make domains what they were before a plan was carried out; return how many changed.

    What was registered stays registered: that a name is known does no harm, and something may refer to it by now.

    Raises:
        DedupError: a domain is gone meanwhile, or the store failed.
    """
    were_blacklisted = {each.domain_name: each for each in plan.before if is_blacklisted(each, at)}
    freed = [name for name in plan.names if name not in were_blacklisted] if plan.verb == "blacklist" else []
    if freed:
        service.unblacklist_domains(freed, at)
    groups: dict[tuple[str | None, str | None, datetime | None], list[str]] = {}
    for name, each in were_blacklisted.items():
        why = (each.blacklisted_by, each.blacklist_reason, each.blacklist_expires_at)
        groups.setdefault(why, []).append(name)
    for (by, reason, expires_at), names in groups.items():
        service.blacklist_domains(names, at, by=by, reason=reason, expires_at=expires_at)
    return len(freed) + len(were_blacklisted)


def read_until(text: str, at: datetime) -> datetime | None:
    """Return the instant at which a blacklist ends: the beginning of a date, in UTC; None for an empty text.

    Raises:
        DomainFormError: it is no date, or over already.
    """
    if not text:
        return None
    try:
        day = date.fromisoformat(text)
        until = datetime(day.year, day.month, day.day, tzinfo=UTC)
    except ValueError as error:
        raise DomainFormError(f"{text[:40]!r} is no date: write it like 2027-03-01, or leave it empty") from error
    if until <= at:
        raise DomainFormError(f"{text}: that day has begun already; a blacklist ends on a later one")
    return until


def _is_pattern(text: str) -> bool:
    # The `?` of a URL begins its query.
    return "://" not in text and is_pattern(text)


def _step(verb: Verb, name: str, stored: StoredDomain | None, at: datetime) -> Step:
    """Return what a verb does to one name; stored is the domain of that name, if it is registered."""
    holds = stored is not None and is_blacklisted(stored, at)
    if verb == "register":
        return Step(name, "is registered already", is_refused=True) if stored else Step(name, "is added")
    if verb == "unblacklist":
        return _freed(name, stored, holds=holds)
    if stored is None:
        return Step(name, "is added, and nothing is ever requested from it")
    if holds:
        return Step(name, "is blacklisted already; reason and end are replaced")
    pages = f"; its {stored.pages:,} stored pages stay" if stored.pages else ""
    return Step(name, f"nothing is requested from it any more{pages}")


def _freed(name: str, stored: StoredDomain | None, *, holds: bool) -> Step:
    if stored is None or not holds:
        return Step(name, "is not blacklisted" if stored else "is not registered", is_refused=True)
    before = STATUSES.get(stored.status_before or "", STATUSES["DISCOVERED"])
    return Step(name, f"may be requested again; its status is {before}")

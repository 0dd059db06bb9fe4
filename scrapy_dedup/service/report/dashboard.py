"""What the dashboard's first page and its pages of runs say, from the reads that `stats`, `report` and `runs` use.

Also the registry as its table, and changes of many domains: first what they would do, then done.

Whatever reads or writes the store raises StoreError where that fails.
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import islice, takewhile
from typing import Final, Literal, Self
from uuid import UUID

from msgspec import Struct
from msgspec.structs import asdict

from scrapy_dedup.core.domains import STATUSES, domain_name, is_blacklisted, is_pattern
from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.report.charts import Columns, Series, columns
from scrapy_dedup.report.numbers import NO_BREAK, count, short, whole
from scrapy_dedup.report.values import Alarm, Ledger
from scrapy_dedup.service.domains.registry import DomainService
from scrapy_dedup.service.report.ledger import counts_of_run, make_ledger
from scrapy_dedup.service.report.overview import MUCH, open_alarms, overview
from scrapy_dedup.service.views.changes import VERDICTS, ChangesChoice, PageChange, Since, iterate_changes
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.domains.lists import DomainChoice, DomainSums, domain_sums, list_domains
from scrapy_dedup.store.domains.registry import StoredDomain
from scrapy_dedup.store.records.stored import DomainFigures, RunFigures
from scrapy_dedup.store.writer import ProjectStore

TREND_RUNS: Final = 24
"""As many runs as a phone shows columns side by side."""
WORST_DOMAINS: Final = 8
CHANGES_SHOWN: Final = 100
_RUNS_SUMMED: Final = 10_000
VERDICTS_SHOWN: Final = ("new", "changed", "unchanged", "removed")


class RunRow(RunFigures, frozen=True, kw_only=True):
    """A run as of an instant, as a reader is told of it."""

    at: datetime

    @classmethod
    def of(cls, figures: RunFigures, at: datetime) -> Self:
        """Return a run as of an instant."""
        return cls(**asdict(figures), at=at)

    @property
    def id(self) -> str:
        """Its id, as it stands in paths."""
        return str(self.run.id)

    @property
    def silent(self) -> timedelta | None:
        """For how long nothing was heard of one that is said to run; None while it is heard of."""
        return self.run.silence(self.at)

    @property
    def chars(self) -> tuple[int, int]:
        """Characters of the pages it sent out, before and after; 0 where it counted none."""
        counts = counts_of_run(self.run)
        return int(counts.get("pages/chars_in", 0)), int(counts.get("pages/chars_out", 0))

    @property
    def counts(self) -> dict[str, float]:
        """Numbers of Scrapy's stats, by their names."""
        return {name: number for name, number in self.run.stats.items() if isinstance(number, int | float)}

    @property
    def is_running(self) -> bool:
        """Whether it has not ended, as far as anybody said."""
        return self.run.status == "running"

    @property
    def state(self) -> str:
        """Its status, or that it has gone silent."""
        return "silent" if self.silent else self.run.status

    @property
    def found(self) -> list[int]:
        """How many pages it found of each verdict, in the order of VERDICTS_SHOWN."""
        return [self.verdicts.get(one, 0) for one in VERDICTS_SHOWN]

    @property
    def told_found(self) -> str:
        """What it found, in a line; "" for nothing."""
        return ", ".join(f"{whole(number)}{NO_BREAK}{one}" for one, number in self._some_found)

    @property
    def _some_found(self) -> list[tuple[str, int]]:
        return [(one, number) for one, number in zip(VERDICTS_SHOWN, self.found, strict=True) if number]

    @property
    def progress(self) -> list[tuple[str, str]]:
        """How far it is, as large figures."""
        shown = [("pages so far", whole(self.visits)), *((one, whole(number)) for one, number in self._some_found)]
        counts = self.counts
        if "scheduler/enqueued" in counts:
            queued = counts["scheduler/enqueued"] - counts.get("scheduler/dequeued", 0)
            shown.append(("requests waiting", whole(int(max(queued, 0)))))
        if "item_scraped_count" in counts:
            shown.append(("items", whole(int(counts["item_scraped_count"]))))
        return [*shown, ("bytes received", short(self.bytes_received))]

    @property
    def figures(self) -> list[tuple[str, str]]:
        """What it did, as large figures."""
        shown = [(f"pages {one}", whole(number)) for one, number in zip(VERDICTS_SHOWN, self.found, strict=True)]
        shown += [("callbacks run", whole(self.callbacks)), ("bytes received", short(self.bytes_received))]
        if self.chars[0]:
            shown += zip(("characters in", "characters kept"), map(short, self.chars), strict=True)
        return shown

    @property
    def said(self) -> str:
        """How far it is, for who cannot see it."""
        if self.silent:
            return "The run has gone silent."
        return f"{count(self.visits, 'page')} so far." if self.is_running else f"The run has ended: {self.run.status}."


class FrontPage(Struct, frozen=True):
    """What the first page shows of a project.

    Attributes:
        at: as of when; aware, shown in UTC.
        sums: over all domains; above: more than a tenth of boilerplate.
        worst: those with the largest share of boilerplate, worst first.
        ledger: as the report has it, without its lists; None where no run left counts.
        steps: the last runs, oldest first.
        is_quick: the sums are those of the ends of runs; those over all documents are still being made.
    """

    at: datetime
    sums: DomainSums
    worst: Sequence[DomainFigures] = ()
    ledger: Ledger | None = None
    steps: Sequence[RunRow] = ()
    alarms: Sequence[Alarm] = ()
    is_quick: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever crawled."""
        return not self.sums.pages and not self.steps

    @property
    def labels(self) -> list[str]:
        """When each of the runs began, in UTC."""
        return [f"{step.run.started_at.astimezone(UTC):%Y-%m-%d %H:%M}" for step in self.steps]

    @property
    def pages_by_run(self) -> Columns:
        """The pages of each of the runs by verdict, to be drawn."""
        parts = zip(*(step.found for step in self.steps), strict=True)
        series = [Series(name, name, numbers) for name, numbers in zip(VERDICTS_SHOWN, parts, strict=True)]
        return columns(self.labels, series, unit="pages")

    @property
    def text_by_run(self) -> Columns:
        """The text of each of the runs, to be drawn."""
        kept = Series("kept", "kept", [step.chars[1] for step in self.steps])
        left = Series(
            "left out", "removed", [max(before - after, 0) for before, after in (step.chars for step in self.steps)]
        )
        return columns(self.labels, [kept, left], unit="characters")


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


def front_page(project: ProjectStore, settings: Settings, at: datetime) -> FrontPage:
    """Return what the first page shows; it reads every document of the project once."""
    stored = overview(project)
    total = stored.total
    return FrontPage(
        at=at,
        sums=DomainSums(len(stored.domains), stored.domains_with_much, total.pages, total.chars_in, total.chars_out),
        worst=stored.domains[:WORST_DOMAINS],
        ledger=make_ledger(project, settings, project.last_runs(_RUNS_SUMMED), None, lists=False),
        steps=tuple(RunRow.of(each, at) for each in reversed(project.runs(TREND_RUNS))),
        alarms=open_alarms(project),
    )


def quick_front_page(project: ProjectStore, at: datetime) -> FrontPage:
    """Return what the first page shows while nobody has added up all documents: sums as of the ends of runs."""
    choice = DomainChoice(sort="boilerplate", descending=True, limit=WORST_DOMAINS)
    with project.session(read_only=True) as session:
        sums = domain_sums(session, project.id, MUCH)
        worst = list_domains(session.connection(), project.id, choice).domains
    return FrontPage(
        at=at,
        sums=sums,
        worst=tuple(
            DomainFigures(one.domain_name, one.pages, one.chars_in, one.chars_out) for one in worst if one.pages
        ),
        steps=tuple(RunRow.of(each, at) for each in reversed(project.runs(TREND_RUNS))),
        alarms=open_alarms(project),
        is_quick=True,
    )


def run_page(
    project: ProjectStore, settings: Settings, at: datetime, *, run_id: str, verdict: str = ""
) -> RunPage | None:
    """Return one run with its first changes of a verdict, of the first one that has any where none is named."""
    found = _find(project, run_id)
    if found is None:
        return None
    shown = verdict if verdict in VERDICTS else next((one for one in VERDICTS if found.verdicts.get(one)), VERDICTS[0])
    changes = _changes(project, settings, found, shown)
    return RunPage(RunRow.of(found, at), _ledger(project, settings, found), shown, changes)


def live_run(project: ProjectStore, at: datetime, run_id: str) -> RunRow | None:
    """Return how far a run is; None where there is no such run."""
    found = _find(project, run_id)
    return RunRow.of(found, at) if found else None


def _find(project: ProjectStore, run_id: str) -> RunFigures | None:
    try:
        return project.run_figures(UUID(run_id))
    except ValueError:
        return None


def _ledger(project: ProjectStore, settings: Settings, found: RunFigures) -> Ledger | None:
    if not counts_of_run(found.run):
        return None
    return make_ledger(project, settings, [found.run], found.run, lists=False)


def _changes(project: ProjectStore, settings: Settings, found: RunFigures, verdict: str) -> Sequence[PageChange]:
    """Return the first changes of one verdict that a run found; later runs' are not looked through."""
    run, last = found.run, found.run.finished_at
    wanted = min(found.verdicts.get(verdict, 0), CHANGES_SHOWN)
    if not wanted:
        return ()
    changes = iterate_changes(project, Since(run.started_at, run.id), ChangesChoice(verdict=verdict), settings)
    during = takewhile(lambda each: last is None or each.at <= last, changes)
    return list(islice((each for each in during if each.run_id == run.id), wanted))


Verb = Literal["blacklist", "unblacklist", "register"]

MOST_NAMES: Final = 10_000
BY: Final = "dashboard"
_LONGEST_TEXT: Final = 300


class DomainFormError(DedupError):
    """A field of a form says nothing that can be done."""


class Step(Struct, frozen=True):
    """What a write would do to one name, before it is done.

    Attributes:
        happens: in words, such as "will be blacklisted".
        is_refused: nothing happens; why says so.
    """

    name: str
    happens: str
    is_refused: bool = False


class ChangePlan(Struct, frozen=True):
    """What a change would do.

    Attributes:
        names: that it is about, normal: those that are registered, and then those that are not.
        steps: one for each text that was sent.
        before: the domains of them that are registered, as they are.
    """

    verb: Verb
    names: tuple[str, ...]
    steps: tuple[Step, ...]
    before: tuple[StoredDomain, ...]


def plan_change(
    service: DomainService, settings: Settings, verb: Verb, texts: Sequence[str], at: datetime
) -> ChangePlan:
    """Return what a change would do to the domains that texts name; nothing is written.

    *texts* are names, URLs, or patterns of registered names, in any spelling.

    Raises:
        DomainFormError: there are too many.
    """
    if len(texts) > MOST_NAMES:
        raise DomainFormError(
            f"{len(texts):,} lines: at most {MOST_NAMES:,} at once; `scrapy dedup domains` takes more"
        )
    read = {text: is_pattern(text) or domain_name(text, settings.domain_scope) is not None for text in texts}
    chosen = service.choose(text for text, is_one in read.items() if is_one)
    if len(chosen.names) > MOST_NAMES:
        raise DomainFormError(f"{len(chosen.names):,} domains fit: at most {MOST_NAMES:,} at once")
    refused = dict.fromkeys(chosen.unmatched, "no registered name fits")
    refused |= {text: "is no domain" for text, is_one in read.items() if not is_one}
    known = {each.domain_name: each for each in chosen.domains}
    steps = [_step(verb, name, known.get(name), at) for name in chosen.names]
    doable = tuple(step.name for step in steps if not step.is_refused)
    steps += [Step(text[:_LONGEST_TEXT], why, is_refused=True) for text, why in refused.items()]
    return ChangePlan(verb, doable, tuple(steps), tuple(known[name] for name in doable if name in known))


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
    pages = f"; what is stored of it stays ({count(stored.pages, 'page')})" if stored.pages else ""
    return Step(name, f"nothing is requested from it any more{pages}")


def _freed(name: str, stored: StoredDomain | None, *, holds: bool) -> Step:
    if stored is None or not holds:
        return Step(name, "is not blacklisted" if stored else "is not registered", is_refused=True)
    before = STATUSES.get(stored.status_before or "", STATUSES["DISCOVERED"])
    return Step(name, f"may be requested again; its status is {before}")

"""What the dashboard's first page and its pages of runs say, from the reads that `stats`, `report` and `runs` use."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice, takewhile
from typing import Final
from uuid import UUID

from scrapy_dedup.report.dashboard_values import FrontPage, RunRow
from scrapy_dedup.report.values import Ledger, ReportDomain
from scrapy_dedup.service.report.layout_overview import open_alarms
from scrapy_dedup.service.report.ledger import counts_of_run, make_ledger
from scrapy_dedup.service.report.overview import MUCH, overview
from scrapy_dedup.service.views.changes import VERDICTS, ChangesChoice, PageChange, Since, iterate_changes
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.domains.lists import DomainChoice, domain_sums, list_domains
from scrapy_dedup.store.records.stored import RunFigures
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore

TREND_RUNS: Final = 24
"""As many runs as a phone shows columns side by side."""
WORST_DOMAINS: Final = 8
CHANGES_SHOWN: Final = 100
_RUNS_SUMMED: Final = 10_000


@dataclass(frozen=True, slots=True)
class RunPage:
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
    """Return what the first page shows; it reads every document of the project once.

    Raises:
        StoreError: the store failed.
    """
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
    """Return what the first page shows while nobody has added up all documents: sums as of the ends of runs.

    Raises:
        StoreError: the store failed.
    """
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
    """Return the runs that began last, newest first.

    Raises:
        StoreError: the store failed.
    """
    return [run_row(each, at) for each in project.runs(limit)]


def run_page(
    store: Store, project: ProjectStore, settings: Settings, at: datetime, *, run_id: str, verdict: str = ""
) -> RunPage | None:
    """Return one run with its first changes of a verdict, of the first one that has any where none is named.

    Raises:
        StoreError: the store failed.
    """
    found = _find(project, run_id)
    if found is None:
        return None
    shown = verdict if verdict in VERDICTS else next((one for one in VERDICTS if found.verdicts.get(one)), VERDICTS[0])
    changes = _changes(project, settings, found, shown)
    return RunPage(run_row(found, at), _ledger(store, project, settings, found), shown, changes)


def live_run(project: ProjectStore, at: datetime, run_id: str) -> RunRow | None:
    """Return how far a run is; None where there is no such run.

    Raises:
        StoreError: the store failed.
    """
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

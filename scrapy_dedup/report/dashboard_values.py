"""What the dashboard shows: plain values, made by `service`, drawn by this folder.

Names, URLs and domains come from pages, spiders and people; they are made harmless where they are drawn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from scrapy_dedup.report.ledger_values import Ledger
from scrapy_dedup.report.values import Alarm, DomainFigures


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run, as `scrapy dedup runs` has it.

    Attributes:
        ended_at: None while it runs, and for one that was killed.
        silent: for how long nothing was heard of one that is said to run; None while it is heard of.
        chars_in, chars_out: text of the pages it sent out, before and after; 0 where it counted none.
        counts: numbers of Scrapy's stats, by their names.
    """

    id: str
    spider: str
    status: str
    reason: str | None
    began_at: datetime
    ended_at: datetime | None = None
    seen_at: datetime | None = None
    silent: timedelta | None = None
    verdicts: Mapping[str, int] = field(default_factory=dict)
    visits: int = 0
    callbacks: int = 0
    bytes_received: int = 0
    chars_in: int = 0
    chars_out: int = 0
    counts: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_running(self) -> bool:
        """Whether it has not ended, as far as anybody said."""
        return self.status == "running"

    @property
    def took(self) -> timedelta | None:
        """How long it took; None where it has not ended."""
        return self.ended_at - self.began_at if self.ended_at else None


@dataclass(frozen=True, slots=True)
class FoundChange:
    """A page that a run found new, changed or removed; url is None where the page is gone from the store."""

    url: str | None
    page_key: str
    change: str | None
    reason: str
    at: datetime


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
    changes: Sequence[FoundChange] = ()


@dataclass(frozen=True, slots=True)
class JobRow:
    """A piece of work that was started here; total is None while nobody knows it."""

    id: str
    kind: str
    state: str
    created_at: datetime
    ended_at: datetime | None = None
    done: int = 0
    total: int | None = None
    error: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether it waits or runs."""
        return self.state in ("waiting", "running")


@dataclass(frozen=True, slots=True)
class FrontPage:
    """What the first page shows of a project.

    Attributes:
        at: as of when; aware, shown in UTC.
        domains: how many have pages; above: how many of them have more than a tenth of boilerplate.
        worst: those with the largest share of boilerplate, worst first.
        ledger: as the report has it, without its lists; None where no run left counts.
        steps: the last runs, oldest first.
        is_quick: the sums are those of the ends of runs; those over all documents are still being made.
    """

    at: datetime
    domains: int
    above: int
    pages: int
    chars_in: int
    chars_out: int
    worst: Sequence[DomainFigures] = ()
    ledger: Ledger | None = None
    steps: Sequence[RunRow] = ()
    alarms: Sequence[Alarm] = ()
    is_quick: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever crawled."""
        return not self.pages and not self.steps


@dataclass(frozen=True, slots=True)
class DomainRow:
    """A domain of the registry as a row of a table; see docs/domains.md for the columns."""

    name: str
    status: str
    pages: int
    chars_in: int
    chars_out: int
    boilerplate_share: float
    best_confidence: float | None = None
    errors: int = 0
    last_crawled_at: datetime | None = None
    joined_to: str | None = None
    twin: str | None = None
    blacklist_reason: str | None = None
    blacklist_expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class DomainTable:
    """A part of the registry, as it was asked for.

    Attributes:
        rows: in the order that was asked for.
        total: how many there are that fit, in all parts.
        next: the cursor of the next part; None at the end.
        counts: how many domains have each status, whatever was asked for.
        twins: how many are one of a pair with and without `www.`; joined: how many of these count as one.
    """

    rows: Sequence[DomainRow]
    total: int
    next: str | None
    counts: Mapping[str, int]
    twins: int = 0
    joined: int = 0


@dataclass(frozen=True, slots=True)
class TableChoice:
    """Which part of the registry is shown, and in which order; texts are as they were typed."""

    pattern: str = ""
    status: str = ""
    sort: str = "name"
    descending: bool = False
    after: str = ""
    limit: int = 50


@dataclass(frozen=True, slots=True)
class Step:
    """What a write would do to one name, before it is done.

    Attributes:
        happens: in words, such as "will be blacklisted".
        is_refused: nothing happens; why says so.
    """

    name: str
    happens: str
    is_refused: bool = False

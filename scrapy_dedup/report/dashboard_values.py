"""What the dashboard shows: plain values, made by `service`, drawn by this folder.

Names, URLs and domains come from pages, spiders and people; they are made harmless where they are drawn.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import Struct, field

from scrapy_dedup.report.charts import Columns, Series, columns
from scrapy_dedup.report.numbers import NO_BREAK, count, short, whole
from scrapy_dedup.report.values import Alarm, Ledger, ReportDomain

STATUSES: Final = {
    "DISCOVERED": "discovered",
    "PROCESSED_HIGH_QUALITY": "high quality",
    "PROCESSED_LOW_QUALITY": "low quality",
    "BLACKLISTED": "blacklisted",
}
"""What the registry calls a status, and what a reader does."""
VERDICTS: Final = ("new", "changed", "unchanged", "removed")


class RunRow(Struct, frozen=True):
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

    @property
    def state(self) -> str:
        """Its status, or that it has gone silent."""
        return "silent" if self.silent else self.status

    @property
    def why(self) -> str:
        """Why it ended, where its status does not say so."""
        return self.reason if self.reason and self.reason != self.status else ""

    @property
    def found(self) -> list[int]:
        """How many pages it found of each verdict, in the order of VERDICTS."""
        return [self.verdicts.get(one, 0) for one in VERDICTS]

    @property
    def told_found(self) -> str:
        """What it found, in a line; "" for nothing."""
        return ", ".join(f"{whole(number)}{NO_BREAK}{one}" for one, number in self._some_found)

    @property
    def _some_found(self) -> list[tuple[str, int]]:
        return [(one, number) for one, number in zip(VERDICTS, self.found, strict=True) if number]

    @property
    def progress(self) -> list[tuple[str, str]]:
        """How far it is, as large figures."""
        shown = [("pages so far", whole(self.visits)), *((one, whole(number)) for one, number in self._some_found)]
        if "scheduler/enqueued" in self.counts:
            queued = self.counts["scheduler/enqueued"] - self.counts.get("scheduler/dequeued", 0)
            shown.append(("requests waiting", whole(int(max(queued, 0)))))
        if "item_scraped_count" in self.counts:
            shown.append(("items", whole(int(self.counts["item_scraped_count"]))))
        return [*shown, ("bytes received", short(self.bytes_received))]

    @property
    def figures(self) -> list[tuple[str, str]]:
        """What it did, as large figures."""
        shown = [(f"pages {one}", whole(number)) for one, number in zip(VERDICTS, self.found, strict=True)]
        shown += [("callbacks run", whole(self.callbacks)), ("bytes received", short(self.bytes_received))]
        if self.chars_in:
            shown += [("characters in", short(self.chars_in)), ("characters kept", short(self.chars_out))]
        return shown

    @property
    def said(self) -> str:
        """How far it is, for who cannot see it."""
        if self.silent:
            return "The run has gone silent."
        return f"{count(self.visits, 'page')} so far." if self.is_running else f"The run has ended: {self.status}."


class FrontPage(Struct, frozen=True):
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
    worst: Sequence[ReportDomain] = ()
    ledger: Ledger | None = None
    steps: Sequence[RunRow] = ()
    alarms: Sequence[Alarm] = ()
    is_quick: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever crawled."""
        return not self.pages and not self.steps

    @property
    def labels(self) -> list[str]:
        """When each of the runs began, in UTC."""
        return [f"{step.began_at.astimezone(UTC):%Y-%m-%d %H:%M}" for step in self.steps]

    @property
    def pages_by_run(self) -> Columns:
        """The pages of each of the runs by verdict, to be drawn."""
        parts = zip(*(step.found for step in self.steps), strict=True)
        series = [Series(name, name, numbers) for name, numbers in zip(VERDICTS, parts, strict=True)]
        return columns(self.labels, series, unit="pages")

    @property
    def text_by_run(self) -> Columns:
        """The text of each of the runs, to be drawn."""
        kept = Series("kept", "kept", [step.chars_out for step in self.steps])
        left = Series("left out", "removed", [max(step.chars_in - step.chars_out, 0) for step in self.steps])
        return columns(self.labels, [kept, left], unit="characters")


class TableChoice(Struct, frozen=True):
    """Which part of the registry is shown, and in which order; texts are as they were typed."""

    pattern: str = ""
    status: str = ""
    sort: str = "name"
    descending: bool = False
    after: str = ""
    limit: int = 50

    def query(self, **changed: str | bool) -> dict[str, str]:
        """Return the query of a list, without what it needs not say; another order or filter begins at the top."""
        asked: dict[str, str | bool] = {
            "q": self.pattern,
            "status": self.status,
            "sort": self.sort,
            "descending": self.descending,
            **changed,
        }
        shown = {name: str(asked[name]) for name in ("q", "status", "after") if asked.get(name)}
        if asked["sort"] != "name" or asked["descending"]:
            shown |= {"sort": str(asked["sort"]), "order": "down" if asked["descending"] else "up"}
        return shown


class Step(Struct, frozen=True):
    """What a write would do to one name, before it is done.

    Attributes:
        happens: in words, such as "will be blacklisted".
        is_refused: nothing happens; why says so.
    """

    name: str
    happens: str
    is_refused: bool = False

"""What the dashboard shows: plain values, made by `service`, drawn by this folder.

Names, URLs and domains come from pages, spiders and people; they are made harmless where they are drawn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from scrapy_dedup.core.path_verdicts import VerdictChange
from scrapy_dedup.core.patterns_config import ConfigTrial
from scrapy_dedup.report.charts import Columns, Series, columns
from scrapy_dedup.report.numbers import NO_BREAK, count, short, whole
from scrapy_dedup.report.values import Alarm, DomainFigures, ExplainedPage, Ledger, PictureBox, Rule

STATUSES: Final = {
    "DISCOVERED": "discovered",
    "PROCESSED_HIGH_QUALITY": "high quality",
    "PROCESSED_LOW_QUALITY": "low quality",
    "BLACKLISTED": "blacklisted",
}
"""What the registry calls a status, and what a reader does."""
VERDICTS: Final = ("new", "changed", "unchanged", "removed")


@dataclass(frozen=True, slots=True)
class RefineState:
    """A refine that was started from a page of the dashboard.

    Attributes:
        state: waiting, running, done, failed or cancelled.
        total: None while nobody knows it.
        outcome: what came of it, in a sentence; "" before its end.
    """

    job: str
    state: str
    done: int = 0
    total: int | None = None
    outcome: str = ""


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


@dataclass(frozen=True, slots=True)
class TemplateRow:
    """The present version of a layout's template.

    Attributes:
        layout: as people name it: 16 hexadecimal digits, or `rest`.
        versions: how many are kept.
        pages: learned from so many.
        overrides: how many decisions of a person it has.
    """

    domain: str
    layout: str
    kind: str
    state: str
    version: int
    versions: int
    confidence: float
    pages: int
    url_pattern: str
    overrides: int
    state_at: datetime


@dataclass(frozen=True, slots=True)
class TemplateList:
    """Templates of a project, or of one domain; there may be more than these."""

    rows: tuple[TemplateRow, ...]
    has_more: bool = False
    domain: str = ""


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version of a template: when it was made and by what, since when it has its state and why."""

    version: int
    state: str
    source: str
    reason: str
    confidence: float
    pages: int
    overrides: int
    created_at: datetime
    state_at: datetime


@dataclass(frozen=True, slots=True)
class Decided:
    """What a person decided about a selector; action is keep or drop."""

    action: str
    selector: str
    at: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class TemplateDiffView:
    """How one version differs from another; what came and what left as (what for, selector)."""

    before: int
    after: int
    came: tuple[tuple[str, str], ...]
    left: tuple[tuple[str, str], ...]
    verdicts: tuple[VerdictChange, ...]


@dataclass(frozen=True, slots=True)
class TrialEffect:
    """What would change on one page: texts that would go, and texts that would come back."""

    url: str
    gone: tuple[str, ...]
    back: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TemplateTrial:
    """So many stored pages of the layout were cut both ways; effects are those of pages that differ."""

    pages: int
    effects: tuple[TrialEffect, ...]


@dataclass(frozen=True, slots=True)
class TemplateView:
    """A layout's template as the dashboard shows it.

    Attributes:
        present: number of the version that cuts, or of the newest.
        shown: the version that is shown.
        fields: where title, date and author stand.
        error: what is wrong with the selector that was typed; "" for nothing.
    """

    domain: str
    layout: str
    kind: str
    url_pattern: str
    present: int
    shown: VersionRow
    versions: tuple[VersionRow, ...]
    content: tuple[Rule, ...]
    left_out: tuple[Rule, ...]
    fields: tuple[Rule, ...]
    decided: tuple[Decided, ...]
    diff: TemplateDiffView | None = None
    error: str = ""
    typed: tuple[str, str] = ("keep", "")

    @property
    def options(self) -> list[tuple[str, str]]:
        """The versions to choose from, with their states."""
        words = {"probation": "on probation"}
        return [
            (str(each.version), f"version {each.version}, {words.get(each.state, each.state)}")
            for each in self.versions
        ]

    @property
    def compared(self) -> tuple[int, int]:
        """The two versions that are compared, or would be: the shown one with the one before it."""
        if self.diff:
            return self.diff.before, self.diff.after
        older = (each.version for each in self.versions if each.version < self.shown.version)
        return next(older, self.versions[-1].version), self.shown.version


@dataclass(frozen=True, slots=True)
class Registered:
    """A domain as the registry has it.

    Attributes:
        status: as it is stored, such as PROCESSED_HIGH_QUALITY.
        best, mean: confidence, 0.0 to 1.0; None where none was given.
        high, low: candidates of high and of low quality.
        twin: the same name with, or without, `www.`; "" for none.
        joined_to: the name that stands for both; "" where they are not joined.
        is_blacklisted: at present: a blacklisting may have expired.
    """

    status: str
    best: float | None = None
    mean: float | None = None
    high: int = 0
    low: int = 0
    pages: int = 0
    chars_in: int = 0
    chars_out: int = 0
    errors: int = 0
    last_crawled_at: datetime | None = None
    discovered_at: datetime | None = None
    last_processed_at: datetime | None = None
    twin: str = ""
    joined_to: str = ""
    pages_alike: int = 0
    pages_unlike: int = 0
    is_blacklisted: bool = False
    blacklisted_at: datetime | None = None
    blacklisted_by: str = ""
    blacklist_reason: str = ""
    blacklist_expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class LayoutPictureFacts:
    """What is said of a picture beside it; the picture itself has a path of its own."""

    width: int
    height: int
    boxes: tuple[PictureBox, ...]


@dataclass(frozen=True, slots=True)
class LayoutCard:
    """A layout, with how its pages are cut.

    Attributes:
        layout: as people name it: 16 hexadecimal digits, or `rest`.
        state: of its template; "" where nothing was learned.
        pages_by_run: oldest first.
    """

    layout: str
    kind: str
    pages: int
    pages_by_run: tuple[int, ...]
    example_url: str = ""
    url_pattern: str = ""
    state: str = ""
    version: int = 0
    confidence: float = 0.0
    reason: str = ""
    picture: LayoutPictureFacts | None = None


@dataclass(frozen=True, slots=True)
class AlarmLine:
    """That a layout's template does not fit at present."""

    layout: str
    cause: str
    raised_at: datetime


@dataclass(frozen=True, slots=True)
class BlockLine:
    """A block that repeats on the domain's pages.

    Attributes:
        method: how blocks were counted: template, html or text.
        layer, rule: that would take it out of a page.
        is_kept: people decided that it stays.
    """

    text: str
    path: str
    method: str
    pages: int
    of_pages: int
    fingerprint: str
    layer: str = "boilerplate"
    rule: str = ""
    is_kept: bool = False


@dataclass(frozen=True, slots=True)
class KeptLine:
    """Something that is kept in spite of all rules: kind is block, page or rule, entry as the configuration has it."""

    kind: str
    entry: str
    text: str


@dataclass(frozen=True, slots=True)
class PageLine:
    """A page of the domain; key is 32 hexadecimal digits."""

    key: str
    url: str
    title: str
    status: str
    verdict: str
    chars_in: int | None
    chars_out: int | None
    seen_at: datetime | None


@dataclass(frozen=True, slots=True)
class DomainView:
    """One domain as the dashboard shows it.

    Attributes:
        runs: that met pages of it.
        blocks: those on most pages first; there are `all_blocks`.
        next_pages: cursor of the rest of its pages; "" at the end.
    """

    domain: str
    registered: Registered | None = None
    layouts: tuple[LayoutCard, ...] = ()
    all_layouts: int = 0
    alarms: tuple[AlarmLine, ...] = ()
    blocks: tuple[BlockLine, ...] = ()
    all_blocks: int = 0
    kept: tuple[KeptLine, ...] = ()
    pages: tuple[PageLine, ...] = ()
    all_pages: int | None = None
    next_pages: str = ""
    is_continued: bool = False
    config_entries: int = 0
    refine: RefineState | None = None


@dataclass(frozen=True, slots=True)
class KeepView:
    """Something that is to be kept on a domain, or not any more.

    Attributes:
        kind: block, page or rule.
        text: as people name it: a fingerprint, a URL, or a rule.
        sample: the block's text; "" where nobody knows it.
        lost: stored pages that lost it.
        tried, changed: stored pages that were cut both ways, and that differ.
        was_there: nothing would change in the configuration.
        back: path of where one came from.
        page: key of the page that one came from; "" for none.
    """

    domain: str
    kind: str
    text: str
    sample: str
    lost: int
    tried: int
    changed: int
    chars_less: int
    example: str
    was_there: bool
    take_back: bool
    back: str
    page: str = ""


@dataclass(frozen=True, slots=True)
class PageView:
    """One page as the dashboard shows it.

    Attributes:
        key: 32 hexadecimal digits.
        diff: what changed the last time, as a unified diff; "" where nobody knows, or nothing did.
        no_diff: why there is none.
        has_original: the stored page can be shown.
        kept: fingerprints, names of rules and "page", of what is kept from now on.
        is_waiting: the page is to be cleaned again.
    """

    explained: ExplainedPage
    domain: str
    key: str
    diff: str = ""
    no_diff: str = ""
    change: str = ""
    has_original: bool = False
    kept: frozenset[str] = frozenset()
    is_waiting: bool = False


@dataclass(frozen=True, slots=True)
class PreviewLine:
    """A block of the page: state is kept, removed (as today), goes or back; the rest is why."""

    text: str
    state: str
    layer: str = ""
    rule: str = ""
    where: str = ""


@dataclass(frozen=True, slots=True)
class PreviewEffect:
    """What one pattern would do on the page."""

    pattern: str
    blocks: int
    chars: int


@dataclass(frozen=True, slots=True)
class PreviewView:
    """One page, cut as it would be; `problem` stands in place of all the rest where there is something to say."""

    url: str = ""
    lines: tuple[PreviewLine, ...] = ()
    goes: int = 0
    comes_back: int = 0
    effects: tuple[PreviewEffect, ...] = ()
    held: tuple[tuple[str, str], ...] = ()
    after: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ConfigView:
    """The form.

    Attributes:
        version: that is changed by it, 0 for none yet.
        fields: what stands in each.
        errors: what is wrong with some.
        locked: keys whose entries a form cannot hold.
        pages: (URL, title) of stored pages to look at.
        page: URL of the one that is looked at.
        conflict: that somebody else changed it meanwhile; "" where nobody did.
    """

    domain: str
    version: int
    fields: Mapping[str, str]
    updated_at: str = ""
    errors: Mapping[str, str] = field(default_factory=dict)
    locked: frozenset[str] = frozenset()
    pages: tuple[tuple[str, str], ...] = ()
    page: str = ""
    preview: PreviewView | None = None
    trial: ConfigTrial | None = None
    conflict: str = ""

    @property
    def has_rare(self) -> bool:
        """Whether a field that few need says something."""
        rare = ("pdf_boilerplate_patterns", "keep_blocks", "keep_pages")
        return any(self.fields.get(key) or key in self.errors or key in self.locked for key in rare)

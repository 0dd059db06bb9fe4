"""What the dashboard shows: plain values, made by `service`, drawn by this folder.

Names, URLs and domains come from pages, spiders and people; they are made harmless where they are drawn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from scrapy_dedup.core.path_verdicts import VerdictChange
from scrapy_dedup.report.dashboard_refine import RefineState
from scrapy_dedup.report.values import Alarm, DomainFigures, Ledger, PictureBox, Rule


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

    base: str
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
        base: path of the project's pages, such as /p/ID/.
        present: number of the version that cuts, or of the newest.
        shown: the version that is shown.
        fields: (title, date or author; selector).
        error: what is wrong with the selector that was typed; "" for nothing.
    """

    base: str
    domain: str
    layout: str
    kind: str
    url_pattern: str
    present: int
    shown: VersionRow
    versions: tuple[VersionRow, ...]
    content: tuple[Rule, ...]
    left_out: tuple[Rule, ...]
    fields: tuple[tuple[str, str], ...]
    decided: tuple[Decided, ...]
    diff: TemplateDiffView | None = None
    error: str = ""
    typed: tuple[str, str] = ("keep", "")


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
        base: path of the project's pages, such as /p/ID/.
        runs: that met pages of it.
        blocks: those on most pages first; there are `all_blocks`.
        next_pages: cursor of the rest of its pages; "" at the end.
    """

    domain: str
    base: str
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

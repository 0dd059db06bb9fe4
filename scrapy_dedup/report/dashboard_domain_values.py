"""What the dashboard shows of one domain: plain values, drawn by `dashboard_domain`."""

from dataclasses import dataclass
from datetime import datetime

from scrapy_dedup.report.dashboard_refine import RefineState
from scrapy_dedup.report.picture_values import PictureBox


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

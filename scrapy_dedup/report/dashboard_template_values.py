"""What the dashboard shows of templates: plain values, drawn by `dashboard_templates`."""

from dataclasses import dataclass
from datetime import datetime

from scrapy_dedup.core.path_verdicts import VerdictChange
from scrapy_dedup.report.values import Rule


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

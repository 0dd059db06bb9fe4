"""What a report says: plain values, made by `service`, drawn by this folder.

Texts, titles, URLs and domains come from pages and are kept here as they were
found; they are made harmless where they are drawn. `dataclasses.asdict` of a
Report, with ISO dates, is the report's JSON form.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from scrapy_dedup.report.ledger_values import Ledger
from scrapy_dedup.report.picture_values import LayoutPicture


@dataclass(frozen=True, slots=True)
class DomainFigures:
    """What came in from one domain and what was kept.

    Attributes:
        pages: cleaned pages, aliases not counted.
        chars_in: characters of visible text of those pages.
        chars_out: characters of them that were kept, at most chars_in.
        removed_by_layer: characters removed, by layer; together chars_in - chars_out.
    """

    domain: str
    pages: int
    chars_in: int
    chars_out: int
    removed_by_layer: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class LayerFigures:
    """What one layer dropped.

    Attributes:
        prevents: half a sentence for readers, such as "the second URL of one page".
        pages: pages (or requests) dropped whole.
        blocks: blocks dropped from pages that stayed.
        chars: characters of those blocks.
    """

    layer: str
    prevents: str
    pages: int
    blocks: int
    chars: int


@dataclass(frozen=True, slots=True)
class RepeatedBlock:
    """A block that a domain repeats.

    Attributes:
        path: DOM path, or "" where blocks came from plain text.
        on_pages: pages that have it, of the domain's of_pages.
        chars: characters of one copy; text may be shorter than that.
    """

    domain: str
    text: str
    path: str
    on_pages: int
    of_pages: int
    chars: int


@dataclass(frozen=True, slots=True)
class SampleBlock:
    """One block of a sample page; layer, rule and evidence are "" where it was kept."""

    text: str
    kept: bool
    layer: str = ""
    rule: str = ""
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class SamplePage:
    """One page before (its blocks in document order) and after (its cleaned text)."""

    url: str
    title: str
    blocks: tuple[SampleBlock, ...]
    cleaned: str


@dataclass(frozen=True, slots=True)
class ChangedPage:
    """A page that a crawl found changed.

    Attributes:
        change: of what class the difference is: "content", "numbers", "title" ...; "" where that is not known.
        diff: unified diff of its main text, a passage a line, with its two lines of heading.
    """

    url: str
    title: str
    change: str
    diff: str


@dataclass(frozen=True, slots=True)
class Recrawl:
    """What a crawl found of pages, some of which were known before it.

    Attributes:
        began_at: aware; shown in UTC.
        new, changed, unchanged, removed: pages by verdict.
        requests: pages that were asked for; the others were left alone or are removed.
        not_modified: pages of which the server said that they are what they were (304).
        callbacks_saved: pages whose callback did not run, since what it once gave is kept.
        bytes_saved: by which answers were smaller than the pages are.
        diffs: some of the changed pages, the least changed first; none where no diff is kept.
    """

    began_at: datetime
    new: int
    changed: int
    unchanged: int
    removed: int
    requests: int
    not_modified: int
    callbacks_run: int
    callbacks_saved: int
    bytes_received: int
    bytes_saved: int
    diffs: tuple[ChangedPage, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """Where something stands on a layout's pages, as CSS.

    Attributes:
        evidence: why it is content, or why it is left out; "" where nothing is known of it.
        example: a text that stands there; "" where none is kept.
    """

    selector: str
    evidence: str = ""
    example: str = ""


@dataclass(frozen=True, slots=True)
class TeacherFigures:
    """What a browser saw of a layout.

    Attributes:
        pages: that it showed.
        js_share: of the text that a reader sees, made by scripts, 0.0 to 1.0.
        needs_rendering: next to nothing of its pages is there without scripts.
        agreement: between what the browser, repetition and the extractor take for content, 0.0 to 1.0; None: unknown.
    """

    pages: int
    js_share: float
    needs_rendering: bool = False
    agreement: float | None = None


@dataclass(frozen=True, slots=True)
class TemplateFigures:
    """The version of a layout's template that is live, or else the newest.

    Attributes:
        confidence: 0.0 to 1.0.
        pages: learned from so many.
        reason: why it has its state.
        content, left_out: of a live version; some of them.
        rules: how many things are left out, those that are not shown included.
        fields: where title, date and author stand, for pages that do not declare them.
    """

    version: int
    state: str
    confidence: float
    pages: int
    reason: str = ""
    content: tuple[Rule, ...] = ()
    left_out: tuple[Rule, ...] = ()
    rules: int = 0
    fields: Mapping[str, str] = field(default_factory=dict)
    teacher: TeacherFigures | None = None


@dataclass(frozen=True, slots=True)
class LayoutFigures:
    """One design of a domain's pages.

    Attributes:
        layout: 16 hexadecimal digits, or "rest": the pages of no known layout.
        kind: what its pages are: "article", "listing" ...; "" where that is not known.
        pages: with this design, all visits counted.
        pages_by_run: how many each of the domain's last runs met, oldest first.
        examples: URLs of some.
        url_pattern: an expression that fits this layout's URLs and no other's.
        picture: of one of its pages, where a browser showed one and there is room for it.
        left_out: URL of the page of whose picture there is one, but no room for it.
    """

    layout: str
    kind: str
    pages: int
    pages_by_run: tuple[int, ...]
    examples: tuple[str, ...]
    url_pattern: str | None
    template: TemplateFigures | None
    picture: LayoutPicture | None = None
    left_out: str = ""


@dataclass(frozen=True, slots=True)
class DomainLayouts:
    """From which designs a domain's pages are built.

    Attributes:
        pages: of all layouts, all visits counted.
        layouts: some, those with most pages first.
        all_layouts: how many there are.
    """

    domain: str
    pages: int
    layouts: tuple[LayoutFigures, ...]
    all_layouts: int


@dataclass(frozen=True, slots=True)
class Alarm:
    """A layout's template does not fit its pages at present.

    Attributes:
        cause: in words, such as "content root lost on 9 of 10 pages since 14:02".
        raised_at: aware; shown in UTC.
    """

    domain: str
    layout: str
    cause: str
    raised_at: datetime


@dataclass(frozen=True, slots=True)
class ShadowedPage:
    """A page that a layer in the shadow would have dropped whole."""

    url: str
    reason: str


@dataclass(frozen=True, slots=True)
class ShadowedLayer:
    """What a layer would have dropped that only looks on (DEDUP_SHADOW).

    Attributes:
        counts: how many pages, blocks, characters, requests ..., by name.
        pages: some that would have been dropped whole.
        samples: some that would have lost blocks; those with kept = False would have gone.
    """

    layer: str
    counts: Mapping[str, int]
    pages: tuple[ShadowedPage, ...] = ()
    samples: tuple[SamplePage, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that one report shows.

    Attributes:
        generated_at: aware; shown in UTC.
        pages_fetched: responses that were pages, aliases and duplicates included.
        layers: in the order in which they act.
        repeated: most pages first.
        recrawl: of the crawl that is reported on, else of the last one; None where it found nothing but new pages.
        alarms: that are open, newest first.
        layouts: of some domains, those with most pages first.
        shadowed: layers that only look on, in the order in which they act.
        ledger: what each layer spared; None where no crawl left counts.
    """

    project: str
    generated_at: datetime
    pages_fetched: int
    domains: tuple[DomainFigures, ...]
    layers: tuple[LayerFigures, ...]
    repeated: tuple[RepeatedBlock, ...]
    samples: tuple[SamplePage, ...]
    recrawl: Recrawl | None = None
    alarms: tuple[Alarm, ...] = ()
    layouts: tuple[DomainLayouts, ...] = ()
    shadowed: tuple[ShadowedLayer, ...] = ()
    ledger: Ledger | None = None

"""What a report says: plain values, made by `service`, drawn by this folder.

Texts, titles, URLs and domains come from pages and are kept here as they were found; they are made harmless where they
are drawn. `msgspec.to_builtins` of a Report, with ISO dates, is the report's JSON form.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from msgspec import Struct, ValidationError, convert, field

from scrapy_dedup.core.chunks.chunks import StoredChunk
from scrapy_dedup.core.runs import DropAlarm, LedgerDomain
from scrapy_dedup.core.templates.templates import Vision


class BoxKind(StrEnum):
    """What stands in a box."""

    CONTENT = "content"
    BOILERPLATE = "boilerplate"
    OVERLAY = "overlay"
    """Left out, and it lies over the page: a banner, a bar that stays."""
    UNSEEN = "unseen"
    """Text that a person cannot see."""
    TITLE = "title"
    DATE = "date"
    AUTHOR = "author"


class PictureBox(Struct, frozen=True):
    """A box on a picture, in pixels of it.

    Attributes:
        number: of the element of the page as it was sent, in document order, 0 for body.
        label: why, in words; it may hold words of the page.
        is_clear: nothing is written on the page where a label above the box would stand.
    """

    number: int
    x: int
    y: int
    width: int
    height: int
    kind: BoxKind
    label: str
    is_clear: bool = False


class ReportPicture(Struct, frozen=True):
    """A page as a browser showed it, and what stands where.

    Attributes:
        url: of the page.
        png: the picture.
        width, height: of the picture, in pixels.
        boxes: those that lie around others come first.
    """

    url: str
    png: bytes
    width: int
    height: int
    boxes: tuple[PictureBox, ...]


def boxes_from(stored: Iterable[Mapping[str, Any]]) -> tuple[PictureBox, ...]:
    """Return stored boxes; what is none is passed over."""
    found = []
    for one in stored:
        try:
            found.append(convert(one, PictureBox))
        except ValidationError:
            continue
    return tuple(found)


class LedgerRow(Struct, frozen=True):
    """What one layer spared; a figure is None where nobody counts it for this layer.

    Attributes:
        prevents: half a sentence for readers, such as "the second URL of one page".
        method: by what it finds that out.
        pages: pages, items and links that it left out whole; of `unchanged`, pages whose work was not done again; of
            `boilerplate` and `patterns`, pages that lost something.
        blocks: that went from pages that stayed.
        chunks: that went, or that pages left out whole would have given.
        chars: characters of those.
        tokens: as many as the characters make.
        is_about: chunks, chars and tokens are told by the pages that stand for those that were left out.
        note: what else it did; "" for nothing.
    """

    layer: str
    prevents: str
    method: str
    pages: int | None = None
    blocks: int | None = None
    chunks: int | None = None
    chars: int | None = None
    tokens: int | None = None
    is_about: bool = False
    note: str = ""

    @property
    def is_idle(self) -> bool:
        """Whether it found nothing."""
        return not (self.pages or self.blocks or self.chunks or self.chars or self.note)


class Amounts(Struct, frozen=True):
    """So much came in, or went out.

    Attributes:
        items: of callbacks and of the store.
        chunks: of the pages that went out.
        chars: characters of their visible text.
        tokens: as many as the characters make.
    """

    items: int
    chunks: int
    chars: int
    tokens: int


class LedgerCheck(Struct, frozen=True):
    """Two ways to count one thing, which must agree."""

    what: str
    counted: int
    expected: int

    @property
    def is_right(self) -> bool:
        """Whether they agree."""
        return self.counted == self.expected


class Cost(Struct, frozen=True):
    """Seconds of processor time; the name is a layer's, or that of work which several share."""

    name: str
    seconds: float


class LedgerTable(Struct, frozen=True):
    """The ledger of one run, or the sum of several.

    Attributes:
        rows: all layers, in the order in which they act.
        before: what came in; chunks, characters and tokens are those of the pages that went out, before they were cut.
        about: what the pages would have added to that which were left out whole, told by those that stand for them.
        checks: of the counts beside each other.
        costs: the dearest first.
        runs: that are summed.
        began_at: when the first of them began; None where there was no crawl.
        elapsed_seconds: that the runs took; 0.0 where that is not known.
    """

    rows: tuple[LedgerRow, ...]
    before: Amounts
    after: Amounts
    about: Amounts
    checks: tuple[LedgerCheck, ...]
    costs: tuple[Cost, ...] = ()
    runs: int = 1
    began_at: datetime | None = None
    elapsed_seconds: float = 0.0

    @property
    def cost_seconds(self) -> float:
        """Seconds of all layers together."""
        return sum(one.seconds for one in self.costs)

    @property
    def differences(self) -> tuple[LedgerCheck, ...]:
        """Those checks that did not hold."""
        return tuple(one for one in self.checks if not one.is_right)

    @property
    def savings(self) -> tuple[LedgerRow, ...]:
        """The layers that saved characters."""
        return tuple(row for row in self.rows if row.chars)


class AliasGroup(Struct, frozen=True):
    """Addresses of one form that stand for pages of another form.

    Attributes:
        alias: how they look, such as "/node/*".
        target: how the addresses look of the pages that stand for them.
        found_by: how many by redirect, canonical, or the layer that dropped them, most first.
        count: of them, those included whose page looks like the others' alias.
        example: one of them.
        example_target: the page that stands for it.
    """

    alias: str
    target: str
    found_by: Mapping[str, int]
    count: int
    example: str
    example_target: str


class SharedChunk(Struct, frozen=True):
    """A passage that several pages have.

    Attributes:
        sample: how it begins.
        chars: of one copy.
        pages: that have it.
        keepers: URLs of those that give it; none where a layer leaves it out everywhere.
        others: URLs of some that do not.
    """

    sample: str
    chars: int
    pages: int
    keepers: tuple[str, ...]
    others: tuple[str, ...]


class Ledger(Struct, frozen=True):
    """What deduplication spared.

    Attributes:
        run: the run that is reported on, or the last one.
        all_runs: the sum over all runs; None where there is but one, or one was asked for.
        tokens_by: how tokens were counted, in words.
        is_estimate: whether no tokenizer counted them.
        domains: those with most pages first, as they are stored now; so are the next two.
        aliases: the largest groups first.
        shared: the chunks that most pages have first.
    """

    run: LedgerTable
    all_runs: LedgerTable | None
    tokens_by: str
    is_estimate: bool
    domains: tuple[LedgerDomain, ...] = ()
    aliases: tuple[AliasGroup, ...] = ()
    shared: tuple[SharedChunk, ...] = ()


class ReportDomain(Struct, frozen=True):
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


class LayerFigures(Struct, frozen=True):
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


class ReportBlock(Struct, frozen=True):
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


class ExplainedBlock(Struct, frozen=True):
    """A block of a page; all but its text and path is "" where it was kept.

    Attributes:
        layer: that removed it.
        rule: by its name.
        rule_path: the rule's path, selector or expression; "" where each block is judged by itself.
        evidence: why, in words.
        fingerprint: 16 hexadecimal digits.
        is_part: it is a part of the block before, which stayed.
        path: of the block in the page.
        on_pages: that have it, of of_pages.
    """

    text: str
    layer: str = ""
    rule: str = ""
    rule_path: str = ""
    evidence: str = ""
    fingerprint: str = ""
    is_part: bool = False
    path: str = ""
    on_pages: int = 0
    of_pages: int = 0

    @property
    def kept(self) -> bool:
        """Whether it went out."""
        return not self.layer


class SamplePage(Struct, frozen=True):
    """One page before (its blocks in document order) and after (its cleaned text)."""

    url: str
    title: str
    blocks: tuple[ExplainedBlock, ...]
    cleaned: str


class ChangedPage(Struct, frozen=True):
    """A page that a crawl found changed.

    Attributes:
        change: of what class the difference is: "content", "numbers", "title" ...; "" where that is not known.
        diff: unified diff of its main text, a passage a line, with its two lines of heading.
    """

    url: str
    title: str
    change: str
    diff: str


class ReportRecrawl(Struct, frozen=True):
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


class ReportLocator(Struct, frozen=True):
    """Where something stands on a layout's pages, as CSS.

    Attributes:
        evidence: why it is content, or why it is left out; "" where nothing is known of it.
        example: a text that stands there; "" where none is kept.
    """

    selector: str
    evidence: str = ""
    example: str = ""


class ReportTemplate(Struct, frozen=True):
    """The version of a layout's template that is live, or else the newest.

    Attributes:
        confidence: 0.0 to 1.0.
        pages: learned from so many.
        reason: why it has its state.
        content, left_out: of a live version; some of them.
        rules: how many things are left out, those that are not shown included.
        fields: where title, date and author stand, for pages that do not declare them.
        vision: what a browser showed of the layout.
    """

    version: int
    state: str
    confidence: float
    pages: int
    reason: str = ""
    content: tuple[ReportLocator, ...] = ()
    left_out: tuple[ReportLocator, ...] = ()
    rules: int = 0
    fields: Mapping[str, str] = field(default_factory=dict)
    vision: Vision | None = None

    @property
    def field_rules(self) -> tuple[ReportLocator, ...]:
        """Where title, date and author stand, as rules whose evidence is the name."""
        return tuple(ReportLocator(selector, name) for name, selector in self.fields.items() if selector)


class ReportLayout(Struct, frozen=True):
    """One design of a domain's pages.

    Attributes:
        layout: 16 hexadecimal digits, or "rest": the pages of no known layout.
        kind: what its pages are: "article", "listing" ...; "" where that is not known.
        visits: of pages with this design, in all runs.
        pages_by_run: how many each of the domain's last runs met, oldest first.
        examples: URLs of some.
        url_pattern: an expression that fits this layout's URLs and no other's.
        picture: of one of its pages, where a browser showed one and there is room for it.
        left_out: URL of the page of whose picture there is one, but no room for it.
    """

    layout: str
    kind: str
    visits: int
    pages_by_run: tuple[int, ...]
    examples: tuple[str, ...]
    url_pattern: str | None
    template: ReportTemplate | None
    picture: ReportPicture | None = None
    left_out: str = ""


class ReportDomainLayouts(Struct, frozen=True):
    """From which designs a domain's pages are built.

    Attributes:
        visits: of pages of all layouts, in all runs.
        layouts: some, those with most visits first.
        all_layouts: how many there are.
    """

    domain: str
    visits: int
    layouts: tuple[ReportLayout, ...]
    all_layouts: int


class Alarm(Struct, frozen=True):
    """A layout's template does not fit its pages at present.

    Attributes:
        cause: in words, such as "content root lost on 9 of 10 pages since 14:02".
        raised_at: aware; shown in UTC.
    """

    domain: str
    layout: str
    cause: str
    raised_at: datetime


class ShadowedPage(Struct, frozen=True):
    """A page that a layer in the shadow would have dropped whole."""

    url: str
    reason: str


class ShadowedLayer(Struct, frozen=True):
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


class Report(Struct, frozen=True):
    """Everything that one report shows.

    Attributes:
        generated_at: aware; shown in UTC.
        pages_fetched: responses that were pages, aliases and duplicates included.
        layers: in the order in which they act.
        repeated: most pages first.
        recrawl: of the crawl that is reported on, else of the last one; None where it found nothing but new pages.
        alarms: that are open, newest first.
        drop_alarms: of the run that is reported on, else of the last one.
        layouts: of some domains, those with most pages first.
        shadowed: layers that only look on, in the order in which they act.
        ledger: what each layer spared; None where no crawl left counts.
    """

    project: str
    generated_at: datetime
    pages_fetched: int
    domains: tuple[ReportDomain, ...]
    layers: tuple[LayerFigures, ...]
    repeated: tuple[ReportBlock, ...]
    samples: tuple[SamplePage, ...]
    recrawl: ReportRecrawl | None = None
    alarms: tuple[Alarm, ...] = ()
    drop_alarms: tuple[DropAlarm, ...] = ()
    layouts: tuple[ReportDomainLayouts, ...] = ()
    shadowed: tuple[ShadowedLayer, ...] = ()
    ledger: Ledger | None = None

    @property
    def what_was_removed(self) -> str:
        """What the text was that was removed, in words."""
        layers = {layer for each in self.domains for layer, chars in each.removed_by_layer.items() if chars}
        return "boilerplate" if layers <= {"boilerplate", "patterns"} else "boilerplate or said before"

    @property
    def worst_first(self) -> list[ReportDomain]:
        """The domains, those first of whose text the largest share was removed."""
        return sorted(
            self.domains, key=lambda each: (each.chars_out / each.chars_in if each.chars_in else 1, each.domain)
        )


class ExplainedChunk(StoredChunk, frozen=True, kw_only=True):
    """A chunk of the clean text, with the URL of the page that gives it; "" for none."""

    holder_url: str = ""


class ExplainedLike(Struct, frozen=True):
    """Another page that has the text, or nearly.

    Attributes:
        url: of that page.
        layer: that dropped this one for it; "" where this one went out and is marked.
        jaccard: how alike they are, 0.0 to 1.0.
    """

    url: str
    layer: str
    jaccard: float


class ExplainedDecision(Struct, frozen=True):
    """What a layer decided."""

    layer: str
    action: str
    reason: str


class ExplainedPage(Struct, frozen=True):
    """One page, with all that was decided about it.

    Attributes:
        facts: (name, text) of what else is known.
        cleaned: the text that went out; None where there is none.
        blocks: in the order of the page; none where its original is not kept.
        lost: removed blocks that the stored original does not have.
    """

    project: str
    url: str
    title: str
    generated_at: datetime
    facts: tuple[tuple[str, str], ...] = ()
    like: ExplainedLike | None = None
    decisions: tuple[ExplainedDecision, ...] = ()
    blocks: tuple[ExplainedBlock, ...] = ()
    lost: tuple[ExplainedBlock, ...] = ()
    cleaned: str | None = None
    chunks: tuple[ExplainedChunk, ...] = ()

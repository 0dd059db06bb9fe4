"""What the ledger says: what each layer spared, beside what came in and what went out."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from scrapy_dedup.core.run_totals import LedgerDomain


@dataclass(frozen=True, slots=True)
class LedgerRow:
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


@dataclass(frozen=True, slots=True)
class Amounts:
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


@dataclass(frozen=True, slots=True)
class Check:
    """Two ways to count one thing, which must agree."""

    what: str
    counted: int
    expected: int

    @property
    def is_right(self) -> bool:
        """Whether they agree."""
        return self.counted == self.expected


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of processor time; the name is a layer's, or that of work which several share."""

    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class LedgerTable:
    """The ledger of one run, or the sum of several.

    Attributes:
        runs: that are summed.
        began_at: when the first of them began; None where there was no crawl.
        rows: all layers, in the order in which they act.
        before: what came in; chunks, characters and tokens are those of the pages that went out, before they were cut.
        about: what the pages would have added to that which were left out whole, told by those that stand for them.
        checks: of the counts beside each other.
        costs: the dearest first.
        elapsed_seconds: that the runs took; 0.0 where that is not known.
    """

    runs: int
    began_at: datetime | None
    rows: tuple[LedgerRow, ...]
    before: Amounts
    after: Amounts
    about: Amounts
    checks: tuple[Check, ...]
    costs: tuple[Cost, ...] = ()
    elapsed_seconds: float = 0.0

    @property
    def cost_seconds(self) -> float:
        """Seconds of all layers together."""
        return sum(one.seconds for one in self.costs)

    @property
    def differences(self) -> tuple[Check, ...]:
        """Those checks that did not hold."""
        return tuple(one for one in self.checks if not one.is_right)


@dataclass(frozen=True, slots=True)
class AliasGroup:
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


@dataclass(frozen=True, slots=True)
class SharedChunk:
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


@dataclass(frozen=True, slots=True)
class Ledger:
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

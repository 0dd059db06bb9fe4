"""What came of a page beside the other pages of its project."""

from datetime import datetime

from msgspec import Struct, field

from scrapy_dedup.core.duplicates.matching import Same
from scrapy_dedup.service.cut.removals import ACTION, SHADOW
from scrapy_dedup.service.duplicates.chunking import PageChunks
from scrapy_dedup.service.duplicates.index import (
    DuplicateIndex,
    KnownDuplicates,
    asked_layers,
    drops,
    forget_record,
    records_of,
)
from scrapy_dedup.service.duplicates.page_facts import PageFacts
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import DecisionRecord, Record
from scrapy_dedup.store.records.shared import Holders

MARKED = "marked"


class PageComparison(Struct, frozen=True):
    """A page's place among the others."""

    facts: PageFacts
    same: Same | None = None
    """The page that stands for it, or, of a near-duplicate that goes out, that it is nearly like."""
    dropped: bool = False
    chunks: PageChunks = field(default_factory=PageChunks)
    shadowed: tuple[Same, ...] = ()
    """What layers in the shadow would have said."""
    found: KnownDuplicates = field(default_factory=KnownDuplicates)
    """What the store said of it."""

    @property
    def found_of_chunks(self) -> KnownDuplicates:
        """What the store said of its chunks alone: of a page that goes out whoever has its title or text."""
        return KnownDuplicates(Holders(holders=self.found.answer.holders, before=self.found.answer.before))

    def records(self, settings: Settings, at: datetime) -> list[Record]:
        """Return what is written of it."""
        own = records_of(self.facts, self.same, self.chunks, settings, dropped=self.dropped)
        return [*own, *self._decisions(at)]

    def _decisions(self, at: datetime) -> list[DecisionRecord]:
        key = self.facts.page_key
        found = [DecisionRecord(key, one.layer, SHADOW, f"would be dropped: {one.reason}", at) for one in self.shadowed]
        if self.same is not None and not self.dropped:
            detail = {"keeper": self.same.keeper.hex(), "jaccard": self.same.jaccard}
            found.append(DecisionRecord(key, self.same.layer, MARKED, self.same.reason, at, detail))
        for action, in_shadow in ((ACTION, False), (SHADOW, True)):
            for layer, (chunks, chars) in self.chunks.left_out(in_shadow=in_shadow).items():
                reason = f"{chunks} chunk{'s' if chunks > 1 else ''}, {chars} characters"
                found.append(DecisionRecord(key, layer, action, reason, at))
        return found

    def counts(self) -> dict[str, float]:
        """Return by how much a page adds to the stats, by their names without `dedup/`."""
        found: dict[str, float] = {f"shadow/{one.layer}/items": 1 for one in self.shadowed}
        found |= self.facts.watch.counts()
        if self.dropped:
            return found
        if self.same is not None:
            found[f"{self.same.layer}/{MARKED}"] = 1
        return found | self.chunks.counts()


def compare(index: DuplicateIndex, facts: PageFacts, found: KnownDuplicates, settings: Settings) -> PageComparison:
    """Return what becomes of a page, and let it count for those that come after it."""
    same, shadowed = _same(index, facts, found, settings)
    dropped = same is not None and drops(same, settings)
    chunks = PageChunks() if dropped else index.chunks(facts, found, settings)
    index.admit(facts, same, chunks, dropped=dropped)
    return PageComparison(facts, same, dropped, chunks, shadowed, found)


def _same(
    index: DuplicateIndex, facts: PageFacts, found: KnownDuplicates, settings: Settings
) -> tuple[Same | None, tuple[Same, ...]]:
    """Return the page that stands for one, and what layers in the shadow would have said."""
    shadowed: list[Same] = []
    layers = set(asked_layers(settings))
    same = index.same(facts, found, settings, layers)
    while same is not None and settings.shadows(same.layer):
        shadowed.append(same)
        layers.discard(same.layer)
        same = index.same(facts, found, settings, layers)
    return same, tuple(shadowed)


def withdraw(index: DuplicateIndex, page_key: bytes, settings: Settings) -> Record:
    """Let a page count no more, whose items failed; return what is written of that."""
    index.withdraw(page_key)
    return forget_record(page_key, settings)

"""What the pages of a run show, and whether an item is one that went out in it."""

from array import array
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from scrapy_dedup.core.duplicates.evidence import (
    MOST_ITEMS,
    NO_FIELDS,
    Blocks,
    PageEvidence,
    SiteSeen,
    blocks_of_text,
    own_words,
    proves,
    proves_near,
    short_hash,
)
from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.service.crawl.drafts import Draft
from scrapy_dedup.service.learning.learning import Learner
from scrapy_dedup.settings import Settings

# Of 8 bytes each: 16 MB. Of a page that is forgotten nothing is proven, so that its equals go out.
_MOST_BLOCKS: Final = 2_000_000
# Of some 200 bytes each.
_MOST_RECALLED: Final = 200_000


def _blocks_of(draft: Draft) -> Blocks:
    if draft.page is not None and draft.method != "text":
        return [(block.fingerprint, block.text) for block in draft.page.blocks]
    return blocks_of_text(draft.text)


@dataclass(slots=True)
class RunEvidence:
    """Of the last pages that went out, or are about to."""

    _pages: OrderedDict[bytes, PageEvidence] = field(default_factory=OrderedDict)
    _blocks: int = 0
    _recalled: OrderedDict[bytes, list[bytes]] = field(default_factory=OrderedDict)
    """Of pages whose bytes are those of the last time: the fields of their items alone."""

    def recall(self, draft: Draft, fields: bytes | None) -> None:
        """Let an item count of whose page nothing was read, as it did not change."""
        known = self._recalled.setdefault(draft.page_key, [])
        if fields is not None and fields not in known and len(known) < MOST_ITEMS:
            known.append(fields)
        if len(self._recalled) > _MOST_RECALLED:
            self._recalled.popitem(last=False)

    def knows(self, page_key: bytes) -> bool:
        """Say whether a page came in this run, as far as is remembered."""
        return page_key in self._pages or page_key in self._recalled

    def has(self, page_key: bytes) -> bool:
        """Say whether it is held what a page shows."""
        return page_key in self._pages

    def read(self, page_key: bytes, page: Page, source: str) -> None:
        """Take in what a page of this run shows; where none of its items was recalled, one without fields stands."""
        blocks = array("Q", (block.fingerprint for block in page.blocks))
        self._put(page_key, PageEvidence(short_hash(source), blocks, list(self._recalled.get(page_key, [NO_FIELDS]))))

    def note(self, draft: Draft, fields: bytes | None, settings: Settings) -> None:
        """Let an item count for those that come after it."""
        evidence = draft.evidence
        if evidence is None:
            with_numbers = settings.near_duplicate == "drop"
            evidence = draft.evidence = PageEvidence.of(draft.source, _blocks_of(draft), with_numbers=with_numbers)
        evidence.add(fields)
        if self._pages.get(draft.page_key) is evidence:
            return
        self._put(draft.page_key, evidence)

    def _put(self, page_key: bytes, evidence: PageEvidence) -> None:
        self.forget(page_key)
        self._pages[page_key] = evidence
        self._blocks += len(evidence.blocks)
        while self._blocks > _MOST_BLOCKS and len(self._pages) > 1:
            self.forget(next(iter(self._pages)))

    def forget(self, page_key: bytes) -> None:
        """Let a page count no more: it was left out, or its items failed."""
        gone = self._pages.pop(page_key, None)
        self._blocks -= len(gone.blocks) if gone is not None else 0

    def proves_near(self, draft: Draft, fields: bytes | None, keeper: bytes) -> bool:
        """Say whether fields and numbers are those of a page of this run; how alike the texts are others say."""
        own, other = draft.evidence, self._pages.get(keeper)
        if own is None or other is None:
            return False
        return proves_near(own, other, fields)

    def proves(self, draft: Draft, fields: bytes | None, keeper: bytes, learner: Learner | None) -> bool:
        """Say whether an item is one that a page of this run gave."""
        other = self._pages.get(keeper)
        if other is None or draft.evidence is None:
            return False
        site = learner.seen if learner is not None else SiteSeen()
        return proves(draft.evidence, other, fields, own_words(_blocks_of(draft), site), site)

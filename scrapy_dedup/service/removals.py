"""How the removed blocks of a page are written down, and read back."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from scrapy_dedup.core.fingerprints import from_hex, to_hex
from scrapy_dedup.core.repeats import Removal
from scrapy_dedup.service.cleaning import Cleaned
from scrapy_dedup.store.records import DecisionRecord
from scrapy_dedup.store.stored import StoredDecision

LAYER = "boilerplate"
ACTION = "removed"

_BLOCKS = re.compile(r"([0-9]+) blocks, ")


def removal_decision(page_key: bytes, cleaned: Cleaned, at: datetime) -> DecisionRecord:
    """Return the decision about a page that lost at least one block."""
    return DecisionRecord(
        page_key=page_key,
        layer=LAYER,
        action=ACTION,
        reason=f"{len(cleaned.removed)} blocks, {cleaned.chars_removed} of {cleaned.chars_in} characters",
        decided_at=at,
        detail={
            "of_pages": cleaned.removed[0].removal.of_pages,
            "blocks": {to_hex(one.removal.fingerprint): one.removal.on_pages for one in cleaned.removed},
        },
    )


def blocks_in(reason: str) -> int:
    """Return how many blocks a decision's reason names, repeats within the page included."""
    found = _BLOCKS.match(reason)
    return int(found[1]) if found else 0


def removals_in(decision: StoredDecision | None) -> dict[int, Removal]:
    """Return which blocks a decision left out, by fingerprint; none where it belongs to another layer."""
    detail: Mapping[str, Any] = (decision.detail if decision and decision.layer == LAYER else None) or {}
    of_pages = detail.get("of_pages", 0)
    on_pages = {from_hex(digits): pages for digits, pages in detail.get("blocks", {}).items()}
    return {key: Removal(key, pages, of_pages) for key, pages in on_pages.items()}

"""How the removed blocks of a page are written down, and read back."""

import re
from collections.abc import Mapping
from dataclasses import astuple
from datetime import datetime
from typing import Any

from scrapy_dedup.core.fingerprints import from_hex, to_hex
from scrapy_dedup.core.repeats import Removal, Rule
from scrapy_dedup.service.cleaning import Cleaned
from scrapy_dedup.store.records import DecisionRecord
from scrapy_dedup.store.stored import StoredDecision

LAYER = "boilerplate"
ACTION = "removed"
SHADOW = "shadow"
"""The action of decisions about blocks that would have been removed."""

_BLOCKS = re.compile(r"([0-9]+) blocks, ")


def removal_decision(page_key: bytes, cleaned: Cleaned, at: datetime, action: str = ACTION) -> DecisionRecord:
    """Return the decision about a page that lost at least one block, or would have."""
    rules = list(dict.fromkeys(one.removal.rule for one in cleaned.removed))
    places = {rule: place for place, rule in enumerate(rules)}
    return DecisionRecord(
        page_key=page_key,
        layer=LAYER,
        action=action,
        reason=f"{len(cleaned.removed)} blocks, {cleaned.chars_removed} of {cleaned.chars_in} characters",
        decided_at=at,
        detail={
            "rules": [list(astuple(rule)) for rule in rules],
            "blocks": {to_hex(one.removal.fingerprint): places[one.removal.rule] for one in cleaned.removed},
        },
    )


def blocks_in(reason: str) -> int:
    """Return how many blocks a decision's reason names, repeats within the page included."""
    found = _BLOCKS.match(reason)
    return int(found[1]) if found else 0


def removals_in(decision: StoredDecision | None) -> dict[int, Removal]:
    """Return which blocks a decision left out, by fingerprint; none where it belongs to another layer."""
    detail: Mapping[str, Any] = (decision.detail if decision and decision.layer == LAYER else None) or {}
    rules = [Rule(*fields) for fields in detail.get("rules", [])]
    places = {from_hex(digits): place for digits, place in detail.get("blocks", {}).items()}
    return {key: Removal(key, rules[place]) for key, place in places.items()}

"""How the removed blocks of a page are written down, and read back."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from scrapy_dedup.core.boilerplate.repeats import Removal, RemovalRule
from scrapy_dedup.core.pages.fingerprints import from_hex, in_hex
from scrapy_dedup.service.cut.cleaning import LAYER, LAYERS, Cleaned, Removed, by_rule
from scrapy_dedup.store.records.records import DecisionRecord
from scrapy_dedup.store.records.stored import StoredDecision

ACTION = "removed"
SHADOW = "shadow"
"""The action of decisions about blocks that would have been removed."""

_BLOCKS = re.compile(r"([0-9]+) blocks?, ")


def shadow_decision(page_key: bytes, cleaned: Cleaned, at: datetime) -> DecisionRecord:
    """Return the decision of the layer `boilerplate` about a page that would have lost at least one block."""
    own = {rule: removed for rule, removed in by_rule(cleaned.removed).items() if rule.layer == LAYER}
    return _decision(page_key, (LAYER, SHADOW), own, cleaned.chars_in, at)


def removal_decisions(page_key: bytes, cleaned: Cleaned, at: datetime) -> list[DecisionRecord]:
    """Return a decision of each layer that left out blocks of a page; where a layer is in the shadow, what it would."""
    return [
        _decision(page_key, (layer, done), own, cleaned.chars_in, at)
        for removed, done in ((by_rule(cleaned.removed), ACTION), (by_rule(cleaned.shadowed), SHADOW))
        for layer in LAYERS
        if (own := {rule: blocks for rule, blocks in removed.items() if rule.layer == layer})
    ]


def _decision(
    page_key: bytes,
    said: tuple[str, str],
    removed: Mapping[RemovalRule, Sequence[Removed]],
    chars_in: int,
    at: datetime,
) -> DecisionRecord:
    layer, action = said
    blocks = [one for own in removed.values() for one in own]
    places = [place for place, own in enumerate(removed.values()) for _ in own]
    digits = in_hex([one.removal.fingerprint for one in blocks])
    chars = sum([len(one.text) for one in blocks])
    return DecisionRecord(
        page_key=page_key,
        layer=layer,
        action=action,
        reason=f"{len(blocks)} block{'s' * (len(blocks) != 1)}, {chars} of {chars_in} characters",
        decided_at=at,
        detail={
            "rules": [[rule.name, rule.evidence, rule.on_pages, rule.of_pages, rule.path] for rule in removed],
            "blocks": dict(zip(digits, places, strict=True)),
        },
    )


def blocks_in(reason: str) -> int:
    """Return how many blocks a decision's reason names, repeats within the page included."""
    found = _BLOCKS.match(reason)
    return int(found[1]) if found else 0


def removals_in(decision: StoredDecision | None) -> dict[int, Removal]:
    """Return which blocks a decision left out, by fingerprint; none where its layer leaves out none."""
    if decision is None or decision.layer not in LAYERS:
        return {}
    detail: Mapping[str, Any] = decision.detail or {}
    rules = [replace(RemovalRule(*fields), layer=decision.layer) for fields in detail.get("rules", [])]
    places = {from_hex(digits): place for digits, place in detail.get("blocks", {}).items()}
    return {key: Removal(key, rules[place]) for key, place in places.items()}

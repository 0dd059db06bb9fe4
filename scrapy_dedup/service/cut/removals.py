"""How the removed blocks of a page are written down, and read back."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from scrapy_dedup.core.boilerplate.repeats import Removal, RemovalRule
from scrapy_dedup.core.pages.fingerprints import from_hex
from scrapy_dedup.service.cut.cleaning import LAYER, LAYERS, Cleaned, groups_of
from scrapy_dedup.store.records.records import DecisionRecord
from scrapy_dedup.store.records.stored import StoredDecision

ACTION = "removed"
SHADOW = "shadow"
"""The action of decisions about blocks that would have been removed."""

_BLOCKS = re.compile(r"([0-9]+) blocks?, ")


def shadow_decisions(page_key: bytes, cleaned: Cleaned, at: datetime) -> Iterator[DecisionRecord]:
    """Yield the decision of the layer `boilerplate` about a page that would have lost at least one block."""
    return _decisions(page_key, SHADOW, (LAYER,), cleaned.groups, cleaned.chars_in, at)


def removal_decisions(page_key: bytes, cleaned: Cleaned, at: datetime) -> list[DecisionRecord]:
    """Return a decision of each layer that left out blocks of a page; where a layer is in the shadow, what it would."""
    shadowed = groups_of(cleaned.shadowed)
    return [
        *_decisions(page_key, ACTION, LAYERS, cleaned.groups, cleaned.chars_in, at),
        *_decisions(page_key, SHADOW, LAYERS, shadowed, cleaned.chars_in, at),
    ]


def _decisions(
    page_key: bytes,
    action: str,
    layers: Sequence[str],
    groups: Sequence[tuple[RemovalRule, Mapping[str, Any]]],
    chars_in: int,
    at: datetime,
) -> Iterator[DecisionRecord]:
    for layer in layers:
        rules: list[list[Any]] = []
        places: dict[str, int] = {}
        blocks = chars = 0
        for rule, told in groups:
            if rule.layer == layer:
                places.update(dict.fromkeys(told["blocks"], len(rules)))
                rules.append([rule.name, rule.evidence, rule.on_pages, rule.of_pages, rule.path])
                blocks += len(told["blocks"])
                chars += told["chars"]
        if rules:
            reason = f"{blocks} block{'s' * (blocks != 1)}, {chars} of {chars_in} characters"
            yield DecisionRecord(page_key, layer, action, reason, at, {"rules": rules, "blocks": places})


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

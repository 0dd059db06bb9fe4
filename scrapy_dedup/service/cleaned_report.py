"""What an item says about its text: hashes, and what was left out of it and why."""

from collections.abc import Mapping
from typing import Any

from scrapy_dedup.core.fingerprints import to_hex
from scrapy_dedup.core.repeats import Rule
from scrapy_dedup.service.cleaning import Cleaned, Removed
from scrapy_dedup.settings import Settings


def hashes_and_removed(cleaned: Cleaned) -> dict[str, Any]:
    """Return what a text is known by, and what was left out of it and why."""
    return {
        "content_hash": cleaned.content_hash.hex(),
        "cleaned_hash": cleaned.cleaned_hash.hex(),
        "chars_in": cleaned.chars_in,
        "chars_out": cleaned.chars_out,
        "removed": _removed(cleaned.removed),
    }


def as_asked(report: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """Return what `hashes_and_removed` returned as an item has it: how much each layer left out, or all if asked."""
    if "removed" in settings.item_details:
        return dict(report)
    layers: dict[str, dict[str, int]] = {}
    for group in report["removed"]:
        layer = layers.setdefault(group["layer"], {"blocks": 0, "chars": 0})
        layer["blocks"] += len(group["blocks"])
        layer["chars"] += group["chars"]
    return {**report, "removed": layers}


def _removed(removed: list[Removed]) -> list[dict[str, Any]]:
    """Return what was left out, one entry for each reason: most blocks of a page share one.

    `scrapy dedup explain URL` shows path and text behind a fingerprint.
    """
    groups: dict[Rule, dict[str, Any]] = {}
    for block in removed:
        rule = block.removal.rule
        group = groups.get(rule)
        if group is None:
            reason = f"{rule.name}: {rule.evidence}" if rule.path else rule.evidence
            group = groups[rule] = {"layer": rule.layer, "reason": reason, "chars": 0, "blocks": []}
            if rule.path:
                group["path"] = rule.path
        group["chars"] += len(block.text)
        group["blocks"].append(to_hex(block.removal.fingerprint))
    return list(groups.values())

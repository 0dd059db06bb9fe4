"""What an item says about its text: hashes, and what was left out of it and why."""

from collections.abc import Mapping
from typing import Any

from scrapy_dedup.core.boilerplate.repeats import RemovalRule
from scrapy_dedup.core.pages.fingerprints import in_hex
from scrapy_dedup.service.cut.cleaning import Cleaned, Removed, by_rule
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
    return [_left_out(rule, own) for rule, own in by_rule(removed).items()]


def _left_out(rule: RemovalRule, removed: list[Removed]) -> dict[str, Any]:
    told = {
        "layer": rule.layer,
        "reason": f"{rule.name}: {rule.evidence}" if rule.path else rule.evidence,
        "chars": sum([len(one.text) for one in removed]),
        "blocks": in_hex(one.removal.fingerprint for one in removed),
    }
    return told | {"path": rule.path} if rule.path else told

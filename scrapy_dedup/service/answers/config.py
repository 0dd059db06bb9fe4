"""What a person decides about a site."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scrapy_dedup.core.patterns_config import KEYS, SiteConfig
from scrapy_dedup.service.site_config import Changed, Trial, Tried
from scrapy_dedup.store.site_configs import StoredSiteConfig


@dataclass(frozen=True, slots=True)
class TriedConfig:
    """What a configuration would mean."""

    domain: str
    config: SiteConfig
    trial: Trial


def config_answer(domain: str, found: StoredSiteConfig | None) -> dict[str, Any]:
    """Return what is decided about a domain."""
    return {
        "domain": domain,
        "version": found.version if found else 0,
        "config": {key: list(found.config.get(key, ())) if found else [] for key in KEYS},
        "updated_at": found.updated_at.isoformat() if found else None,
    }


def config_changes_answer(outcomes: Sequence[Changed | TriedConfig], *, dry_run: bool) -> dict[str, Any]:
    """Return what was changed, or would be."""
    return {"changes": [_outcome(one) for one in outcomes], "dry_run": dry_run}


def _outcome(one: Changed | TriedConfig) -> dict[str, Any]:
    found: dict[str, Any] = {"domain": one.domain, "config": one.config.to_json()}
    if isinstance(one, TriedConfig):
        trial = one.trial
        figures = {"pages": trial.pages, "changed": trial.changed, "chars_less": trial.chars_less}
        return found | figures | {"example": trial.example}
    return found | {"version": one.version, "stale": one.stale}


def tried_answer(domain: str, tried: Tried) -> dict[str, Any]:
    """Return what each pattern of a site does on one page."""
    patterns = [
        {"tier": one.tier, "pattern": one.pattern, "blocks": one.blocks, "chars": one.chars, "sample": one.sample}
        for one in tried.effects
    ]
    held = [{"pattern": one.pattern, "reason": str(one.reason)} for one in tried.held]
    return {"url": tried.url, "domain": domain, "patterns": patterns, "held": held}

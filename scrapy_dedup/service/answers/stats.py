"""How much boilerplate each domain has."""

from collections.abc import Mapping, Sequence
from typing import Any

from scrapy_dedup.service.overview import Overview
from scrapy_dedup.store.stored import DomainFigures


def stats_answer(found: Overview, learned: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the figures of a project's domains, and what is learned of each."""
    return {
        "project": found.project,
        "domains": [{"domain": each.domain, **_figures(each)} for each in found.domains],
        "total": {"domains": len(found.domains), **_figures(found.total)},
        "domains_above_10_percent": found.domains_with_much,
        "learned": list(learned),
    }


def _figures(figures: DomainFigures) -> dict[str, Any]:
    return {
        "pages": figures.pages,
        "chars_in": figures.chars_in,
        "chars_out": figures.chars_out,
        "removed_share": round(figures.removed_share, 6),
    }

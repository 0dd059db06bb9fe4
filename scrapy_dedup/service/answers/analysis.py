"""What an analysis of stored pages found."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from scrapy_dedup.core.repeats import ProjectAnalysisResult
from scrapy_dedup.settings import Settings


def analysis_answer(
    project: str,
    settings: Settings,
    result: ProjectAnalysisResult,
    source_groups: Sequence[str] | None,
    *,
    dry_run: bool,
) -> dict[str, Any]:
    """Return the outcome, and by which parameters."""
    return {
        "project": project,
        "dry_run": dry_run,
        "parameters": {
            "threshold_pct": settings.threshold_pct,
            "min_pages": settings.min_pages,
            "min_block_chars": settings.min_block_chars,
            "method": settings.boilerplate_method,
            "source_groups": list(source_groups) if source_groups is not None else None,
        },
        **asdict(result),
    }

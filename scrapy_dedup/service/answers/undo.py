"""What is kept in spite of the rules."""

from dataclasses import asdict
from typing import Any

from scrapy_dedup.service.undoing import Kept, Undone


def kept_answer(kept: Kept) -> dict[str, Any]:
    """Return something that is kept."""
    return asdict(kept)


def undone_answer(done: Undone) -> dict[str, Any]:
    """Return what became of keeping something."""
    changed = done.changed
    return {
        **kept_answer(done.kept),
        "pages": done.pages,
        "dry_run": changed is None,
        "was_there": done.was_there,
        "version": changed.version if changed else None,
        "stale": changed.stale if changed else None,
        "trial": asdict(done.trial) if done.trial else None,
    }

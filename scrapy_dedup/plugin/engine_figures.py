"""How much waits and is in work in the engine, and its download slots; each read has a way out."""

from typing import Any

from scrapy_dedup.plugin.engine_state import EngineState


class EngineFigures(EngineState):
    """Counts where `EngineState` says yes or no."""

    def paused(self) -> bool:
        """Say whether somebody has stopped the engine for a while."""
        return bool(getattr(self._engine(), "paused", False))

    def waiting(self) -> int | None:
        """Return how many requests the scheduler holds; None where it cannot say."""
        scheduler = getattr(self._slot(), "scheduler", None)
        if scheduler is None:
            return None
        try:
            return len(scheduler)
        except Exception:  # noqa: BLE001 - any scheduler, which may ask a server that fails
            return None if self._has_pending(scheduler) else 0

    def downloading(self) -> int:
        """Return how many requests the downloader has."""
        return len(getattr(getattr(self._engine(), "downloader", None), "active", None) or ())

    def in_work(self) -> int:
        """Return how many responses are in callbacks and pipelines."""
        slot = getattr(getattr(self._engine(), "scraper", None), "slot", None)
        return len(getattr(slot, "queue", None) or ()) + len(getattr(slot, "active", None) or ())

    def slots(self) -> dict[str, Any]:
        """Return the downloader's slots by name; each has a `delay` in seconds."""
        found = getattr(getattr(self._engine(), "downloader", None), "slots", None)
        return dict(found) if found else {}

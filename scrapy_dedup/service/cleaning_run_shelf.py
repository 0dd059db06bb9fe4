"""What is known of each domain, in a folder of a run's own: every process reads what it needs."""

import json
import os
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Final, Protocol

from scrapy_dedup.core.patterns_config import SiteConfig
from scrapy_dedup.service.recent_knowledge import RecentKnowledge
from scrapy_dedup.service.site_knowledge import SiteKnowledge

_CONFIGS_IN_MEMORY: Final = 128
# Of the process, since a shelf comes anew with each task.
_recent: Final = RecentKnowledge()


class Known(Protocol):
    """What is known of each domain, wherever it lies."""

    def put(self, knowledge: SiteKnowledge) -> None:
        """Keep what is known of a domain."""

    def get(self, domain: str) -> SiteKnowledge | None:
        """Return what is known of a domain."""

    def config(self, domain: str) -> SiteConfig | None:
        """Return what people decided about a domain."""


class Shelf:
    """One folder; a small value that is sent to other processes."""

    def __init__(self, folder: str) -> None:
        """Take a folder that nobody else writes to."""
        self._folder = folder

    def put(self, knowledge: SiteKnowledge) -> None:
        """Keep what is known of a domain; nobody has asked for it yet."""
        path = self._path(knowledge.domain)
        part = f"{path}.part"
        Path(part).write_text(json.dumps(knowledge.to_json()), encoding="utf-8")
        # A worker that asks meanwhile finds it whole or not at all.
        Path(part).replace(path)

    def get(self, domain: str) -> SiteKnowledge | None:
        """Return what is known of a domain."""
        path = self._path(domain)
        # Not remembered: of domains that nothing is known of there may be very many.
        if not os.path.exists(path):  # noqa: PTH110 (many times faster than a Path)
            return None
        return _recent.get(path, lambda: Path(path).read_text(encoding="utf-8"))

    def put_config(self, domain: str, config: SiteConfig) -> None:
        """Keep what people decided about a domain."""
        Path(self._path(domain, "config")).write_text(json.dumps(config.to_json()), encoding="utf-8")

    def config(self, domain: str) -> SiteConfig | None:
        """Return what people decided about a domain."""
        path = self._path(domain, "config")
        return _read_config(path) if os.path.exists(path) else None  # noqa: PTH110 (many times faster than a Path)

    def _path(self, domain: str, kind: str = "json") -> str:
        # A domain's own name could be too long, or one that Windows keeps to itself.
        return f"{self._folder}/{sha256(domain.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.{kind}"


@lru_cache(maxsize=_CONFIGS_IN_MEMORY)
def _read_config(path: str) -> SiteConfig:
    return SiteConfig.from_json(json.loads(Path(path).read_text(encoding="utf-8")))

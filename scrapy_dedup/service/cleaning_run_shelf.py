"""What is known of each domain, in a folder of a run's own: every process reads what it needs."""

import json
import os
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from scrapy_dedup.service.site_knowledge import SiteKnowledge

# Some 100 kB each. Pages of one domain mostly stand together.
_DOMAINS_IN_MEMORY: Final = 128


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
        return _read(path) if os.path.exists(path) else None  # noqa: PTH110 (many times faster than a Path)

    def _path(self, domain: str) -> str:
        # A domain's own name could be too long, or one that Windows keeps to itself.
        return f"{self._folder}/{sha256(domain.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.json"


@lru_cache(maxsize=_DOMAINS_IN_MEMORY)
def _read(path: str) -> SiteKnowledge:
    return SiteKnowledge.from_json(json.loads(Path(path).read_text(encoding="utf-8")))

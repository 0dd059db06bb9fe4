"""What is known of each domain, as executors find it."""

import json
from functools import lru_cache
from typing import Final

from scrapy_dedup.batch.columns import raw
from scrapy_dedup.batch.lookups import look_up
from scrapy_dedup.core.patterns_config import SiteConfig
from scrapy_dedup.service.site_knowledge import SiteKnowledge

# Some 100 kB each. Pages of one domain mostly stand together.
_DOMAINS_IN_MEMORY: Final = 128


class KnowledgeFile:
    """A lookup file of knowledge by domain; as `Shelf`, for those who did not put it there."""

    def __init__(self, path: str) -> None:
        """Take the file's path on this machine."""
        self._path = path

    def put(self, knowledge: SiteKnowledge) -> None:
        """Refuse: the driver alone writes."""
        raise NotImplementedError(knowledge.domain)

    def get(self, domain: str) -> SiteKnowledge | None:
        """Return what is known of a domain."""
        return _read(self._path, domain)

    def config(self, domain: str) -> SiteConfig | None:  # noqa: ARG002 (as Shelf)
        """Return None: nobody decided anything about a domain of files."""
        return None


@lru_cache(maxsize=_DOMAINS_IN_MEMORY)
def _read(path: str, domain: str) -> SiteKnowledge | None:
    found = look_up(path, [raw(domain)])
    return next((SiteKnowledge.from_json(json.loads(text)) for text in found.values()), None)

"""What is known of each domain, as executors find it."""

from scrapy_dedup.batch.columns import raw
from scrapy_dedup.batch.lookups import look_up
from scrapy_dedup.core.patterns_config import SiteConfig
from scrapy_dedup.service.recent_knowledge import RecentKnowledge
from scrapy_dedup.service.site_knowledge import SiteKnowledge


class KnowledgeFile:
    """A lookup file of knowledge by domain; as `Shelf`, for those who did not put it there."""

    def __init__(self, path: str) -> None:
        """Take the file's path on this machine."""
        self._path = path
        self._recent = RecentKnowledge()

    def put(self, knowledge: SiteKnowledge) -> None:
        """Refuse: the driver alone writes."""
        raise NotImplementedError(knowledge.domain)

    def get(self, domain: str) -> SiteKnowledge | None:
        """Return what is known of a domain."""
        return self._recent.get(domain, lambda: self._text(domain))

    def config(self, domain: str) -> SiteConfig | None:  # noqa: ARG002 (as Shelf)
        """Return None: nobody decided anything about a domain of files."""
        return None

    def _text(self, domain: str) -> str | None:
        return next(iter(look_up(self._path, [raw(domain)]).values()), None)

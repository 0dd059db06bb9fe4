"""What the project's store knows of sites, for `scrapy dedup clean`, which works without a store, too."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from scrapy_dedup.commands.call import Call
from scrapy_dedup.plugin.crawl.store_address import database_url
from scrapy_dedup.service.store_policies import keep_policy
from scrapy_dedup.service.templates.site_knowledge import SiteKnowledge
from scrapy_dedup.service.templates.site_records import site_of, template_record
from scrapy_dedup.store.engine.engines import file_of, parse_url
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore


class CleanKnowledge:
    """A project's, or nobody's."""

    def __init__(self, project: ProjectStore | None) -> None:
        """Take None where there is no store, or it has no such project."""
        self._project = project

    def of(self, domain: str) -> SiteKnowledge | None:
        """Return what is known of a domain, if that is enough to cut any page by."""
        if self._project is None:
            return None
        found = site_of(domain, self._project.templates(domain))
        return found if found and any(one.state == "live" for one in found.templates.values()) else None

    def remember(self, learned: Iterable[SiteKnowledge]) -> None:
        """Write what was learned, a domain in a transaction."""
        assert self._project is not None
        at = datetime.now(UTC)
        for knowledge in learned:
            self._project.write([template_record(knowledge, layout, at) for layout in sorted(knowledge.templates)])


@contextmanager
def opened_knowledge(call: Call, *, remember: bool) -> Iterator[CleanKnowledge]:
    """Give what the store knows; a store and a project are made only where something is to be remembered."""
    url = database_url(call.settings)
    file = file_of(parse_url(url))
    if not remember and file is not None and not file.exists():
        yield CleanKnowledge(None)
        return
    with Store.open(url, timeout=call.settings.database_timeout, create=remember) as store:
        policy = keep_policy(call.settings)
        yield CleanKnowledge(store.project(call.project, policy) if remember else store.find_project(call.project))

"""From what the user chose, and what the store knows, to how much is kept, and which URLs are one page."""

from scrapy_dedup.core.urls.normal_form import UrlRules
from scrapy_dedup.service.policies import crawl_rules
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import KeepPolicy
from scrapy_dedup.store.writer import ProjectStore


def stored_rules(settings: Settings, project: ProjectStore) -> UrlRules:
    """Return which spellings of a URL are one page, as it was at the end of the last crawl; blocks.

    Raises:
        StoreError: the store failed.
    """
    rules = crawl_rules(settings)
    if rules.ignored is not None:
        for one in project.url_parameters():
            if one.ignored:
                rules.ignored.add(one.domain, one.name)
    return rules


def keep_policy(settings: Settings) -> KeepPolicy:
    """Return how much the store keeps."""
    return KeepPolicy(
        pages=settings.keep_pages,
        max_bytes=settings.store_max_bytes or None,
        decisions=settings.keep_decisions,
        visits=settings.keep_visits,
        visits_a_page=settings.keep_visits_a_page,
        extractions=settings.keep_extractions,
        enough_pages=settings.learn_pages,
    )

"""What is known of one domain without a crawl: stored pages are cut by it as a crawl would cut them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from scrapy_dedup.core.metadata import Metadata, metadata_of
from scrapy_dedup.core.patterns_config import get_site_config_with_db_overrides
from scrapy_dedup.core.repeats import Boilerplate
from scrapy_dedup.service.cleaning import Cleaned
from scrapy_dedup.service.learning import knowledge_of
from scrapy_dedup.service.reading import Reading
from scrapy_dedup.service.site_cleaning import cut_page
from scrapy_dedup.service.site_config import stored_config
from scrapy_dedup.service.site_knowledge import SiteKnowledge
from scrapy_dedup.service.site_patterns import SitePatterns, patterns_of, project_config
from scrapy_dedup.service.site_records import site_of
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore


@dataclass(frozen=True, slots=True)
class KnownSite:
    """What is known of one domain."""

    site: SiteKnowledge | None
    boilerplate: Mapping[str, Boilerplate[int]]
    settings: Settings
    patterns: SitePatterns
    is_configured: bool
    """Whether somebody decided something about the site: then pages change also where nothing is learned."""

    @classmethod
    def of(cls, store: Store, project: ProjectStore, domain: str, settings: Settings) -> Self:
        """Return what the store knows, and what people decided.

        Raises:
            StoreError: the store failed.
        """
        config = stored_config(store, project, domain)
        patterns = patterns_of(settings, config, domain)
        boilerplate = {method: knowledge_of(row).boilerplate for method, row in project.knowledge(domain).items()}
        site = site_of(domain, project.templates(domain))
        is_configured = not get_site_config_with_db_overrides(project_config(settings), config).is_empty
        return cls(site, boilerplate, settings, patterns, is_configured)

    def cut(self, reading: Reading) -> tuple[Cleaned, Metadata] | None:
        """Cut a page as a crawl would; None where nothing is known by which that could be done."""
        if reading.method == "template" and reading.page is not None:
            if not (self.is_configured or (self.site is not None and self.site.templates)):
                return None
            found = cut_page(reading.source, reading.page, reading.url, self.site, self.settings, self.patterns)
            return found.cleaned, found.metadata
        boilerplate = self.boilerplate.get(reading.method)
        if boilerplate is None and not self.is_configured:
            return None
        is_text = reading.page is None or reading.method == "text"
        metadata = Metadata() if is_text or reading.page is None else metadata_of(reading.page, reading.url)
        return reading.clean(boilerplate or Boilerplate(), self.settings, patterns=self.patterns), metadata

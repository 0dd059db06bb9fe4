"""What is known of one domain without a crawl: stored pages are cut by it as a crawl would cut them."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from scrapy_dedup.core.boilerplate.repeats import Boilerplate
from scrapy_dedup.core.metadata.choice import Metadata, metadata_of
from scrapy_dedup.core.patterns.config import get_site_config_with_db_overrides
from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.service.cut.cleaning import Cleaned
from scrapy_dedup.service.cut.reading import Reading, read_again
from scrapy_dedup.service.cut.site_cleaning import cut_page
from scrapy_dedup.service.cut.site_patterns import SitePatterns, patterns_of, project_config
from scrapy_dedup.service.learning.learning import knowledge_of
from scrapy_dedup.service.model_file import model_hash
from scrapy_dedup.service.patterns.config import stored_config
from scrapy_dedup.service.policies import url_rules
from scrapy_dedup.service.templates.site_knowledge import SiteKnowledge
from scrapy_dedup.service.templates.site_learning import learn_sample
from scrapy_dedup.service.templates.site_records import changes, site_of
from scrapy_dedup.service.templates.site_sample import SiteSample, learned_page
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import TemplateRecord, TemplateStateRecord
from scrapy_dedup.store.records.stored import StoredSource
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore


class KnownSite(Struct, frozen=True):
    """What is known of one domain."""

    site: SiteKnowledge | None
    boilerplate: Mapping[str, Boilerplate[int]]
    settings: Settings
    patterns: SitePatterns
    is_configured: bool
    """Whether somebody decided something about the site: then pages change also where nothing is learned."""
    changes: tuple[TemplateRecord | TemplateStateRecord, ...] = ()
    """What is to be stored of the site where it was learned anew."""

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

    def learned_anew(self, domain: str, pages: Iterable[StoredSource], at: datetime) -> Self:
        """Return what the present model says of a site whose templates another one made.

        The site stays as it is where the present model made them, and where fewer pages are kept than it was learned
        from.

        Args:
            domain: of the site.
            pages: of it that are kept.
            at: when.
        """
        site = self.site
        if site is None or all(one.model == model_hash() for one in site.templates.values()):
            return self
        sample, rules = SiteSample(self.settings.learn_pages), url_rules(self.settings)
        for source in pages:
            key = page_key(source.url, rules)
            reading = read_again(source, self.settings) if sample.wants(key) else None
            if reading is not None and reading.page is not None:
                sample.add(learned_page(key, source.url, reading.page), reading.source)
        if len(sample) < min(site.pages, sample.most):
            return self
        newer = learn_sample(domain, sample, self.settings).with_snapshots_of(site).with_decisions_of(site)
        return replace(self, site=newer, changes=tuple(changes(site, newer, at)))

    def cut_alone(self, reading: Reading) -> tuple[Cleaned, Metadata] | None:
        """Cut a page by itself, as a crawl that knows nothing of its site; None where it is none of HTML."""
        if reading.method != "template" or reading.page is None:
            return None
        found = cut_page(reading.source, reading.page, reading.url, None, self.settings, self.patterns)
        return found.cleaned, found.metadata

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

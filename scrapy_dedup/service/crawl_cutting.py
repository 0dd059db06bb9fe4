"""How one crawl cuts a page: by what its site shows, and by what people decided about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from scrapy_dedup.core.metadata import Metadata, metadata_of
from scrapy_dedup.core.patterns_config import SiteConfig
from scrapy_dedup.core.repeats import RepeatPolicy
from scrapy_dedup.service.cleaning import Cleaned
from scrapy_dedup.service.drafts import Draft
from scrapy_dedup.service.learning import Learner
from scrapy_dedup.service.reading import Reading
from scrapy_dedup.service.site_patterns import patterns_of
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.stored import StoredBoilerplate
from scrapy_dedup.store.stored_layouts import StoredTemplate
from scrapy_dedup.store.writer import ProjectStore


@dataclass(frozen=True, slots=True)
class Stored:
    """What the store knows of a domain."""

    boilerplate: Mapping[str, StoredBoilerplate] = field(default_factory=dict)
    templates: Sequence[StoredTemplate] = ()
    config: SiteConfig | None = None


def load(store: ProjectStore, domain: str) -> Stored:
    """Ask the store about a domain; blocks, so call it in a thread.

    Raises:
        StoreError: the store failed.
        SiteConfigError: what people decided was changed by hand so that it cannot be read.
    """
    config = store.site_config(domain)
    return Stored(
        store.knowledge(domain),
        store.templates(domain),
        SiteConfig.from_json(config.config) if config is not None else None,
    )


NOTHING_KNOWN = Learner("", "html", RepeatPolicy(), 2)


def cut_draft(draft: Draft, learner: Learner | None, config: SiteConfig | None, settings: Settings) -> Cleaned:
    """Cut a page by what is known of its site now; note its title, date and author."""
    patterns = patterns_of(settings, config, draft.domain)
    if learner is not None and learner.site is not None and draft.page is not None and draft.method != "text":
        draft.cut = learner.site.cut(draft.url, draft.source, draft.page, settings, patterns)
        draft.metadata = draft.cut.metadata
        return draft.cut.cleaned
    if draft.page is not None and draft.method != "text":
        draft.metadata = metadata_of(draft.page, draft.url)
    if draft.pdf is not None:
        draft.metadata = Metadata(draft.pdf.title, draft.pdf.date, draft.pdf.author)
    html = draft.source if draft.page is not None else ""
    reading = Reading(draft.method, draft.page, draft.text, draft.url, html, is_pdf=draft.pdf is not None)
    return reading.clean((learner or NOTHING_KNOWN).boilerplate, settings, patterns=patterns)

"""What another template would change on the stored pages of its layout."""

from collections import Counter
from dataclasses import dataclass, replace

from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.core.patterns.config import SiteConfig
from scrapy_dedup.service.cut.site_cleaning import SiteCut, cut_page
from scrapy_dedup.service.cut.site_patterns import patterns_of
from scrapy_dedup.service.policies import parse_limits
from scrapy_dedup.service.templates.site_records import site_of
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import HTML_FIELDS
from scrapy_dedup.store.records.stored import StoredTemplate
from scrapy_dedup.store.repositories import SourceRepository
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore


@dataclass(frozen=True, slots=True)
class TrialBounds:
    """No more than a person waits for."""

    pages: int = 20
    """That are cut."""
    read: int = 2_000
    """That are looked at: pages of a rare layout are not looked for among all pages."""


@dataclass(frozen=True, slots=True)
class TrialEffect:
    """What changes on one page: texts that would go, and texts that would come back."""

    url: str
    gone: tuple[str, ...]
    back: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TemplateTrial:
    """So many stored pages of the layout were cut both ways; effects are those of pages that differ."""

    pages: int
    effects: tuple[TrialEffect, ...]


def try_template(
    store: Store,
    project: ProjectStore,
    before: StoredTemplate,
    after: StoredTemplate,
    settings: Settings,
    bounds: TrialBounds = TrialBounds(),
) -> TemplateTrial:
    """Cut stored pages of a layout by two templates, as if each were live.

    Args:
        store: to read.
        project: whose pages.
        before: the one template.
        after: the other.
        settings: by which pages are cut.
        bounds: of how many pages.

    Raises:
        StoreError: the store failed.
    """
    others = [one for one in project.templates(before.domain) if one.layout != before.layout]
    old, new = (site_of(before.domain, [*others, replace(one, state="live")]) for one in (before, after))
    if old is None or new is None:
        return TemplateTrial(0, ())
    config = project.site_config(before.domain)
    patterns = patterns_of(settings, SiteConfig.from_json(config.config) if config else None, before.domain)
    pages, effects = 0, []
    with store.session(read_only=True) as session:
        for number, source in enumerate(SourceRepository(session).iterate(project.id, before.domain, bare=True)):
            if pages == bounds.pages or number == bounds.read:
                break
            html = source.content if source.field in HTML_FIELDS else None
            page = parse_page(html, parse_limits(settings)) if html is not None else None
            if html is None or not isinstance(page, Page):
                continue
            was = cut_page(html, page, source.url, old, settings, patterns)
            if was.layout != before.layout:
                continue
            pages += 1
            effect = _effect(source.url, was, cut_page(html, page, source.url, new, settings, patterns))
            if effect.gone or effect.back:
                effects.append(effect)
    return TemplateTrial(pages, tuple(effects))


def _effect(url: str, was: SiteCut, is_now: SiteCut) -> TrialEffect:
    old, new = (Counter((one.path, one.text) for one in found.cleaned.removed) for found in (was, is_now))
    return TrialEffect(
        url, tuple(text for _, text in (new - old).elements()), tuple(text for _, text in (old - new).elements())
    )

"""One page as it goes out where there is no crawl."""

from dataclasses import dataclass
from typing import Any

from scrapy_dedup.core.blocks import Unparsed, parse_page
from scrapy_dedup.core.fingerprints import content_hash, text_hash
from scrapy_dedup.core.metadata import Metadata
from scrapy_dedup.core.urls import extract_domain, page_key
from scrapy_dedup.service.cleaning import Cleaned
from scrapy_dedup.service.policies import parse_limits, url_rules
from scrapy_dedup.service.provenance import hashes_and_removed
from scrapy_dedup.service.site_cleaning import How, cut_page
from scrapy_dedup.service.site_knowledge import REST, SiteKnowledge
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.layout_records import to_digits


@dataclass(frozen=True, slots=True)
class CleanedPage:
    """A page, cleaned."""

    url: str
    page_key: bytes
    domain: str | None
    cleaned: Cleaned
    metadata: Metadata
    how: How
    layout: int = REST
    flag: str | None = None
    """Why it is as it came; None for most."""
    misfit: str = ""

    @property
    def title(self) -> str | None:
        """What the page is called."""
        return self.metadata.title

    @property
    def date(self) -> str | None:
        """When it was published."""
        return self.metadata.date

    @property
    def author(self) -> str | None:
        """Who wrote it."""
        return self.metadata.author

    def report(self) -> dict[str, Any]:
        """Return the field `dedup`: hashes, what cut the page, and what was removed and why."""
        report: dict[str, Any] = {"domain": self.domain, "page_key": self.page_key.hex(), "how": str(self.how)}
        if self.layout != REST:
            report["layout"] = to_digits(self.layout)
        if self.misfit:
            report["misfit"] = self.misfit
        if self.flag:
            report["flag"] = self.flag
        return report | hashes_and_removed(self.cleaned)


def clean_page(html: str, url: str, knowledge: SiteKnowledge | None, settings: Settings) -> CleanedPage:
    """Return a page without what its site repeats; what must not be parsed comes back as it came, and flagged."""
    key, domain = page_key(url, url_rules(settings)), extract_domain(url, settings.domain_scope)
    page = parse_page(html, parse_limits(settings), with_links=False)
    if isinstance(page, Unparsed):
        return CleanedPage(url, key, domain, _as_it_came(html), Metadata(), How.WHOLE, flag=str(page.reason))
    found = cut_page(html, page, url, knowledge, settings)
    return CleanedPage(url, key, domain, found.cleaned, found.metadata, found.how, found.layout, misfit=found.misfit)


def _as_it_came(html: str) -> Cleaned:
    return Cleaned(html, len(html), len(html), [], content_hash(html), text_hash(html))

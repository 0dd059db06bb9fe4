"""One page as it goes out where there is no crawl."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from scrapy_dedup.core.boilerplate.repeats import Boilerplate
from scrapy_dedup.core.metadata import Metadata
from scrapy_dedup.core.pages.blocks import Page, Unparsed, parse_page
from scrapy_dedup.core.pages.fingerprints import content_hash, text_hash, to_digits
from scrapy_dedup.core.urls.normal_form import extract_domain, page_key
from scrapy_dedup.service.cut.cleaning import Cleaned, as_asked, clean_text
from scrapy_dedup.service.cut.site_cleaning import How, cut_page
from scrapy_dedup.service.cut.site_patterns import SitePatterns
from scrapy_dedup.service.pdf.reading import UnreadPdf, pdf_limits, pdf_text, read_pdf
from scrapy_dedup.service.policies import parse_limits, url_rules
from scrapy_dedup.service.templates.site_knowledge import REST, SiteKnowledge
from scrapy_dedup.settings import Settings

if TYPE_CHECKING:
    from scrapy_dedup.core.pdf.text import PdfText


class CleanedPage(Struct, frozen=True):
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
    page: Page | None = None
    """What was parsed."""
    pdf: "PdfText | None" = None
    """What was read of a PDF file."""

    @property
    def is_new(self) -> bool:
        """Whether it is surely met for the first time: no file tells what another had."""
        return True

    @property
    def head_title(self) -> str | None:
        """What it is called, by its head."""
        if self.page is not None:
            return self.page.title
        return self.pdf.title if self.pdf is not None else None

    def report(self, settings: Settings) -> dict[str, Any]:
        """Return the field `dedup`: hashes, what cut the page, and what was removed."""
        report: dict[str, Any] = {"domain": self.domain, "page_key": self.page_key.hex(), "how": str(self.how)}
        if self.layout != REST:
            report["layout"] = to_digits(self.layout)
        if self.misfit:
            report["misfit"] = self.misfit
        if self.flag:
            report["flag"] = self.flag
        if self.pdf is not None:
            report["pdf"] = self.pdf.report
        return report | as_asked(self.cleaned.report, settings)

    def row(self, settings: Settings) -> dict[str, Any]:
        """Return what goes out: `url`, `cleaned_content`, `title`, `date`, `author` and `dedup`."""
        row = uncleaned_row(self.url, self.cleaned.content, self.report(settings))
        return row | {name: getattr(self.metadata, name) for name in ("title", "date", "author")}


def uncleaned_row(url: str, content: str, report: dict[str, Any]) -> dict[str, Any]:
    """Return what goes out of a page of which no more is known."""
    return {"url": url, "cleaned_content": content, "title": None, "date": None, "author": None, "dedup": report}


def clean_pdf(body: bytes, url: str, settings: Settings, patterns: SitePatterns) -> CleanedPage:
    """Return a PDF file without what patterns name; one that gives no text comes back empty, and flagged."""
    key, domain = page_key(url, url_rules(settings)), extract_domain(url, settings.domain_scope)
    pdf = read_pdf(body, pdf_limits(settings))
    if isinstance(pdf, UnreadPdf):
        return CleanedPage(url, key, domain, _as_it_came(""), Metadata(), How.WHOLE, flag=f"pdf: {pdf.reason}")
    rules = None if patterns.keep_pages and patterns.keeps_page(key) else patterns
    nothing: Boilerplate[int] = Boilerplate()
    cleaned = clean_text(pdf_text(pdf, settings), nothing, settings.min_block_chars, patterns=rules, of_pdf=True)
    flag = f"pdf: {', '.join(pdf.flags)}" if pdf.flags else None
    return CleanedPage(
        url, key, domain, cleaned, Metadata(pdf.title, pdf.date, pdf.author), How.WHOLE, flag=flag, pdf=pdf
    )


def clean_page(
    html: str, url: str, knowledge: SiteKnowledge | None, settings: Settings, patterns: SitePatterns | None = None
) -> CleanedPage:
    """Return a page without what its site repeats; what must not be parsed comes back as it came, and flagged."""
    key, domain = page_key(url, url_rules(settings)), extract_domain(url, settings.domain_scope)
    page = parse_page(html, parse_limits(settings), with_links=False)
    if isinstance(page, Unparsed):
        return CleanedPage(url, key, domain, _as_it_came(html), Metadata(), How.WHOLE, flag=str(page.reason))
    if not settings.boilerplate_enabled:
        # As in a crawl: nothing of what repeats is looked for, not even on one page.
        knowledge, settings = None, replace(settings, fallback="whole")
    found = cut_page(html, page, url, knowledge, settings, patterns)
    made = (found.cleaned, found.metadata, found.how, found.layout)
    return CleanedPage(url, key, domain, *made, misfit=found.misfit, page=page)


def _as_it_came(html: str) -> Cleaned:
    return Cleaned(html, len(html), len(html), [], content_hash(html), text_hash(html))

"""A stored page, read again as the crawl read it."""

from dataclasses import replace
from typing import NamedTuple

from msgspec import Struct

from scrapy_dedup.core.boilerplate.repeats import Boilerplate, hash_block, split_into_blocks
from scrapy_dedup.core.pages.blocks import Page, Unparsed, parse_page
from scrapy_dedup.core.pages.fingerprints import from_hex
from scrapy_dedup.core.pages.render import render
from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.service.cut.cleaning import Cleaned, clean_html, clean_text, method_of
from scrapy_dedup.service.cut.site_cleaning import cut_page
from scrapy_dedup.service.cut.site_patterns import SitePatterns, patterns_of
from scrapy_dedup.service.policies import parse_limits, url_rules
from scrapy_dedup.service.templates.site_knowledge import SiteKnowledge
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import HTML_FIELDS, PDF, Method
from scrapy_dedup.store.records.stored import StoredSource


class Located(NamedTuple):
    """A block and where it stands; the path is empty in plain text."""

    fingerprint: int
    path: str
    text: str


class Reading(Struct, frozen=True):
    """A page, and the method by which its blocks are counted."""

    method: Method
    page: Page | None
    """None where the original is no HTML."""
    text: str
    """What the text method works on; empty by the others."""
    url: str
    source: str = ""
    """The HTML; empty where there is none."""
    is_pdf: bool = False
    """The text is that of a PDF file."""

    def blocks(self, min_block_chars: int = 1) -> list[Located]:
        """Return the blocks that are counted, in the order of the page.

        The text method leaves out those shorter than *min_block_chars*.
        """
        if self.method != "text" and self.page is not None:
            return [Located(block.fingerprint, block.path, block.text) for block in self.page.blocks]
        found = split_into_blocks(self.text, min_block_chars)
        return [Located(from_hex(hash_block(block)), "", block) for block in found]

    def clean(
        self,
        boilerplate: Boilerplate[int],
        settings: Settings,
        site: SiteKnowledge | None = None,
        patterns: SitePatterns | None = None,
    ) -> Cleaned:
        """Return the page without its boilerplate, as the crawl would cut it.

        The method `template` cuts by *site*; without it what repeats is left out. *patterns* None: those of the
        settings alone.
        """
        patterns = patterns or patterns_of(settings)
        if site is not None and self.method != "text" and self.page is not None:
            return cut_page(self.source, self.page, self.url, site, settings, patterns).cleaned
        keeps = bool(patterns.keep_pages) and patterns.keeps_page(page_key(self.url, url_rules(settings)))
        nothing: Boilerplate[int] = Boilerplate()
        known, rules = (nothing, None) if keeps else (boilerplate, patterns)
        if self.method == "text" or self.page is None:
            return clean_text(self.text, known, settings.min_block_chars, patterns=rules, of_pdf=self.is_pdf)
        return clean_html(self.page, known, settings.output, self.url, html=self.source, patterns=rules)

    def bytes_removed(self, cleaned: Cleaned) -> int:
        """Return by how many UTF-8 bytes of visible text a cleaned page is shorter."""
        if self.method == "text":
            return _bytes(self.text) - _bytes(cleaned.content)
        return cleaned.bytes_removed


def read_again(source: StoredSource, settings: Settings) -> Reading | None:
    """Return a stored page as the settings ask for it; None where it is not kept, or not to be parsed."""
    if source.content is None:
        return None
    if source.field not in HTML_FIELDS:
        return Reading("text", None, source.content, source.url, is_pdf=source.field == PDF)
    page = parse_page(source.content, parse_limits(settings))
    if isinstance(page, Unparsed):
        return None
    method = method_of(settings, has_html=True)
    text = render(page, [True] * len(page.blocks), settings.output, source.url) if method == "text" else ""
    return Reading(method, page, text, source.url, source.content)


def other_method(settings: Settings) -> Settings:
    """Return the settings by which the blocks of a page of HTML are found otherwise than now."""
    by_text = settings.boilerplate_method == "text"
    return replace(settings, boilerplate_method="auto" if by_text else "text")


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))

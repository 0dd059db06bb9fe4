"""Pages cleaned from Python, without a crawl: one by itself, or with what other pages of its site have taught.

What comes out of a page is what `scrapy dedup clean` writes of it: a dict with `url`, `cleaned_content`, `title`,
`date`, `author` and `dedup`; nothing is compared with other pages, so that none is a duplicate.
"""

from collections.abc import Iterable
from typing import Any

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.urls.normal_form import extract_domain
from scrapy_dedup.service.cut.page_cleaning import clean_page, clean_pdf
from scrapy_dedup.service.cut.site_patterns import patterns_of
from scrapy_dedup.service.files.inputs_records import InputPage, page_of
from scrapy_dedup.service.templates.site_knowledge import SiteSample, learn_sample, sample_page
from scrapy_dedup.settings import Settings


class NoPageError(DedupError):
    """What was given is no page of a site; the message says why."""


class Cleaner:
    """Cleans pages of the sites that it has learned; pages of other sites are judged by themselves."""

    def __init__(self, pages: Iterable[tuple[str, str | bytes]] = (), **settings: Any) -> None:
        """Learn each site from its pages, of which five are enough; they are read once, and not kept.

        Args:
            pages: URL and HTML of each, of one site or of many.
            settings: names of settings without `DEDUP_`, in lower case: `output="text"`, `layers={"chunk": False}`.

        Raises:
            SettingError: there is no such setting, or it does not take this value.
            NoPageError: one is no pair, or a URL has no host.
        """
        self._settings = Settings().override(settings, "")
        samples: dict[str, SiteSample] = {}
        for pair in pages:
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise NoPageError(f"pages are pairs of URL and HTML; not {pair!r:.100}")
            url, html = pair
            page, domain = self._page(url, html)
            if page.pdf is None:
                sample = samples.setdefault(domain, SiteSample(self._settings.learn_pages))
                sample_page(sample, url, page.html, self._settings)
        self._sites = {domain: learn_sample(domain, sample, self._settings) for domain, sample in samples.items()}

    def clean(self, html: str | bytes, url: str) -> dict[str, Any]:
        """Return a page without what its site repeats, with its title, date and author, and why what was removed.

        Args:
            html: of the page; bytes are decoded as its byte order mark or declaration says. Bytes may be a PDF file.
            url: of the page.

        Raises:
            NoPageError: the URL has no host.
        """
        page, domain = self._page(url, html)
        patterns = patterns_of(self._settings, None, domain)
        if page.pdf is not None:
            cleaned = clean_pdf(page.pdf, url, self._settings, patterns)
        else:
            cleaned = clean_page(page.html, url, self._sites.get(domain), self._settings, patterns)
        return cleaned.row(self._settings)

    def _page(self, url: str, html: str | bytes) -> tuple[InputPage, str]:
        if not isinstance(html, str | bytes) or not isinstance(url, str):
            raise NoPageError(
                f"a page is its HTML as str or bytes, and its URL as str; not {html!r:.100} and {url!r:.100}"
            )
        domain = extract_domain(url, self._settings.domain_scope)
        if domain is None:
            raise NoPageError(f"{url[:200]!r} is no URL of a page: it needs http:// or https://, and a host")
        page = InputPage("", url, html) if isinstance(html, str) else page_of("", url, html, "", self._settings)
        if not isinstance(page, InputPage):
            raise NoPageError(page.reason)
        return page, domain


def clean(html: str | bytes, url: str, **settings: Any) -> dict[str, Any]:
    """Clean one page by itself; see `Cleaner.clean`."""
    return Cleaner(**settings).clean(html, url)

"""The dates and titles in a site's sitemaps, and whether they could be read to their end."""

import logging
import re
from collections.abc import Callable
from datetime import datetime

from scrapy import Request
from scrapy.http import Response
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.gz import gunzip, gzip_magic_number

from scrapy_dedup.core.fingerprints import text_hash
from scrapy_dedup.core.sitemaps import DEFAULT_LIMITS, Sitemap, read_sitemap
from scrapy_dedup.core.urls import UrlRules, extract_domain, page_key
from scrapy_dedup.plugin.marks import callback_name
from scrapy_dedup.plugin.sites import Sites
from scrapy_dedup.settings import Settings

logger = logging.getLogger(__name__)

# A date and its key take some 200 bytes; pages beyond this are asked for.
_MOST_DATES = 200_000
_SITEMAP_URL = re.compile(r"sitemap[^/]*\.(?:xml|txt)(?:\.gz)?(?:\?|$)|/sitemap/?$", re.IGNORECASE)
_SITEMAP_CALLBACK = "_parse_sitemap"
_SITEMAP_ROOT = re.compile(rb"<\s*(?:\w+:)?(?:urlset|sitemapindex)\b")
_LOOKED_AT = 2_000


class SitemapDates:
    """Reads what the spider fetches; asks for nothing itself."""

    def __init__(self, sites: Sites, settings: Settings, rules: UrlRules, count: Callable[[str, int], None]) -> None:
        self._sites = sites
        self._scope = settings.domain_scope
        self._keeps_titles = settings.acts("title") and settings.title_trust == "always"
        self._rules = rules
        self._count = count
        self._dates: dict[bytes, datetime] = {}
        self._titles: dict[bytes, bytes] = {}

    def of(self, key: bytes) -> datetime | None:
        """Return what a sitemap of this run says of a page."""
        return self._dates.get(key)

    def title_of(self, key: bytes) -> bytes | None:
        """Return the hash of the title that a sitemap of this run gives a page."""
        return self._titles.get(key)

    def is_wanted(self, request: Request) -> bool:
        """Say whether a request is for a sitemap, as far as it shows before the answer."""
        return callback_name(request) == _SITEMAP_CALLBACK or bool(_SITEMAP_URL.search(request.url))

    def failed(self, request: Request, domain: str) -> None:
        """Note a fetch that gave no page: where it was a sitemap, pages may exist that nobody was told of."""
        if self.is_wanted(request) and not request.url.endswith("/robots.txt"):
            self._sites.of(domain).failed_sitemap = True
            self._count("sitemaps/failed", 1)

    async def read(self, request: Request, response: Response) -> None:
        """Take in a response, if it is a sitemap."""
        if request.url.endswith("/robots.txt") or not self._is_sitemap(request, response):
            return
        sitemap = await run_in_thread(_read, response)
        self._count("sitemaps/read", 1)
        if not sitemap.complete:
            domain = extract_domain(response.url, self._scope) or ""
            self._sites.of(domain).failed_sitemap = True
            self._count("sitemaps/failed", 1)
            why = sitemap.error or "it is too large"
            logger.warning("Sitemap %s was read in part (%s): no page will count as missing", response.url, why)
        for entry in sitemap.pages:
            if entry.lastmod is not None and len(self._dates) < _MOST_DATES:
                self._dates[page_key(entry.url, self._rules)] = entry.lastmod
            if entry.title and self._keeps_titles and len(self._titles) < _MOST_DATES:
                self._titles[page_key(entry.url, self._rules)] = text_hash(entry.title)

    def _is_sitemap(self, request: Request, response: Response) -> bool:
        return self.is_wanted(request) or bool(_SITEMAP_ROOT.search(response.body[:_LOOKED_AT]))


def _read(response: Response) -> Sitemap:
    """Return what a sitemap says; blocks, so call it in a thread."""
    body = response.body
    if gzip_magic_number(response):
        try:
            body = gunzip(body, max_size=DEFAULT_LIMITS.bytes)
        except Exception as error:  # noqa: BLE001 - what is no gzip, is cut off or is a bomb
            return Sitemap(error=f"{type(error).__name__}: {error}"[:200])
    return read_sitemap(body, response.url)

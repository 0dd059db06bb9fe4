"""One fingerprint for all spellings of a page's URL."""

from functools import lru_cache
from typing import Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.utils.misc import build_from_crawler, load_object
from scrapy.utils.request import RequestFingerprinter, RequestFingerprinterProtocol

from scrapy_dedup.core.urls.normal_form import UrlRules, normalize_url, without_trackers
from scrapy_dedup.plugin.crawl.overrides import settings_of, with_request
from scrapy_dedup.plugin.crawl.requests import redirected_from
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.service.policies import learns_parameters, url_rules

# Links repeat from page to page; a fingerprint costs some 60 µs, its memory some 250 bytes.
_REMEMBERED = 20_000


class Fingerprinter:
    """The former fingerprinter, given the URL without tracking parameters.

    What else the normal form of a page key unites is left to the former one: a bare crawl tells it apart, too.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._settings = settings_of(crawler)
        self._enabled = self._settings.enabled and self._settings.acts("url")
        self._own_rules = url_rules(self._settings)
        self._learns = learns_parameters(self._settings)
        former = load_object(self._settings.fallback_request_fingerprinter_class)
        self._former: RequestFingerprinterProtocol = build_from_crawler(former, crawler)
        # Only Scrapy's own is known to look at method, URL and body alone.
        self.is_of_urls_alone = type(self._former) is RequestFingerprinter
        self._of_url = lru_cache(_REMEMBERED)(self._fingerprint_url)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make it from the crawler's settings."""
        return cls(crawler)

    def fingerprint(self, request: Request) -> bytes:
        """Return the former fingerprinter's answer for the page that the request means."""
        meta = request.meta
        if "redirect_urls" in meta and (runtime := Runtime.of_open(self._crawler)) is not None:
            # The duplicate filter asks here before it may drop the target, which nobody would see again.
            runtime.note_redirects(redirected_from(request), request.url)
        if request.method not in ("GET", "HEAD") or not self._is_on(request):
            return self._former.fingerprint(request)
        if self.is_of_urls_alone and request.method == "GET" and not request.body and not meta.get("verbatim_url"):
            return self._of_link(request.url)
        url = request_url(request.url, self._rules())
        return self._former.fingerprint(request if url == request.url else request.replace(url=url))

    def fingerprint_link(self, url: str) -> bytes:
        """Return the fingerprint of a request that has nothing but a URL, without making one."""
        return self._of_link(url) if self._enabled and self.is_of_urls_alone else self.fingerprint(Request(url))

    def _of_link(self, url: str) -> bytes:
        ignored = self._rules().ignored
        return self._of_url(url if ignored is None else ignored.without(url))

    def _rules(self) -> UrlRules:
        """Return what holds for the crawl: parameters that it learns are left out of its fingerprints, too."""
        runtime = Runtime.of_open(self._crawler) if self._learns else None
        return runtime.rules if runtime is not None else self._own_rules

    def _is_on(self, request: Request) -> bool:
        settings = self._settings
        if settings.enabled and "dedup" in request.meta:
            override = with_request(settings, request)
            return override is not None and override.acts("url")
        return self._enabled

    def _fingerprint_url(self, url: str) -> bytes:
        return self._former.fingerprint(Request(request_url(url, self._own_rules)))


def request_url(url: str, rules: UrlRules) -> str:
    """Return the URL by which a request is a repeat of another: without what is known to say nothing of the page."""
    if rules.trailing_slash or rules.index_page:
        # Asked for by name.
        return normalize_url(url, rules)
    url = url if rules.ignored is None else rules.ignored.without(url)
    return without_trackers(url) if rules.tracking_parameters else url

"""Feeds: the pages that RSS, Atom, RDF and JSON feeds name; bounded, for whoever wrote them is unknown."""

import json
from typing import Any, Final
from urllib.parse import urljoin

from scrapy_dedup.core.sitemaps import Entry, Sitemap, SitemapLimits, parse_lastmod, read_sitemap
from scrapy_dedup.core.urls import split_url

FEED_LIMITS: Final = SitemapLimits(bytes=8_000_000, entries=5_000, elements=200_000)
_UTF_8_MARK: Final = b"\xef\xbb\xbf"


def read_feed(body: bytes, url: str, limits: SitemapLimits = FEED_LIMITS) -> Sitemap:
    """Return the pages that a feed names, in order, each once; what is damaged or too large is read as far as it goes.

    Args:
        body: decompressed by the caller, who bounds that.
        url: of the feed; relative URLs in it are relative to it.
        limits: see there.
    """
    start = body[:1_000].removeprefix(_UTF_8_MARK).lstrip()
    if not start.startswith(b"{"):
        # Entities are refused there.
        return read_sitemap(body, url, limits)
    if len(body) > limits.bytes:
        return Sitemap(truncated=True)
    try:
        feed = json.loads(body.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        return Sitemap(error=str(error)[:200] or type(error).__name__)
    return _read_json(feed, url, limits)


def _read_json(feed: Any, url: str, limits: SitemapLimits) -> Sitemap:
    """Read a JSON feed (https://www.jsonfeed.org/version/1.1/), and what others call their list of pages."""
    entries = feed.get("items") if isinstance(feed, dict) else None
    if not isinstance(entries, list):
        return Sitemap(error="neither a sitemap nor a feed")
    pages: dict[str, Entry] = {}
    for entry in entries[: limits.entries]:
        found = _entry(entry, url, limits) if isinstance(entry, dict) else None
        if found is not None:
            pages.setdefault(found.url, found)
    return Sitemap(tuple(pages.values()), truncated=len(entries) > limits.entries)


def _entry(entry: dict[str, Any], base: str, limits: SitemapLimits) -> Entry | None:
    # "id" is often the page's URL, where there is no other.
    named = next((entry[name] for name in ("url", "id") if isinstance(entry.get(name), str) and entry[name]), None)
    if named is None or len(named) > limits.url_chars:
        return None
    try:
        target = urljoin(base, named)
    except ValueError:
        return None
    if split_url(target) is None:
        return None
    dated = entry.get("date_modified") or entry.get("date_published")
    title = entry.get("title")
    return Entry(
        target,
        parse_lastmod(dated) if isinstance(dated, str) else None,
        title[:1_000] if isinstance(title, str) and title else None,
    )

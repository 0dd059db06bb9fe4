"""Where a site says what pages it has: sitemaps that robots.txt names, archives in footers and menus, feeds."""

import json
import re
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

from msgspec import Struct
from selectolax.lexbor import LexborHTMLParser, LexborNode

from scrapy_dedup.core.pages.blocks import parse_tree
from scrapy_dedup.core.pages.guard import ParseLimits, refuse
from scrapy_dedup.core.resilience.sitemaps import Entry, Sitemap, SitemapLimits, parse_lastmod, read_sitemap
from scrapy_dedup.core.urls.normal_form import base_of, split_url, target_of

USUAL_SITEMAPS: Final = ("/sitemap.xml", "/sitemap_index.xml", "/sitemap.xml.gz", "/sitemap.txt", "/wp-sitemap.xml")
_MOST_ROBOTS_BYTES: Final = 512_000
_MOST_SITEMAPS: Final = 100
_MOST_FEEDS: Final = 10
_MOST_ARCHIVES: Final = 50
_LONGEST_LABEL: Final = 60
_SITEMAP_LINE: Final = re.compile(r"^\s*sitemap\s*:\s*(\S+)", re.IGNORECASE)
_FEED_TYPES: Final = frozenset(
    ["application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json"]
)
# What people call a list of all they have, in the languages that the package is tried with.
_ARCHIVE: Final = re.compile(
    r"(?<![^\W\d_])(?:archiv(?:es?|i|io|o|os|um)?|arquivo|archiwum|arkiv|site[ -]?map|site[ -]index|plan du site"
    r"|mapa (?:del sitio|do site|web)|mappa del sito|all (?:posts|articles|pages|news|stories|entries|issues)"
    r"|older (?:posts|entries|articles)|past issues|previous issues|back issues|inhaltsverzeichnis"
    r"|(?:alle|\u00e4ltere) (?:beitr\u00e4ge|artikel|nachrichten)|tous les articles"
    r"|todos los art\u00edculos)(?![^\W\d_])",
    re.IGNORECASE,
)
_REL_NEXT: Final = re.compile(r"rel\s{0,9}=\s{0,9}[\"']?(?:[a-z]{1,20}\s){0,3}next\b", re.IGNORECASE)
_YEAR_OR_MONTH: Final = re.compile(r"/(?:19|20)[0-9]{2}(?:/(?:0?[1-9]|1[0-2]))?/?$")
_CHROME: Final = (
    "nav a[href]", "footer a[href]", "aside a[href]", "header a[href]", "[role=navigation] a[href]",
    "[role=contentinfo] a[href]", "[id*=footer] a[href]", "[class*=footer] a[href]", "[class*=menu] a[href]",
    "[class*=nav] a[href]", "[class*=sidebar] a[href]", "[class*=widget] a[href]",
)  # fmt: skip

FEED_LIMITS: Final = SitemapLimits(bytes=8_000_000, entries=5_000, elements=200_000)
_UTF_8_MARK: Final = b"\xef\xbb\xbf"


class Signposts(Struct, frozen=True):
    """What one page says about where more pages are."""

    archives: tuple[str, ...] = ()
    feeds: tuple[str, ...] = ()
    next_href: str | None = None
    """Of `rel=next`, as it is written."""


def sitemaps_of_robots(body: bytes, url: str) -> list[str]:
    """Return the sitemaps that a robots.txt, which came from *url*, names, each once, in order."""
    found: dict[str, None] = {}
    for line in body[:_MOST_ROBOTS_BYTES].decode("utf-8-sig", "replace").splitlines():
        match = _SITEMAP_LINE.match(line)
        if match is not None and len(found) < _MOST_SITEMAPS and (target := _absolute(match[1], url)) is not None:
            found[target] = None
    return list(found)


def usual_sitemaps(url: str) -> list[str]:
    """Return where a host's sitemap usually is, the likeliest first."""
    parts = urlsplit(url)
    return [f"{parts.scheme}://{parts.netloc}{path}" for path in USUAL_SITEMAPS]


def read_signposts(html: str, url: str, limits: ParseLimits | None = None) -> Signposts:
    """Return what a page says about where more pages are; nothing where it may not be parsed."""
    if refuse(html, limits or ParseLimits()) is not None:
        return Signposts()
    tree = parse_tree(html)
    named = tree.css_first("head base[href]")
    base = base_of(url, named.attributes.get("href") if named is not None else None) or url
    return Signposts(tuple(_archives(tree, base)), tuple(_feeds(tree, base)), _next(tree, base))


def may_have_signposts(html: str) -> bool:
    """Say whether it is worth parsing a page again for what it says of a next part."""
    return _REL_NEXT.search(html) is not None


def _archives(tree: LexborHTMLParser, base: str) -> list[str]:
    found: dict[str, None] = {}
    for node in _once(tree.css(", ".join(_CHROME))):
        target = _target(node, base)
        if target is None or len(found) >= _MOST_ARCHIVES:
            continue
        label = " ".join((node.text(deep=True) or node.attributes.get("title") or "").split())[:_LONGEST_LABEL]
        path = urlsplit(target).path
        if _ARCHIVE.search(label) or _ARCHIVE.search(path.replace("_", " ")) or _YEAR_OR_MONTH.search(path):
            found[target] = None
    return list(found)


def _feeds(tree: LexborHTMLParser, base: str) -> list[str]:
    found: dict[str, None] = {}
    for node in tree.css("link[href][type]"):
        words = (node.attributes.get("rel") or "").lower().split()
        kind = (node.attributes.get("type") or "").partition(";")[0].strip().lower()
        is_feed = kind in _FEED_TYPES or (kind == "application/json" and "alternate" in words)
        target = _target(node, base) if is_feed and "alternate" in words else None
        # WordPress names its interface for programs with the type of a feed.
        if target is not None and "/wp-json/" not in target and len(found) < _MOST_FEEDS:
            found[target] = None
    return list(found)


def _next(tree: LexborHTMLParser, base: str) -> str | None:
    for node in tree.css("link[rel][href], a[rel][href]"):
        if "next" in (node.attributes.get("rel") or "").lower().split() and (target := _target(node, base)) is not None:
            return target
    return None


def _once(nodes: Iterable[LexborNode]) -> Iterable[LexborNode]:
    """Yield nodes that several selectors match once."""
    seen: set[int] = set()
    for node in nodes:
        if node.mem_id not in seen:
            seen.add(node.mem_id)
            yield node


def _target(node: LexborNode, base: str) -> str | None:
    target = target_of(node.attributes.get("href") or "", base)
    return target if target is not None and target.startswith(("http://", "https://")) else None


def _absolute(found: str, base: str) -> str | None:
    try:
        target = urljoin(base, found)
    except ValueError:
        return None
    return target if split_url(target) is not None else None


def read_feed(body: bytes, url: str, limits: SitemapLimits = FEED_LIMITS) -> Sitemap:
    """Return the pages that a feed names, in order, each once; what is damaged or too large is read as far as it goes.

    The caller decompresses the body, and bounds that; relative URLs in it are relative to the feed's.
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

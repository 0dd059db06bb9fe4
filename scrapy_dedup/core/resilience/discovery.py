"""Where a site says what pages it has: sitemaps that robots.txt names, archives in footers and menus, feeds.

All are read within bounds, for whoever wrote them is unknown.
"""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from typing import Any, Final
from urllib.parse import urljoin, urlsplit
from xml.parsers import expat

from msgspec import Struct, field
from selectolax.lexbor import LexborHTMLParser, LexborNode

from scrapy_dedup.core.pages.blocks import parse_tree
from scrapy_dedup.core.pages.guard import ParseLimits, refuse
from scrapy_dedup.core.urls.normal_form import C0_AND_SPACE, base_of, split_url, target_of


class SitemapLimits(Struct, frozen=True):
    """How much is read. The protocol allows 50,000 entries and 52,428,800 bytes; URLs of 2,048 characters."""

    bytes: int = 52_428_800
    entries: int = 50_000
    elements: int = 1_000_000
    """Of XML, whatever they are; a second."""
    depth: int = 50
    names: int = 1_000
    """Different ones, of elements and attributes: a parser keeps them all."""
    url_chars: int = 2_048


DEFAULT_LIMITS: Final = SitemapLimits()


class Entry(Struct, frozen=True):
    """A page that the site names."""

    url: str
    lastmod: datetime | None = None
    title: str | None = None
    """As news sitemaps and feeds give it."""


class Sitemap(Struct, frozen=True):
    """What was read; also of a file that is damaged or too large, up to there."""

    pages: tuple[Entry, ...] = ()
    children: tuple[Entry, ...] = ()
    """Other sitemaps."""
    truncated: bool = False
    """There is more than the limits let in."""
    error: str | None = None
    """Why reading ended early: what is not named here may exist all the same."""

    @property
    def complete(self) -> bool:
        """Whether a page that is not named is not in the sitemap."""
        return not self.truncated and self.error is None


def read_sitemap(body: bytes, url: str, limits: SitemapLimits = DEFAULT_LIMITS) -> Sitemap:
    """Return the pages and sitemaps that a sitemap, an index, a text list, RSS or Atom names, in order, each once.

    The caller decompresses the body, and bounds that; relative URLs in it are relative to the sitemap's.
    """
    reader = _SitemapReader(url, limits)
    too_large = len(body) > limits.bytes
    body = body[: limits.bytes].lstrip(b" \t\r\n\0")
    try:
        if body.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<") or body.startswith(_UTF_16):
            # A declaration must come first, but templates put blank lines before it.
            _parse(body, reader, final=not too_large)
        else:
            _read_lines(body, reader)
    except _FullError:
        return reader.result(truncated=True, error=None)
    except (_RefusedError, expat.ExpatError, ValueError, LookupError) as error:
        return reader.result(truncated=too_large, error=str(error) or type(error).__name__)
    return reader.result(truncated=too_large, error=None if reader.is_sitemap else "neither a sitemap nor a feed")


def parse_lastmod(text: str) -> datetime | None:
    """Return the last instant that a date stands for, aware; None for what is none.

    "2024-05" is all of May: a page that was fetched on the 3rd may have changed since. Forms are those of the W3C
    (https://www.w3.org/TR/NOTE-datetime), with a space for "T" and without a zone (UTC), and those of mail, for RSS.
    """
    text = text.strip(C0_AND_SPACE)[:_MOST_DATE_CHARS]
    match = _W3C.fullmatch(text)
    try:
        return _w3c(match) if match else _aware(parsedate_to_datetime(text))
    except (ValueError, OverflowError, IndexError, TypeError):
        return None


_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
# Older parsers read a tag again from its start with each chunk.
_CHUNK: Final = 65_536
_LONGEST_TAG: Final = 262_144
# A handler that raises is told no more, but its chunk is parsed to the end. What is declared before the first element
# costs its square, and its number for each element: little of it may come along.
_CHUNK_OF_PROLOG: Final = 1_024
_LONGEST_PROLOG: Final = 65_536
_URL_LINE: Final = re.compile(r"^[^\S\n]*+(https?://[^\n ]++) *+$", re.IGNORECASE | re.MULTILINE)
_MOST_DATE_CHARS: Final = 64
_MOST_TITLE_CHARS: Final = 1_000
_W3C: Final = re.compile(
    r"([0-9]{4})(?:-(0[1-9]|1[0-2])(?:-(0[1-9]|[12][0-9]|3[01])"
    r"(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]+))?)?[ ]?(Z|z|[+-][0-9]{2}:?[0-9]{2})?)?)?)?"
)
# By local name of an element and of its parent: prefixes are often undeclared, and image:loc stands in image:image.
_PAGE_URLS: Final = frozenset({("url", "loc"), ("item", "link"), ("entry", "link")})
_CHILD_URLS: Final = frozenset({("sitemap", "loc")})
_DATES: Final = frozenset(
    {("url", "lastmod"), ("sitemap", "lastmod"), ("item", "pubdate"), ("item", "date"), ("entry", "updated")}
)
# An entry's own, and that of a news sitemap, which stands one element deeper.
_NEWS_TITLE: Final = ("news", "title")
_TITLES: Final = frozenset({("item", "title"), ("entry", "title"), _NEWS_TITLE})
_ROOTS: Final = frozenset({"urlset", "sitemapindex", "rss", "rdf", "feed"})
_TEXTS: Final = _PAGE_URLS | _CHILD_URLS | _DATES | (_TITLES - {_NEWS_TITLE})
_RECORDS: Final = frozenset(
    {("channel", "item"), ("rdf", "item"), ("feed", "entry")}
    | {(root, local) for root in ("urlset", "sitemapindex") for local in ("url", "sitemap")}
)


class _FullError(Exception):
    """A limit is reached."""


class _RefusedError(Exception):
    """The file is no sitemap that anybody means."""


class _SitemapReader(Struct):
    """Gathers entries from the events of the parser."""

    url: str
    limits: SitemapLimits
    pages: dict[str, Entry] = field(default_factory=dict)
    children: dict[str, Entry] = field(default_factory=dict)
    is_sitemap: bool = False
    elements: int = 0
    stack: list[str] = field(default_factory=list)
    record: int = 0
    """At which depth an entry is open; what stands deeper than its children belongs to pictures and videos."""
    text: list[str] | None = None
    chars: int = 0
    depth: int = 0
    """At which the element is open whose text is gathered."""
    loc: str = ""
    lastmod: datetime | None = None
    title: str | None = None

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        """Take in a start tag."""
        local = name.rpartition(":")[2].lower()
        if not self.stack and local not in _ROOTS:
            raise _RefusedError(f"root element {name[:40]!r}: neither a sitemap nor a feed")
        self.is_sitemap = True
        self.elements += 1
        if self.elements > self.limits.elements:
            raise _FullError
        if len(self.stack) >= self.limits.depth:
            raise _RefusedError(f"elements are more than {self.limits.depth} deep")
        step = (self.stack[-1] if self.stack else "", local)
        self.stack.append(local)
        if step in _RECORDS and not self.record:
            self.loc, self.lastmod, self.title, self.record = "", None, None, len(self.stack)
        elif (len(self.stack) == self.record + 1 and step in _TEXTS) or (
            self.record and len(self.stack) == self.record + 2 and step == _NEWS_TITLE
        ):
            self.text, self.chars, self.depth = [], 0, len(self.stack)
            if step == ("entry", "link") and attributes.get("rel", "alternate") == "alternate":
                self.loc = self.loc or attributes.get("href", "")

    def characters(self, text: str) -> None:
        """Take in text; CDATA comes like any other."""
        if self.text is not None and self.chars <= self.limits.url_chars:
            self.text.append(text)
            self.chars += len(text)

    def end(self, _name: str) -> None:
        """Take in an end tag."""
        local = self.stack.pop()
        if self.text is not None and len(self.stack) + 1 == self.depth:
            text, self.text = "".join(self.text).strip(), None
            if (self.stack[-1], local) in _DATES:
                self.lastmod = parse_lastmod(text) or self.lastmod
            elif (self.stack[-1], local) in _TITLES:
                self.title = self.title or text[:_MOST_TITLE_CHARS] or None
            else:
                self.loc = self.loc or text
        elif len(self.stack) + 1 == self.record:
            self.record = 0
            self.add(self.loc, self.children if local == "sitemap" else self.pages)

    def doctype(self, _name: str, _system: str | None, _public: str | None, has_subset: int) -> None:
        """Refuse declarations: entities can be larger than memory and name files, attributes come with each element."""
        if has_subset:
            raise _RefusedError("declares entities or attributes")

    def add(self, loc: str, entries: dict[str, Entry]) -> None:
        """Add an entry, if it is one; of equal URLs the latest date counts, and the first title."""
        if not 0 < len(loc) <= self.limits.url_chars:
            return
        try:
            found = urljoin(self.url, loc)
        except ValueError:
            return
        if split_url(found) is None:
            return
        known = entries.get(found)
        if known is None and len(self.pages) + len(self.children) >= self.limits.entries:
            raise _FullError
        dates = [date for date in (self.lastmod, known.lastmod if known else None) if date]
        title = known.title if known is not None and known.title else self.title
        entries[found] = Entry(found, max(dates, default=None), title)

    def result(self, *, truncated: bool, error: str | None) -> Sitemap:
        """Return what was gathered."""
        return Sitemap(tuple(self.pages.values()), tuple(self.children.values()), truncated, error)


def _parse(body: bytes, reader: _SitemapReader, *, final: bool) -> None:
    names: dict[str, str] = {}
    parser = expat.ParserCreate(intern=names)
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.characters
    parser.StartDoctypeDeclHandler = reader.doctype
    start = 0
    while start < len(body):
        end = start + (_CHUNK if reader.is_sitemap else _CHUNK_OF_PROLOG)
        parser.Parse(body[start:end], False)
        start = end
        if not reader.is_sitemap and start >= _LONGEST_PROLOG:
            raise _RefusedError(f"no element in its first {_LONGEST_PROLOG} bytes")
        if start - parser.CurrentByteIndex > _LONGEST_TAG:
            raise _RefusedError(f"a tag or a comment is longer than {_LONGEST_TAG} bytes")
        if len(names) > reader.limits.names:
            raise _RefusedError(f"elements and attributes have more than {reader.limits.names} names")
    if final:
        parser.Parse(b"", True)


def _read_lines(body: bytes, reader: _SitemapReader) -> None:
    """Take in a text list: one URL a line."""
    for line in _URL_LINE.finditer(body.decode("utf-8-sig", "replace").replace("\r", "\n")):
        reader.is_sitemap = True
        reader.add(line[1].rstrip(), reader.pages)


def _w3c(match: re.Match[str]) -> datetime:
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    if hour is None:
        # The first instant of the year, month or day that follows, less the smallest step.
        return _following(int(year), int(month or 0), int(day or 0)) - timedelta(microseconds=1)
    micros = int((fraction or "0")[:6].ljust(6, "0"))
    # A leap second is the next minute's first.
    leap = second == "60"
    at = datetime(
        int(year), int(month), int(day), int(hour), int(minute), 59 if leap else int(second or 0), micros, _zone(zone)
    )
    return (at + timedelta(seconds=1) if leap else at).astimezone(UTC)


def _following(year: int, month: int, day: int) -> datetime:
    """Return the first instant after a year, month or day; those not given are 0, the year is."""
    if day:
        return datetime(year, month, day, tzinfo=UTC) + timedelta(days=1)
    if month:
        return (datetime(year, month, 1, tzinfo=UTC) + timedelta(days=31)).replace(day=1)
    return datetime(year + 1, 1, 1, tzinfo=UTC)


def _zone(zone: str | None) -> timezone:
    if zone is None or zone in "Zz":
        return UTC
    sign = -1 if zone[0] == "-" else 1
    return timezone(sign * timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:])))


def _aware(at: datetime) -> datetime:
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)


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

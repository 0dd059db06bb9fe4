"""Which URLs are one page: normal form, page_key and domain of a URL; and where a page's links lead.

Costs of a mistake differ: a parameter kept too much fetches a page twice and later layers find it out; a
parameter dropped too much loses a page for good. Where it is not certain that a difference means nothing, it stays.

A "parameter" that may carry nothing is one of the query, a named one of the path (";sid=4f2a"), or a step of the path
that looks made up, known by its place ("/@1" is the second step).
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from ipaddress import IPv6Address
from operator import itemgetter
from typing import Final, Literal, NamedTuple
from urllib.parse import quote, urljoin

from tldextract import TLDExtract
from w3lib.url import safe_url_string

_ANY_HOST: Final = re.compile(r"https?://(?:[^/?#@]*@)?([^/?#]+)", re.IGNORECASE)
_TOKEN: Final = re.compile(
    # Letters and digits that change places more than once: "4f2a9c", not "product17".
    r"(?:[A-Za-z]{1,4}[_.=-])?\(?(?=[0-9]*+[A-Za-z]++[0-9]++[A-Za-z]|[A-Za-z]*+[0-9]++[A-Za-z]++[0-9])"
    r"(?:[A-Za-z0-9]{8,}|[0-9a-f]{6,})\)?"
    r"|[A-Z]{8,}|[0-9]{8,}|[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
    # Base64 as it stands in URLs.
    r"|(?=[^A-Z]*+[A-Z])(?=[^a-z]*+[a-z])(?=[^0-9]*+[0-9])[A-Za-z0-9_-]{16,}"
)
_LONGEST_TOKEN: Final = 300
_STEP: Final = "/@"
_MOST_STEPS: Final = 12
_MOST_NAMES: Final = 64
"""Of one URL; hostile links have as many as they like."""


def is_token(value: str) -> bool:
    """Say whether a value looks like what a program makes up: an id of a session, a number of many digits."""
    return len(value) <= _LONGEST_TOKEN and _TOKEN.fullmatch(value) is not None


def host_of(url: str) -> str:
    """Return host and port as they stand in a URL, in lower case; empty where there is none."""
    match = _ANY_HOST.match(url)
    return match[1].lower() if match else ""


def names_in(url: str) -> list[str]:
    """Return the parameters of a URL, each once, in order."""
    path, query = _path_and_query(url)
    steps = path.split("/")[1:]
    names = [one.partition("=")[0] for step in steps for one in _named(step)]
    names += [f"{_STEP}{at}" for at, step in enumerate(steps[:_MOST_STEPS]) if is_token(step)]
    names += [pair.partition("=")[0] for pair in query.split("&") if pair]
    return list(dict.fromkeys(names))[:_MOST_NAMES]


def values_in(url: str, names: Collection[str]) -> list[str]:
    """Return the values of some parameters of a URL."""
    path, query = _path_and_query(url)
    steps = path.split("/")[1:]
    found = [pair.partition("=")[2] for pair in query.split("&") if pair.partition("=")[0] in names]
    found += [one.partition("=")[2] for step in steps for one in _named(step) if one.partition("=")[0] in names]
    return found + [step for at, step in enumerate(steps[:_MOST_STEPS]) if f"{_STEP}{at}" in names]


def without(url: str, names: Collection[str]) -> str:
    """Return a URL without some of its parameters; the same object where it has none of them."""
    head, mark, fragment = url.partition("#")
    start, query_mark, query = head.partition("?")
    kept = "&".join(pair for pair in query.split("&") if pair.partition("=")[0] not in names)
    host_end = start.find("/", start.find("//") + 2)
    if host_end >= 0 and any(name.startswith((_STEP, ";")) for name in names):
        start = start[:host_end] + _path_without(start[host_end:], names)
    result = start + (query_mark + kept if kept or not query else "") + mark + fragment
    return url if result == url else result


class IgnoredParameters:
    """By host, the parameters that are left out of page keys. One object for all who make keys in a crawl."""

    __slots__ = ("_names",)

    def __init__(self) -> None:
        self._names: dict[str, frozenset[str]] = {}

    def of(self, host: str) -> frozenset[str]:
        """Return the names for a host."""
        return self._names.get(host, frozenset())

    def add(self, host: str, name: str) -> None:
        """Leave a parameter out from now on."""
        self._names[host] = self.of(host) | {name}

    def remove(self, host: str, name: str) -> None:
        """Leave it in again."""
        self._names[host] = self.of(host) - {name}

    def without(self, url: str) -> str:
        """Return a URL without the parameters that are ignored on its host."""
        names = self._names.get(host_of(url)) if self._names else None
        return without(url, names) if names else url


def _path_and_query(url: str) -> tuple[str, str]:
    start, _, query = url.partition("#")[0].partition("?")
    host_end = start.find("/", start.find("//") + 2)
    return (start[host_end:] if host_end >= 0 else "/"), query


def _named(step: str) -> list[str]:
    """Return the parameters of a step: ";name=value" each."""
    return [f";{one}" for one in step.split(";")[1:] if one]


def _path_without(path: str, names: Collection[str]) -> str:
    kept = [""]
    for at, step in enumerate(path.split("/")[1:]):
        if f"{_STEP}{at}" in names and is_token(step):
            continue
        named = [one for one in _named(step) if one.partition("=")[0] not in names]
        kept.append(step.partition(";")[0] + "".join(named))
    return "/".join(kept) if len(kept) > 1 else "/"


DomainScope = Literal["host", "registrable"]

# Names that begin so say who came from where, and nothing about the page: families of campaign parameters and of click
# ids, from the query stripping lists of Firefox and Brave and the manuals of Google, Matomo, Mailchimp, MailerLite,
# Marketo, Olytics, Vero and Yandex. Words such as "ref", "source", "cid" or "session" tell pages apart on other sites
# and stay. tests/data/urls/parameters.json shows what this decides.
_FAMILIES: Final = (
    *("utm_", "mtm_", "itm_", "ga_", "gs_", "mc_", "mkt_", "ml_", "oly_", "vero_"),
    *("dclid", "fbclid", "gclid", "twclid", "yclid", "ysclid", "msclkid", "gbraid", "wbraid", "igshid", "clickid"),
    *("xtor",),
)
# Single marks of products, from the same lists.
_PRODUCTS: Final = frozenset(
    [
        *("_ga", "_gl", "gad_campaignid", "gad_source", "gclsrc", "srsltid"),
        *("__hsfp", "__hssc", "__hstc", "_hsenc", "_hsmi", "hsctatracking"),
        *("pk_campaign", "pk_cid", "pk_content", "pk_keyword", "pk_kwd", "pk_medium", "pk_source"),
        *("__s", "_branch_match_id", "_kx", "_openstat", "epik", "igsh", "irclickid", "li_fat_id", "rb_clickid"),
        *("rdt_cid", "s_cid", "s_kwcid", "ttclid", "wickedid"),
    ]
)
# PHP and Java put these into links for visitors without cookies: every visit a new URL for the same page.
_SESSIONS: Final = frozenset(["phpsessid", "jsessionid"])

# All names and words that matter are shorter; the rest of a longer name cannot make it a tracker.
_NAME_CHARS: Final = 64


@dataclass(frozen=True, slots=True)
class UrlRules:
    """What may differ between two URLs of one page; True means the difference is ignored.

    Always ignored: case of scheme and host, a host's final dot, default ports, dot segments, spelling of escapes
    and of international names, an empty query. Never: www, http against https, case and double slashes of the path.

    Attributes:
        fragment: everything from "#"; a hashbang ("#!") names a page and stays.
        query_order: parameters come in any order; values of one repeated name keep theirs.
        tracking_parameters: parameters that tell who came or from where, and session ids.
        trailing_slash: "/a/" is "/a".
        index_page: "/a/index.html" is "/a/", see INDEX_PAGES.
        ignored: parameters of some hosts that were found to change nothing. It may grow while a crawl runs; what is
            remembered of normal forms is of URLs without them.
    """

    fragment: bool = True
    query_order: bool = True
    tracking_parameters: bool = True
    trailing_slash: bool = False
    index_page: bool = False
    ignored: IgnoredParameters | None = field(default=None, compare=False, repr=False)


DEFAULT_RULES: Final = UrlRules()
# For questions about a URL, however its site spells directories; not for keys.
LOOSE_RULES: Final = UrlRules(trailing_slash=True, index_page=True)

INDEX_PAGES: Final = frozenset(
    [f"index.{suffix}" for suffix in ("html", "htm", "xhtml", "shtml", "php", "asp", "aspx", "jsp", "cgi")]
    + [f"default.{suffix}" for suffix in ("html", "htm", "asp", "aspx")]
)

# What Java puts into links for visitors without cookies; the same as a parameter is in _SESSIONS.
_SESSION_IN_PATH: Final = re.compile(r";jsessionid=[^/;]*+", re.IGNORECASE)

# URLs that are their own normal form under the default rules, told in 0.4 µs instead of 6 (a property test compares).
# No escape, query, fragment, path parameter, dot segment, default port; the path is not empty.
_PLAIN: Final = re.compile(
    r"https?://[a-z0-9_-]++(?:\.[a-z0-9_-]++)*+(?::(?!80/|443/)[1-9][0-9]{1,4})?+"
    r"(?:/|(?:/[A-Za-z0-9_~!$&'()*+,:=@-][A-Za-z0-9._~!$&'()*+,:=@-]*+)++/?)"
)
_URL: Final = re.compile(
    r"(https?)://(?:([^/?#]*)@)?(\[[0-9A-Fa-f:.]*\]|[^/?#@:\[\]]*)(?::([0-9]*))?(/[^?#]*)?(?:\?([^#]*))?(?:#(.*))?",
    re.DOTALL,
)
_HOST: Final = re.compile(r"(?=.{1,253}\Z)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_IPV4: Final = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}")
_DEFAULT_PORT: Final = {"http": "80", "https": "443"}
# What browsers strip from a URL (URL living standard); str.strip() alone would take more.
C0_AND_SPACE: Final = "".join(map(chr, range(0x21)))

# Servers refuse far shorter ones (RFC 9110 asks for 8,000), and IDNA takes a host in quadratic time.
_MAX_URL_CHARS: Final = 65_536
# 8,192 remembered URLs of a usual site are 2 MB, of the longest ones 36 MB.
_REMEMBERED_CHARS: Final = 2_048
_REMEMBERED_URLS: Final = 8_192


class UrlParts(NamedTuple):
    """A URL taken to pieces: ASCII, scheme http or https, host normal, path not empty, port empty for the default."""

    scheme: str
    userinfo: str
    host: str
    port: str
    path: str
    query: str
    fragment: str

    @property
    def authority(self) -> str:
        """User, host and port as they stand in a URL."""
        user = f"{self.userinfo}@" if self.userinfo.strip(":") else ""
        return f"{user}{self.host}:{self.port}" if self.port else user + self.host


def normalize_url(url: str, rules: UrlRules = DEFAULT_RULES) -> str:
    """Return the normal form of a URL: equal for all URLs of one page as far as *rules* can tell.

    Idempotent, and never raises: what is no valid http(s) URL comes back stripped. The normal form is a key, not an
    address to ask for: fetch the URL that was found.
    """
    if rules.ignored is not None:
        url = rules.ignored.without(url)
    if _PLAIN.fullmatch(url) and not (rules.trailing_slash or rules.index_page):
        return url
    if len(url) > _REMEMBERED_CHARS:
        return _normal_form(url, rules)
    # A text that lxml found holds the document that it is from.
    return _remembered_normal_form(str(url), rules)


def without_trackers(url: str) -> str:
    """Return a URL without its tracking parameters and session ids, else as it is spelled; itself where it has none.

    For whoever asks whether two requests are one: the normal form may unite what a site or a filter tells apart.
    """
    head, mark, fragment = url.partition("#")
    path, question, query = head.partition("?")
    fields = query.split("&") if query else []
    kept = [one for one in fields if not is_tracker(_respelled(one.partition("=")[0], _QUERY_SPELLING))]
    bare = _SESSION_IN_PATH.sub("", path) if ";" in path else path
    if len(kept) == len(fields) and bare == path:
        return url
    return "".join((bare, question if kept else "", "&".join(kept), mark, fragment))


def page_key(url: str, rules: UrlRules = DEFAULT_RULES) -> bytes:
    """Return the 16 bytes that stand for a page everywhere: BLAKE2b of the normal form.

    128 bits: among 10 billion pages the odds of one false match are near 1e-19 (birthday bound n²/2¹²⁹).
    """
    # surrogatepass: a lone surrogate can stand in a str that is no URL.
    return blake2b(normalize_url(url, rules).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def extract_domain(url: str, scope: DomainScope = "host") -> str | None:
    """Return the domain whose knowledge applies to a URL; None where there is no valid http(s) URL.

    The port is part of it for IP addresses and localhost only ("127.0.0.1:8000", "[::1]:8000"): there each port
    is a site of its own. A host without registrable domain ("intranet", "github.io") is its own.
    """
    return _domain_of(url, scope) if len(url) > _REMEMBERED_CHARS else _remembered_domain(str(url), scope)


def _domain_of(url: str, scope: DomainScope) -> str | None:
    parts = split_url(url)
    if parts is None:
        return None
    if _is_address(parts.host):
        return f"{parts.host}:{parts.port}" if parts.port else parts.host
    return _registrable(parts.host) if scope == "registrable" else parts.host


_remembered_domain = lru_cache(maxsize=4_096)(_domain_of)


def same_site(one: str, other: str) -> bool:
    """Whether two URLs have one registrable domain; IP addresses and localhost are compared with their ports."""
    domain = extract_domain(one, "registrable")
    return domain is not None and domain == extract_domain(other, "registrable")


def is_home(url: str) -> bool:
    """Whether a URL is the root of its site, however the site spells that."""
    parts = split_url(normalize_url(url, LOOSE_RULES))
    return parts is not None and parts.path == "/" and not parts.query


def is_public_suffix(host: str) -> bool:
    """Whether different owners have names below this one, which is nobody's own site ("co.uk", "github.io")."""
    return _suffixes(host).suffix == host


def split_url(url: str) -> UrlParts | None:
    """Return the parts of an absolute http(s) URL, made safe by w3lib; None for all else and what is endless."""
    if len(url) > _MAX_URL_CHARS:
        return None
    try:
        # As bytes, w3lib escapes lone surrogates; as text, it raises.
        safe = safe_url_string(url if url.isascii() else url.encode("utf-8", "surrogatepass"))
        match = _URL.fullmatch(safe)
        if match is None:
            return None
        scheme, userinfo, host, port, path, query, fragment = match.groups(default="")
        port = "" if port == _DEFAULT_PORT[scheme] else port
        return UrlParts(scheme, userinfo, _normal_host(host), port, path or "/", query, fragment)
    except ValueError:  # port, brackets, international name, host
        return None


def _normal_form(url: str, rules: UrlRules) -> str:
    parts = split_url(url)
    if parts is None:
        return url.strip(C0_AND_SPACE)
    query = _normal_query(parts.query, rules)
    fragment = parts.fragment
    if rules.fragment and not fragment.startswith("!"):
        fragment = ""
    return "".join((
        parts.scheme,
        "://",
        parts.authority,
        _normal_path(parts.path, rules),
        f"?{query}" if query else "",
        f"#{_respelled(fragment, _PATH_SPELLING)}" if fragment else "",
    ))  # fmt: skip


_remembered_normal_form = lru_cache(maxsize=_REMEMBERED_URLS)(_normal_form)


def _normal_host(host: str) -> str:
    host = host.lower().removesuffix(".")
    if host.startswith("["):
        return f"[{IPv6Address(host[1:-1]).compressed}]"
    if _HOST.fullmatch(host) is None:
        raise ValueError(host)
    return host


def _normal_path(path: str, rules: UrlRules) -> str:
    if rules.tracking_parameters and ";" in path:
        path = _SESSION_IN_PATH.sub("", path)
    path = _without_dot_segments(_respelled(path, _PATH_SPELLING))
    if not (rules.trailing_slash or rules.index_page):
        return path
    segments = path.split("/")
    ignored = INDEX_PAGES if rules.index_page else frozenset[str]()
    if not rules.trailing_slash:
        segments[-1] = "" if segments[-1].lower() in ignored else segments[-1]
    while rules.trailing_slash and len(segments) > 1 and (segments[-1] == "" or segments[-1].lower() in ignored):
        segments.pop()
    return "/".join(segments) or "/"


def _without_dot_segments(path: str) -> str:
    """Return an absolute path without "." and ".." (RFC 3986, 5.2.4); not posixpath, which folds "//"."""
    if "/." not in path:
        return path
    kept: list[str] = []
    segments = path.split("/")[1:]
    for segment in segments:
        if segment not in (".", ".."):
            kept.append(segment)
        elif segment == ".." and kept:
            kept.pop()
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept)


def _normal_query(query: str, rules: UrlRules) -> str:
    """Return the query with each part spelled in one way.

    A name without "=" and one with an empty value stay two things, as do ";" and its escape.
    """
    if not query:
        return ""
    fields = [
        (_respelled(name, _QUERY_SPELLING), equals, _respelled(value, _QUERY_SPELLING).replace("%3D", "="))
        for name, equals, value in (field.partition("=") for field in query.split("&") if field)
    ]
    if rules.tracking_parameters:
        fields = [field for field in fields if not is_tracker(field[0])]
    if rules.query_order:
        fields.sort(key=itemgetter(0))  # stable: what a repeated name means depends on the order of its values
    return "&".join(map("".join, fields))


_ESCAPE: Final = re.compile(r"%(?:[0-9A-Fa-f]{2})?")


def _spelling(literal: str) -> dict[str, str]:
    """Return the one spelling of each escape, in either case: the character itself if in *literal*, else upper case.

    A bare "%" becomes "%25", else "%%34%31" would unfold to an escape that a second pass unfolds again.
    """
    one_way = {"%": "%25"}
    for byte in range(256):
        escape = f"%{byte:02X}"
        spelled = chr(byte) if chr(byte) in literal else escape
        for high in {escape[1], escape[1].lower()}:
            one_way[f"%{high}{escape[2]}"] = one_way[f"%{high}{escape[2].lower()}"] = spelled
    return one_way


_UNRESERVED: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
# Escaped or not means the same to servers, except where a character delimits: "/", ";", "?", "#", "%" in a path,
# "&", "=", "+", ";" in a query. RFC 3986 says so for the unreserved only, but "Foo_(bar)" and
# "Foo_%28bar%29" are one page everywhere, and Scrapy's own fingerprint unites them.
_PATH_SPELLING: Final = _spelling(_UNRESERVED + "!$&'()*+,:=@")
_QUERY_SPELLING: Final = {**_spelling(_UNRESERVED + "!$()*,/:?@"), "%20": "+"}


def _respelled(text: str, spelling: Mapping[str, str]) -> str:
    if "%" not in text:
        return text
    return _ESCAPE.sub(lambda escape: spelling[escape[0]], text)


# The snapshot that tldextract ships: no network, no files. Private suffixes count (github.io, blogspot.com): their
# subdomains belong to different owners and designs, and a canonical link must not lead from one to another.
_suffixes = TLDExtract(cache_dir=None, suffix_list_urls=(), include_psl_private_domains=True)


@lru_cache(maxsize=4_096)
def _registrable(host: str) -> str:
    found = _suffixes(host)
    return f"{found.domain}.{found.suffix}" if found.domain and found.suffix else host


def _is_address(host: str) -> bool:
    local = host == "localhost" or host.endswith(".localhost")
    return local or host.startswith("[") or _IPV4.fullmatch(host) is not None


def is_tracker(name: str) -> bool:
    """Whether a query parameter of this (decoded) name says nothing about the page; case does not matter."""
    name = name[:_NAME_CHARS].lower()
    return name in _PRODUCTS or name in _SESSIONS or name.startswith(_FAMILIES)


# What a page may lead to. Others run something, hold something or open a program.
_SCHEMES = frozenset({"http", "https", "mailto", "tel", "ftp"})
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
# Browsers leave these out of addresses: "java\nscript:" is a scheme.
_IGNORED_IN_LINKS = re.compile(r"[\t\n\r]|^[\x00-\x20]+|[\x00-\x20]+$")
_UNSAFE_IN_LINKS = re.compile(r"[\x00-\x20<>\"`\\^{|}\x7f\ud800-\udfff]")
_LONGEST_LINK = 4_000


def base_of(base_url: str | None, base: str | None) -> str | None:
    """Return the address to which relative links are relative: a page may name another than its own."""
    if not base_url:
        return None
    named = target_of(base, base_url) if base else None
    return named if named and named.startswith(("http://", "https://")) else base_url


def target_of(href: str, base_url: str | None) -> str | None:
    """Return where a link leads; None where following it would run or hold something, or it is no address."""
    if len(href) > _LONGEST_LINK:
        return None
    target = _IGNORED_IN_LINKS.sub("", href)
    if base_url:
        try:
            target = urljoin(base_url, target)
        except ValueError:
            return None
    scheme = _SCHEME.match(target)
    if scheme and scheme[1].lower() not in _SCHEMES:
        return None
    return _UNSAFE_IN_LINKS.sub(lambda found: quote(found[0], errors="replace"), target)


def pages_linked(hrefs: Iterable[str], base_url: str) -> list[str]:
    """Return the http(s) addresses that links lead to, each once, in order."""
    targets = (target_of(href, base_url) for href in dict.fromkeys(hrefs))
    return list(dict.fromkeys(one for one in targets if one and one.startswith(("http://", "https://"))))

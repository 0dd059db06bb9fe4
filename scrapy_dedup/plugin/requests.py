"""What stands in a request's meta, and by which way a site's pages came.

Spiders hand meta on (`meta=response.meta`), so that a new request may carry another one's redirects and retries. Who
reaches a site by a proxy does not show it another address, and who logs in is not answered as a stranger: what is asked
for because of a page takes its way, too.
"""

import logging
from base64 import b64decode
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlsplit

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.settings import BaseSettings

from scrapy_dedup.core.recrawl.values import Unkeepable, encode
from scrapy_dedup.core.urls.seen import Latest
from scrapy_dedup.store.engine.codec import to_json

logger = logging.getLogger(__name__)

READMITTED = "dedup_readmitted"
"""Let past the duplicate filter after a kill."""
_OLD_REDIRECTS = "dedup_old_redirects"
"""So many of the first redirect_urls are another request's."""
LINEAGE = "dedup_lineage"
"""By which kinds of URLs a request was come by, for traps."""
LEFT_OUT = "dedup-left-out"
"""The flag of a response that stands for a page which is not asked for."""
LEASE = "dedup_lease"
"""The token by which a request of a shared queue is given back."""
PARENT = "dedup_parent"
"""The key of the page whose callback yielded a request, in hexadecimal digits."""
LENT_URL = "dedup_lent_url"
"""The URL of that request: one that has another is a redirect of it, not a retry."""
OURS = frozenset({LEASE, LENT_URL, LINEAGE, PARENT, READMITTED, _OLD_REDIRECTS})

# What Scrapy's own parts put into meta, and what says how a page is fetched, not what it is.
OF_SCRAPY: Final = frozenset(
    """allow_offsite autothrottle_dont_adjust_delay bindaddress dedup depth dont_cache dont_merge_cookies
    dont_obey_robotstxt dont_redirect dont_retry download_fail_on_dataloss download_latency download_maxsize
    download_slot download_timeout download_warnsize ftp_password ftp_user give_up_log_level handle_httpstatus_all
    handle_httpstatus_list is_start_request max_retry_times proxy redirect_reasons redirect_times redirect_ttl
    redirect_urls referrer_policy retry_reasons retry_times _auth_proxy""".split()
)


def mark_new(request: Request) -> None:
    """Note what a request had when a callback yielded it: that is another request's; what comes later is its own."""
    meta = request.meta
    if "redirect_urls" in meta:
        meta[_OLD_REDIRECTS] = len(meta["redirect_urls"])
    meta.pop(READMITTED, None)


def redirected_from(request: Request) -> tuple[str, ...]:
    """Return the URLs that led to a request by redirects."""
    if "redirect_urls" not in request.meta:
        return ()
    return tuple(request.meta["redirect_urls"][request.meta.get(_OLD_REDIRECTS, 0) :])


def parent_of(request: Request) -> bytes | None:
    """Return the key of the page that led to a request; None where none did, or it is not known."""
    found = request.meta.get(PARENT)
    return bytes.fromhex(found) if found else None


def note_parent(request: Request, response: Response, page_key: bytes | None) -> None:
    """Note which page led to a request that a callback yields; None: nothing is known of that page.

    Who asks for the same page again is led by whoever led there first.
    """
    asked = response.request
    if asked is not None and request.url in (response.url, asked.url):
        parent = asked.meta.get(PARENT)
    else:
        parent = page_key.hex() if page_key is not None else None
    if parent is not None:
        request.meta[PARENT] = parent
    elif PARENT in request.meta:
        del request.meta[PARENT]


def callback_name(request: Request) -> str:
    """Return by whom a response is read; callbacks without a name are known by their kind."""
    callback: Any = request.callback
    if callback is None:
        return "parse"
    return str(getattr(callback, "__name__", type(callback).__name__))


class MethodNames:
    """Names of a spider's methods, without a look at all of its properties, as Scrapy takes it for each request."""

    def __init__(self, spider: Spider) -> None:
        self._spider = spider
        self._known: dict[Any, str] = {}

    def of(self, method: Any) -> str | None:
        """Return a method's name, None where there is none.

        Raises:
            LookupError: it is no method of the spider, or not under its own name.
        """
        if method is None:
            return None
        function = getattr(method, "__func__", None)
        if function is None or method.__self__ is not self._spider:
            raise LookupError
        if function not in self._known:
            name = getattr(function, "__name__", "")
            found = getattr(getattr(self._spider, name, None), "__func__", None)
            self._known[function] = name if found is function else ""
        if not self._known[function]:
            raise LookupError
        return self._known[function]


def is_unfiltered(request: Request) -> bool:
    """Say whether somebody wants the page whether or not it was seen: anybody but us, after a kill."""
    return request.dont_filter and READMITTED not in request.meta


def is_known_component(component: object) -> bool:
    """Say whether a component is Scrapy's or ours."""
    module = getattr(component, "__module__", None) or type(component).__module__
    return module.partition(".")[0] in ("scrapy", "scrapy_dedup")


_META: Final = ("proxy", "download_slot", "cookiejar", "bindaddress")
_OF_PROXY: Final = "Proxy-Authorization"
# These are of one request, or set anew for each.
_NOT_COPIED: Final = frozenset(
    "if-none-match if-modified-since referer range accept-encoding content-type host proxy-authorization".split()
)
_MOST_ORIGINS: Final = 10_000


class Way(NamedTuple):
    """What a request takes over from another one."""

    headers: dict[str, list[bytes]]
    meta: dict[str, Any]

    def lead(self, request: Request) -> Request:
        """Return a request that goes this way; what it says itself wins."""
        headers = {**self.headers, **dict(request.headers)}
        return request.replace(headers=headers, meta={**self.meta, **request.meta})


class Ways:
    """The ways of a crawl's pages, the last one of each origin."""

    def __init__(self, settings: BaseSettings) -> None:
        # Not the requests: that a response is gone is seen by its request's.
        self._known: Latest[str, Way] = Latest(_MOST_ORIGINS)
        self._defaults = {name.lower(): value for name, value in settings.getdict("DEFAULT_REQUEST_HEADERS").items()}
        self._defaults["user-agent"] = settings.get("USER_AGENT")
        # Scrapy writes them anew from their jar.
        self._own_cookies = not settings.getbool("COOKIES_ENABLED")

    def note(self, request: Request) -> None:
        """Note how a page was asked for."""
        origin = origin_of(request.url)
        self._known[origin] = self.of(request)
        self._known.move_to_end(origin)

    def to(self, url: str, *, page_url: str = "") -> Way:
        """Return the way to a URL: that of its origin's pages, else, without what its headers say, of another page.

        Where the page that asks for it is of another origin, headers stay out, too: a page does not speak with the
        credentials of whom it links to.
        """
        origin, asking = origin_of(url), origin_of(page_url or url)
        if origin == asking and origin in self._known:
            return self._known[origin]
        other = self._known.get(asking) or next(reversed(self._known.values()), None)
        return Way({}, other.meta if other is not None else {})

    def of(self, request: Request) -> Way:
        """Return the way that a request went."""
        headers = {}
        for raw, values in request.headers.items():
            name = raw.decode("latin-1")
            # A header that is None is one that the spider does not want to be sent; it has no values.
            if self._is_taken(name.lower(), values[-1].decode("latin-1") if values else None):
                headers[name] = list(values)
        meta: dict[str, Any] = {name: request.meta[name] for name in _META if name in request.meta}
        if meta.get("download_slot") == urlsplit(request.url).hostname:
            # Scrapy's own, which another host has another of.
            del meta["download_slot"]
        if request.meta.get("_scheme_proxy"):
            # One of the environment, which Scrapy finds for each request.
            meta.pop("proxy", None)
        elif meta.get("proxy"):
            meta["proxy"] = _with_password(meta["proxy"], request.headers.get(_OF_PROXY))
        return Way(headers, meta)

    def _is_taken(self, name: str, value: str | None) -> bool:
        if name in _NOT_COPIED or (name == "cookie" and not self._own_cookies):
            return False
        return name not in self._defaults or self._defaults[name] != value


def _with_password(proxy: str, header: bytes | None) -> str:
    """Return a proxy's address as a spider gives it: Scrapy puts name and password into a header of the request."""
    scheme, separator, host = proxy.rpartition("://")
    kind, _, encoded = (header or b"").partition(b" ")
    if kind.lower() != b"basic" or "@" in host:
        return proxy
    try:
        name, _, password = b64decode(encoded).decode("latin-1").partition(":")
    except ValueError:
        return proxy
    return f"{scheme}{separator}{quote(name, safe='')}:{quote(password, safe='')}@{host}"


async def fetched(crawler: Crawler, request: Request) -> Response | None:
    """Return what a request of our own gives; None where a middleware refuses it, or it fails."""
    assert crawler.engine is not None
    try:
        return await crawler.engine.download_async(request)
    except IgnoreRequest:
        return None
    except Exception as error:  # noqa: BLE001 - whatever a download handler raises: there is no answer
        logger.debug("%s cannot be fetched: %s", request.url, error)
        return None


def origin_of(url: str) -> str:
    """Return scheme, host and port of a URL, as they stand in it."""
    return "{0.scheme}://{0.netloc}".format(urlsplit(url))


def carried_by(request: Request) -> bytes:
    """Return what stands for what a request carries for its callback; empty where it cannot be told."""
    meta = {key: value for key, value in request.meta.items() if key not in OF_SCRAPY and key not in OURS}
    kept = encode([dict(request.cb_kwargs), meta])
    return b"" if isinstance(kept, Unkeepable) else to_json(kept).encode("utf-8", "surrogatepass")

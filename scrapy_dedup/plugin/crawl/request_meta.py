"""What stands in a request's meta: Scrapy's notes of what it went through, and ours of which of them are its own.

Spiders hand meta on (`meta=response.meta`), so that a new request may carry another one's redirects and retries.
"""

from typing import Any, Final

from scrapy import Request

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
LENT_URL = "dedup_lent_url"
"""The URL of that request: one that has another is a redirect of it, not a retry."""
OURS = frozenset({LEASE, LENT_URL, LINEAGE, READMITTED, _OLD_REDIRECTS})

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


def callback_name(request: Request) -> str:
    """Return by whom a response is read; callbacks without a name are known by their kind."""
    callback: Any = request.callback
    if callback is None:
        return "parse"
    return str(getattr(callback, "__name__", type(callback).__name__))


def is_unfiltered(request: Request) -> bool:
    """Say whether somebody wants the page whether or not it was seen: anybody but us, after a kill."""
    return request.dont_filter and READMITTED not in request.meta


def is_known_component(component: object) -> bool:
    """Say whether a component is Scrapy's or ours."""
    module = getattr(component, "__module__", None) or type(component).__module__
    return module.partition(".")[0] in ("scrapy", "scrapy_dedup")

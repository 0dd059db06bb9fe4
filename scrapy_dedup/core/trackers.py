"""Which query parameters tell who came or from where, and nothing about the page."""

from functools import lru_cache
from typing import Final

# courlan knows the families ("utm_", "fbclid", ...) and also searches for words, which it finds by their start
# anywhere in a name: "gallery" is taken for "ga", "glossary" for "gl", TYPO3's "tx_news[uid]" for "uid", "cid"
# (category), "keyword", "session" or "ad_id" for themselves. Right for finding new pages, wrong for telling pages
# apart: what it recognised by nothing better stays. tests/data/urls/parameters.json shows what this decides.
_WEAK_EVIDENCE: Final = frozenset(
    [
        *("aff", "affi", "affiliate", "campaign", "cid", "clid", "eid", "ga", "gl", "keyword", "kwd", "medium"),
        *("ref", "referer", "referrer", "session", "source", "uid"),
        *("ad_", "ads_", "partnerid", "pk_"),  # classified ads, lists of partners, primary keys
    ]
)
# Names that this takes away, or that courlan does not have, from the query stripping lists of Firefox and Brave and
# the manuals of Google, HubSpot and Matomo: each the mark of one product.
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


def is_tracker(name: str) -> bool:
    """Whether a query parameter of this (decoded) name says nothing about the page; case does not matter."""
    return _is_tracker(name[:_NAME_CHARS].lower())


@lru_cache(maxsize=1_024)
def _is_tracker(name: str) -> bool:
    if name in _PRODUCTS or name in _SESSIONS:
        return True
    # Takes longer to import than most of Scrapy, for names that most links do not have.
    from courlan.clean import TRACKERS_RE  # noqa: PLC0415

    evidence = TRACKERS_RE.search(name)
    return evidence is not None and evidence[0].lstrip("_") not in _WEAK_EVIDENCE

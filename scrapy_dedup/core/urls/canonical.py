"""Whether a page is what it says it is another address of: the judge of canonical links, and of redirects.

A declaration is a hint of the site's author and often a template's mistake. Believing a wrong one loses a page, not
believing a right one only leaves a duplicate to later layers: each doubt decides for the page.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final
from urllib.parse import urljoin

from msgspec import Struct, field

from scrapy_dedup.core.urls.normal_form import (
    C0_AND_SPACE,
    DEFAULT_RULES,
    UrlRules,
    extract_domain,
    is_home,
    normalize_url,
    page_key,
    same_site,
    split_url,
)
from scrapy_dedup.core.urls.pagination import is_page_one

# Scrapy's URLLENGTH_LIMIT: a longer target would never be requested.
MAX_HREF_CHARS: Final = 2_083
# More different spellings of one declaration, or more translations, than any page has; a bound for hostile ones.
MAX_DECLARATIONS: Final = 10
MAX_ALTERNATES: Final = 500
# The page's own declaration is the first hop, so that A to B to C to A is found.
MAX_HOPS: Final = 3


class OwnReason(StrEnum):
    """Why a page stands for itself."""

    NONE = "none"  # nothing declared
    SELF = "self"  # it declares itself
    SEVERAL = "several"  # declarations that contradict each other
    TOO_LONG = "too_long"  # longer than any URL that is requested
    INVALID = "invalid"  # no URL
    NOT_HTTP = "not_http"  # javascript:, data:, mailto:
    CREDENTIALS = "credentials"  # a user or password that the page's URL does not have
    FOREIGN = "foreign"  # another registrable domain that is not allowed
    HOME = "home"  # the home page, where templates point by mistake
    PAGINATION = "pagination"  # page one of a listing, whose other pages have other content
    LANGUAGE = "language"  # a translation: one group, two pages
    LOOP = "loop"  # the chain of declarations comes back
    OVERCLAIMED = "overclaimed"  # too many pages of the domain declare the same target


class Address(Struct, frozen=True):
    """A URL that can be requested, and the page it stands for."""

    url: str
    page_key: bytes


class Alias(Struct, frozen=True):
    """The page is, as far as URLs can tell, another address of *target*; its content must still agree."""

    target: Address


class Own(Struct, frozen=True):
    """The page stands for itself."""

    reason: OwnReason


class Declaration(Struct, frozen=True):
    """What one page says about its address.

    Attributes:
        url: final URL of the response.
        hrefs: of all canonical links in head, raw.
        base: href of the base element, raw.
        lang: of the html element.
        alternates: (hreflang, href) of all alternate links, raw.
    """

    url: str
    hrefs: tuple[str, ...] = ()
    base: str | None = None
    lang: str | None = None
    alternates: tuple[tuple[str, str], ...] = ()


class CanonicalEvidence(Struct, frozen=True):
    """What the domain's pages said until now in this run.

    Attributes:
        pages_of_domain: pages seen, the judged one included.
        claims_of_target: pages that declare the target, the judged one included, the target itself not.
        canonical_of: page_key of a page to that of the target it declared, whatever was made of that.
    """

    pages_of_domain: int = 0
    claims_of_target: int = 0
    canonical_of: Mapping[bytes, bytes] = field(default_factory=dict)


class CanonicalPolicy(Struct, frozen=True):
    """How far declarations are trusted.

    Attributes:
        allowed_domains: hosts or registrable domains that pages of other domains may declare.
        max_share: of a domain's pages that may declare one target.
        min_claims: below it the share means nothing: 1 of the first 3 pages is a third. Of 25 pages, 5 are a fifth.
    """

    allowed_domains: frozenset[str] = frozenset()
    max_share: float = 0.2
    min_claims: int = 5


DEFAULT_POLICY: Final = CanonicalPolicy()


def resolve(declaration: Declaration, rules: UrlRules = DEFAULT_RULES) -> Address | Own:
    """Return the one other address that the page declares, or why there is none.

    Says nothing about trust: the caller looks up the evidence for its page_key and then asks `judge`.
    """
    if split_url(declaration.url) is None:
        return Own(OwnReason.NOT_HTTP)
    hrefs = [href for href in dict.fromkeys(map(_stripped, declaration.hrefs)) if href]
    if not hrefs:  # an empty href makes no link (HTML standard)
        return Own(OwnReason.NONE)
    if hrefs == [declaration.url]:  # what most sites write: 10 µs a page instead of 40
        return Own(OwnReason.SELF)
    if len(hrefs) > MAX_DECLARATIONS:
        return Own(OwnReason.SEVERAL)
    first, *others = (_address(href, declaration, rules) for href in hrefs)
    if any(_key(other) is None or _key(other) != _key(first) for other in others):
        return Own(OwnReason.SEVERAL)
    return Own(OwnReason.SELF) if _key(first) == page_key(declaration.url, rules) else first


def judge(
    declaration: Declaration,
    evidence: CanonicalEvidence,
    policy: CanonicalPolicy = DEFAULT_POLICY,
    rules: UrlRules = DEFAULT_RULES,
) -> Alias | Own:
    """Decide from URLs and counts alone whether the page's declaration is believed."""
    if isinstance(target := resolve(declaration, rules), Own):
        return target
    objection = next(_objections(declaration, target, evidence, policy, rules), None)
    return Alias(target) if objection is None else Own(objection)


def redirect_aliases(
    redirect_urls: Sequence[str], final_url: str, rules: UrlRules = DEFAULT_RULES
) -> tuple[Address, ...]:
    """Return the other addresses of the final page that its redirects passed, in order, each page once."""
    addresses: dict[bytes, str] = {}
    for url in redirect_urls:
        if split_url(url) is not None:
            addresses.setdefault(page_key(url, rules), url)
    addresses.pop(page_key(final_url, rules), None)
    return tuple(Address(url, key) for key, url in addresses.items())


# A target is requested as it was written; only the fragment goes.
_AS_WRITTEN: Final = UrlRules(query_order=False, tracking_parameters=False)
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
# Browsers read "https:page" and "\\host\page" in their own ways, urljoin in another.
_AMBIGUOUS: Final = re.compile(r"https?:(?!//)|[^?#]*\\", re.IGNORECASE)
_REMOVED: Final = str.maketrans("", "", "\t\n\r")


def _stripped(href: str) -> str:
    return href.strip(C0_AND_SPACE).translate(_REMOVED)


def _address(href: str, declaration: Declaration, rules: UrlRules) -> Address | Own:
    """Return what a stripped href means on this page."""
    if len(href) > MAX_HREF_CHARS:
        return Own(OwnReason.TOO_LONG)
    url = _joined(_base(declaration), href)
    parts = split_url(url)
    if parts is None:
        scheme = _SCHEME.match(url)
        other = scheme is not None and scheme[1].lower() not in ("http", "https")
        return Own(OwnReason.NOT_HTTP if other else OwnReason.INVALID)
    own = split_url(declaration.url)
    if parts.userinfo and (own is None or parts.userinfo != own.userinfo):
        return Own(OwnReason.CREDENTIALS)
    return Address(normalize_url(url, _AS_WRITTEN), page_key(url, rules))


def _base(declaration: Declaration) -> str:
    joined = _joined(declaration.url, _stripped(declaration.base or ""))
    return joined if split_url(joined) else declaration.url


def _joined(base: str, href: str) -> str:
    """Return the absolute URL of an href, or what is no URL."""
    if _AMBIGUOUS.match(href):
        return ""
    try:
        return urljoin(base, href)
    except ValueError:
        return ""


def _key(answer: Address | Own) -> bytes | None:
    return answer.page_key if isinstance(answer, Address) else None


def _objections(
    declaration: Declaration, target: Address, evidence: CanonicalEvidence, policy: CanonicalPolicy, rules: UrlRules
) -> Iterator[OwnReason]:
    """Yield each reason not to believe a declaration; the first one counts."""
    if not (same_site(declaration.url, target.url) or _is_allowed(target.url, policy)):
        yield OwnReason.FOREIGN
    if is_home(target.url) and not is_home(declaration.url):
        yield OwnReason.HOME
    if is_page_one(target.url, declaration.url):
        yield OwnReason.PAGINATION
    if target.page_key in translations(declaration, rules):
        yield OwnReason.LANGUAGE
    if _loops(page_key(declaration.url, rules), target.page_key, evidence.canonical_of):
        yield OwnReason.LOOP
    if policy.min_claims <= evidence.claims_of_target > policy.max_share * evidence.pages_of_domain:
        yield OwnReason.OVERCLAIMED


def _is_allowed(url: str, policy: CanonicalPolicy) -> bool:
    domains = {extract_domain(url), extract_domain(url, "registrable")}
    return not domains.isdisjoint(policy.allowed_domains)


def translations(declaration: Declaration, rules: UrlRules) -> frozenset[bytes]:
    """Return the keys of the pages that hreflang names for languages that are not the page's.

    The language that hreflang gives the page counts more than the html element's, which templates share.
    """
    base = _base(declaration)
    languages: dict[bytes, set[str]] = {}
    for language, href in declaration.alternates[:MAX_ALTERNATES]:
        key = page_key(_joined(base, _stripped(href)), rules)
        languages.setdefault(key, set()).add(_language(language))
    ours = languages.get(page_key(declaration.url, rules), set()) - {"x-default"} or {_language(declaration.lang or "")}
    named = {key: theirs for key, tags in languages.items() if (theirs := tags - {"x-default"})}
    return frozenset(key for key, theirs in named.items() if not _share(ours, theirs))


def _language(tag: str) -> str:
    return tag.strip().lower().replace("_", "-")


def _share(ours: Collection[str], theirs: Collection[str]) -> bool:
    """Whether a tag includes another (RFC 4647, basic filtering): "en" and "en-us", not "en-gb" and "en-us"."""
    pairs = ((f"{one}-", f"{other}-") for one in ours for other in theirs)
    return any(one.startswith(other) or other.startswith(one) for one, other in pairs)


def _loops(own: bytes, target: bytes, canonical_of: Mapping[bytes, bytes]) -> bool:
    seen = {own, target}
    for _ in range(MAX_HOPS - 1):
        following = canonical_of.get(target, target)
        if following == target or following in seen:  # the end of the chain, or no end
            return following != target
        seen.add(following)
        target = following
    return False

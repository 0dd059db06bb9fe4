"""Whether a page that was seen before is fetched, asked after, or left alone; from what is known before any request."""

import re
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final

from msgspec import Struct

from scrapy_dedup.core.urls.normal_form import extract_domain, normalize_url


class FetchReason(StrEnum):
    """Why the whole page is asked for."""

    NEVER_SEEN = "never_seen"
    REFRESH = "refresh"  # the user wants it
    MET = "met"  # this run had an answer: who asks again wants today's page
    AUDIT = "audit"  # to be compared with what is kept
    NOT_HELD = "not_held"  # nothing to answer with where the page has not changed
    FAILED = "failed"  # the last answer was neither a page nor its absence
    GONE_BEFORE = "gone_before"  # it was gone, and may be back
    EXPIRED = "expired"  # what is held is older than allowed
    CLOCK = "clock"  # the last visit lies in the future
    NO_VALIDATORS = "no_validators"
    DISTRUSTED = "distrusted"  # the domain's validators are worthless
    LONG_UNSEEN = "long_unseen"  # too long since the page itself was seen: 304s may lie


class SkipReason(StrEnum):
    """Why a page is left alone."""

    FRESH = "fresh"
    ADAPTIVE = "adaptive"  # its own interval is not over
    LASTMOD = "lastmod"  # the sitemap says that nothing changed
    GONE = "gone"
    TITLE = "title"  # another page has its title and its text


class Fetch(Struct, frozen=True):
    """Ask for the page."""

    reason: FetchReason


class Revalidate(Struct, frozen=True):
    """Ask for the page if it is another than that which is known."""

    etag: str | None
    last_modified: str | None


class Skip(Struct, frozen=True):
    """Do not ask; what is held stands for the page."""

    reason: SkipReason
    until: datetime
    """First instant at which the answer is no longer Skip, all else being equal."""


class PageState(Struct, frozen=True):
    """What the last acknowledged visit left. All times are aware; those in UTC compare fastest."""

    at: datetime
    status: int = 200
    etag: str | None = None
    last_modified: str | None = None
    validated_at: datetime | None = None
    """When the page itself was last received, not a 304; None is *at*."""
    interval: timedelta | None = None
    """The page's own, see `next_interval`."""
    lastmod: datetime | None = None
    """What the sitemap said at that visit."""

    @property
    def seen_at(self) -> datetime:
        """When the page itself was last received."""
        return self.validated_at or self.at


def matches(pattern: str, url: str) -> bool:
    """Whether a pattern is for this URL.

    A pattern without "/" is a domain with its subdomains: "example.com". Others are compared with the URL's normal form
    without scheme, and "*" stands for any characters: "example.com/news/*", "*/archive/*".
    """
    pattern = pattern.removeprefix("https://").removeprefix("http://")
    if "/" not in pattern:
        domain = extract_domain(url) or ""
        return f".{domain}".endswith(f".{pattern.lower()}")
    # Brackets and "?" are characters of URLs.
    return fnmatchcase(normalize_url(url).partition("://")[2], re.sub(r"[?[]", r"[\g<0>]", pattern))


class FreshRule(Struct, frozen=True):
    """How long pages of a domain or of a URL pattern are left alone; for the pattern see `matches`."""

    pattern: str
    fresh_for: timedelta

    def matches(self, url: str) -> bool:
        """Whether the rule is for this URL."""
        return matches(self.pattern, url)


class AdaptivePolicy(Struct, frozen=True):
    """How a page's interval follows its changes.

    Rates of Nutch's AdaptiveFetchSchedule: plus 0.4 of it when the page had not changed, minus 0.2 when it had. A
    page that changes at random with probability p at each visit has a stable interval where p is near 0.6.
    """

    first: timedelta = timedelta(days=1)
    shortest: timedelta = timedelta(hours=1)
    longest: timedelta = timedelta(days=30)
    grow: float = 0.4
    shrink: float = 0.2


class RecrawlPolicy(Struct, frozen=True):
    """When pages are due again."""

    fresh_for: timedelta = timedelta(0)
    rules: tuple[FreshRule, ...] = ()
    """The first that matches counts, also against `fresh_for` and a page's own interval."""
    gone_for: timedelta = timedelta(0)
    """How long a page that was gone (404, 410) is left alone."""
    cache_max_age: timedelta | None = None
    """What is held is never used beyond it, whatever says that the page has not changed; None is without end."""
    max_304_age: timedelta = timedelta(days=30)
    """So long after the page itself was received 304s and sitemap dates are believed."""
    adaptive: AdaptivePolicy | None = None


class Situation(Struct, frozen=True):
    """What is known beside the page's own state."""

    is_held: bool = True
    """The last answer is: without it nothing can stand for the page."""
    refresh: bool = False
    is_met: bool = False
    """This run had an answer to the page, from the server or from what is held."""
    trusts_validators: bool = True
    lastmod: datetime | None = None
    """What the sitemap says now."""
    trusts_lastmod: bool = False


NOTHING_SPECIAL: Final = Situation()
DEFAULT_POLICY: Final = RecrawlPolicy()
GONE: Final = (404, 410)
_FOREVER: Final = datetime.max.replace(tzinfo=UTC)


def decide(
    url: str,
    state: PageState | None,
    now: datetime,
    policy: RecrawlPolicy = DEFAULT_POLICY,
    situation: Situation = NOTHING_SPECIAL,
) -> Fetch | Revalidate | Skip:
    """Decide from the *last* acknowledged visit alone; None means never seen."""
    if state is None:
        return Fetch(FetchReason.NEVER_SEEN)
    reason = _must_fetch(state, now, situation)
    if reason is not None:
        return Fetch(reason)
    if state.status in GONE:
        until = _later(state.at, policy.gone_for)
        return Skip(SkipReason.GONE, until) if now < until else Fetch(FetchReason.GONE_BEFORE)
    expires = _FOREVER if policy.cache_max_age is None else _later(state.seen_at, policy.cache_max_age)
    if now >= expires:
        return Fetch(FetchReason.EXPIRED)
    skip = _skip(url, state, policy, situation)
    until = min(skip.until, expires)
    return Skip(skip.reason, until) if now < until else _ask(state, now, policy, situation)


def _must_fetch(state: PageState, now: datetime, situation: Situation) -> FetchReason | None:
    """Return why the page is asked for whatever its age; None where that depends."""
    if situation.refresh:
        return FetchReason.REFRESH
    if situation.is_met:
        return FetchReason.MET
    if state.at > now:
        return FetchReason.CLOCK
    if state.status in GONE:  # its absence is all there is to hold
        return None
    if not 200 <= state.status < 300:
        return FetchReason.FAILED
    return None if situation.is_held else FetchReason.NOT_HELD


def next_interval(interval: timedelta | None, policy: AdaptivePolicy, *, changed: bool) -> timedelta:
    """Return after which time a page is due again, given its last interval and whether it had changed.

    Source: Apache Nutch, AdaptiveFetchSchedule (INC_RATE 0.4, DEC_RATE 0.2), without its shift towards the time of
    the change, which assumes a Last-Modified that is true.
    """
    if interval is None:
        following = policy.first
    else:
        # In seconds: a timedelta that grows without bound raises.
        seconds = interval.total_seconds() * (1 - policy.shrink if changed else 1 + policy.grow)
        following = timedelta(seconds=min(seconds, policy.longest.total_seconds()))
    return max(policy.shortest, min(following, policy.longest))


def says_unchanged(state: PageState, lastmod: datetime | None) -> bool | None:
    """Return whether a sitemap's date says that the page is what it was at the last visit; None where it says nothing.

    The date of that visit's sitemap counts more than the visit's time: clocks and sitemaps run late.
    """
    if lastmod is None:
        return None
    return lastmod == state.lastmod or (state.lastmod is None and lastmod < state.at)


def fresh_for(url: str, state: PageState, policy: RecrawlPolicy) -> timedelta:
    """Return how long after a visit a page is left alone."""
    rule = next((rule for rule in policy.rules if rule.matches(url)), None)
    if rule is not None:
        return rule.fresh_for
    if policy.adaptive is not None and state.interval is not None:
        return state.interval
    return policy.fresh_for


def _skip(url: str, state: PageState, policy: RecrawlPolicy, situation: Situation) -> Skip:
    """Return the longest of the reasons to leave a page alone; it may be over."""
    adaptive = policy.adaptive is not None and state.interval is not None
    ruled = any(rule.matches(url) for rule in policy.rules)
    reason = SkipReason.ADAPTIVE if adaptive and not ruled else SkipReason.FRESH
    fresh = Skip(reason, _later(state.at, fresh_for(url, state, policy)))
    if not situation.trusts_lastmod:
        return fresh
    unchanged = says_unchanged(state, situation.lastmod)
    if unchanged is None:
        return fresh
    if not unchanged:
        # Where dates are true, one that is new ends every wait.
        return Skip(reason, state.at)
    dated = Skip(SkipReason.LASTMOD, _later(state.seen_at, policy.max_304_age))
    return max(fresh, dated, key=lambda skip: skip.until)


def _ask(state: PageState, now: datetime, policy: RecrawlPolicy, situation: Situation) -> Fetch | Revalidate:
    if state.etag is None and state.last_modified is None:
        return Fetch(FetchReason.NO_VALIDATORS)
    if not situation.trusts_validators:
        return Fetch(FetchReason.DISTRUSTED)
    if now >= _later(state.seen_at, policy.max_304_age):
        return Fetch(FetchReason.LONG_UNSEEN)
    return Revalidate(state.etag, state.last_modified)


def _later(at: datetime, wait: timedelta) -> datetime:
    try:
        return at + wait
    except OverflowError:
        return _FOREVER


# Counts are halved at this many, so that a site that mends its ways is believed again.
_REMEMBERED: Final = 1_000


# Below it a site is believed: a validator costs two headers, a wrong 304 is found when its age is over.
_LEAST_CHECKS: Final = 20
# Share of 304s among the answers for pages that had not changed; below it sending is of no use.
_USEFUL_SHARE: Final = 0.05
# Of answers that said "unchanged", of a page that had changed.
_WRONG_SHARE: Final = 0.02


class ValidatorTrust(Struct, frozen=True):
    """What a domain's answers to conditional requests were."""

    sent: int = 0
    """Conditional requests that were answered by 200 or 304."""
    not_modified: int = 0
    """304s."""
    equal: int = 0
    """200s whose main text had not changed: the validator changes on every deploy, or by the minute."""
    lied: int = 0
    """Full fetches after one or more 304s that found other text under the very validators the 304s confirmed."""
    kept: int = 0
    """Of this run: pages that came whole and unchanged, nobody having asked for less, under the validators they had."""
    renewed: int = 0
    """Of this run: the same under other validators."""

    def is_earned(self) -> bool:
        """Return whether it is worth sending validators."""
        # Where a changed page answers 304, a crawl never hears of the change: few such cases are enough.
        if self.lied and self.lied > _WRONG_SHARE * self.not_modified:
            return False
        # One deploy that changes every validator is no reason never to ask again.
        if self.kept > self.renewed:
            return True
        asked = self.not_modified + self.equal
        return asked < _LEAST_CHECKS or self.not_modified >= _USEFUL_SHARE * asked

    def halved(self) -> "ValidatorTrust":
        """Return the counts with half the weight, once there are many; for the start of a run."""
        if self.sent < _REMEMBERED:
            return self
        return ValidatorTrust(self.sent // 2, self.not_modified // 2, self.equal // 2, self.lied // 2)


class LastmodTrust(Struct, frozen=True):
    """How many of a domain's changes its sitemap's dates announced, where the page was fetched all the same.

    Pages that had not changed prove nothing: most of them do not, whatever their dates say. A date that never changes
    would be right about all of them.
    """

    right: int = 0
    """The page had changed, and so had its date."""
    wrong: int = 0
    """The page had changed, but not its date."""

    def is_earned(self) -> bool:
        """Return whether pages may be left alone because of their date: only once it was shown to be true."""
        checks = self.right + self.wrong
        return checks >= _LEAST_CHECKS and self.wrong <= _WRONG_SHARE * checks

    def halved(self) -> "LastmodTrust":
        """Return the counts with half the weight, once there are many; for the start of a run."""
        if self.right + self.wrong < _REMEMBERED:
            return self
        return LastmodTrust(self.right // 2, self.wrong // 2)

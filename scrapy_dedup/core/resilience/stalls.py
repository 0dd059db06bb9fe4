"""Why a crawl brings nothing new, and what a supervisor does when it has ended."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from enum import StrEnum
from typing import Final

from msgspec import Struct, field

from scrapy_dedup.core.pages.fingerprints import text_hash

# A title and a line; "Page 17 of 40", "Results 170 to 180" or the name of a month are less.
LEAST_LETTERS: Final = 24
# Of 16 bytes each, some 20 MB.
MOST_TEXTS: Final = 200_000
_TEXTS_OF_A_PAGE: Final = 5_000
_TEXT_CHARS: Final = 2_000
# A year, a date or a time: all numbers beside it go with it. Other numbers tell things apart: "Valve DN 25".
_DATED: Final = re.compile(r"(?<!\d)(?:19|20|21|22)\d\d(?!\d)|(?<!\d)\d{1,2}[./:-]\d{1,2}(?!\d)")
_DIGITS: Final = re.compile(r"\d+")
_NO_LETTERS: Final = re.compile(r"[\W\d_]+")

# What the makers' own scripts and forms are called; none of them is the name of a site that uses them.
_SCRIPTS: Final = {
    "cloudflare": re.compile(r"/cdn-cgi/challenge-platform/|challenges\.cloudflare\.com/turnstile|cf[-_]chl[-_]"),
    "recaptcha": re.compile(r"class=[\"'][^\"'<>]{0,200}g-recaptcha|/recaptcha/(?:api|enterprise)\.js|recaptcha/api/"),
    "hcaptcha": re.compile(r"class=[\"'][^\"'<>]{0,200}h-captcha|\bhcaptcha\.com/1/api\.js"),
    "datadome": re.compile(r"captcha-delivery\.com|geo\.captcha-delivery"),
    "perimeterx": re.compile(r"\bpx-captcha\b|_pxAppId|captcha\.px-cdn\.net"),
    "imperva": re.compile(r"_Incapsula_Resource|Incapsula incident ID"),
    "akamai": re.compile(r"sec-if-cpt-container|/_sec/cp_challenge/|akam-sw\.js"),
    "aws": re.compile(r"\.awswaf\.com/|AwsWafIntegration|awsWafCookieDomainList"),
    "geetest": re.compile(r"\bgeetest_|initGeetest|static\.geetest\.com"),
    "arkose": re.compile(r"arkoselabs\.com|\bfuncaptcha\b"),
    "friendly": re.compile(r"class=[\"'][^\"'<>]{0,200}frc-captcha"),
}
_HEADERS: Final = (
    ("cf-mitigated", re.compile("challenge"), "cloudflare"),
    ("x-amzn-waf-action", re.compile("captcha|challenge"), "aws"),
    ("x-datadome", re.compile("."), "datadome"),
    ("x-px-captcha", re.compile("."), "perimeterx"),
)
# A form field, a picture or an address that is called so.
_CAPTCHA_FORM: Final = re.compile(
    r"<(?:form|input|img|iframe|div)\b[^<>]{0,400}\b(?:name|id|class|action|src|alt)\s*=\s*[\"']?[^\"'<>]{0,200}captcha",
    re.IGNORECASE,
)
_TAG: Final = re.compile(r"<(/?[A-Za-z]*+)[^<>]*+>?")
_UNSEEN: Final = frozenset({"script", "style", "noscript"})
_REFUSING: Final = frozenset({401, 403, 405, 429, 503})
# A page of a form has a sentence or two; one with a captcha beside its comments has its content.
_SHORT_CHARS: Final = 1_500
_LOOKED_AT_CHARS: Final = 100_000


class Cause(StrEnum):
    """What keeps a crawl from new pages."""

    SLOW = "slow"  # sites answer late, with errors of theirs, or not at all; or callbacks and pipelines take long
    BLOCKED = "blocked"  # sites refuse: 403, 429, captchas
    NO_NETWORK = "no_network"
    ONLY_DUPLICATES = "only_duplicates"  # pages come, and their content is known
    TRAP = "trap"  # the same, and those pages lead to more and more of their kind
    FINISHED = "finished"  # nothing is left to do, but something holds the spider open


class HostFigures(Struct):
    """What came of the requests to one host."""

    sent: int = 0
    answers: int = 0
    failures: int = 0


REFUSALS: Final = frozenset({403, 429})
# Fewer different URLs of one shape may be a coincidence.
_LEAST_TRAP_URLS: Final = 4
_MOST_NAMED: Final = 5


class Figures(Struct):
    """What happened in some time without a new page, counted as it happens, and how the crawl stands at its end."""

    quiet_seconds: float = 0
    """Since the last new page."""
    idle_seconds: float = 0
    """Since when nothing waits and nothing is in work; 0: something is."""
    statuses: Counter[int] = field(default_factory=Counter)
    """Answers by status, those that are asked again included."""
    failures: Mapping[str, int] = field(default_factory=dict)
    """Requests without an answer, by kind."""
    hosts: dict[str, HostFigures] = field(default_factory=dict)
    challenges: Counter[str] = field(default_factory=Counter)
    """Pages that ask whether a person reads them, by mark."""
    challenged_pages: int = 0
    """Those of them that came as pages do, with a status below 400."""
    refusing: frozenset[int] = REFUSALS
    """Statuses that refuse; with those of error pages that were challenges."""
    known: int = 0
    """Pages that brought nothing new."""
    shapes: Counter[str] = field(default_factory=Counter)
    """Different URLs of those, by shape."""
    bred: int = 0
    """How many of those were found on another one of them."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Items that were duplicates, by layer."""
    held_back: int = 0
    """Requests that were not sent, since their URLs are of a pattern that was found to be a trap."""
    waiting: int | None = None
    """Requests in the scheduler; None where it cannot be asked."""
    downloading: int = 0
    in_work: int = 0
    """Responses in callbacks and pipelines."""
    probe: bool | None = None
    """Whether the user's own URL answers; None where it was not asked."""

    @property
    def sent(self) -> int:
        """Requests that were handed to the network."""
        return sum(host.sent for host in self.hosts.values())

    @property
    def answers(self) -> int:
        """Answers; pages of an HTTP cache have no status."""
        return max(sum(self.statuses.values()), self.known + self.challenged_pages)

    @property
    def failed(self) -> int:
        """Requests without an answer."""
        return max(sum(self.failures.values()), sum(host.failures for host in self.hosts.values()))

    @property
    def is_silent(self) -> bool:
        """Whether nobody answers, or most requests have ceased to be answered: then it is worth to ask the probe."""
        return self.idle_seconds == 0 and self.failed >= self.answers


class Stall(Struct, frozen=True):
    """Why a crawl has stalled."""

    cause: Cause
    reason: str
    evidence: tuple[str, ...]
    """The figures in words, those that decided and the others."""


def judge(figures: Figures) -> Stall:
    """Return the cause of a stall.

    Each rule looks at most of what happened (half or more), so that single answers of another kind change nothing.
    """
    cause, reason = _cause(figures)
    return Stall(cause, reason, _evidence(figures))


def _cause(figures: Figures) -> tuple[Cause, str]:
    if _is_finished(figures):
        return Cause.FINISHED, "nothing waits and nothing is in work, but something holds the spider open"
    if not figures.answers or (figures.probe is False and figures.is_silent):
        return _without_answers(figures)
    if 2 * _refused(figures) >= figures.answers:
        return Cause.BLOCKED, "most answers refuse the crawl"
    faults = sum(count for status, count in figures.statuses.items() if status >= 500 or status == 408)
    if 2 * (faults + figures.failed) >= figures.answers + figures.failed:
        return Cause.SLOW, "most requests fail or end in errors of the server"
    redirects = sum(count for status, count in figures.statuses.items() if 300 <= status < 400 and status != 304)
    if figures.known or figures.dropped or 2 * redirects >= figures.answers:
        return _without_news(figures)
    return Cause.SLOW, "pages come too seldom, or take long in callbacks and pipelines"


def _is_finished(figures: Figures) -> bool:
    """Say whether the crawl was idle for most of the time; one that is fed a little now and then is not."""
    return figures.idle_seconds > 0 and (not figures.sent or 2 * figures.idle_seconds >= figures.quiet_seconds)


def _without_answers(figures: Figures) -> tuple[Cause, str]:
    if figures.probe is False:
        return Cause.NO_NETWORK, "hosts do not answer, and the probe does not either"
    if figures.probe:
        return Cause.SLOW, "no host answers, but the probe does: there is a network"
    failing = sum(host.failures > 0 for host in figures.hosts.values())
    # Who refuses a connection was reached.
    reached = any("refused" in kind.lower() for kind in figures.failures)
    if failing > 1 and not reached:
        return Cause.NO_NETWORK, f"none of {failing} hosts can be reached"
    if not figures.downloading and not figures.failed:
        return Cause.SLOW, "nothing was asked for: callbacks and pipelines, or a delay, hold everything up"
    return (Cause.SLOW, 'the site does not answer; without DEDUP_STALL["probe_url"] nobody knows if there is a network')


def _refused(figures: Figures) -> int:
    return sum(figures.statuses.get(status, 0) for status in sorted(figures.refusing)) + figures.challenged_pages


def _without_news(figures: Figures) -> tuple[Cause, str]:
    most = max(figures.shapes.items(), key=lambda item: (item[1], item[0]), default=None)
    if most is not None and most[1] >= _LEAST_TRAP_URLS and 2 * most[1] >= sum(figures.shapes.values()):
        shape = most[0]
        if 2 * figures.bred >= figures.known:
            return Cause.TRAP, f"{most[1]} URLs like {shape} lead to each other, and bring only known content"
    if figures.held_back:
        return Cause.TRAP, "some URLs are held back as a trap, and the others bring only known content"
    return Cause.ONLY_DUPLICATES, "pages come, but their content is known"


def _evidence(figures: Figures) -> tuple[str, ...]:
    waiting = "?" if figures.waiting is None else figures.waiting
    parts = [
        f"{figures.quiet_seconds:.0f} s without a new page",
        f"{figures.sent} requests sent",
        f"answers {_named(figures.statuses)}",
        f"failures {_named(figures.failures) if figures.failures else figures.failed}",
        f"{figures.known} pages with known content",
        f"{waiting} requests waiting",
        f"{figures.downloading} in the downloader",
        f"{figures.in_work} responses in work",
    ]
    if figures.challenges:
        parts.append(f"captchas {_named(figures.challenges)}")
    if figures.dropped:
        parts.append(f"items dropped {_named(figures.dropped)}")
    if figures.held_back:
        parts.append(f"{figures.held_back} requests held back as traps")
    silent = {name: host.sent for name, host in figures.hosts.items() if host.sent and not host.answers}
    if silent:
        answering = sum(host.answers > 0 for host in figures.hosts.values())
        parts.append(f"hosts without an answer {_named(silent)}; {answering} others answer")
    words = {None: "was not asked", True: "answers", False: "does not answer"}
    parts.append(f"the probe {words[figures.probe]}")
    return tuple(parts)


def _named(counts: Mapping[int, int] | Mapping[str, int]) -> str:
    """Return the largest counts in words."""
    ranked = sorted(((count, str(name)) for name, count in counts.items()), key=lambda one: (-one[0], one[1]))
    if not ranked:
        return "none"
    more = f" and {len(ranked) - _MOST_NAMED} more" if len(ranked) > _MOST_NAMED else ""
    return ", ".join(f"{name}: {count}" for count, name in ranked[:_MOST_NAMED]) + more


class SeenTexts:
    """What texts a crawl has met; beyond the most the oldest are forgotten, and are news again."""

    def __init__(self, most: int = MOST_TEXTS) -> None:
        self._most = most
        self._seen: dict[bytes, None] = {}

    def __len__(self) -> int:
        """Return how many are remembered."""
        return len(self._seen)

    def is_news(self, texts: Iterable[str]) -> bool:
        """Say whether a page's texts bring enough that was not met, and remember them.

        Dates and the numbers beside them do not count.
        """
        letters = 0
        for text, _ in zip(texts, range(_TEXTS_OF_A_PAGE), strict=False):
            some = text[:_TEXT_CHARS]
            masked = _DIGITS.sub("0", some) if _DATED.search(some) else some
            if self._is_new(text_hash(masked)):
                letters += len(_NO_LETTERS.sub("", masked))
        return letters >= LEAST_LETTERS

    def is_new_key(self, key: bytes) -> bool:
        """Say whether something that is known by a key was not met, and remember it."""
        return self._is_new(b"key " + key)

    def _is_new(self, key: bytes) -> bool:
        if key in self._seen:
            return False
        self._seen[key] = None
        if len(self._seen) > self._most:
            del self._seen[next(iter(self._seen))]
        return True


def challenge_of(status: int, headers: Mapping[str, str], html: str) -> str | None:
    """Return by whose mark a response is a challenge or a captcha; None where it is none.

    A page of content that has a captcha in it, for its comments or its login, is none: it is longer. Names of headers
    are in lower case.
    """
    html = html[:_LOOKED_AT_CHARS]
    refuses = status in _REFUSING
    for name, value, maker in _HEADERS:
        # Some makers name themselves in every answer.
        if value.search(headers.get(name, "")) and (refuses or name != "x-datadome"):
            return maker
    if "<" not in html or not (refuses or _is_short(html)):
        return None
    for maker, mark in _SCRIPTS.items():
        if mark.search(html):
            return maker
    return "form" if _CAPTCHA_FORM.search(html) else None


def _is_short(html: str) -> bool:
    """Say whether a page shows little text; in one pass, for it may be hostile."""
    chars, end, within = 0, 0, ""
    for tag in _TAG.finditer(html):
        if not within:
            chars += len(" ".join(html[end : tag.start()].split()))
        end = tag.end()
        name = tag[1].lower()
        if within:
            within = "" if name == f"/{within}" else within
        elif name in _UNSEEN:
            within = name
    return chars + (0 if within else len(" ".join(html[end:].split()))) <= _SHORT_CHARS


STALLED_EXIT_CODE: Final = 75
"""A crawl ends so when it has stalled and another process may get on (EX_TEMPFAIL of sysexits.h)."""
_SIGNAL_EXIT_CODE: Final = 128


class SupervisionPolicy(Struct, frozen=True):
    """When a crawl counts as hung, how often it is started again, and after what pauses."""

    hung_after: timedelta = timedelta(minutes=2)
    """Without a sign of life."""
    grace: timedelta = timedelta(seconds=5)
    """So long each signal has to end what hangs."""
    restarts: int = 5
    window: timedelta = timedelta(hours=1)
    """Restarts that are longer ago do not count."""
    first_pause: timedelta = timedelta(seconds=1)
    """Doubled with each restart."""
    longest_pause: timedelta = timedelta(minutes=1)


class RunEnding(Struct, frozen=True):
    """How one run ended."""

    exit_code: int
    """Below 0: it died by the signal of that number."""
    hung: bool = False
    """It was ended because it had ceased to show that it lives."""
    asked: bool = False
    """Somebody asked the supervisor to end."""


class Restart(Struct, frozen=True):
    """Start it again."""

    cause: str
    pause: timedelta


class End(Struct, frozen=True):
    """End with the last run's exit code."""

    exit_code: int
    reason: str


def after(ending: RunEnding, earlier: Sequence[float], now: float, policy: SupervisionPolicy) -> Restart | End:
    """Return what becomes of a crawl whose run has ended; *earlier* are its restarts, by the clock of *now*."""
    code = ending.exit_code if ending.exit_code >= 0 else _SIGNAL_EXIT_CODE - ending.exit_code
    if ending.asked:
        return End(code, "it was asked to end")
    cause = _why_ended(ending)
    if cause is None:
        return End(code, "it ended by itself")
    recent = sum(now - at < policy.window.total_seconds() for at in earlier)
    if recent >= policy.restarts:
        return End(code, f"{cause}, and was started again {recent} times")
    pause = min(policy.first_pause * 2 ** min(recent, 30), policy.longest_pause)
    return Restart(cause, pause)


def _why_ended(ending: RunEnding) -> str | None:
    if ending.hung:
        return "it hung"
    if ending.exit_code == STALLED_EXIT_CODE:
        return "it had stalled"
    return f"it died by signal {-ending.exit_code}" if ending.exit_code < 0 else None

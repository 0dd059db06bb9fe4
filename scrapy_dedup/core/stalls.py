"""Why a crawl brings nothing new: the figures of some time to one of six causes, with what speaks for it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final


class Cause(StrEnum):
    """What keeps a crawl from new pages."""

    SLOW = "slow"  # sites answer late, with errors of theirs, or not at all; or callbacks and pipelines take long
    BLOCKED = "blocked"  # sites refuse: 403, 429, captchas
    NO_NETWORK = "no_network"
    ONLY_DUPLICATES = "only_duplicates"  # pages come, and their content is known
    TRAP = "trap"  # the same, and those pages lead to more and more of their kind
    FINISHED = "finished"  # nothing is left to do, but something holds the spider open


@dataclass(frozen=True, slots=True)
class HostFigures:
    """What came of the requests to one host."""

    sent: int = 0
    answers: int = 0
    failures: int = 0


REFUSALS: Final = frozenset({403, 429})
# Fewer different URLs of one shape may be a coincidence.
_LEAST_TRAP_URLS: Final = 4
_MOST_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class Figures:
    """What happened in some time without a new page, and how the crawl stands at its end."""

    quiet_seconds: float
    """Since the last new page."""
    idle_seconds: float = 0
    """Since when nothing waits and nothing is in work; 0: something is."""
    statuses: Mapping[int, int] = field(default_factory=dict)
    """Answers by status, those that are asked again included."""
    failures: Mapping[str, int] = field(default_factory=dict)
    """Requests without an answer, by kind."""
    hosts: Mapping[str, HostFigures] = field(default_factory=dict)
    challenges: Mapping[str, int] = field(default_factory=dict)
    """Pages that ask whether a person reads them, by mark."""
    challenged_pages: int = 0
    """Those of them that came as pages do, with a status below 400."""
    refusing: frozenset[int] = REFUSALS
    """Statuses that refuse; with those of error pages that were challenges."""
    known: int = 0
    """Pages that brought nothing new."""
    shapes: Mapping[str, int] = field(default_factory=dict)
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


@dataclass(frozen=True, slots=True)
class Stall:
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
    return Cause.SLOW, "the site does not answer; without DEDUP_STALL_PROBE_URL nobody knows whether there is a network"


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

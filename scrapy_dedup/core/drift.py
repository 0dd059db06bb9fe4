"""Do a site's templates still fit its pages?"""

from collections import deque
from dataclasses import dataclass
from datetime import datetime
from typing import Final

# A redesign is noticed while its fifth page is read, and five pages are what a template is learned from.
WINDOW: Final = 10
ENOUGH: Final = 5


@dataclass(frozen=True, slots=True)
class Drift:
    """Pages of late that no template fits."""

    layout: int
    """The layout of most of them, 0 where they are of none."""
    what: str
    failed: int
    looked: int
    since: datetime

    @property
    def cause(self) -> str:
        """What happened, in words."""
        return f"{self.what} on {self.failed} of {self.looked} pages since {self.since:%H:%M}"


@dataclass(frozen=True, slots=True)
class _Look:
    layout: int
    what: str
    at: datetime


class DriftWatch:
    """The last pages of one domain, and whether they were cut by a template that fits."""

    def __init__(self) -> None:
        self._looks: deque[_Look] = deque(maxlen=WINDOW)
        self.raised = False
        """An alarm is open."""

    def note(self, layout: int, what: str, at: datetime) -> Drift | None:
        """Take in a page; return the alarm that it raises.

        Args:
            layout: of the page, 0 where it is of no known one.
            what: does not fit, such as `content root lost`; empty where all does.
            at: when it was received.
        """
        self._looks.append(_Look(layout, what, at))
        failed = [look for look in self._looks if look.what]
        if self.raised or len(failed) < ENOUGH:
            return None
        self.raised = True
        causes = [(look.layout, look.what) for look in failed]
        # Of equally frequent ones the first.
        layout, what = max(causes, key=lambda cause: (causes.count(cause), -causes.index(cause)))
        return Drift(layout, what, len(failed), len(self._looks), min(look.at for look in failed))

    def cleared(self) -> bool:
        """Return whether an alarm is over: enough pages fit since; asked once, it is closed."""
        if not self.raised or len(self._looks) < ENOUGH or any(look.what for look in list(self._looks)[-ENOUGH:]):
            return False
        self.raised = False
        return True

    def relearned(self) -> None:
        """Forget the pages that did not fit: what was learned from them is what counts now."""
        self._looks.clear()

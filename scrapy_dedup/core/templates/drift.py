"""Do a site's templates still fit its pages?"""

from collections import deque
from datetime import datetime
from typing import Final

from msgspec import Struct

# A redesign is noticed while its fifth page is read, and five pages are what a template is learned from.
WINDOW: Final = 10
ENOUGH: Final = 5


class Drift(Struct, frozen=True):
    """Pages of late that no template fits."""

    layout: int
    """The layout of most of them, 0 where they are of none."""
    what: str
    failed: int
    looked: int
    since: datetime
    pages: frozenset[bytes]
    """Keys of those pages."""
    retired: frozenset[int]
    """Layouts of which no page of late fits."""

    @property
    def cause(self) -> str:
        """What happened, in words."""
        return f"{self.what} on {self.failed} of {self.looked} pages since {self.since:%H:%M}"


class Look(Struct, frozen=True):
    """How one page was found."""

    page_key: bytes
    layout: int
    """0 where it is of no known one."""
    what: str
    """Does not fit, such as `content root lost`; empty where all does."""
    at: datetime
    """When it was received."""


class DriftWatch:
    """The last pages of one domain, and whether they were cut by a template that fits.

    From the first page that is in doubt on the question is open whether the site was designed anew: until five of ten
    pages raise an alarm, or cannot do so any more.
    """

    def __init__(self) -> None:
        self._looks: deque[Look] = deque(maxlen=WINDOW)
        self._asked = self._doubtful = 0
        """Pages since the question is open, and those of them that are in doubt."""
        self.raised = False
        """An alarm is open."""

    @property
    def is_judging(self) -> bool:
        """Whether the question is open."""
        return self._asked > 0

    def note(self, look: Look) -> Drift | None:
        """Take in a page; return the alarm that it raises."""
        # What comes again is the same page.
        for earlier in [one for one in self._looks if one.page_key == look.page_key]:
            self._looks.remove(earlier)
        self._looks.append(look)
        if self.raised:
            return None
        found = [one for one in self._looks if one.what]
        if len(found) < ENOUGH:
            self._ask(is_doubtful=bool(look.what))
            return None
        self.raised = True
        self._asked = self._doubtful = 0
        causes = [(one.layout, one.what) for one in found]
        # Of equally frequent ones the first.
        layout, what = max(causes, key=lambda cause: (causes.count(cause), -causes.index(cause)))
        pages = frozenset(one.page_key for one in found)
        fitting = {one.layout for one in self._looks if one.page_key not in pages}
        since = min(one.at for one in found)
        retired = frozenset({one.layout for one in found} - fitting)
        return Drift(layout, what, len(found), len(self._looks), since, pages, retired)

    def _ask(self, *, is_doubtful: bool) -> None:
        if self._asked or is_doubtful:
            self._asked += 1
            self._doubtful += is_doubtful
        if self._doubtful + WINDOW - self._asked < ENOUGH or self._asked >= WINDOW:
            self._asked = self._doubtful = 0

    def cleared(self) -> bool:
        """Return whether an alarm is over: enough pages fit since; asked once, it is closed."""
        if not self.raised or len(self._looks) < ENOUGH or any(look.what for look in list(self._looks)[-ENOUGH:]):
            return False
        self.raised = False
        return True

    def relearned(self) -> None:
        """Forget the pages that did not fit: what was learned from them is what counts now."""
        self._looks.clear()
        self._asked = self._doubtful = 0

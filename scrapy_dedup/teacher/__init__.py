"""What the teacher takes and gives: pages to show, resources that they need, and what was seen."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from enum import StrEnum

from msgspec import Struct

from scrapy_dedup.core.teacher import NumberedPage, Snapshot


class WantedResource(Struct, frozen=True):
    """A resource that a page needs in order to be shown."""

    url: str
    """http or https."""
    kind: str
    """As browsers name it: `stylesheet`, `script`, `image`, `font`, `fetch`, `xhr`."""
    page_url: str


class Resource(Struct, frozen=True):
    """An answer, redirects followed."""

    status: int
    headers: Mapping[str, str]
    """By name in lower case."""
    body: bytes


Fetch = Callable[[WantedResource], Future[Resource | None]]
"""Gets a resource; None refuses it, and so does an exception.

Called from the teacher's own thread, which must not wait. The future is cancelled where nobody waits for it any more:
set it only where `set_running_or_notify_cancel` says so.
"""


class Showing(Struct, frozen=True):
    """A page to be shown."""

    url: str
    page: NumberedPage
    scripts: bool = False
    """Run the page's scripts."""
    picture: bool = False
    """Take a picture of it, too."""


class RenderedPage(Struct, frozen=True):
    """A page that was shown."""

    snapshot: Snapshot
    picture: bytes | None = None
    """PNG of the whole page, or of its upper part where it is long."""
    html: str | None = None
    """Where scripts ran: the document that they left."""
    fetched: int = 0
    refused: tuple[str, ...] = ()
    """URLs that the page asked for and did not get, at most 20."""
    browser: str = ""
    """Name and version."""


class NotShownReason(StrEnum):
    """Why a page was not shown."""

    NO_PLAYWRIGHT = "no_playwright"
    NO_BROWSER = "no_browser"
    NO_LAUNCH = "no_launch"
    """The browser is there and does not start."""
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    """The page, or the browser with it, ended."""
    TOO_LARGE = "too_large"
    LED_AWAY = "led_away"
    """Another document stands where the page was to be."""
    FAILED = "failed"


class NotShown(Struct, frozen=True):
    """A page that was not shown; the crawl goes on without."""

    reason: NotShownReason
    detail: str

    @property
    def is_lasting(self) -> bool:
        """Whether the next page will not be shown either."""
        return self.reason in (NotShownReason.NO_PLAYWRIGHT, NotShownReason.NO_BROWSER, NotShownReason.NO_LAUNCH)

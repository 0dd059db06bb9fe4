"""What the middlewares ask of whoever watches over a crawl's way through its sites."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response

if TYPE_CHECKING:
    from scrapy_dedup.plugin.crawl.visits import Visit


class LeadsNowhere(IgnoreRequest):
    """The request is not worth sending."""


class Resilience(Protocol):
    """One for a crawl, where it is switched on."""

    def starts(self, request: Request) -> None:
        """Note a first request."""

    def outgoing(self, request: Request, response: Response) -> Request | None:
        """Return what goes on of a request that a callback yields."""

    def further(self, response: Response, visit: "Visit") -> Iterator[Request]:
        """Yield requests that the page itself did not make."""

    async def before(self, request: Request) -> None:
        """Let a request pass, perhaps later; raises IgnoreRequest."""

    def after(self, request: Request, response: Response, visit: "Visit | None") -> None:
        """Judge what came."""

    def ended(self, request: Request) -> None:
        """Note that a request gave nothing."""

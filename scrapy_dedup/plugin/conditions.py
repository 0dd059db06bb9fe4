"""Validators as headers: of requests that ask for a page only if it has changed, and of answers."""

from scrapy import Request
from scrapy.http import Response

from scrapy_dedup.core.recrawl import Revalidate
from scrapy_dedup.plugin.marks import CONDITIONAL

CONDITIONS = ("If-None-Match", "If-Modified-Since")
_LONGEST = 1_000


def ask_if_changed(request: Request, decision: Revalidate) -> None:
    """Let a request ask for the page only if it has changed."""
    for name, value in zip(CONDITIONS, (decision.etag, decision.last_modified), strict=True):
        if value:
            request.headers[name] = value
    request.meta[CONDITIONAL] = True


def forget_conditions(request: Request) -> None:
    """Take away what we had asked by in the request that this one was made of: for a retry, or by a redirect."""
    if request.meta.pop(CONDITIONAL, None):
        for name in CONDITIONS:
            request.headers.pop(name, None)


def validators_of(response: Response) -> tuple[str | None, str | None]:
    """Return ETag and Last-Modified."""
    found = (response.headers.get(name) for name in ("ETag", "Last-Modified"))
    etag, last_modified = (value.decode("latin-1")[:_LONGEST] if value else None for value in found)
    return etag, last_modified

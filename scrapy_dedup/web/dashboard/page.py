"""One page: why it is as it is, and the stored page itself in a sandbox."""

from datetime import UTC, datetime
from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from scrapy_dedup.service.views.explain import UrlError, explain
from scrapy_dedup.service.views.page_views import page_view
from scrapy_dedup.store.records.records import HTML_FIELDS
from scrapy_dedup.web.dashboard.opened import Here, Opened
from scrapy_dedup.web.problems import ProblemError

router = APIRouter(prefix="/p/{project_id}")
# Whatever is in the page: no script, no form, no file, no address of its own; and nobody else may frame it.
RAW_POLICY: Final = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; "
    "frame-ancestors 'self'"
)
_KEY_CHARS: Final = 32


@router.get("/page")
def one_page(here: Here) -> Response:
    """Return one page, by its address (`url`) or its key (`key`)."""
    url = here.asked("url") or _address(here, here.asked("key", _KEY_CHARS))
    try:
        found = explain(here.server.store, here.project.name, url, here.settings)
    except UrlError as error:
        return here.show("unknown_page.html", status=422, url=url, why=str(error))
    if not found.is_known:
        return here.show("unknown_page.html", status=404, url=url, why="This address was never met")
    view = page_view(here.known, found, here.settings, datetime.now(UTC))
    return here.show("page.html", view=view, refine=here.refine())


@router.get("/page/raw")
def stored_page(here: Here) -> Response:
    """Return a stored page as it came: for a frame that runs and loads nothing."""
    page = here.project.page(_key(here.asked("key", _KEY_CHARS)))
    source = page.source if page else None
    if source is None or source.content is None:
        raise ProblemError(404, "the original of this page is not kept")
    kind = "text/html" if source.field in HTML_FIELDS else "text/plain"
    headers = {"Content-Security-Policy": RAW_POLICY, "Content-Type": f"{kind}; charset=utf-8"}
    return Response(source.content.encode("utf-8", "replace"), headers=headers)


def _address(here: Opened, key: str) -> str:
    """Return the URL of a page that is named by its key; "" where no key was given.

    Raises:
        ProblemError: there is no such page.
    """
    if not key:
        return ""
    page = here.project.page(_key(key))
    parts = (page.document, page.crawled_url, page.source) if page else ()
    url = next((part.url for part in parts if part is not None), None)
    if url is None:
        raise ProblemError(404, "there is no such page")
    return url


def _key(text: str) -> bytes:
    try:
        key = bytes.fromhex(text)
    except ValueError as error:
        raise ProblemError(404, "a page's key has 32 hexadecimal digits") from error
    if 2 * len(key) != _KEY_CHARS:
        raise ProblemError(404, "a page's key has 32 hexadecimal digits")
    return key

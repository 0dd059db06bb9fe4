"""Pages to be shown, and what fetches for them, for tests of the browser."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.core.teacher import NO_ELEMENT, NumberedPage, numbered
from scrapy_dedup.teacher import NotShown, NotShownReason, RenderedPage, Resource, Showing, WantedResource
from scrapy_dedup.teacher.browser import Browser
from tests.browser import required_chromium

URL = "http://site.example/a/page"
# No page of these tests takes a third of it, but on a machine that stands still.
TIMEOUT = timedelta(seconds=30)
# Beyond which something hangs, whatever the machine does.
PATIENCE_SECONDS = 60


@contextmanager
def teacher(timeout: timedelta = TIMEOUT) -> Iterator[Browser]:
    """Yield a browser; skip the test where none is installed, except in CI, where that is a failure."""
    with Browser(required_chromium(), timeout=timeout) as browser:
        yield browser


def a_page(html: str) -> NumberedPage:
    parsed = parse_page(html)
    assert isinstance(parsed, Page)
    page = numbered(html, parsed)
    assert page is not None
    return page


def as_it_is(html: str) -> NumberedPage:
    """Return a page of which nothing was taken, with a number on its body alone."""
    assert "<body" not in html
    return NumberedPage(f"<!doctype html><body data-n=0>{html}", "data-n", (NO_ELEMENT,), ("body",), ())


def a_showing(html: str, *, url: str = URL, scripts: bool = False, picture: bool = False) -> Showing:
    return Showing(url, as_it_is(html), scripts=scripts, picture=picture)


def style(text: str, **headers: str) -> Resource:
    return Resource(200, {"content-type": "text/css", **headers}, text.encode())


@dataclass
class Shelf:
    """Fetches what stands on it, and notes what was wanted."""

    resources: dict[str, Resource | Exception | Callable[[], Resource]] = field(default_factory=dict)
    """By the end of the URL."""
    wanted: list[WantedResource] = field(default_factory=list)

    def fetch(self, wanted: WantedResource) -> Future[Resource | None]:
        self.wanted.append(wanted)
        future: Future[Resource | None] = Future()
        found = next((answer for end, answer in self.resources.items() if wanted.url.endswith(end)), None)
        if isinstance(found, Exception):
            future.set_exception(found)
        else:
            future.set_result(found() if callable(found) else found)
        return future


def shown(browser: Browser, showing: Showing, shelf: Shelf | None = None) -> RenderedPage:
    """Return how a page looks; a machine that does much else may need a second try."""
    answer = answered(browser, showing, shelf)
    if isinstance(answer, NotShown) and answer.reason is NotShownReason.TIMEOUT:
        answer = answered(browser, showing, shelf)
    assert isinstance(answer, RenderedPage), answer
    return answer


def not_shown(browser: Browser, showing: Showing, shelf: Shelf | None = None) -> NotShown:
    answer = answered(browser, showing, shelf)
    assert isinstance(answer, NotShown), answer
    return answer


def answered(browser: Browser, showing: Showing, shelf: Shelf | None = None) -> RenderedPage | NotShown:
    return browser.show(showing, (shelf or Shelf()).fetch).result(PATIENCE_SECONDS)

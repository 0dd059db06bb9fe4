"""With a stand-in for the engine, which answers as a site would; tests/end_to_end/test_soft_404.py has whole crawls."""

import asyncio
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response, TextResponse
from scrapy.http.request import NO_CALLBACK

from scrapy_dedup.core.blocks import Page, parse_page
from scrapy_dedup.core.guard import ParseLimits
from scrapy_dedup.core.repeats import RepeatPolicy
from scrapy_dedup.plugin.error_pages import ErrorPages
from scrapy_dedup.plugin.sites import Site
from scrapy_dedup.service.versions import SiteVersions

HOME = "https://example.com/"
ERROR = (
    "<title>Oops</title><main><h1>Sorry</h1><p>We looked for {url} and found nothing at all, try the search.</p></main>"
)
REAL = "<title>Boats</title><main><p>Boats of all sizes, to hire by the hour or by the day.</p></main>"


def error_page(request: Request) -> Response:
    return html(request.url, ERROR.format(url=request.url))


def html(url: str, body: str, **fields: Any) -> HtmlResponse:
    return HtmlResponse(url, body=body.encode(), encoding="utf-8", **fields)


class Hosts:
    """Error pages over a site, with what was asked of it."""

    def __init__(self, answer: Callable[[Request], Response] = error_page) -> None:
        self.asked: list[Request] = []
        self.counts: Counter[str] = Counter()

        async def download_async(request: Request) -> Response:
            self.asked.append(request)
            await asyncio.sleep(0)
            return answer(request)

        runtime: Any = SimpleNamespace(
            crawl=SimpleNamespace(run=SimpleNamespace(id=UUID(int=1))),
            limits=ParseLimits(),
            count=lambda what, n=1: self.counts.update({what: n}),
            crawler=SimpleNamespace(engine=SimpleNamespace(download_async=download_async)),
        )
        self.pages = ErrorPages(runtime)
        self.site = Site(SiteVersions(RepeatPolicy()))

    def judge(self, *pages: tuple[str, str]) -> list[bool]:
        """Judge pages that come at once, after the host's first one."""

        async def work() -> list[bool]:
            await self._is_one(HOME, REAL)
            return await asyncio.gather(*(self._is_one(url, body) for url, body in pages))

        return asyncio.run(work())

    async def _is_one(self, url: str, body: str) -> bool:
        page = parse_page(body)
        assert isinstance(page, Page)
        return await self.pages.is_one(html(url, body), page, self.site)


def dead(name: str = "gone") -> tuple[str, str]:
    return HOME + name, ERROR.format(url=HOME + name)


def test_error_page_is_told_from_a_real_one_by_one_probe() -> None:
    hosts = Hosts()

    assert hosts.judge(dead(), (f"{HOME}boats", REAL), dead("other")) == [True, False, True]
    assert len(hosts.asked) == 1
    assert hosts.counts == {"soft_404/probes": 1}


def test_host_with_one_page_is_not_probed() -> None:
    hosts = Hosts()

    assert hosts.judge((HOME, REAL)) == [False]
    assert hosts.asked == []


def test_every_host_is_probed_for_itself() -> None:
    hosts = Hosts()
    others = [(f"http://example.com/{name}", REAL) for name in "ab"]

    hosts.judge(dead(), *others)

    assert {request.url.rpartition("/")[0] for request in hosts.asked} == {"https://example.com", "http://example.com"}


def test_probe_is_like_no_request_of_the_spider() -> None:
    """It is not filtered, retried, redirected or cached, and it does not wait for long."""
    hosts = Hosts()
    hosts.judge(dead())
    (probe,) = hosts.asked

    assert probe.callback is NO_CALLBACK
    assert probe.dont_filter
    assert {key for key, value in probe.meta.items() if value is True} == {"dont_retry", "dont_redirect", "dont_cache"}
    assert probe.meta["download_timeout"] <= 30


def refuse(request: Request) -> Response:
    raise IgnoreRequest("robots.txt")


def fail(request: Request) -> Response:
    raise TimeoutError("too slow")


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda request: html(request.url, ERROR, status=404), id="404"),
        pytest.param(lambda request: html(request.url, "", status=302), id="redirect"),
        pytest.param(lambda request: Response(request.url, body=b"%PDF"), id="no-text"),
        pytest.param(lambda request: TextResponse(request.url, body=b"{}"), id="no-html"),
        pytest.param(lambda request: html(request.url, "<div>" * 50_000), id="cannot-be-parsed"),
        pytest.param(refuse, id="robots-txt"),
        pytest.param(fail, id="no-answer"),
    ],
)
def test_nobody_is_judged_without_an_error_page(answer: Callable[[Request], Response]) -> None:
    hosts = Hosts(answer)

    assert hosts.judge(dead(), dead("other")) == [False, False]
    assert len(hosts.asked) == 1

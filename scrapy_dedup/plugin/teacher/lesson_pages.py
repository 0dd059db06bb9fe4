"""Pages to learn a domain from, asked for and shown within a run of `plugin.teacher.run`."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from typing import Final
from urllib.parse import urljoin, urlsplit

from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.core.teacher import numbered
from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.plugin.teacher.run import PageError, Web
from scrapy_dedup.service.policies import parse_limits, url_rules
from scrapy_dedup.service.teacher.lessons import LookedAtPage, see
from scrapy_dedup.service.teacher.teaching import PageToShow
from scrapy_dedup.service.templates.site_knowledge import REST
from scrapy_dedup.settings import Settings
from scrapy_dedup.teacher.browser import Browser
from scrapy_dedup.teacher.values import NotShown, NotShownReason, RenderedPage, Showing

SIBLINGS: Final = 12


async def page_and_siblings(web: Web, url: str, domain: str, settings: Settings) -> AsyncIterator[PageToShow]:
    """Iterate over a page and at most SIBLINGS that it links to on its host; one that does not come is passed over.

    Raises:
        PageError: the page itself did not come.
    """
    limits, rules = parse_limits(settings), url_rules(settings)
    waiting, known = [url], set[bytes]()
    while waiting and len(known) <= SIBLINGS:
        asked = waiting.pop(0)
        try:
            response = await web.page(asked)
        except PageError:
            if asked == url:
                raise
            continue
        key, page = page_key(response.url, rules), parse_page(response.text, limits)
        if not isinstance(page, Page) or key in known:
            continue
        known.add(key)
        if asked == url:
            # Some of them do not come, or are one page.
            waiting = list(islice(siblings(response.url, page), 2 * SIBLINGS))
        yield PageToShow(domain, REST, key, response.url, response.text, page)


def siblings(url: str, page: Page) -> Iterator[str]:
    """Iterate over links of a page to others on its host, the most similar addresses first."""
    here = urlsplit(url)
    steps = here.path.split("/")
    found: dict[str, tuple[int, int]] = {}
    for href in page.links:
        try:
            link = urljoin(urljoin(url, page.base or ""), href).partition("#")[0]
            parts = urlsplit(link)
        except ValueError:
            continue
        if (parts.scheme, parts.netloc) == (here.scheme, here.netloc) and link != url:
            others = parts.path.split("/")
            found.setdefault(link, (abs(len(steps) - len(others)), -_common(steps, others)))
    # Sorting keeps the order of the page where addresses are equally similar.
    yield from sorted(found, key=lambda link: found[link])


def _common(one: list[str], other: list[str]) -> int:
    """Return with how many equal steps two paths begin."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))


async def show_page(web: Web, browser: Browser, page: PageToShow) -> LookedAtPage | NotShown:
    """Return how a page looks, with its picture."""
    numbers = numbered(page.html, page.page)
    if numbers is None:
        return NotShown(NotShownReason.TOO_LARGE, "too many elements, or they read otherwise with numbers")
    showing = Showing(page.url, numbers, scripts=page.needs_scripts, picture=True)
    answer = await asyncio.wrap_future(browser.show(showing, web.fetch))
    return see(page, numbers, answer) if isinstance(answer, RenderedPage) else answer

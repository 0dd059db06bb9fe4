"""Pages whose text is made by scripts, as the teacher's browser shows them."""

import logging
import re
from typing import Final

from scrapy.http import Response, TextResponse
from scrapy.utils.asyncio import run_in_thread

from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.core.pages.guard import ParseLimits
from scrapy_dedup.core.teacher import numbered
from scrapy_dedup.core.templates.layouts import skeleton_of
from scrapy_dedup.core.urls.normal_form import extract_domain
from scrapy_dedup.plugin.teacher.teaching import Teaching
from scrapy_dedup.plugin.visits import is_html
from scrapy_dedup.service.crawl.crawl import Crawl, load
from scrapy_dedup.service.teacher.teaching import NEARLY_EMPTY
from scrapy_dedup.service.templates.layout_figures import name_of
from scrapy_dedup.service.templates.site_knowledge import SiteKnowledge
from scrapy_dedup.store.engine.errors import StoreError
from scrapy_dedup.teacher.values import NotShown, Showing

logger = logging.getLogger(__name__)

RENDERED: Final = "dedup_rendered"
"""The flag of a response whose scripts were run."""


class Rendering:
    """Asks the teacher's browser, which reaches no network but through Scrapy."""

    def __init__(self, crawl: Crawl, limits: ParseLimits, teaching: Teaching) -> None:
        self._crawl = crawl
        self._limits = limits
        self._teaching = teaching
        self._told: set[tuple[str, int]] = set()

    async def of(self, response: Response) -> Response:
        """Return a response as its scripts leave it, if its layout needs that; else as it is."""
        domain = extract_domain(response.url, self._crawl.settings.domain_scope) or ""
        known = await self._known(domain)
        layouts = known.need_rendering if known is not None else frozenset()
        if known is None or not layouts:
            return response
        if response.status != 200 or not isinstance(response, TextResponse) or not is_html(response):
            return response
        page = parse_page(response.text, self._limits)
        layout = known.layout_of(skeleton_of(page)) if isinstance(page, Page) else None
        if not isinstance(page, Page) or layout not in layouts or page.chars >= NEARLY_EMPTY:
            return response
        self._tell(domain, layout)
        return await self._rendered(response, page)

    async def _known(self, domain: str) -> SiteKnowledge | None:
        """Return what is known of a domain; the store is asked once, before the domain's first item."""
        crawl = self._crawl
        learner = crawl.learner(domain, "template")
        if learner is None and domain:
            try:
                stored = await run_in_thread(load, crawl.store, domain)
            except StoreError:
                return None
            learner = crawl.learner(domain, "template") or crawl.meet(domain, "template", stored)
        return learner.site.knowledge if learner is not None and learner.site is not None else None

    def _tell(self, domain: str, layout: int) -> None:
        if (domain, layout) not in self._told:
            self._told.add((domain, layout))
            logger.info("Pages of layout %s of %s are rendered: their text is made by scripts", name_of(layout), domain)

    async def _rendered(self, response: TextResponse, page: Page) -> Response:
        count = self._crawl.count
        with_numbers = await run_in_thread(numbered, response.text, page)
        if with_numbers is None:
            count("teacher/not_rendered/too_large", 1)
            return response
        answer = await self._teaching.show(Showing(response.url, with_numbers, scripts=True))
        if isinstance(answer, NotShown) or answer.html is None:
            count(f"teacher/not_rendered/{answer.reason if isinstance(answer, NotShown) else 'failed'}", 1)
            return response
        count("teacher/rendered", 1)
        body = re.sub(rf' {with_numbers.attribute}="\d+"', "", answer.html).encode("utf-8", "replace")
        return response.replace(body=body, encoding="utf-8", flags=[*response.flags, RENDERED])

"""From an item to the page that it brings, or to the reason why it is left as it is."""

import logging
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from itemadapter import ItemAdapter
from msgspec import Struct
from msgspec.structs import replace
from scrapy.http import TextResponse
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.response import get_base_url
from twisted.internet.defer import Deferred

from scrapy_dedup.core.pages.blocks import Page, Unparsed, parse_page
from scrapy_dedup.core.pages.render import render
from scrapy_dedup.core.urls.normal_form import extract_domain, page_key, target_of
from scrapy_dedup.plugin.items import SOURCE_GROUP, text_field, url_of
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.plugin.visits import Visit, content_type_of
from scrapy_dedup.plugin.waiting import Turn
from scrapy_dedup.service.crawl.drafts import Draft, Recalled, recall
from scrapy_dedup.service.cut.cleaning import method_of
from scrapy_dedup.settings import Settings

if TYPE_CHECKING:
    from scrapy_dedup.core.pdf.text import PdfText
    from scrapy_dedup.service.pdf.reading import UnreadPdf

logger = logging.getLogger(__name__)


class ItemSkipReason(StrEnum):
    """Why an item goes out without having been cleaned."""

    NO_ITEM = "no_item"  # it is no item of any kind that itemadapter knows
    DISABLED = "disabled"  # its request, or its spider, asked for it
    NO_URL = "no_url"  # no URL field, and no response whose URL could stand in
    NO_DOMAIN = "no_domain"  # its URL has none
    NOT_HTML = "not_html"  # its response is an image, JSON
    NO_PAGE = "no_page"  # neither HTML nor content, and no URL, or another one than its response's


class SkippedItem(Struct, frozen=True):
    """The item goes out as it came. *detail* is a word for the stat `dedup/left/<detail>`."""

    detail: str
    is_told: bool = False
    """On the item, by `dedup.left`: a user wants to see it there."""
    visit: Visit | None = None
    """Of the page that it came from, where that is told, too."""
    is_nameless: bool = False
    """With the URL of its page it would have been cleaned."""


class ItemPage(Struct, frozen=True):
    """The page that an item brings."""

    draft: Draft
    settings: Settings
    visit: Visit | None
    stands_for_page: bool
    """The item has no URL, or names its response's page."""
    fields: bytes | None = None
    """For the item's own fields, by which another page's item may equal it; None: it equals none."""
    before: "Deferred[None] | None" = None
    """What fires when the items have left that came before it from its domain."""


class Intake:
    """Finds out what an item is."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._reading: dict[str, Deferred[None]] = {}
        self._has_warned = False

    def of(self, adapter: ItemAdapter, url: str | None, visit: Visit | None) -> ItemPage | SkippedItem:
        """Return the page that an item brings, parsed, or why it is left alone."""
        settings = visit.settings if visit is not None else self._runtime.settings
        if not settings.enabled:
            return SkippedItem(ItemSkipReason.DISABLED)
        if url is None and visit is None:
            return SkippedItem(ItemSkipReason.NO_URL, is_told=True)
        stands = visit is not None and (url is None or self._names(visit, url))
        own_url = url if url is not None and not stands else None
        draft = self._draft(adapter, visit, own_url, settings, names_page=url is not None)
        if isinstance(draft, SkippedItem):
            return draft
        if draft.source_group is None:
            draft.source_group = text_field(adapter, SOURCE_GROUP) or settings.source_group or None
        return ItemPage(draft, settings, visit, stands)

    def takes_response(self, adapter: ItemAdapter, visit: Visit) -> bool:
        """Say whether an item has no text of its own, and gets that of its response."""
        settings = visit.settings
        url = url_of(adapter, settings)
        if url is None or not settings.attach_response or not self._names(visit, url):
            return False
        has_own = any(text_field(adapter, name) for name in (settings.html_field, settings.content_field))
        return not has_own and (visit.html() is not None or visit.pdf_body() is not None)

    def _names(self, visit: Visit, url: str) -> bool:
        """Say whether a URL, relative perhaps, is that of the visit's page, or one that led there."""
        rules = self._runtime.rules
        if url == visit.url or (key := page_key(url, rules)) == visit.page_key:
            return True
        if any(page_key(one, rules) == key for one in visit.redirected_from):
            return True
        # Relative to what the page says, if it does.
        response = visit.response()
        base = get_base_url(response) if isinstance(response, TextResponse) else visit.url
        target = target_of(url, base)
        return target is not None and page_key(target, rules) == visit.page_key

    def _draft(
        self, adapter: ItemAdapter, visit: Visit | None, own_url: str | None, settings: Settings, *, names_page: bool
    ) -> Draft | SkippedItem:
        html = text_field(adapter, settings.html_field, visit.declared_type() if visit is not None else None)
        content = text_field(adapter, settings.content_field)
        if html is None and content is None:
            if visit is None or own_url is not None or not names_page or not settings.attach_response:
                is_nameless = (
                    visit is not None and not names_page and settings.attach_response and visit.html() is not None
                )
                return SkippedItem(ItemSkipReason.NO_PAGE, is_told=True, visit=visit, is_nameless=is_nameless)
            return self._from_response(visit, settings)
        if visit is not None and own_url is None and html is not None and html == visit.text():
            return self._from_response(visit, settings)
        return self._from_fields(own_url, html, content or "", visit, settings)

    def _from_response(self, visit: Visit, settings: Settings) -> Draft | SkippedItem:
        """Return the draft of a response; all of its items share it."""
        if visit.held is not None:
            return self._recalled(visit, visit.held)
        page = visit.page(self._runtime.limits)
        html = visit.html() if not isinstance(page, Unparsed) else ""
        if visit.pdf is not None:
            return self._from_pdf(visit, visit.pdf, settings)
        if page is None or html is None:
            return SkippedItem(ItemSkipReason.NOT_HTML)
        if isinstance(page, Unparsed):
            return SkippedItem(page.reason, is_told=True)
        for draft in visit.drafts:
            if draft.page is page:
                return draft
        draft = Draft(visit.url, visit.page_key, visit.domain, html, visit.fetched_at, page=page, of_response=True)
        visit.keep(draft)
        return self._finish(draft, visit, settings)

    def read_anew(self, item_page: ItemPage) -> ItemPage:
        """Return the same page, parsed, where it was taken from the store."""
        visit = item_page.visit
        if visit is None or visit.held is None:
            return item_page
        held, visit.held = visit.held.text, None
        visit.drafts = [draft for draft in visit.drafts if draft.held is not held]
        draft = self._from_response(visit, item_page.settings)
        return replace(item_page, draft=draft) if isinstance(draft, Draft) else item_page

    def _recalled(self, visit: Visit, known: Recalled) -> Draft:
        """Return the draft of a response whose bytes are those of the last time."""
        for draft in visit.drafts:
            if draft.held is known.text:
                return draft
        draft = Draft(visit.url, visit.page_key, visit.domain, "", visit.fetched_at, of_response=True)
        draft.cleaned, draft.metadata, draft.judgement = known.cleaned, known.metadata, visit.judgement
        draft.method = method_of(visit.settings, has_html=known.text.field == "html")
        recall(draft, known.text, visit.settings)
        visit.keep(draft)
        return draft

    async def read(self, visit: Visit | None) -> None:
        """Read the PDF file of an item's response, if it is one, so that `of` finds its text."""
        if visit is None or visit.held is not None or visit.pdf is not None:
            return
        if not (visit.settings.enabled and visit.settings.pdf_enabled):
            return
        if (body := visit.pdf_body()) is None:
            return
        from scrapy_dedup.service.pdf.reading import pdf_limits, read_pdf  # noqa: PLC0415 (few crawls meet a PDF)

        # One file at a time: others would wait for it in the threads that the store needs.
        async with Turn(self._reading, "file"):
            if visit.pdf is None:
                visit.pdf = await run_in_thread(read_pdf, body, pdf_limits(visit.settings))
                self._warn_once(visit.pdf)

    def _warn_once(self, pdf: "PdfText | UnreadPdf") -> None:
        """Say that no file can be read, where that is so."""
        from scrapy_dedup.service.pdf.reading import UnreadPdf, UnreadReason  # noqa: PLC0415

        if isinstance(pdf, UnreadPdf) and pdf.reason is UnreadReason.MISSING and not self._has_warned:
            self._has_warned = True
            logger.warning("Items of PDF files go out as they came. %s", pdf.message)

    def _from_pdf(self, visit: Visit, pdf: "PdfText | UnreadPdf", settings: Settings) -> Draft | SkippedItem:
        """Return the draft of a PDF file; all of its response's items share it."""
        from scrapy_dedup.service.pdf.reading import UnreadPdf, pdf_text  # noqa: PLC0415

        if isinstance(pdf, UnreadPdf):
            return SkippedItem(f"pdf_{pdf.reason.replace(' ', '_')}", is_told=True)
        for draft in visit.drafts:
            if draft.pdf is pdf:
                return draft
        text = pdf_text(pdf, settings)
        draft = Draft(visit.url, visit.page_key, visit.domain, text, visit.fetched_at, pdf=pdf, text=text)
        visit.keep(draft)
        return self._finish(draft, visit, settings)

    def _from_fields(
        self, own_url: str | None, html: str | None, content: str, visit: Visit | None, settings: Settings
    ) -> Draft | SkippedItem:
        url = own_url or (visit.url if visit is not None else "")
        domain = extract_domain(url, settings.domain_scope)
        if domain is None:
            return SkippedItem(ItemSkipReason.NO_DOMAIN, is_told=True)
        page = parse_page(html, self._runtime.limits) if html is not None else None
        if isinstance(page, Unparsed):
            return SkippedItem(page.reason, is_told=True)
        draft = Draft(
            url=url,
            page_key=page_key(url, self._runtime.rules),
            domain=domain,
            source=html if html is not None else content,
            fetched_at=visit.fetched_at if visit is not None else datetime.now(UTC),
            page=page,
            text=content,
        )
        if visit is not None and own_url is None:
            visit.keep(draft)
        return self._finish(draft, visit, settings)

    def _finish(self, draft: Draft, visit: Visit | None, settings: Settings) -> Draft:
        if visit is not None and visit.page_key == draft.page_key:
            draft.judgement = visit.judgement
        draft.method = method_of(settings, has_html=draft.page is not None)
        if isinstance(draft.page, Page) and draft.method == "text":
            draft.text = render(draft.page, [True] * len(draft.page.blocks), settings.output, draft.url)
        response = visit.response() if visit is not None else None
        if visit is not None and response is not None:
            draft.http_status = visit.http_status
            is_text = isinstance(response, TextResponse) or draft.pdf is not None
            draft.content_type = content_type_of(response) if is_text else None
        return draft

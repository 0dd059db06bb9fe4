"""Pages that are not even fetched, because another page has the title that is known of them (DEDUP_TITLE_TRUST)."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from scrapy import Request
from scrapy.http import Response
from scrapy.utils.asyncio import run_in_thread

from scrapy_dedup.core.fingerprints import text_hash
from scrapy_dedup.core.likeness import TITLE
from scrapy_dedup.plugin.replay import empty_response
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.plugin.sitemap_dates import SitemapDates
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.errors import StoreError
from scrapy_dedup.store.known_pages import Question
from scrapy_dedup.store.records import CrawledUrlRecord, DecisionRecord
from scrapy_dedup.store.stored_visits import StoredState

_REASON = "not asked for: the same title, which is trusted"


class TitleCheck:
    """Asks the store; where it does not answer, the page is fetched."""

    def __init__(self, runtime: Runtime, sitemaps: SitemapDates) -> None:
        self._runtime = runtime
        self._sitemaps = sitemaps

    async def twin(self, key: bytes, domain: str, state: StoredState | None, settings: Settings) -> bytes | None:
        """Return which page has the title that is known of one; None where none has, or too many have.

        A page that stands for itself is fetched: of two that have one title neither would be looked at any more.
        """
        if settings.title_trust != "always" or not settings.acts(TITLE):
            return None
        if state is not None and state.document_key in (None, key):
            return None
        title = text_hash(state.title) if state is not None and state.title else self._sitemaps.title_of(key)
        if title is None:
            return None
        try:
            found = await run_in_thread(self._runtime.crawl.store.others, Question(key, domain, title_key=title))
        except StoreError:
            self._runtime.count("store/errors")
            return None
        gone_out = [one.page_key for one in found.titles if not one.dropped]
        texts = {one.text_hash for one in found.titles}
        return gone_out[0] if gone_out and len(texts) < settings.title_common else None

    def left_out(self, request: Request, key: bytes, domain: str, twin: bytes) -> Response:
        """Return what stands for a page of which nothing but its title is known; nothing comes of it."""
        crawl, at = self._runtime.crawl, datetime.now(UTC)
        self._runtime.count("title/skipped")
        crawl.rows.append(DecisionRecord(key, TITLE, "dropped", _REASON, at))
        crawl.rows.append(
            CrawledUrlRecord(key, request.url, domain, "duplicate", at, document_key=twin, alias_kind=TITLE)
        )
        response = empty_response(request)
        response.request = request.replace(callback=_nothing, cb_kwargs={})
        return response


def _nothing(response: Response) -> Iterator[Any]:  # noqa: ARG001 (Scrapy's signature)
    yield from ()

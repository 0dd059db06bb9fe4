"""The content index: per URL the hash of its content and what was extracted from it, over the store."""

from collections.abc import Iterator, Mapping
from typing import Any

from scrapy_dedup.core.pages.fingerprints import content_hash
from scrapy_dedup.core.recrawl import values as keeping
from scrapy_dedup.service.cache.index_records import ContentIndexError, records_of
from scrapy_dedup.service.cache.tree import UrlRecord, content_lines, url_record
from scrapy_dedup.service.views.explain import keys_of
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import CrawledUrlRecord, ExtractionRecord, Record
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.upkeep.cache import CachedPage, StoredCache
from scrapy_dedup.store.writer import ProjectStore

__all__ = ["ContentIndexError", "ContentIndexManager"]


class ContentIndexManager:
    """The content index of a project: of each URL the hash of its content, while an extraction of that is held.

    Who invalidates the extraction has the page done again. Updates wait in memory until `save_index`; to save them is
    to say that their pages are done, for crawls, too, which then take them for seen. Not for several threads.

    Raises, in every method that reads or writes, StoreError when the store fails, and, in every method that takes a
    URL, UrlError where it is no URL of a page.
    """

    def __init__(self, store: Store, project: ProjectStore, settings: Settings | None = None) -> None:
        """Take a project; what its crawls have seen is in its index, too."""
        self._cache = StoredCache(store, project.id)
        self._project = project
        self._settings = settings or Settings()
        self._waiting: dict[bytes, tuple[ExtractionRecord, tuple[Record, ...]]] = {}

    def load_index(self) -> Iterator[tuple[str, UrlRecord]]:
        """Give up updates that were not saved; return all URLs with their records, read as they are asked for."""
        self._waiting.clear()
        found = ((page.document.url, _held(page)) for page in self._cache.iterate_pages())
        return ((url, _record(url, held)) for url, held in found if held)

    def save_index(self) -> int:
        """Store all updates, in one transaction; return how many these were.

        Raises:
            StoreError: nothing was stored; the updates wait on.
        """
        saved = len(self._waiting)
        self._project.write(record for extraction, others in self._waiting.values() for record in (*others, extraction))
        self._waiting.clear()
        return saved

    def get_url_record(self, url: str) -> UrlRecord | None:
        """Return the record of a URL; None where there is none, or nothing is held that was extracted."""
        held, page = self._find(url)
        return _record(page.document.url if page else held.url, held) if held else None

    @staticmethod
    def calculate_content_hash(cleaned: str) -> str:
        """Return the SHA-256 of a page's main content, 64 hexadecimal digits; white space does not count, case does."""
        return content_hash(cleaned).hex()

    def is_content_changed(self, url: str, new_hash: str) -> bool:
        """Return whether there is no extraction for this content of a URL."""
        record = self.get_url_record(url)
        return record is None or record["content_hash"] != new_hash

    def update_url_record(
        self, url: str, new_hash: str, extraction_data: Mapping[str, Any], metadata: Mapping[str, Any] | None = None
    ) -> UrlRecord:
        """Note what was extracted from a content of a URL; it is stored by `save_index`.

        Args:
            url: of the page.
            new_hash: of its content, by `calculate_content_hash`.
            extraction_data: comes back from `get_cached_extraction`; of the types that `keeping.encode` knows.
            metadata: `title`, `depth`, `included`, `decision_explanation`, `crawl_timestamp` (ISO 8601 or an aware
                datetime); all of them optional.

        Raises:
            ContentIndexError: the hash is none, or something cannot be kept.
        """
        keys, metadata = keys_of(url, self._settings), metadata or {}
        page = self._cache.page(keys.page_key)
        held = page.document if page else None
        document, extraction, decisions = records_of(keys, held, new_hash, extraction_data, metadata)
        records: list[Record] = [document, *decisions]
        if page is None:
            at = document.last_seen_at or document.updated_at
            records.append(CrawledUrlRecord(keys.page_key, url, keys.domain, "crawled", at, document_key=keys.page_key))
        self._waiting[keys.page_key] = extraction, tuple(records)
        return _record(keys.url, extraction)

    def get_cached_extraction(self, url: str) -> dict[str, Any] | None:
        """Return what was extracted from the present content of a URL; None where nothing is held.

        Returns:
            What `update_url_record` was given. Of a page that was extracted by a crawl: `url`, `content` (lines of the
            cleaned text), `extraction_timestamp`, `items` (dicts, as they had passed all pipelines).
        """
        held, page = self._find(url)
        if held is None or held.items is None:
            return None
        items = [keeping.decode(item["fields"]) for item in held.items]
        if page is None or (held.callback == "" and len(items) == 1):
            return dict(items[0])
        return {
            "url": page.document.url,
            "content": content_lines(page.source()),
            "extraction_timestamp": held.created_at.isoformat(),
            "items": items,
        }

    def _find(self, url: str) -> tuple[ExtractionRecord | None, CachedPage | None]:
        """Return what is held for a URL, and its page; without the page where it waits to be saved."""
        key = keys_of(url, self._settings).page_key
        if key in self._waiting:
            return self._waiting[key][0], None
        page = self._cache.page(key)
        return (_held(page) if page else None), page


def _held(page: CachedPage) -> ExtractionRecord | None:
    """Return the newest extraction of a page's present content; one that has items before others."""
    of_content = [one for one in page.extractions() if one.content_hash == page.document.content_hash]
    return min(of_content, key=lambda one: one.items is None, default=None)


def _record(url: str, held: ExtractionRecord) -> UrlRecord:
    return url_record(url, held.content_hash.hex(), held.created_at.isoformat())

"""The content index: per URL the hash of its content and what was extracted from it, over the store."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final, TypedDict

from msgspec.structs import replace

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.pages.fingerprints import content_hash, parts_hash
from scrapy_dedup.core.recrawl import values as keeping
from scrapy_dedup.core.recrawl.values import Unkeepable
from scrapy_dedup.service.views.explain import Keys, keys_of
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import (
    CrawledUrlRecord,
    DecisionRecord,
    DocumentRecord,
    ExtractionRecord,
    Record,
)
from scrapy_dedup.store.records.stored import StoredSource
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.upkeep.cache import CachedPage, StoredCache
from scrapy_dedup.store.writer import ProjectStore

INDEX_LAYER: Final = "content_index"
INCLUDED: Final = "included"
EXCLUDED: Final = "excluded"
"""What the content index decides about a page, as a layer does."""

_HASH_DIGITS: Final = 64
# Whoever fills the index knows no links: a crawl runs the callback for them.
_NO_LINKS: Final = ({"unkeepable": "what the index does not know"},)


EXTRACTIONS: Final = "extractions"
METADATA: Final = "metadata"
"""Folders of a tree of files."""


class UrlRecord(TypedDict):
    """What the index says of a URL.

    Attributes:
        content_hash: SHA-256 of the normalised main content, 64 hexadecimal digits; "" where it is not known.
        last_extracted: ISO 8601.
        extraction_file, metadata_file: paths in the tree.
        url_hash: the first 12 hexadecimal digits of the URL's SHA-256.
    """

    content_hash: str
    last_extracted: str
    extraction_file: str
    metadata_file: str
    url_hash: str


class ContentIndexError(DedupError):
    """A record cannot be kept; the message says why."""


def records_of(
    keys: Keys,
    held: DocumentRecord | None,
    digits: str,
    extracted: Mapping[str, Any],
    metadata: Mapping[str, Any],
    at: str | None = None,
) -> tuple[DocumentRecord, ExtractionRecord, list[DecisionRecord]]:
    """Return a page's document, what was extracted from it, and whether it belongs to the index, if somebody said so.

    *extracted* has types that `keeping.encode` knows; *metadata* may have title, depth, included, decision_explanation
    and crawl_timestamp; *at* is when it was extracted, ISO 8601, None: now.

    Raises:
        ContentIndexError: the hash is none, or something cannot be kept.
    """
    digest, now = _digest(digits), _time(at, datetime.now(UTC))
    decisions = []
    if "included" in metadata or "decision_explanation" in metadata:
        action = INCLUDED if metadata.get("included", True) else EXCLUDED
        reason = str(metadata.get("decision_explanation") or action)
        decisions.append(DecisionRecord(keys.page_key, INDEX_LAYER, action, reason, now))
    return _document(keys, held, digest, metadata, now), _extraction(keys, digest, extracted, now), decisions


def _digest(digits: str) -> bytes:
    try:
        digest = bytes.fromhex(digits)
    except ValueError:
        digest = b""
    if 2 * len(digest) != _HASH_DIGITS:
        raise ContentIndexError(f"hash {digits[:80]!r}: needs the 64 hexadecimal digits of calculate_content_hash")
    return digest


def _extraction(keys: Keys, digest: bytes, extracted: Mapping[str, Any], at: datetime) -> ExtractionRecord:
    kept = keeping.encode(dict(extracted))
    if isinstance(kept, Unkeepable):
        what = f"{kept.detail} ({kept.reason})"
        raise ContentIndexError(f"extraction of {keys.url}: cannot be kept: {what}; use plain values, dates, decimals")
    return ExtractionRecord(
        memo_key=parts_hash(keys.page_key, digest),
        page_key=keys.page_key,
        url=keys.url,
        domain=keys.domain,
        content_hash=digest,
        callback="",
        created_at=at,
        requests=_NO_LINKS,
        items=[{"class": "dict", "fields": kept}],
    )


def _document(
    keys: Keys, held: DocumentRecord | None, digest: bytes, metadata: Mapping[str, Any], now: datetime
) -> DocumentRecord:
    """Return the document with another content; of one with the same content all else stays as it is."""
    seen_at = _time(metadata.get("crawl_timestamp"), now)
    document = DocumentRecord(keys.page_key, keys.url, keys.domain, "completed", now, verdict="new", visits_count=1)
    if held is not None and held.content_hash == digest:
        document = replace(held, updated_at=now)
    elif held is not None:
        # Validators, blocks and links are those of the content before.
        document = replace(
            document,
            verdict="changed",
            title=held.title,
            depth=held.depth,
            first_seen_at=held.first_seen_at,
            visits_count=held.visits_count + 1,
            changes_count=held.changes_count + 1,
        )
    depth = metadata.get("depth", document.depth)
    return replace(
        document,
        content_hash=digest,
        title=metadata.get("title", document.title),
        depth=None if depth is None else int(depth),
        last_seen_at=seen_at,
        last_changed_at=document.last_changed_at or seen_at,
        gone_at=None,
    )


def _time(given: object, otherwise: datetime) -> datetime:
    if given is None:
        return otherwise
    try:
        time = given if isinstance(given, datetime) else datetime.fromisoformat(str(given))
    except ValueError as error:
        raise ContentIndexError(f"time {str(given)[:80]!r}: needs ISO 8601, such as 2026-03-01T12:00:00Z") from error
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def url_record(url: str, content_hash: str, last_extracted: str, stem: str | None = None) -> UrlRecord:
    """Return the record of a page whose files have this name; None: the name that a URL has by itself."""
    digits = sha256(url.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return UrlRecord(
        content_hash=content_hash,
        last_extracted=last_extracted,
        extraction_file=f"{EXTRACTIONS}/{stem or digits}.json",
        metadata_file=f"{METADATA}/{stem or digits}_meta.json",
        url_hash=digits,
    )


def content_lines(source: StoredSource | None) -> list[str]:
    """Return the cleaned text of a page in lines; none where it is not kept."""
    return source.cleaned_content.split("\n") if source and source.cleaned_content is not None else []


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

        *new_hash* is that of its content, by `calculate_content_hash`; *extraction_data*, of the types that
        `keeping.encode` knows, comes back from `get_cached_extraction`; *metadata* may have `title`, `depth`,
        `included`, `decision_explanation`, `crawl_timestamp` (ISO 8601 or an aware datetime).

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

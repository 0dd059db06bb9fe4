"""A page that an earlier crawl saw, as a crawl of ours would have stored it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from scrapy_dedup.core.fingerprints import content_hash, pack
from scrapy_dedup.core.keeping import Unkeepable, encode
from scrapy_dedup.core.links import links_hash
from scrapy_dedup.core.memo import memo_key
from scrapy_dedup.core.passages import page_keys
from scrapy_dedup.core.repeats import Boilerplate
from scrapy_dedup.core.urls import extract_domain, page_key
from scrapy_dedup.service.aliases import sketch_of
from scrapy_dedup.service.policies import url_rules
from scrapy_dedup.service.reading import read_again
from scrapy_dedup.service.seeding_pages import FoundPage, Unreadable
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.codec import pack_fingerprints
from scrapy_dedup.store.records import CrawledUrlRecord, DocumentRecord, ExtractionRecord, Field, Record, SourceRecord
from scrapy_dedup.store.stored import StoredSource

# What stands for the callback that nobody knows: it runs once more, for its links.
REQUESTS: Final = ({"unkeepable": "seeded"},)
# The outcome of a page whose HTML is not known stands under this content.
NO_CONTENT: Final = b""
_WHOLE_PAGE: Final = re.compile(r"<(?:html|body)[\s>]", re.IGNORECASE)
_SOURCE_GROUP: Final = "source_group"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A page's records.

    Its content hash is None where the HTML of the page is not known, but a part of it or a text that was made of it at
    most: with these nothing that a server answers can be compared, and the first crawl is the baseline.
    """

    document: DocumentRecord
    crawled: CrawledUrlRecord
    source: SourceRecord | None = None

    @property
    def content_hash(self) -> bytes | None:
        """Return what its content is compared by."""
        return self.document.content_hash

    def records(self, document: DocumentRecord) -> list[Record]:
        """Return all of them, with the document changed."""
        return [document, self.crawled, *([self.source] if self.source else [])]


def prepare(page: FoundPage, settings: Settings) -> Prepared | Unreadable:
    """Return a page's records, cut by nothing, as on a domain that is not known yet."""
    domain = extract_domain(page.url, settings.domain_scope)
    if domain is None:
        return Unreadable(page.where, f"{page.url[:200]!r} is no URL of a page: needs http:// or https:// and a host")
    key = page_key(page.url, url_rules(settings))
    crawled = CrawledUrlRecord(key, page.url, domain, "crawled", page.at, page.http_status, document_key=key)
    read = _read(page, key, domain, settings)
    if read is None:
        return Prepared(DocumentRecord(**_seen(page, key, domain)), crawled)
    if isinstance(read, Unreadable):
        return read
    document, source = read
    return Prepared(document, crawled, source)


def _seen(page: FoundPage, key: bytes, domain: str) -> dict[str, Any]:
    """Return what is known of any page that was seen."""
    return {
        "page_key": key,
        "url": page.url,
        "domain": domain,
        "status": "completed",
        "updated_at": page.at,
        "verdict": "new",
        "visits_count": 1,
    }


def _read(
    page: FoundPage, key: bytes, domain: str, settings: Settings
) -> tuple[DocumentRecord, SourceRecord] | Unreadable | None:
    field: Field = "content" if page.html is None else "html" if _WHOLE_PAGE.search(page.html) else "item_html"
    text = page.content if page.html is None else page.html
    if not text:
        return None
    stored = StoredSource(key, page.url, domain, None, field, text, None, None, page.content_type, page.at)
    reading = read_again(stored, settings)
    if reading is None:
        return Unreadable(page.where, "its HTML is too large, too deep or has too many attributes to be parsed")
    # Versions are told apart by their whole text: what selectors leave out of one may be what changed.
    cleaned = reading.clean(Boilerplate(), replace(settings, patterns_enabled=False))
    parsed = reading.page
    whole = parsed if field == "html" else None
    document = DocumentRecord(
        **_seen(page, key, domain),
        title=parsed.title if parsed else None,
        content_hash=content_hash(cleaned.content) if whole else None,
        cleaned_hash=cleaned.cleaned_hash,
        chars_in=cleaned.chars_in,
        chars_out=cleaned.chars_out,
        sketch=pack(sketch_of(parsed)) if parsed else None,
        etag=page.etag,
        last_modified=page.last_modified,
        validated_at=page.at,
        last_changed_at=page.at,
        blocks=pack_fingerprints(page_keys(whole)) if whole else None,
        links_hash=links_hash(whole.links) if whole else None,
    )
    source = SourceRecord(
        page_key=key,
        url=page.url,
        domain=domain,
        field=field,
        content=text,
        fetched_at=page.at,
        title=document.title,
        content_type=page.content_type,
        source_group=_group(page, settings),
        cleaned_content=cleaned.content,
    )
    return document, source


def _group(page: FoundPage, settings: Settings) -> str | None:
    named = (page.item or {}).get(_SOURCE_GROUP)
    return (named if isinstance(named, str) else "") or settings.source_group or None


def seeded_memo_key(key: bytes, content: bytes) -> bytes:
    """Return the key under which the outcome of a seeded page is kept."""
    return memo_key(key, content, "", {}, "")


def kept_item(item: Mapping[str, Any]) -> dict[str, Any] | Unkeepable:
    """Return an item as an extraction holds it, or why it cannot be kept."""
    fields = encode(dict(item))
    return fields if isinstance(fields, Unkeepable) else {"class": "dict", "fields": fields}


def extraction(
    document: DocumentRecord, content: bytes, items: Sequence[Mapping[str, Any]] | None, at: datetime
) -> ExtractionRecord:
    """Return the outcome of a seeded page: its items, and that its links are not known.

    Args:
        document: of the page.
        content: hash of its content, NO_CONTENT where it has none.
        items: None: they are not known.
        at: when they were made.
    """
    return ExtractionRecord(
        memo_key=seeded_memo_key(document.page_key, content),
        page_key=document.page_key,
        url=document.url,
        domain=document.domain,
        content_hash=content,
        callback="",
        created_at=at,
        requests=REQUESTS,
        items=items,
    )

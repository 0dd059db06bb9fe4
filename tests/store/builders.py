"""Records with defaults: a test overrides what it is about."""

import hashlib
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import func, select

from scrapy_dedup.core.chunks.chunks import StoredChunk
from scrapy_dedup.store.records.records import (
    AlarmRecord,
    BoilerplateRecord,
    ChunksRecord,
    ClaimKey,
    CrawledUrlRecord,
    DecisionRecord,
    DocumentRecord,
    ExtractionRecord,
    LayoutRunRecord,
    LayoutSignatureRecord,
    ResponseRecord,
    SeenRecord,
    SignatureRecord,
    SourceRecord,
    TemplateRecord,
    TemplateStateRecord,
    VisitRecord,
)
from scrapy_dedup.store.records.stored import StoredDocument, StoredSource, StoredState, StoredUrl
from scrapy_dedup.store.tables.models import Document
from scrapy_dedup.store.workers import Lost, PageClaim, Shown
from scrapy_dedup.store.writer import ProjectStore

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DOMAIN = "www.example.com"


def a_time(hours: float = 0) -> datetime:
    return NOON + timedelta(hours=hours)


def a_key(name: object = 1) -> bytes:
    return hashlib.blake2b(str(name).encode(), digest_size=16).digest()


def claim(project: ProjectStore, page: bytes, keys: Collection[ClaimKey], shown: Shown | None = None) -> Lost:
    return project.claim([PageClaim(page, keys, shown)])[0]


def a_url(name: object = 1) -> str:
    return f"https://{DOMAIN}/{name}"


def _page(name: object) -> dict[str, Any]:
    return {"page_key": a_key(name), "url": a_url(name), "domain": DOMAIN}


def a_source(name: object = 1, **fields: Any) -> SourceRecord:
    defaults = {"field": "html", "content": f"<p>page {name}</p>", "fetched_at": NOON}
    return SourceRecord(**{**_page(name), **defaults, **fields})


def a_document(name: object = 1, **fields: Any) -> DocumentRecord:
    return DocumentRecord(**{**_page(name), "status": "completed", "updated_at": NOON, **fields})


def a_crawled_url(name: object = 1, **fields: Any) -> CrawledUrlRecord:
    defaults = {"status": "crawled", "last_crawled_at": NOON, "http_status": 200, "document_key": a_key(name)}
    return CrawledUrlRecord(**{**_page(name), **defaults, **fields})


def a_decision(name: object = 1, **fields: Any) -> DecisionRecord:
    defaults = {"layer": "boilerplate", "action": "cut", "reason": "repeats", "decided_at": NOON}
    return DecisionRecord(**{"page_key": a_key(name), **defaults, **fields})


def a_text_signature(name: object = 1, **fields: Any) -> SignatureRecord:
    defaults: dict[str, Any] = {"page_key": a_key(name), "domain": DOMAIN, "text_hash": a_key(("text", name))}
    return SignatureRecord(**{**defaults, **fields})


def a_chunk(position: int = 0, text: str = "A chunk.", **fields: Any) -> StoredChunk:
    named = {"position": position, "chunk_id": f"{position:016x}", "content_hash": a_key(text), "sample": text}
    defaults: dict[str, Any] = {"state": "added", "kind": "prose", "chars": len(text), "size": len(text)}
    return StoredChunk(**{**named, **defaults, **fields})


def a_chunks(name: object = 1, *chunks: StoredChunk, most_holders: int = 1) -> ChunksRecord:
    return ChunksRecord(a_key(name), chunks, most_holders)


def a_snapshot(name: object = 1, **fields: Any) -> SeenRecord:
    return SeenRecord(**{"page_key": a_key(name), "at": NOON, "visits_count": 2, **fields})


def a_visit(name: object = 1, **fields: Any) -> VisitRecord:
    found = {"fetched": "get", "verdict": "new", "reason": "never seen", "http_status": 200}
    return VisitRecord(**{"page_key": a_key(name), "at": NOON, **found, **fields})


def an_extraction(name: object = 1, content: object = "c", **fields: Any) -> ExtractionRecord:
    named = {"memo_key": a_key(("memo", name, content)), "content_hash": a_key(content), "callback": "parse"}
    made = {"created_at": NOON, "requests": [{"url": a_url("next")}]}
    return ExtractionRecord(**{**_page(name), **named, **made, **fields})


def an_answer(**fields: Any) -> ResponseRecord:
    known: dict[str, Any] = {
        "wire_key": a_key("wire"),
        "url": a_url(1),
        "domain": DOMAIN,
        "etag": '"1"',
        "last_modified": None,
        "received_at": NOON,
        "validated_at": NOON,
        "sent_hash": b"",
        "cookie_hash": b"",
        "body_hash": b"b" * 16,
        "headers": [("ETag", '"1"')],
        "body": b"<p>Cats",
    }
    return ResponseRecord(**{**known, **fields})


def a_boilerplate(**fields: Any) -> BoilerplateRecord:
    return BoilerplateRecord(**{"domain": DOMAIN, "method": "html", **fields})


def a_signature(signature: int = 7, **fields: Any) -> LayoutSignatureRecord:
    defaults: dict[str, Any] = {"domain": DOMAIN, "level": 1, "template_id": 7, "seen_count": 1, "last_seen_at": NOON}
    return LayoutSignatureRecord(signature_hash=signature, **{**defaults, **fields})


def a_layout_count(**fields: Any) -> LayoutRunRecord:
    return LayoutRunRecord(**{"domain": DOMAIN, "layout": 7, "pages": 1, "first_url": a_url(), **fields})


def a_template(layout: int = 7, **fields: Any) -> TemplateRecord:
    defaults: dict[str, Any] = {"domain": DOMAIN, "structure": 5, "body": {"keep": ["main"]}, "created_at": NOON}
    return TemplateRecord(layout=layout, **{**defaults, **fields})


def a_state(state: Any, version: int | None = None, **fields: Any) -> TemplateStateRecord:
    defaults: dict[str, Any] = {"domain": DOMAIN, "layout": 7, "reason": "because", "at": a_time(1)}
    return TemplateStateRecord(version=version, state=state, **{**defaults, **fields})


def an_alarm(**fields: Any) -> AlarmRecord:
    defaults: dict[str, Any] = {"domain": DOMAIN, "layout": 7, "cause": "content root lost", "raised_at": NOON}
    return AlarmRecord(**{**defaults, **fields})


def source_of(project: ProjectStore, name: object = 1) -> StoredSource:
    page = project.page(a_key(name))
    assert page.source is not None
    return page.source


def document_of(project: ProjectStore, name: object = 1) -> StoredDocument:
    page = project.page(a_key(name))
    assert page.document is not None
    return page.document


def url_of(project: ProjectStore, name: object = 1) -> StoredUrl:
    page = project.page(a_key(name))
    assert page.crawled_url is not None
    return page.crawled_url


def state_of(project: ProjectStore, name: object = 1) -> StoredState:
    return project.page_states([a_key(name)])[a_key(name)]


def stale_pages(project: ProjectStore) -> int:
    with project.transaction() as connection:
        stale = (Document.project_id == project.id, Document.stale.is_not(None))
        return connection.scalar(select(func.count()).select_from(Document).where(*stale)) or 0

"""A project whose pages were crawled twice, with everything that a cache holds of them."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select

from scrapy_dedup.core.pages.fingerprints import content_hash, parts_hash
from scrapy_dedup.core.urls.normal_form import extract_domain, page_key
from scrapy_dedup.store.engine.codec import pack_fingerprints
from scrapy_dedup.store.records.records import (
    CrawledUrlRecord,
    DecisionRecord,
    DocumentRecord,
    ExtractionRecord,
    Record,
    SourceRecord,
    VisitRecord,
)
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.tables.models import Base
from scrapy_dedup.store.writer import ProjectStore
from tests.service.stored_pages import DOMAIN, NOON, a_url, html_page

REMOVED = {"rules": [["repeated", "on 5 of 6 pages", 5, 6, ""]], "blocks": {"00" * 8: 0}}
# Of the database, or of a run that is not exported.
LOST = {"project_id", "run_id", "id", "created_at", "updated_at"}


def text_of(name: object) -> str:
    return f"Page {name}\n\nWhat it says:  ünïcode, “quotes”, \x0b\u2028 odd breaks\r\nand a last line"


def a_memo(url: str, content: str, callback: str = "parse") -> bytes:
    return parts_hash(page_key(url), content_hash(content), callback.encode())


def an_extraction(url: str, content: str, **fields: Any) -> ExtractionRecord:
    values: dict[str, Any] = {
        "memo_key": a_memo(url, content, fields.get("callback", "parse")),
        "page_key": page_key(url),
        "url": url,
        "domain": extract_domain(url) or "",
        "content_hash": content_hash(content),
        "callback": "parse",
        "created_at": NOON,
        "requests": [
            ["parse", None, f"{url}/a", f"{url}/b"],
            {"request": {"url": url, "meta": {"$": "tuple", "v": []}}},
        ],
        "items": [{"class": "dict", "fields": {"url": url, "price": {"$": "decimal", "v": "9.90"}}}],
    }
    return ExtractionRecord(**{**values, **fields})


def a_page(name: object, at: datetime = NOON, url: str | None = None, text: str | None = None) -> list[Record]:
    url, text = url or a_url(name), text_of(name) if text is None else text
    key, domain = page_key(url), extract_domain(url) or ""
    return [
        DocumentRecord(
            key,
            url,
            domain,
            "completed",
            at,
            verdict="new",
            title=f"Page {name}",
            content_hash=content_hash(text),
            cleaned_hash=bytes(16),
            chars_in=100,
            chars_out=70,
            etag='"x"',
            last_modified="Sun, 01 Mar 2026 12:00:00 GMT",
            validated_at=at,
            first_seen_at=at - timedelta(days=1),
            last_changed_at=at,
            blocks=pack_fingerprints([1, 2**63]),
            interval_seconds=3600.5,
            visits_count=2,
            changes_count=1,
            missed_runs=1,
            depth=3,
            lastmod=at,
        ),
        SourceRecord(key, url, domain, "html", html_page(name), at, title=f"Page {name}", cleaned_content=text),
        CrawledUrlRecord(key, url, domain, "crawled", at, http_status=200, document_key=key),
        an_extraction(url, text, created_at=at),
        VisitRecord(key, at, "get", "new", f"page {name} is new", bytes_received=1000, seconds=0.5, callback_run=True),
        DecisionRecord(key, "boilerplate", "removed", "2 blocks", at, REMOVED),
    ]


def an_alias(name: object, target: object) -> CrawledUrlRecord:
    url = a_url(name)
    return CrawledUrlRecord(
        page_key(url), url, DOMAIN, "alias", NOON, document_key=page_key(a_url(target)), alias_kind="redirect"
    )


def fill(project: ProjectStore, pages: int = 3) -> None:
    """Pages from 0 on; page 0 has an alias, an extraction of an older content, and one by another callback."""
    project.write([record for name in range(pages) for record in a_page(name)])
    outdated = an_extraction(a_url(0), "older", created_at=NOON + timedelta(hours=1), dedup_version="2", items=None)
    project.write([outdated, an_extraction(a_url(0), text_of(0), callback="other", cb_kwargs={"n": 1})])
    project.write([an_alias("old", 0)])


def rows(store: Store, project: ProjectStore) -> dict[str, list[dict[str, Any]]]:
    """Return all rows that a tree of files is to bring back, by table."""
    found = {}
    with store.session(read_only=True) as session:
        for name in ("documents", "sources", "extractions"):
            table = Base.metadata.tables[name]
            some = session.execute(select(table).where(table.c.project_id == project.id)).mappings()
            lost = LOST - {"created_at"} | {"is_usable"} if name == "extractions" else LOST
            kept = [{key: value for key, value in row.items() if key not in lost} for row in some]
            found[name] = sorted(kept, key=lambda row: (row["page_key"], row.get("memo_key")))
    return found

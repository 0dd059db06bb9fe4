"""A made-up store of any size, the same each time: one large domain, some middling ones, and a great many small ones.

Pages of all domains come in turn, as they do in a crawl. The largest domain has a fifth of them.
"""

import random
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from sqlalchemy import text
from sqlalchemy.orm import Session

from scrapy_dedup.core.urls import page_key
from scrapy_dedup.service.policies import url_rules
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.codec import Packer
from scrapy_dedup.store.models import (
    CrawledUrl,
    CrawlRun,
    Decision,
    Document,
    DocumentChunk,
    Domain,
    DomainBoilerplate,
    LayoutRun,
    LayoutSignature,
    LayoutTemplate,
    SiteConfig,
    Source,
    Visit,
)
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.upserts import Row, table_of

PROJECT = "bench"
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
RUNS = 200
KNOWN_DOMAINS = 2_000
"""Domains with layouts, templates and boilerplate, the largest; others are too small to have any."""
KEPT_VISITS, KEPT_DECISIONS = 500_000, 100_000
"""As the settings' defaults bound them."""
_ROWS_AT_ONCE = 5_000
_VERDICTS = ("new", "unchanged", "unchanged", "unchanged", "changed", None)
_STATUSES = ("DISCOVERED", "PROCESSED_HIGH_QUALITY", "PROCESSED_LOW_QUALITY", "BLACKLISTED")
_TEXT = "Rope is sold by the metre and string by weight, and both are kept dry in the third store room. " * 6
_STATS = {f"dedup/{layer}/dropped": 3 for layer in ("url", "title", "canonical", "duplicate", "near_duplicate")} | {
    f"downloader/figure_{number}": number for number in range(60)
}


@dataclass(frozen=True, slots=True)
class Size:
    """How much there is."""

    domains: int
    pages: int


def domain_of(number: int) -> str:
    """Return the name of a domain; 0 is the largest."""
    return f"d{number:06}.example"


def url_of(number: int, domain: int) -> str:
    """Return the URL of a page."""
    return f"https://{domain_of(domain)}/page/{number}"


def domains_of_pages(size: Size) -> list[int]:
    """Return the number of each page's domain."""
    chosen = random.Random(7)
    middling = max(1, size.domains // 100)
    found: list[int] = []
    for number in range(size.pages):
        share = chosen.random()
        if number < size.domains and share > 0.9:
            found.append(number)
        elif share < 0.2:
            found.append(0)
        elif share < 0.6:
            found.append(chosen.randrange(middling))
        else:
            found.append(chosen.randrange(size.domains))
    return found


def run_of(number: int) -> uuid.UUID:
    """Return the id of a run."""
    return uuid.UUID(int=(7 << 96) + number)


def fill(store: Store, size: Size) -> None:
    """Fill an empty store."""
    project = store.project(PROJECT)
    of_pages = domains_of_pages(size)
    counts = [0] * size.domains
    for domain in of_pages:
        counts[domain] += 1
    with store.session() as session:
        if session.connection().dialect.name == "sqlite":
            session.connection().execute(text("PRAGMA cache_size = -1000000"))
        for model, rows in _tables(project.id, of_pages, counts):
            _insert(session, model, rows)
        session.commit()
    with store.session() as session:
        # As autovacuum, or the bounded PRAGMA that closes a connection, would do in time.
        session.connection().execute(text("ANALYZE"))
        session.commit()


def _insert(session: Session, model: Any, rows: Iterable[Row]) -> None:
    table, rest = table_of(model), iter(rows)
    while some := list(islice(rest, _ROWS_AT_ONCE)):
        session.connection().execute(table.insert(), some)


def _tables(project: uuid.UUID, of_pages: list[int], counts: list[int]) -> Iterator[tuple[Any, Iterable[Row]]]:
    rules = url_rules(Settings())
    pages = [
        (page_key(url, rules), url, domain_of(domain), BEGIN + timedelta(seconds=number))
        for number, domain in enumerate(of_pages)
        for url in [url_of(number, domain)]
    ]
    known = min(KNOWN_DOMAINS, len(counts))
    per_run = max(1, len(pages) // RUNS)
    yield CrawlRun, (_run(project, number, per_run) for number in range(RUNS))
    yield Document, (_document(project, number, page, per_run) for number, page in enumerate(pages))
    yield CrawledUrl, (_url(project, number, page, per_run) for number, page in enumerate(pages))
    yield Source, (_source(project, number, page) for number, page in enumerate(pages))
    late = max(0, len(pages) - KEPT_VISITS)
    yield Visit, (_visit(project, number, pages[number], per_run) for number in range(late, len(pages)))
    late = max(0, len(pages) - KEPT_DECISIONS)
    yield Decision, (_decision(project, number, pages[number], per_run) for number in range(late, len(pages)))
    yield DocumentChunk, (_chunk(project, number, page) for number, page in enumerate(pages))
    yield Domain, (_domain(project, number, pages_of) for number, pages_of in enumerate(counts))
    yield SiteConfig, (_config(project, number) for number in range(known // 2))
    yield DomainBoilerplate, (_boilerplate(project, number) for number in range(known))
    yield LayoutSignature, (_signature(project, domain, layout) for domain in range(known) for layout in (1, 2, 3))
    yield LayoutTemplate, (_template(project, domain, layout) for domain in range(known) for layout in (1, 2, 3))
    yield LayoutRun, (_met(project, domain, layout) for domain in range(known) for layout in (1, 2, 3))


_Page = tuple[bytes, str, str, datetime]


def _run(project: uuid.UUID, number: int, per_run: int) -> Row:
    began = BEGIN + timedelta(seconds=number * per_run)
    ended = began + timedelta(seconds=per_run)
    stats = _STATS | {"dedup/pages": per_run}
    return {
        "id": run_of(number),
        "project_id": project,
        "spider": "site",
        "jobdir": None,
        "status": "finished",
        "reason": "finished",
        "started_at": began,
        "finished_at": ended,
        "stats": stats,
        "missed_counted_at": None,
        "seen_at": ended,
    }


def _document(project: uuid.UUID, number: int, page: _Page, per_run: int) -> Row:
    key, url, domain, at = page
    return {
        "project_id": project,
        "page_key": key,
        "url": url,
        "domain": domain,
        "run_id": run_of(number // per_run),
        "status": "failed" if number % 50 == 0 else "completed",
        "verdict": _VERDICTS[number % len(_VERDICTS)],
        "title": f"Page {number}",
        "chars_in": 3_000 + number % 1_000,
        "chars_out": 2_000 + number % 700,
        "updated_at": at,
        "first_seen_at": at,
        "last_seen_at": at,
        "last_changed_at": at,
        "validated_at": at,
        "content_hash": key,
        "cleaned_hash": key,
        "blocks": key * 10,
        "sketch": key * 8,
        "visits_count": 1,
    }


def _url(project: uuid.UUID, number: int, page: _Page, per_run: int) -> Row:
    key, url, domain, at = page
    return {
        "project_id": project,
        "page_key": key,
        "url": url,
        "domain": domain,
        "status": "crawled",
        "http_status": 200,
        "last_crawled_at": at,
        "run_id": run_of(number // per_run),
        "document_key": key,
    }


def _source(project: uuid.UUID, number: int, page: _Page) -> Row:
    key, url, domain, at = page
    cleaned = f"{_TEXT} The number of this page is {number}."
    content = Packer().text(f"<html><title>Page {number}</title><body><p>{cleaned}</p></body></html>")
    return {
        "project_id": project,
        "page_key": key,
        "url": url,
        "domain": domain,
        "source_group": "shop",
        "field": "html",
        "content": content,
        "content_bytes": len(content),
        "cleaned_content": cleaned,
        "cleaned_bytes": len(cleaned),
        "title": f"Page {number}",
        "content_type": "text/html",
        "fetched_at": at,
    }


def _visit(project: uuid.UUID, number: int, page: _Page, per_run: int) -> Row:
    return {
        "project_id": project,
        "run_id": run_of(number // per_run),
        "page_key": page[0],
        "at": page[3],
        "http_status": 200,
        "verdict": _VERDICTS[number % len(_VERDICTS)],
        "change_class": None,
        "seconds": 0.1,
        "reason": "never seen",
        "bytes_received": 30_000,
        "callback_run": True,
        "fetched": "get",
    }


def _decision(project: uuid.UUID, number: int, page: _Page, per_run: int) -> Row:
    return {
        "project_id": project,
        "page_key": page[0],
        "layer": "boilerplate",
        "action": "removed",
        "run_id": run_of(number // per_run),
        "reason": "12 blocks, 900 of 3000 characters",
        "decided_at": page[3],
    }


def _chunk(project: uuid.UUID, number: int, page: _Page) -> Row:
    return {
        "project_id": project,
        "page_key": page[0],
        "position": 0,
        "chunk_id": f"{number:016x}",
        "content_hash": page[0],
        "state": "added",
        "kind": "prose",
        "chars": 600,
        "size": 150,
        "sample": _TEXT[:80],
    }


def _domain(project: uuid.UUID, number: int, pages: int) -> Row:
    chosen = random.Random(number)
    status = _STATUSES[0 if chosen.random() < 0.5 else chosen.randrange(4)]
    at = BEGIN + timedelta(seconds=chosen.randrange(10**6))
    high = status == "PROCESSED_HIGH_QUALITY"
    row = {
        "project_id": project,
        "domain_name": domain_of(number),
        "status": status,
        "pages": pages,
        "chars_in": pages * 3_500,
        "chars_out": pages * 2_400,
        "boilerplate_share": chosen.random(),
        "errors": 0,
        "best_confidence_score": chosen.random() if high else None,
        "discovered_at": at,
        "last_crawled_at": at,
        "high_quality_candidate_count": int(high),
        "low_quality_candidate_count": 0,
        "status_before": None,
        "blacklisted_at": None,
        "blacklisted_by": None,
        "blacklist_reason": None,
    }
    if status == "BLACKLISTED":
        row |= {
            "blacklisted_at": at,
            "blacklisted_by": "bench",
            "blacklist_reason": "spam",
            "status_before": "DISCOVERED",
        }
    return row


def _config(project: uuid.UUID, number: int) -> Row:
    config = {"keep_blocks": [f"{number:016x}"]}
    return {"project_id": project, "domain": domain_of(number), "version": 1, "config": config, "updated_at": BEGIN}


def _boilerplate(project: uuid.UUID, number: int) -> Row:
    hashes = [f"{number * 100 + each:016x}" for each in range(10)]
    evidence = {each: [40, "body/div/p", "We use cookies to make this site work."] for each in hashes}
    return {
        "project_id": project,
        "domain": domain_of(number),
        "method": "template",
        "boilerplate_hashes": hashes,
        "evidence": Packer().json(evidence),
        "pages_analyzed": 60,
        "blocks_total": 900,
        "blocks_boilerplate": 10,
    }


def _signature(project: uuid.UUID, domain: int, layout: int) -> Row:
    return {
        "project_id": project,
        "domain": domain_of(domain),
        "level": 1,
        "signature_hash": layout,
        "seen_count": 20,
        "template_id": layout,
        "first_seen_at": BEGIN,
        "last_seen_at": BEGIN,
        "algorithm_version": 1,
    }


def _template(project: uuid.UUID, domain: int, layout: int) -> Row:
    packed = Packer().json({"keep": ["main"], "drop": ["nav", "footer"]})
    return {
        "project_id": project,
        "domain": domain_of(domain),
        "layout": layout,
        "structure": 5,
        "version": 1,
        "state": "live",
        "reason": "as good as the fallback",
        "kind": "article",
        "url_pattern": "/page/*",
        "fingerprint": "f" * 16,
        "confidence": 0.9,
        "pages": 20,
        "source": "static",
        "algorithm_version": 1,
        "created_at": BEGIN,
        "state_at": BEGIN,
        "selectors": {"content": ["main"]},
        "overrides": [],
        "paths": Packer().json([]),
        "body": packed,
    }


def _met(project: uuid.UUID, domain: int, layout: int) -> Row:
    return {
        "project_id": project,
        "domain": domain_of(domain),
        "layout": layout,
        "run_id": run_of(RUNS - 1),
        "pages": 20,
        "first_url": f"https://{domain_of(domain)}/",
        "counted_at": BEGIN,
    }

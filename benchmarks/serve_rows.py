"""The rows of a made-up store: what a page, a run, a domain is; the same each time."""

import random
import uuid
from datetime import UTC, datetime, timedelta

from scrapy_dedup.store.engine.codec import Packer
from scrapy_dedup.store.tables.statements import Row

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
RUNS = 200
_VERDICTS = ("new", "unchanged", "unchanged", "unchanged", "changed", None)
_STATUSES = ("DISCOVERED", "PROCESSED_HIGH_QUALITY", "PROCESSED_LOW_QUALITY", "BLACKLISTED")
_TEXT = "Rope is sold by the metre and string by weight, and both are kept dry in the third store room. " * 6
_STATS = {f"dedup/{layer}/dropped": 3 for layer in ("url", "title", "canonical", "duplicate", "near_duplicate")} | {
    f"downloader/figure_{number}": number for number in range(60)
}

Page = tuple[bytes, str, str, datetime]
"""Key, URL, domain, and when it came."""


def domain_of(number: int) -> str:
    """Return the name of a domain; 0 is the largest."""
    return f"d{number:06}.example"


def url_of(number: int, domain: int) -> str:
    """Return the URL of a page."""
    return f"https://{domain_of(domain)}/page/{number}"


def run_of(number: int) -> uuid.UUID:
    """Return the id of a run."""
    return uuid.UUID(int=(7 << 96) + number)


def run_row(project: uuid.UUID, number: int, per_run: int) -> Row:
    """Return the row of a run."""
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


def document_row(project: uuid.UUID, number: int, page: Page, per_run: int) -> Row:
    """Return the row of a page's document."""
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


def url_row(project: uuid.UUID, number: int, page: Page, per_run: int) -> Row:
    """Return the row of a page's URL."""
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


def source_row(project: uuid.UUID, number: int, page: Page) -> Row:
    """Return the row of a page's original."""
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


def visit_row(project: uuid.UUID, number: int, page: Page, per_run: int) -> Row:
    """Return the row of a visit of a page."""
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


def decision_row(project: uuid.UUID, number: int, page: Page, per_run: int) -> Row:
    """Return the row of a decision about a page."""
    return {
        "project_id": project,
        "page_key": page[0],
        "layer": "boilerplate",
        "action": "removed",
        "run_id": run_of(number // per_run),
        "reason": "12 blocks, 900 of 3000 characters",
        "decided_at": page[3],
    }


def chunk_row(project: uuid.UUID, number: int, page: Page) -> Row:
    """Return the row of a page's only chunk."""
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


def domain_row(project: uuid.UUID, number: int, pages: int) -> Row:
    """Return the row of a domain of the registry."""
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


def config_row(project: uuid.UUID, number: int) -> Row:
    """Return the row of what is decided about a domain."""
    config = {"keep_blocks": [f"{number:016x}"]}
    return {"project_id": project, "domain": domain_of(number), "version": 1, "config": config, "updated_at": BEGIN}


def boilerplate_row(project: uuid.UUID, number: int) -> Row:
    """Return the row of what repeats on a domain."""
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


def signature_row(project: uuid.UUID, domain: int, layout: int) -> Row:
    """Return the row of a layout's signature."""
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


def template_row(project: uuid.UUID, domain: int, layout: int) -> Row:
    """Return the row of a layout's template."""
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


def met_row(project: uuid.UUID, domain: int, layout: int) -> Row:
    """Return the row of how often the last run met a layout."""
    return {
        "project_id": project,
        "domain": domain_of(domain),
        "layout": layout,
        "run_id": run_of(RUNS - 1),
        "pages": 20,
        "first_url": f"https://{domain_of(domain)}/",
        "counted_at": BEGIN,
    }

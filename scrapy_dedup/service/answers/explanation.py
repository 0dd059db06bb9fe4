"""What is known of a URL, and why its blocks were removed."""

from dataclasses import asdict
from typing import Any

from scrapy_dedup.service.explain import Explanation
from scrapy_dedup.service.explain_page import chunks_of
from scrapy_dedup.store.stored import StoredDocument, StoredSource


def explanation_answer(found: Explanation) -> dict[str, Any]:
    """Return what is known of a URL."""
    return {
        "project": found.project,
        "url": found.keys.url,
        "normal_url": found.keys.normal_url,
        "page_key": found.keys.page_key.hex(),
        "domain": found.keys.domain,
        "known": found.is_known,
        "crawled": _crawled(found),
        "stands_for": found.stands_for,
        "aliases": [
            {
                "url": alias.url,
                "status": alias.status,
                "alias_kind": alias.alias_kind,
                "last_crawled_at": alias.last_crawled_at.isoformat(),
            }
            for alias in found.aliases
        ],
        "document": _document(found.document),
        "source": _source(found.source),
        "decisions": [
            {
                "layer": decision.layer,
                "action": decision.action,
                "reason": decision.reason,
                "decided_at": decision.decided_at.isoformat(),
            }
            for decision in found.decisions
        ],
        "removed": [asdict(block) for block in found.removed],
        "like": asdict(found.like) if found.like else None,
        "chunks": [asdict(chunk) for chunk in chunks_of(found)],
    }


def _crawled(found: Explanation) -> dict[str, Any] | None:
    crawled, run_of_it = found.crawled, found.run
    if crawled is None:
        return None
    return {
        "url": crawled.url,
        "status": crawled.status,
        "http_status": crawled.http_status,
        "at": crawled.last_crawled_at.isoformat(),
        "alias_kind": crawled.alias_kind,
        "run": run_of_it
        and {
            "id": str(run_of_it.id),
            "spider": run_of_it.spider,
            "status": run_of_it.status,
            "started_at": run_of_it.started_at.isoformat(),
        },
    }


def _document(document: StoredDocument | None) -> dict[str, Any] | None:
    if document is None:
        return None
    names = ("url", "status", "verdict", "title", "canonical_url", "chars_in", "chars_out", "error")
    return {
        **{name: getattr(document, name) for name in names},
        "content_hash": document.content_hash.hex() if document.content_hash else None,
        "cleaned_hash": document.cleaned_hash.hex() if document.cleaned_hash else None,
        "updated_at": document.updated_at.isoformat(),
    }


def _source(source: StoredSource | None) -> dict[str, Any] | None:
    if source is None:
        return None
    names = ("field", "source_group", "content_type")
    return {
        **{name: getattr(source, name) for name in names},
        "fetched_at": source.fetched_at.isoformat(),
        "kept": source.content is not None,
    }

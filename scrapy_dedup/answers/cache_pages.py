"""What the cache holds of one page."""

from collections.abc import Mapping
from typing import Any

from scrapy_dedup.answers.cache import validators_answer
from scrapy_dedup.service.cache_upkeep import PageInCache
from scrapy_dedup.store.records import ExtractionRecord


def cached_page_answer(page: PageInCache) -> dict[str, Any]:
    """Return what is held of a page."""
    document = page.page.document if page.page else None
    validated_at = document.validated_at if document else None
    return {
        "url": page.keys.url,
        "page_key": page.keys.page_key.hex(),
        "known": page.is_known,
        "stands_for": page.stands_for,
        "record": page.record,
        "metadata": page.metadata,
        "validators": {
            "etag": document.etag if document else None,
            "last_modified": document.last_modified if document else None,
            "validated_at": validated_at.isoformat() if validated_at else None,
            **(validators_answer(page.domain) or {}),
        },
        "extractions": [
            {
                "callback": one.callback,
                "cb_kwargs": one.cb_kwargs,
                "dedup_version": one.dedup_version,
                "content_hash": one.content_hash.hex(),
                "current": is_current(one, page),
                "created_at": one.created_at.isoformat(),
                "items": one.items,
                "requests": requests_in(one),
                "unkeepable": unkeepable_in(one),
            }
            for one in page.extractions
        ],
    }


def is_current(one: ExtractionRecord, page: PageInCache) -> bool:
    """Whether an extraction is of the content that its page has."""
    return page.page is not None and one.content_hash == page.page.document.content_hash


def requests_in(one: ExtractionRecord) -> int:
    """Return how many requests an extraction holds; an entry may be a run of them after two names."""
    return sum(max(0, len(each) - 2) if isinstance(each, list) else "request" in each for each in one.requests)


def unkeepable_in(one: ExtractionRecord) -> str | None:
    """Return why a callback runs again although its outcome is held; None where it does not."""
    found = (each["unkeepable"] for each in one.requests if isinstance(each, Mapping) and "unkeepable" in each)
    return next((str(reason) for reason in found), None)

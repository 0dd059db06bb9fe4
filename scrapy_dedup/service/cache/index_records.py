"""What the content index knows of a page, as the records of a store."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from msgspec.structs import replace

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.pages.fingerprints import parts_hash
from scrapy_dedup.core.recrawl import values as keeping
from scrapy_dedup.core.recrawl.values import Unkeepable
from scrapy_dedup.service.views.explain import Keys
from scrapy_dedup.store.records.records import DecisionRecord, DocumentRecord, ExtractionRecord

INDEX_LAYER: Final = "content_index"
INCLUDED: Final = "included"
EXCLUDED: Final = "excluded"
"""What the content index decides about a page, as a layer does."""

_HASH_DIGITS: Final = 64
# Whoever fills the index knows no links: a crawl runs the callback for them.
_NO_LINKS: Final = ({"unkeepable": "what the index does not know"},)


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

    Args:
        keys: of the page.
        held: the document that is stored; None for none.
        digits: the content's hash.
        extracted: of types that `keeping.encode` knows.
        metadata: title, depth, included, decision_explanation, crawl_timestamp; all of them optional.
        at: when it was extracted, ISO 8601; None: now.

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

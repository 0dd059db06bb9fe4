"""A page of the cache as the two files that an export writes of it, and the first of them read back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from scrapy_dedup.core.fingerprints import content_hash
from scrapy_dedup.service.cache_files import AlteredFileError, CacheFileError
from scrapy_dedup.service.cache_values import WrongValueError, from_plain, plain_value, to_plain
from scrapy_dedup.service.explain import UrlError, keys_of
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.cache_reads import PackedPage
from scrapy_dedup.store.records import (
    CrawledUrlRecord,
    DecisionRecord,
    DocumentRecord,
    ExtractionRecord,
    Record,
    SourceRecord,
)
from scrapy_dedup.store.stored import StoredDecision, StoredSource

FORMAT: Final = 1
"""Of the files; raised when what is in them means something else."""

INCLUDED: Final = "included"
EXCLUDED: Final = "excluded"
INDEX_LAYER: Final = "content_index"

# What stands elsewhere in the file, or follows from the URL.
_VALIDATORS: Final = ("etag", "last_modified", "validated_at")
_OF_PAGE: Final = ("page_key", "url", "domain")
_CLEANED: Final = "cleaned_content"
# 16: of an earlier version.
_HASH_BYTES: Final = (32, 16)
_OUTCOME: Final = ("callback", "cb_kwargs", "dedup_version", "items", "requests")


@dataclass(frozen=True, slots=True)
class PageFile:
    """What an extraction file holds, checked.

    Attributes:
        url: for want of the row that the knowledge has.
    """

    document: DocumentRecord
    url: CrawledUrlRecord
    source: SourceRecord | None
    extractions: tuple[ExtractionRecord, ...]
    decisions: tuple[DecisionRecord, ...]

    def records(self) -> list[Record]:
        """Return everything but the URL, to be written."""
        source = [self.source] if self.source else []
        return [self.document, *source, *self.extractions, *self.decisions]


def content_lines(source: StoredSource | None) -> list[str]:
    """Return the cleaned text of a page in lines; none where it is not kept."""
    return source.cleaned_content.split("\n") if source and source.cleaned_content is not None else []


def shown_hash(lines: Sequence[str], document: DocumentRecord) -> str:
    """Return the hash of a page's content in hexadecimal digits: of what is kept, else of what was seen."""
    if lines:
        return content_hash("\n".join(lines)).hex()
    return document.content_hash.hex() if document.content_hash else ""


def extracted_at(document: DocumentRecord, extractions: Sequence[ExtractionRecord]) -> datetime:
    """Return when a page was extracted last."""
    times = [extraction.created_at for extraction in extractions]
    return max(times, default=document.last_changed_at or document.first_seen_at or document.updated_at)


def is_included(document: DocumentRecord, decisions: Sequence[StoredDecision]) -> bool:
    """Return whether a page belongs to what was crawled: it is not gone, and nobody left it out."""
    excluded = any(one.layer == INDEX_LAYER and one.action == EXCLUDED for one in decisions)
    return document.gone_at is None and not excluded


def explanation(reason: str | None, document: DocumentRecord, decisions: Sequence[StoredDecision]) -> str:
    """Return why a page is what it is: the reason of its last verdict, else of its last decision."""
    by_hand = next((one for one in decisions if one.layer == INDEX_LAYER), None)
    newest = by_hand or max(decisions, key=lambda one: one.decided_at, default=None)
    if newest and (by_hand or reason is None):
        return newest.reason
    return reason or document.verdict or ""


def metadata_of(page: PackedPage, reason: str | None) -> dict[str, Any]:
    """Return a page's metadata as the seed has them.

    Raises:
        DamagedError: what is stored cannot be unpacked.
    """
    document, decisions = page.document, page.decisions()
    return {
        "url": document.url,
        "title": document.title,
        "depth": document.depth,
        "included": is_included(document, decisions),
        "decision_explanation": explanation(reason, document, decisions),
        "crawl_timestamp": (document.last_seen_at or document.updated_at).isoformat(),
    }


def extraction_of(page: PackedPage) -> dict[str, Any]:
    """Return everything that is held of a page, under the seed's names and others.

    The extraction of the present content comes first; others stand in a list.

    Raises:
        DamagedError: what is stored cannot be unpacked.
    """
    document, source, extractions = page.document, page.source(), page.extractions()
    extractions.sort(key=lambda one: one.content_hash != document.content_hash)
    lines = content_lines(source)
    page.blocks()
    first, *others = [_outcome(one) for one in extractions] or [_no_outcome()]
    state = to_plain(document, _OF_PAGE)
    validators = {name: state.pop(name, None) for name in _VALIDATORS}
    return {
        "format": FORMAT,
        "url": document.url,
        "content": lines,
        "content_hash": shown_hash(lines, document),
        **first,
        "extraction_timestamp": extracted_at(document, extractions).isoformat(),
        "validators": validators,
        "other_extractions": others,
        "page_key": plain_value(document.page_key),
        "http_status": page.http_status,
        "document": state,
        "source": to_plain(source, (*_OF_PAGE, _CLEANED)) if source and source.content is not None else None,
        "decisions": [to_plain(one, ("page_key", "run_id")) for one in page.decisions()],
    }


def _outcome(extraction: ExtractionRecord) -> dict[str, Any]:
    kept = to_plain(extraction, _OF_PAGE)
    at = kept["created_at"]
    memo = {"key": kept["memo_key"], "content_hash": extraction.content_hash.hex(), "created_at": at}
    return {**{name: kept.get(name) for name in _OUTCOME}, "extraction_timestamp": at, "memo": memo}


def _no_outcome() -> dict[str, Any]:
    return {**dict.fromkeys(_OUTCOME), "memo": None}


def read_page(held: Mapping[str, Any], settings: Settings) -> PageFile:
    """Return what an extraction file holds; keys and domain are made anew from its URL.

    Raises:
        AlteredFileError: its content is not that of its hash.
        CacheFileError: it is of another format, or its URL has another key now.
        WrongValueError: a value is none that an export writes.
    """
    if held.get("format") != FORMAT:
        raise CacheFileError(f"has format {held.get('format')!r}; this version reads format {FORMAT}")
    url, lines = held.get("url"), held.get("content")
    if not isinstance(url, str) or not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise WrongValueError("url, content: need a text and a list of lines")
    if lines and content_hash("\n".join(lines)).hex() != held.get("content_hash"):
        raise AlteredFileError("does not fit its content_hash: its content was altered")
    known = _known(url, held, settings)
    document = from_plain(
        DocumentRecord, _merged(held.get("document"), held.get("validators")), status="completed", **known
    )
    if document.last_seen_at is None:
        raise WrongValueError("last_seen_at: is missing")
    return PageFile(
        document=document,
        url=_url_record(held, document),
        source=_source(held.get("source"), "\n".join(lines) if lines else None, known),
        extractions=tuple(_extractions(held, known)),
        decisions=tuple(_decisions(held.get("decisions"), known["page_key"])),
    )


def _known(url: str, held: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """Return what follows from the URL under today's settings."""
    try:
        keys = keys_of(url, settings)
    except UrlError as error:
        raise WrongValueError(str(error)) from error
    known = {"page_key": keys.page_key, "url": url, "domain": keys.domain}
    if held.get("page_key") != plain_value(keys.page_key):
        raise CacheFileError("was written under other DEDUP_URL_ settings: its page has another key now")
    return known


def _merged(document: object, validators: object) -> dict[str, Any]:
    if not isinstance(document, dict) or not isinstance(validators, dict):
        raise WrongValueError("document, validators: need objects")
    return {**document, **{name: validators.get(name) for name in _VALIDATORS}}


def _url_record(held: Mapping[str, Any], document: DocumentRecord) -> CrawledUrlRecord:
    at = document.last_seen_at or document.updated_at
    known = {"page_key": document.page_key, "url": document.url, "domain": document.domain, "status": "crawled"}
    plain = {"http_status": held.get("http_status")}
    return from_plain(CrawledUrlRecord, plain, **known, last_crawled_at=at, document_key=document.page_key)


def _source(plain: object, cleaned: str | None, known: Mapping[str, Any]) -> SourceRecord | None:
    if plain is None:
        return None
    return from_plain(SourceRecord, plain, cleaned_content=cleaned, **known)


def _extractions(held: Mapping[str, Any], known: Mapping[str, Any]) -> list[ExtractionRecord]:
    others = held.get("other_extractions")
    if not isinstance(others, list):
        raise WrongValueError("other_extractions: needs a list")
    return [_extraction(one, known) for one in (held, *others) if not (one is held and held.get("memo") is None)]


def _extraction(plain: object, known: Mapping[str, Any]) -> ExtractionRecord:
    memo = plain.get("memo") if isinstance(plain, dict) else None
    if not isinstance(plain, dict) or not isinstance(memo, dict):
        raise WrongValueError("memo: needs an object")
    values = {name: plain[name] for name in _OUTCOME if name in plain}
    values |= {"memo_key": memo.get("key"), "created_at": memo.get("created_at")}
    return from_plain(ExtractionRecord, values, content_hash=_content_hash(memo.get("content_hash")), **known)


def _content_hash(digits: object) -> bytes:
    try:
        found = bytes.fromhex(digits) if isinstance(digits, str) else b""
    except ValueError:
        found = b""
    if len(found) not in _HASH_BYTES:
        raise WrongValueError("memo.content_hash: needs 64 hexadecimal digits")
    return found


def _decisions(plain: object, key: bytes) -> list[DecisionRecord]:
    if not isinstance(plain, list):
        raise WrongValueError("decisions: needs a list")
    return [from_plain(DecisionRecord, one, page_key=key) for one in plain]

"""The content index: per URL the hash of its content and what was extracted from it, over the store or as files.

As files it is `content_index.json`, and of each page its extraction and its metadata.
"""

import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, Final, Literal, TypedDict

from msgspec import DecodeError, Struct, convert, field, to_builtins
from msgspec import json as typed_json
from msgspec.structs import asdict, replace

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.pages.fingerprints import content_hash, parts_hash
from scrapy_dedup.core.recrawl import values as keeping
from scrapy_dedup.core.recrawl.values import DamagedValueError, Unkeepable
from scrapy_dedup.service.cache.cache import Progress, check_outcome
from scrapy_dedup.service.views.explain import Keys, UrlError, keys_of
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.engine.codec import unpack_fingerprints
from scrapy_dedup.store.engine.errors import DamagedError
from scrapy_dedup.store.records.records import (
    CrawledUrlRecord,
    DecisionRecord,
    DocumentRecord,
    ExtractionRecord,
    Record,
    SourceRecord,
)
from scrapy_dedup.store.records.stored import StoredSource
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

    def __init__(self, project: ProjectStore, settings: Settings | None = None) -> None:
        """Take a project; what its crawls have seen is in its index, too."""
        self._cache = StoredCache(project)
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


INDEX: Final = "content_index.json"

_EXTRACTION_FILE: Final = re.compile(r"extractions/([0-9a-f]{8,64}(?:_[0-9]{1,9})?)\.json")
# Of a file that holds a page, and of the index: that of 250,000 pages. A larger one is not needed to read the others.
_MAX_FILE_BYTES: Final = 100_000_000
_MOST_TOLD: Final = 200
# What stands in more brackets than Python goes down ends in the second, a name that is no UTF-8 in the third.
_UNREADABLE: Final = (DecodeError, RecursionError, UnicodeDecodeError)
_CHECKSUM: Final = b',\n "checksum": "'
_AFTER_CHECKSUM: Final = b'"\n}\n'
# A FIFO in place of a file would wait for ever. Windows has neither.
_READ: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
# Integer columns of PostgreSQL; SQLite's are larger.
_MOST: Final = 2**31 - 1
_MOST_CHARS: Final = {"verdict": 16}
_LENGTHS: Final = {"page_key": (16,), "memo_key": (16,), "content_hash": (16, 32), "body_hash": (16,)}


class CacheTreeError(DedupError):
    """A folder or a file cannot be used; the message says why, and what to do."""


class _PageFile(Struct, frozen=True, forbid_unknown_fields=True):
    """What an extraction file holds: the seed's names, and the page's state as it is written to a store."""

    url: str
    content: list[str]
    content_hash: str
    extraction_timestamp: str
    http_status: int | None
    document: DocumentRecord
    source: SourceRecord | None
    extractions: list[ExtractionRecord]
    decisions: list[DecisionRecord]
    format: Literal[1] = 1


class _PlainFile(Struct, frozen=True, forbid_unknown_fields=True):
    """What the specification has in an extraction file: nothing of a store's state, and no checksum."""

    url: str
    content: list[str]
    extraction_timestamp: str


class _PlainMetadata(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a metadata file tells."""

    url: str
    title: str | None = None
    depth: int | None = None
    included: bool = True
    decision_explanation: str = ""
    crawl_timestamp: str | None = None


class _IndexLine(Struct, frozen=True):
    """What is needed of the index; of a file that is found without one only its name is known."""

    extraction_file: str
    content_hash: str = ""


class Transfer(Struct):
    """What was written into a tree, or read from one, or would be.

    Attributes:
        pages: whose state was taken over.
        extractions: that were taken over.
        pages_held: that the store has in this or a newer state.
        pages_left_out: damaged ones, or those whose files are missing, altered or of another page.
        index_rebuilt: why the extraction files themselves were taken for the index; None: it is sound.
        problems: the first pages, or files, that were left out, and why.
    """

    pages: int = 0
    extractions: int = 0
    pages_held: int = 0
    pages_left_out: int = 0
    index_rebuilt: str | None = None
    problems: list[str] = field(default_factory=list)

    def leave_out(self, what: str, reason: object) -> None:
        """Note a page that is not taken over."""
        self.pages_left_out += 1
        if len(self.problems) < _MOST_TOLD:
            self.problems.append(f"{what} is left out: {reason}")


def export_cache(project: ProjectStore, folder: Path, progress: Progress) -> Transfer:
    """Write a project's cache into a new or an empty folder.

    Until all is written the index is truncated, so that what a killed export left is read back file by file.

    Raises:
        CacheTreeError: the folder holds something.
        StoreError: the store failed.
        OSError: a file cannot be written.
    """
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise CacheTreeError(f"{folder} is not empty: name an empty folder, or a new one")
    for name in (EXTRACTIONS, METADATA):
        (folder / name).mkdir(parents=True, exist_ok=True)
    done, comma = Transfer(), ""
    with (folder / INDEX).open("x", encoding="ascii") as index:
        index.write("{")
        for page in StoredCache(project).iterate_pages():
            url = page.document.url
            try:
                held, content = _page_file(page)
            except (DamagedError, CacheTreeError) as error:
                done.leave_out(url, error)
            else:
                record = _write_page(folder, held, content, _metadata(page))
                index.write(f"{comma}\n{json.dumps(url)}: {json.dumps(record)}")
                comma = ","
                done.pages += 1
                done.extractions += len(held.extractions)
            progress(1)
        index.write("\n}\n")
    return done


def _page_file(page: CachedPage) -> tuple[_PageFile, bytes]:
    """Return what is held of a page, and as its file has it: the SHA-256 of what stands before it comes last."""
    document, source, extractions = page.document, page.source(), page.extractions()
    lines = content_lines(source)
    page.blocks()
    shown = content_hash("\n".join(lines)) if lines else document.content_hash or b""
    times = [extraction.created_at for extraction in extractions]
    extracted_at = max(times, default=document.last_changed_at or document.first_seen_at or document.updated_at)
    held = _PageFile(
        url=document.url,
        content=lines,
        content_hash=shown.hex(),
        extraction_timestamp=extracted_at.isoformat(),
        http_status=page.http_status,
        document=document,
        source=replace(convert(source, SourceRecord, from_attributes=True), cleaned_content=None)
        if source and source.content is not None
        else None,
        extractions=[convert(one, ExtractionRecord, from_attributes=True) for one in extractions],
        decisions=[one for one in page.notes() if one.layer == INDEX_LAYER],
    )
    try:
        body = typed_json.format(typed_json.encode(held), indent=1)
    except UnicodeEncodeError as error:
        raise CacheTreeError("holds half a character, which no JSON file can") from error
    seal = sha256(body).hexdigest().encode()
    return held, body.removesuffix(b"\n}") + _CHECKSUM + seal + _AFTER_CHECKSUM


def _metadata(page: CachedPage) -> dict[str, Any]:
    """Return a page's metadata: what the content index says of it goes before what a layer decided last."""
    document = page.document
    notes = page.notes()
    by_hand = [one for one in notes if one.layer == INDEX_LAYER]
    said = next(iter(by_hand or notes[-1:]), None)
    return {
        "url": document.url,
        "title": document.title,
        "depth": document.depth,
        "included": document.gone_at is None and not any(one.action == EXCLUDED for one in by_hand),
        "decision_explanation": said.reason if said else document.verdict or "",
        "crawl_timestamp": (document.last_seen_at or document.updated_at).isoformat(),
    }


def _write_page(folder: Path, held: _PageFile, content: bytes, metadata: dict[str, Any]) -> UrlRecord:
    """Write the files of a page; their name has a counter where another URL took it."""
    record = url_record(held.url, held.content_hash, held.extraction_timestamp)
    for number in count(2):
        try:
            with (folder / record["extraction_file"]).open("xb") as opened:
                opened.write(content)
        except FileExistsError:
            stem = f"{record['url_hash']}_{number}"
            record = url_record(held.url, held.content_hash, held.extraction_timestamp, stem)
        else:
            break
    with (folder / record["metadata_file"]).open("x", encoding="ascii") as told:
        told.write(json.dumps(metadata, indent=1) + "\n")
    return record


def count_files(folder: Path) -> int:
    """Return how many extraction files there are."""
    return sum(1 for _ in _names(folder))


def import_cache(
    project: ProjectStore, folder: Path, settings: Settings, progress: Progress, *, dry_run: bool
) -> Transfer:
    """Read a tree into a project, one that was exported, or one that the specification's program wrote.

    What the store has in a newer state stays; a second time changes nothing.

    Without a sound index all extraction files count; with one, those that it names. The URL inside of a file decides
    whose page it is, and its keys are made anew under today's settings.

    Raises:
        CacheTreeError: the folder holds none.
        StoreError: the store failed; what was written before is whole pages.
    """
    extractions = folder / EXTRACTIONS
    if not extractions.is_dir() or extractions.is_symlink():
        advice = "name the folder that `scrapy dedup store cache export` wrote"
        raise CacheTreeError(f"{extractions} is a link, or no folder: {advice}")
    cache, done = StoredCache(project), Transfer()
    for url, line in _lines(folder, done):
        try:
            page = _read_line(folder, url, line, settings)
        except CacheTreeError as error:
            where = f"{url} ({line.extraction_file[:200]})".lstrip()
            done.leave_out(where, f"{error}; the page is done again")
        else:
            records = _news(cache, project, page, done)
            if records and not dry_run:
                project.write(records)
        progress(1)
    return done


def _lines(folder: Path, done: Transfer) -> Iterable[tuple[str, _IndexLine]]:
    """Return what the index names, by URL; without a sound index, what there is."""
    try:
        return typed_json.decode(_read_file(folder / INDEX), type=dict[str, _IndexLine]).items()
    except (CacheTreeError, *_UNREADABLE) as error:
        why = error if isinstance(error, CacheTreeError) else "is damaged or truncated"
        done.index_rebuilt = f"{INDEX} {why}"
        return (("", _IndexLine(extraction_file=name)) for name in _names(folder))


def _read_line(folder: Path, url: str, line: _IndexLine, settings: Settings) -> _PageFile:
    if not _EXTRACTION_FILE.fullmatch(line.extraction_file):
        raise CacheTreeError(f"is no name of a file in {EXTRACTIONS}/")
    content = _read_file(folder / line.extraction_file)
    try:
        plain = typed_json.decode(content, type=_PlainFile)
    except _UNREADABLE:
        page = _read_page(content, settings)
    else:
        page = _read_plain(plain, folder, line, settings)
    if url not in ("", page.url):
        raise CacheTreeError(f"holds the page {page.url}")
    if url and line.content_hash != page.content_hash:
        raise CacheTreeError(f"does not fit the content_hash in {INDEX}")
    return page


def _news(cache: StoredCache, project: ProjectStore, page: _PageFile, done: Transfer) -> list[Record]:
    """Return what the store does not have of a page, or only in an older state."""
    document = page.document
    key, at = document.page_key, document.last_seen_at
    assert at is not None  # `_read_page` sees to that
    status, seen_at = cache.standing(key)
    if status == "processing" or (seen_at is not None and seen_at >= at):
        done.pages_held += 1
        # They may have been invalidated since.
        again = page.extractions if seen_at == at else []
        done.extractions += len(again)
        return list(again)
    done.pages += 1
    done.extractions += len(page.extractions)
    records: list[Record] = [document, *page.extractions, *page.decisions]
    if page.source:
        cleaned = "\n".join(page.content) if page.content else None
        records.append(replace(page.source, cleaned_content=cleaned))
    if not project.document_keys([key]):
        status_code = page.http_status
        records.append(CrawledUrlRecord(key, page.url, document.domain, "crawled", at, status_code, document_key=key))
    return records


def _read_page(content: bytes, settings: Settings) -> _PageFile:
    """Return what an extraction file holds; what comes from a file is believed in nothing, neither type nor size."""
    head, _, seal = content.rpartition(_CHECKSUM)
    body = head + b"\n}"
    if seal != sha256(body).hexdigest().encode() + _AFTER_CHECKSUM:
        raise CacheTreeError("was altered: its checksum is that of other content")
    try:
        page = typed_json.decode(body, type=_PageFile)
        keys = keys_of(page.url, settings)
        for record in (page.document, page.source, *page.extractions, *page.decisions):
            _check(record)
        for one in page.extractions:
            check_outcome(one.cb_kwargs, one.requests, one.items)
        unpack_fingerprints(page.document.blocks or b"")
    except (*_UNREADABLE, UrlError, DamagedError, DamagedValueError) as error:
        raise CacheTreeError(str(error)[:300]) from error
    if page.content and content_hash("\n".join(page.content)).hex() != page.content_hash:
        raise CacheTreeError("does not fit its content_hash: its content was altered")
    if page.document.last_seen_at is None or page.document.status != "completed":
        raise CacheTreeError("document: was never seen")
    named = {(one.page_key, one.url, one.domain) for one in (page.document, page.source, *page.extractions) if one}
    named |= {(one.page_key, page.url, keys.domain) for one in page.decisions}
    if named != {(keys.page_key, page.url, keys.domain)}:
        raise CacheTreeError("was written under another DEDUP_URL, or for another page")
    if any(one.layer != INDEX_LAYER or one.action not in (INCLUDED, EXCLUDED) for one in page.decisions):
        raise CacheTreeError(f"decisions: needs those of {INDEX_LAYER} alone")
    return page


def _read_plain(plain: _PlainFile, folder: Path, line: _IndexLine, settings: Settings) -> _PageFile:
    """Return a page of a tree that the specification describes: what the index says of its content is believed."""
    named = _EXTRACTION_FILE.fullmatch(line.extraction_file)
    assert named is not None  # `_read_line` sees to that
    try:
        keys = keys_of(plain.url, settings)
        metadata = _read_metadata(folder / METADATA / f"{named[1]}_meta.json", plain.url)
        digits = line.content_hash or content_hash("\n".join(plain.content)).hex()
        made = records_of(keys, None, digits, asdict(plain), metadata, plain.extraction_timestamp)
    except (UrlError, ContentIndexError) as error:
        raise CacheTreeError(str(error)) from error
    document, extraction, decisions = made
    _check(document)
    for one in decisions:
        _check(one)
    return _PageFile(
        **asdict(plain),
        content_hash=digits,
        http_status=None,
        document=document,
        source=None,
        extractions=[extraction],
        decisions=decisions,
    )


def _read_metadata(path: Path, url: str) -> dict[str, Any]:
    """Return what a metadata file says of a page; nothing where there is none."""
    if not path.exists() or path.parent.is_symlink():
        return {}
    try:
        found = typed_json.decode(_read_file(path), type=_PlainMetadata)
    except _UNREADABLE as error:
        raise CacheTreeError(f"{path.name} holds no metadata") from error
    if found.url != url:
        raise CacheTreeError(f"{path.name} is of the page {found.url}")
    told: dict[str, Any] = to_builtins(found)
    return told


def _check(record: DocumentRecord | SourceRecord | ExtractionRecord | DecisionRecord | None) -> None:
    """Refuse values of the right type that no column holds, or no crawl writes."""
    for name in record.__struct_fields__ if record else ():
        value = getattr(record, name)
        wrong = (
            (isinstance(value, int | float) and not abs(value) <= _MOST)
            or (isinstance(value, datetime) and value.tzinfo is None)
            or (isinstance(value, bytes) and len(value) not in _LENGTHS.get(name, (len(value),)))
            or (isinstance(value, str) and len(value) > _MOST_CHARS.get(name, len(value)))
        )
        if wrong:
            raise CacheTreeError(f"{name}: {str(value)[:60]!r} is not what belongs there")


def _read_file(path: Path) -> bytes:
    """Return what a file holds that is one, no link, and not too large."""
    try:
        descriptor = os.open(path, _READ)
    except FileNotFoundError as error:
        raise CacheTreeError("is missing") from error
    except OSError as error:
        raise CacheTreeError("is a link" if path.is_symlink() else f"cannot be read ({error.strerror})") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise CacheTreeError("is no file")
    with os.fdopen(descriptor, "rb") as opened:
        # So many bytes are reserved before any is read.
        found = opened.read(min(_MAX_FILE_BYTES, os.fstat(descriptor).st_size) + 1)
    if len(found) > _MAX_FILE_BYTES:
        raise CacheTreeError(f"is larger than {_MAX_FILE_BYTES:,} bytes")
    return found


def _names(folder: Path) -> Iterator[str]:
    """Iterate over the names of the extraction files there are."""
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder / EXTRACTIONS) as found:
        for each in found:
            if _EXTRACTION_FILE.fullmatch(name := f"{EXTRACTIONS}/{each.name}"):
                yield name

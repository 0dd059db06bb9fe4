"""Scrapy's HTTP cache in files: one folder a response, with what was asked, the headers and the body.

Of each entry `meta` is read, which is text; `pickled_meta` and `response_data` say the same as pickles, and are not
touched. A body is as it came over the network, packed as its headers say.
"""

import ast
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from scrapy.http import Headers, HtmlResponse, TextResponse
from scrapy.responsetypes import responsetypes
from w3lib.http import headers_raw_to_dict

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.service.seeding_encodings import EncodingError, unpacked
from scrapy_dedup.service.seeding_pages import Advance, Found, FoundPage, NoPage, Unreadable, instant
from scrapy_dedup.settings import Settings

META: Final = "meta"
BODY: Final = "response_body"
HEADERS: Final = "response_headers"
_GZIP: Final = b"\x1f\x8b"
# A URL is text of a few hundred bytes; what is nested too deep for Python's parser would take more.
_MOST_META_BYTES: Final = 20_000
_MOST_HEADER_BYTES: Final = 1_000_000
_URL_SHOWN: Final = 200
# As of a page that we crawl.
_MOST_VALIDATOR_CHARS: Final = 1_000


class _DamagedError(DedupError):
    """An entry cannot be read."""


@dataclass(frozen=True, slots=True)
class _Meta:
    """What an entry says of itself."""

    url: str
    method: str
    status: int
    at: datetime


def entries_in(folder: Path) -> Iterator[Path]:
    """Iterate over the entries of a cache, of one spider or of several, in the order of their names."""
    for where, folders, files in os.walk(folder):  # it follows no links
        folders.sort()
        if META in files:
            yield Path(where)


def read_cache(folder: Path, settings: Settings, latest: datetime, advance: Advance) -> Iterator[Found]:
    """Iterate over the pages of a cache, one in memory at a time.

    Args:
        folder: with the cache, or a part of it.
        settings: bound the size of a page.
        latest: no page is younger.
        advance: told of each entry.
    """
    for entry in entries_in(folder):
        where = str(entry.relative_to(folder))
        try:
            yield _found(entry, where, settings.max_page_bytes, latest)
        except (_DamagedError, EncodingError) as error:
            yield Unreadable(where, str(error))
        except OSError as error:
            yield Unreadable(where, f"{error.filename}: {error.strerror}")
        advance(1)


def _found(entry: Path, where: str, most: int, latest: datetime) -> Found:
    raw = _bytes_of(entry / META, _MOST_META_BYTES)
    is_packed = raw.startswith(_GZIP)  # HTTPCACHE_GZIP packs all files alike
    meta = _meta(_plain(raw, _MOST_META_BYTES, is_packed=is_packed), latest)
    if meta.method != "GET" or not 200 <= meta.status < 300:
        return NoPage(where, f"{meta.method[:20]} {meta.url[:_URL_SHOWN]}: status {meta.status}")
    raw_headers = _plain(_bytes_of(entry / HEADERS, _MOST_HEADER_BYTES), _MOST_HEADER_BYTES, is_packed=is_packed)
    headers = Headers(headers_raw_to_dict(raw_headers) or {})
    received = _plain(_bytes_of(entry / BODY, most), most, is_packed=is_packed)
    body = unpacked(received, headers.getlist("Content-Encoding"), most)
    kind = responsetypes.from_args(headers=headers, url=meta.url, body=body)
    declared = _header(headers, "Content-Type") or ""
    if not issubclass(kind, TextResponse) or not (issubclass(kind, HtmlResponse) or "html" in declared):
        return NoPage(where, f"{meta.url[:_URL_SHOWN]}: no HTML")
    return FoundPage(
        where=where,
        url=meta.url,
        at=meta.at,
        html=kind(meta.url, headers=headers, body=body).text,
        http_status=meta.status,
        etag=_validator(headers, "ETag"),
        last_modified=_validator(headers, "Last-Modified"),
        content_type=declared.partition(";")[0].strip().lower()[:200] or None,
    )


def _bytes_of(path: Path, most: int) -> bytes:
    """Return what stands in an ordinary file."""
    if not stat.S_ISREG(path.lstat().st_mode):
        raise _DamagedError(f"{path.name} is no ordinary file")
    with path.open("rb") as file:
        found = file.read(most + 1)
    if len(found) > most:
        raise _DamagedError(f"{path.name} is larger than {most} bytes")
    return found


def _plain(found: bytes, most: int, *, is_packed: bool) -> bytes:
    return unpacked(found, [b"gzip"], most) if is_packed else found


def _meta(raw: bytes, latest: datetime) -> _Meta:
    """Return what `repr` wrote of a dict; nothing in it is run."""
    try:
        meta: Any = ast.literal_eval(raw.decode("utf-8"))
        url, status = meta.get("response_url") or meta["url"], meta["status"]
        if not (isinstance(url, str) and isinstance(status, int)):
            raise _DamagedError(f"{META}: response_url is no text, or status no number")
        return _Meta(url, str(meta["method"]), status, instant(float(meta["timestamp"]), latest))
    except (ValueError, SyntaxError, TypeError, LookupError, AttributeError, MemoryError, RecursionError) as error:
        raise _DamagedError(f"{META} is not what Scrapy writes ({type(error).__name__})") from error


def _header(headers: Headers, name: str) -> str | None:
    value = headers.get(name)
    return value.decode("latin-1") if value else None


def _validator(headers: Headers, name: str) -> str | None:
    return (_header(headers, name) or "")[:_MOST_VALIDATOR_CHARS] or None

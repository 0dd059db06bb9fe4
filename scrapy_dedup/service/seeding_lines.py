"""Items of earlier crawls: JSON lines, Scrapy's JSON feeds with an item a line, and plain lists of URLs."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final

from scrapy_dedup.service.packed_files import BYTE_ORDER_MARK, DAMAGED, lines_of, most_line_bytes, unpacking
from scrapy_dedup.service.seeding_pages import Advance, Found, FoundPage, SeedError, Unreadable, instant
from scrapy_dedup.settings import Settings

_URL_STARTS: Final = (b"http://", b"https://")
# What `dedup` in an item of ours says of its page.
_OURS: Final = ("dedup", "fetched_at")


@dataclass(frozen=True, slots=True)
class Fields:
    """Where in an item what stands.

    Attributes:
        time: field with the time of its crawl, ISO 8601 or seconds since 1970; "" for the file's own.
        key: field with the request's `deltafetch_key`; "" for none.
    """

    url: str
    html: str
    content: str
    time: str = ""
    key: str = ""

    @classmethod
    def of(cls, settings: Settings, time: str = "", key: str = "") -> "Fields":
        """Return the fields that the settings name."""
        return cls(settings.url_field, settings.html_field, settings.content_field, time, key)


def read_lines(path: Path, fields: Fields, settings: Settings, latest: datetime, advance: Advance) -> Iterator[Found]:
    """Iterate over the pages of a file, packed by gzip or zstd or not, a line in memory at a time.

    Without a time of its own an item is as old as its file.

    Args:
        path: of the file.
        fields: what they are called.
        settings: bound the length of a line.
        latest: no page is younger.
        advance: told of the bytes read.
    """
    at = instant(path.stat().st_mtime, latest)
    with _opened(path) as packed:
        told = number = 0
        try:
            for number, line in enumerate(lines_of(unpacking(packed), most_line_bytes(settings)), 1):
                found = _found(line, f"{path.name}, line {number}", fields, at, latest)
                if found is not None:
                    yield found
                position = packed.tell()
                advance(position - told)
                told = position
        except DAMAGED as error:
            yield Unreadable(f"{path.name}, after line {number}", f"the packed file is damaged or cut off: {error}")


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise SeedError(f"{path}: cannot be opened ({error.strerror})") from error


def _found(line: bytes | None, where: str, fields: Fields, at: datetime, latest: datetime) -> Found | None:
    """Return the page of a line; None where the line is empty, or a bracket of a JSON feed."""
    if line is None:
        return Unreadable(where, "the line is too long; DEDUP_MAX_PAGE_BYTES bounds a page")
    text = line.removeprefix(BYTE_ORDER_MARK).strip().removesuffix(b",").rstrip()
    if text in (b"", b"[", b"]"):
        return None
    if text.startswith(_URL_STARTS):
        return FoundPage(where, text.decode("utf-8", "surrogateescape"), at)
    try:
        item = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Unreadable(where, f"neither JSON nor a URL: {error}")
    if not isinstance(item, dict):
        hint = "; write one item a line" if isinstance(item, list) else ""
        return Unreadable(where, f"JSON, but no item{hint}")
    return _page(item, where, fields, at, latest)


def _page(item: Mapping[str, Any], where: str, fields: Fields, at: datetime, latest: datetime) -> Found:
    url = item.get(fields.url)
    if not isinstance(url, str) or not url.strip():
        return Unreadable(where, f"the item has no URL in its field {fields.url!r}; --url-field names another")
    try:
        own = _time(item, fields, latest)
    except (ValueError, OverflowError) as error:
        return Unreadable(where, f"the field {fields.time or '.'.join(_OURS)!r} holds no time: {error}")
    key = item.get(fields.key) if fields.key else None
    return FoundPage(
        where=where,
        url=url.strip(),
        at=own or at,
        html=_text(item, fields.html),
        content=_text(item, fields.content),
        item=item,
        key=None if key is None else str(key),
    )


def _text(item: Mapping[str, Any], name: str) -> str | None:
    value = item.get(name)
    return value if isinstance(value, str) and value else None


def _time(item: Mapping[str, Any], fields: Fields, latest: datetime) -> datetime | None:
    """Return when an item was made, as far as it says so.

    Raises:
        ValueError: what it says is no time.
    """
    value = item.get(fields.time) if fields.time else None
    if value is None:
        ours = item.get(_OURS[0])
        value = ours.get(_OURS[1]) if isinstance(ours, dict) else None
    if value is None:
        return None
    if isinstance(value, int | float):
        return instant(value, latest)
    if not isinstance(value, str):
        raise ValueError(f"{str(value)[:80]!r}")  # noqa: TRY004 (of what the user wrote, not of our code)
    parsed = datetime.fromisoformat(value)
    return min((parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).astimezone(UTC), latest)

"""Pages in JSON lines, or in a JSON feed with an item a line: `url` with `html`, or with `body` and `content_type`."""

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from scrapy_dedup.service.files.inputs_records import Advance, BadRecord, Found, InputPage, NoPage, is_page, page_of
from scrapy_dedup.service.packed_files import BYTE_ORDER_MARK, DAMAGED, lines_of, most_line_bytes, read_json, unpacking
from scrapy_dedup.settings import Settings

_BODY: Final = "body"
_CONTENT_TYPE: Final = "content_type"
_BRACKETS: Final = (b"", b"[", b"]")


@dataclass(frozen=True, slots=True)
class LineRecord:
    """One line."""

    where: str
    line: bytes

    @property
    def size(self) -> int:
        """How many bytes the line has."""
        return len(self.line)

    def url(self, settings: Settings) -> str | None:
        """Return the item's URL; None where it has none, or is no item."""
        found = _item(self)
        return None if isinstance(found, BadRecord) else _url(found, settings)

    def page(self, settings: Settings) -> InputPage | BadRecord | NoPage:
        """Return the item's page."""
        item = _item(self)
        if isinstance(item, BadRecord):
            return item
        url = _url(item, settings)
        if url is None:
            field = settings.url_field
            return BadRecord(self.where, f"no URL in the field {field!r}; -s DEDUP_URL_FIELD=NAME names another")
        html = item.get(settings.html_field)
        if isinstance(html, str):
            return InputPage(self.where, url, html)
        return _of_body(self.where, url, item, settings)


def read_lines(path: Path, name: str, settings: Settings, advance: Advance) -> Iterator[Found]:
    """Iterate over the lines of a file, packed by gzip or zstd or not, one in memory at a time.

    Args:
        path: of the file.
        name: what it is called in messages.
        settings: bound the length of a line.
        advance: told of the bytes read.

    Raises:
        OSError: it cannot be opened or read.
    """
    with path.open("rb") as packed:
        told = number = 0
        try:
            for number, line in enumerate(lines_of(unpacking(packed), most_line_bytes(settings)), 1):
                where = f"{name}, line {number}"
                if line is None:
                    yield BadRecord(where, "the line is too long; DEDUP_MAX_PAGE_BYTES bounds a page")
                elif (record := record_of_line(line, where)) is not None:
                    yield record
                position = packed.tell()
                advance(position - told)
                told = position
        except DAMAGED as error:
            yield BadRecord(f"{name}, after line {number}", f"the packed file is damaged or cut off: {error}")


def record_of_line(line: bytes, where: str) -> LineRecord | None:
    """Return the record of a line; None where it holds none: it is empty, or a bracket around a feed."""
    text = _bare(line)
    return None if text in _BRACKETS else LineRecord(where, text)


def _bare(line: bytes) -> bytes:
    """Return an item without what may stand around it in a feed."""
    return line.removeprefix(BYTE_ORDER_MARK).strip().removesuffix(b",").rstrip()


def _item(record: LineRecord) -> Mapping[str, Any] | BadRecord:
    try:
        item = read_json(record.line)
    except (ValueError, RecursionError) as error:
        return BadRecord(record.where, f"no JSON: {error}")
    if not isinstance(item, dict):
        hint = "; write one item a line" if isinstance(item, list) else ""
        return BadRecord(record.where, f"JSON, but no item{hint}")
    return item


def _url(item: Mapping[str, Any], settings: Settings) -> str | None:
    url = item.get(settings.url_field)
    return (url.strip() or None) if isinstance(url, str) else None


def _of_body(where: str, url: str, item: Mapping[str, Any], settings: Settings) -> InputPage | BadRecord | NoPage:
    """Return the page of an item that holds the bytes of a response."""
    body, declared = item.get(_BODY), item.get(_CONTENT_TYPE)
    if not isinstance(body, str):
        field = settings.html_field
        return BadRecord(where, f"neither HTML in {field!r} nor base64 in {_BODY!r}; see DEDUP_HTML_FIELD")
    content_type = declared if isinstance(declared, str) else ""
    if not is_page(content_type):
        return NoPage(where, f"{content_type[:100]!r} is neither HTML nor PDF")
    try:
        # MIME breaks base64 into lines.
        raw = b64decode("".join(body.split()), validate=True)
    except (Base64Error, ValueError) as error:
        return BadRecord(where, f"the field {_BODY!r} is no base64: {error}")
    return page_of(where, url, raw, content_type, settings)

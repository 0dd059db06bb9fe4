"""Pages in WARC files: the answers that are HTML, as the crawl received them."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from scrapy_dedup.service.inputs_records import (
    Advance,
    BadRecord,
    Found,
    InputError,
    InputPage,
    NoPage,
    is_page,
    page_of,
)
from scrapy_dedup.service.packed_files import GZIP, ZSTD, EncodingError, most_line_bytes, packed_by, unpacked
from scrapy_dedup.settings import Settings

if TYPE_CHECKING:
    from fastwarc.warc import WarcRecord

MAGIC: Final = b"WARC/"
# Behind a damaged record the next one begins where these bytes stand; "\x08" is the one method of gzip.
_BEGINNINGS: Final = {"": b"\r\nWARC/1.", "gzip": GZIP + b"\x08", "zstd": ZSTD}
_LINE_END: Final = b"\r\n"
# Each costs a search and a look; a file with more damages is not worth it.
_MOST_DAMAGES: Final = 1_000
_WINDOW: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """One answer of a server, its body as it came over the network."""

    where: str
    address: str
    content_type: str
    body: bytes
    content_encoding: str = ""
    transfer_encoding: str = ""

    @property
    def size(self) -> int:
        """How many bytes the body has."""
        return len(self.body)

    def url(self, settings: Settings) -> str | None:  # noqa: ARG002 (of all records)
        """Return the URL that was asked for."""
        return self.address

    def page(self, settings: Settings) -> InputPage | BadRecord | NoPage:
        """Unpack and decode the body."""
        body = _joined(self.body) if "chunked" in self.transfer_encoding.lower() else self.body
        if self.content_encoding:
            try:
                body = unpacked(body, self.content_encoding, most_line_bytes(settings))
            except EncodingError as error:
                # Many archives hold the body unpacked under the header that it came with.
                if not body.lstrip().startswith((b"<", b"%PDF-")):
                    return BadRecord(self.where, str(error))
        return page_of(self.where, self.address, body, self.content_type, settings)


def read_warc(path: Path, name: str, settings: Settings, advance: Advance) -> Iterator[Found]:
    """Iterate over the answers in a WARC file, packed by gzip or zstd (also with a dictionary) or not.

    Behind a damaged record reading goes on with the next that is found.

    Args:
        path: of the file.
        name: what it is called in messages.
        settings: bound the size of a record.
        advance: told of the bytes read.

    Raises:
        InputError: the extra for it is not installed.
        OSError: the file cannot be opened or read.
    """
    most = most_line_bytes(settings)
    warc = _library("fastwarc.warc")
    wanted = warc.WarcRecordType.response | warc.WarcRecordType.unknown
    with path.open("rb") as file:
        packing = packed_by(file.read(4))
        at, told = 0, 0
        for _ in range(_MOST_DAMAGES):
            file.seek(at)
            reached, told_bad = at, at > 0
            try:
                for record in warc.ArchiveIterator(file, record_types=wanted, parse_http=False):
                    reached = record.stream_pos
                    found = _found(record, f"{name}, byte {reached}", most)
                    told_bad = isinstance(found, BadRecord)
                    yield found
                    advance(max(0, reached - told))
                    told = max(told, reached)
                advance(path.stat().st_size - told)
                break
            except OSError as error:
                if not told_bad:
                    yield BadRecord(f"{name}, after byte {reached}", f"damaged: {error}")
            following = _next_beginning(file, _BEGINNINGS[packing], reached + 1)
            if following is None:
                break
            at = following
        else:
            yield BadRecord(f"{name}, after byte {at}", "damaged too often; the rest was not read")


def read_answer(raw: bytes, where: str, settings: Settings) -> Found | None:
    """Return the answer in the bytes of one record; None where it is a record of another kind.

    Args:
        raw: the record, unpacked, from `WARC/` to the two line ends behind it.
        where: it is, for a person.
        settings: bound its size.

    Raises:
        InputError: the extra for it is not installed.
    """
    warc = _library("fastwarc.warc")
    wanted = warc.WarcRecordType.response | warc.WarcRecordType.unknown
    try:
        for record in warc.ArchiveIterator(BytesIO(raw), record_types=wanted, parse_http=False):
            return _found(record, where, most_line_bytes(settings))
    except OSError as error:
        return BadRecord(where, f"damaged: {error}")
    return None


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise InputError("WARC files need an extra: pip install 'scrapy_dedup[warc]'") from error


def _next_beginning(file: BinaryIO, marker: bytes, start: int) -> int | None:
    """Return where the next record may begin, from *start* on."""
    file.seek(start)
    overlap = b""
    while window := file.read(_WINDOW):
        place = (overlap + window).find(marker)
        if place >= 0:
            found = file.tell() - len(window) - len(overlap) + place
            return found + len(_LINE_END) if marker.startswith(_LINE_END) else found
        overlap = (overlap + window)[1 - len(marker) :]
    return None


def _found(record: "WarcRecord", where: str, most: int) -> Found:
    if record.headers.get("WARC-Type") is None:
        return BadRecord(where, "no record of a WARC file")
    url = (record.headers.get("WARC-Target-URI") or "").strip().removeprefix("<").removesuffix(">")
    if not url:
        return BadRecord(where, "the record has no WARC-Target-URI")
    if record.content_length > most:
        return BadRecord(where, f"the record is larger than {most} bytes; DEDUP_MAX_PAGE_BYTES bounds a page")
    record.parse_http()
    return _answer(record, where, url)


def _answer(record: "WarcRecord", where: str, url: str) -> Found:
    headers = record.http_headers
    if headers is None or headers.status_code is None:
        return BadRecord(where, "the record holds no answer by HTTP")
    content_type = _header(record, b"Content-Type")
    if not 200 <= headers.status_code < 300:
        return NoPage(where, f"{url[:200]}: status {headers.status_code}")
    if not (content_type and is_page(content_type)):
        return NoPage(where, f"{url[:200]}: neither HTML nor PDF")
    body = record.reader.read(record.content_length)
    if len(body) < record.content_length:
        return BadRecord(where, "the file is cut off in this record")
    encodings = (_header(record, name) for name in (b"Content-Encoding", b"Transfer-Encoding"))
    return AnswerRecord(where, url, content_type, body, *encodings)


def _header(record: "WarcRecord", name: bytes) -> str:
    value = record.http_headers.get_bytes(name)
    return value.decode("latin-1").strip() if value else ""


def _joined(body: bytes) -> bytes:
    """Return a body without its chunks; as it is where it has none, for archives hold it so under the same header."""
    with suppress(OSError):
        joined: bytes = _library("fastwarc.stream_io").ChunkedReader(BytesIO(body)).read(len(body))
        return joined
    return body

"""Records of WARC files, packed by gzip or zstd (also with a dictionary) or not: each good one, and where a bad one is.

A record is good where a digest in its header says so; else where it is followed by what stands between two records and
the next one, or the end. Behind the first line of a bad one the next is looked for, in a packed file also the next
member. What is read in vain is counted: a file that has too much of it is read on where reading had come to, so that
the time is in proportion to the size of any file.
"""

import re
import zlib
from base64 import b32encode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import new
from http.client import PARTIAL_CONTENT
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Final, Self, TypeAlias

from msgspec import Struct

from scrapy_dedup.service.files.inputs_records import Advance, BadRecord, Found, InputPage, NoPage, is_page, page_of
from scrapy_dedup.service.packed_files import (
    DAMAGED,
    ZSTD,
    ZSTD_SKIPPABLE,
    EncodingError,
    most_line_bytes,
    packed_by,
    unpacked,
    zstd,
)
from scrapy_dedup.settings import Settings

_MOST_HTTP_HEAD_BYTES: Final = 65_536
_HTTP_HEAD: Final = re.compile(rb"HTTP/\d(?:\.\d)? +(\d{3})\b[^\n]*+\n((?:[^\r\n][^\n]*+\n)*+)\r?\n")
_HTTP_FIELD: Final = re.compile(rb"^([!#$%&'*+.^_`|~0-9A-Za-z-]++)[ \t]*:([^\n]*+(?:\n[ \t][^\n]*+)*+)", re.MULTILINE)
_CHUNK: Final = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\r\n]*+)?\r?\n")
_LINE_END: Final = re.compile(rb"\r?\n")
_TRAILER: Final = re.compile(rb"(?:[^\r\n]++\r?\n)*+\r?\n\Z")
_LAST_CHUNK: Final = b"\r\n0\r\n\r\n"


class HttpAnswer(Struct, frozen=True):
    """One answer of a server, its body as it came over the network."""

    status: int
    content_type: str
    content_encoding: str
    transfer_encoding: str
    content_length: str
    body: bytes

    @classmethod
    def parse(cls, raw: bytes) -> Self | None:
        """Return the answer that some bytes are, None if they are none; lines that are no headers are passed over."""
        head = _HTTP_HEAD.match(raw, 0, _MOST_HTTP_HEAD_BYTES)
        if head is None:
            return None
        found: dict[bytes, list[bytes]] = {}
        for name, value in _HTTP_FIELD.findall(head[2]):
            found.setdefault(name.lower(), []).append(value.strip())

        def all_of(name: bytes) -> str:
            return b", ".join(found.get(name, [])).decode("latin-1")

        return cls(
            int(head[1]),
            found.get(b"content-type", [b""])[0].decode("latin-1"),
            all_of(b"content-encoding"),
            all_of(b"transfer-encoding"),
            all_of(b"content-length"),
            raw[head.end() :],
        )

    @property
    def is_whole(self) -> bool:
        """Say whether the body has the length that the server announced."""
        return self.content_length == str(len(self.body))

    def content(self, most: int) -> bytes:
        """Return the body without its chunks and encodings.

        Raises:
            EncodingError: it is cut off, damaged, has more than so many bytes, or is packed in a way that is not known.
        """
        # Under an encoding it may stand unpacked, and what is packed tells by itself that it is cut off.
        if self.content_length.isdecimal() and not (self.content_encoding or self.transfer_encoding):
            announced = int(self.content_length[:18])
            if len(self.body) < announced:
                raise EncodingError(f"it is cut off: {len(self.body)} of {announced} bytes that the server announced")
        body = self._joined()
        codings = [name for name in self.transfer_encoding.split(",") if "chunked" not in name.lower()]
        try:
            return unpacked(body, ",".join([self.content_encoding, *codings]), most)
        except EncodingError:
            # Many archives hold the body unpacked under the header that it came with.
            if body.lstrip().startswith((b"<", b"%PDF-")):
                return body
            raise

    def payloads(self, most: int) -> Iterator[bytes]:
        """Yield what archives take for the payload whose digest they write: they do not agree on it."""
        yield self.body
        with suppress(EncodingError):
            yield self._joined()
        with suppress(EncodingError):
            yield self.content(most)

    def _joined(self) -> bytes:
        """Return the body without its chunks; as it is where it has none, for archives hold it so under that header."""
        body, at, found = self.body, 0, bytearray()
        chunked = "chunked" in self.transfer_encoding.lower()
        if not chunked or not (_CHUNK.match(body) or body.endswith(_LAST_CHUNK)):
            return body
        while line := _CHUNK.match(body, at):
            size, at = int(line[1], 16), line.end()
            if not size:
                if _TRAILER.match(body, at):
                    return bytes(found)
                break
            found += body[at : at + size]
            end = _LINE_END.match(body, min(at + size, len(body)))
            if end is None:
                break
            at = end.end()
        raise EncodingError("its chunks are damaged or cut off")


ANSWER: Final = "response"
_OTHERS: Final = frozenset(
    ["warcinfo", "resource", "request", "metadata", "revisit", "conversion", "continuation"]  # ISO 28500, 5.5
)
_MAGIC: Final = b"WARC/"
_VERSION: Final = re.compile(rb"WARC/[01]\.\d{1,2}\r?\n")
_NAME: Final = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]++"
_HEAD: Final = re.compile(_VERSION.pattern + rb"((?:" + _NAME + rb":[^\r\n]*+\r?\n(?:[ \t][^\r\n]*+\r?\n)*+)*+)\r?\n")
_FIELD: Final = re.compile(rb"^(" + _NAME + rb"):(.*(?:\n[ \t].*)*)", re.MULTILINE)
_MOST_HEAD_BYTES: Final = 65_536
_END: Final = b"\r\n\r\n"
_FOLLOWING: Final = (b"\r\n\r\nWARC/1.", b"\r\n\r\nWARC/0.")
_FOLLOWING_BYTES: Final = len(_FOLLOWING[0])
_MEMBERS: Final = {"gzip": re.compile(rb"\x1f\x8b\x08[\x00-\x1f]"), "zstd": re.compile(re.escape(ZSTD))}
_BEGINNING_OF_JSON: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*+[\[{]\s*+[\[{\"}\]]")
_NO_PADDING: Final = re.compile(rb"[^\0]")
_DICTIONARY: Final = b"\x5d\x2a\x4d\x18"
_DICTIONARY_MAGIC: Final = b"\x37\xa4\x30\xec"
_MOST_DICTIONARY_BYTES: Final = 16_000_000

_LOOK: Final = 1_000_000
_PIECE: Final = 65_536
# What is unpacked of the piece in which a member is damaged is lost.
_PACKED_PIECE: Final = 4_096
# Most members that are none are found out at once.
_FIRST_PIECE: Final = 256
# So much is read before anything is unpacked: a header of gzip, which can have a name, or a block of zstd, of 128 KiB.
_MOST_SILENT_BYTES: Final = {"gzip": 1_000, "zstd": 200_000}
_IN_VAIN_BYTES: Final = 16_000_000
_IN_VAIN_TIMES: Final = 8
_WRONG_END: Final = "the record is cut off, or its Content-Length is wrong"
_ALTERED: Final = "altered: its digest is another one"
_DIGESTS: Final = ("warc-block-digest", "warc-payload-digest")
_ALGORITHMS: Final = ("md5", "sha1", "sha256", "sha512")


class WarcRecord(Struct, frozen=True):
    """A good record with an answer.

    Attributes:
        fields: of its header, by their names in lower case.
        block: all behind its header.
    """

    fields: Mapping[str, str]
    block: bytes


Told: TypeAlias = tuple[int, str, WarcRecord | str]
"""Byte of the file where a record begins, or the member that it is in; the same for a person; the record, or why it is
bad, or none.
"""


def read_records(file: BinaryIO, most: int, size: int | None = None) -> Iterator[Told]:
    """Iterate over the good records with answers, and over what is bad; good ones of other types are passed over.

    A record of more than *most* bytes is bad; *size* is that of the whole where the file has but the beginning.
    """
    return _WarcReader(file, most, size).records()


def is_warc(file: BinaryIO) -> bool:
    """Say whether a record, or a member that begins as one, begins in the first megabyte of a file."""
    return _WarcReader(file, 0).packing is not None


class _Gunzip:
    """A member of gzip, unpacked as `ZstdDecompressor` unpacks a frame."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(zlib.MAX_WBITS | 16)

    @property
    def needs_input(self) -> bool:
        return not self._stream.unconsumed_tail

    @property
    def eof(self) -> bool:
        return self._stream.eof

    @property
    def unused_data(self) -> bytes:
        return self._stream.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._stream.decompress(self._stream.unconsumed_tail or data, max_length)


class _Content:
    """What a file, or a member of it, holds: a window that moves on, and back at a price.

    Attributes:
        start: byte of the file where it begins.
        base: byte of the content where the window begins.
        window: so far.
        following: byte of the file that is read next; at the end of a member, where it ends, or is damaged.
        ended: whether the window reaches to the end.
        error: that ended it; None where it ended well.
    """

    def __init__(
        self, file: BinaryIO, start: int, size: int, unpack: Callable[[], Any] | None = None, most_silent: int = 0
    ) -> None:
        self._file, self.start, self._size, self._unpack, self._most_silent = file, start, size, unpack, most_silent
        self.base = 0
        self.error: str | None = None
        self._restart()

    @property
    def end(self) -> int:
        """Byte of the content where the window ends."""
        return self.base + len(self.window)

    @property
    def is_packed(self) -> bool:
        return self._unpack is not None

    @property
    def read_bytes(self) -> int:
        """What it took to come here."""
        return self.end + self.following - self.start

    def fill(self, end: int) -> None:
        """Have what is in it up to a byte, or to its end."""
        while self.end < end and not self.ended:
            piece = self._piece()
            self.window += piece

    def go(self, to: int) -> bool:
        """Let the window begin at a byte; say whether there is one, or the end."""
        if to < self.base:
            self._restart()
        if not self.is_packed and to > self.end:
            self.window, self.base, self.following = bytearray(), to, to
            self.ended = to >= self._size
            return to <= self._size
        while self.end < to and not self.ended:
            self.base = self.end
            self.window.clear()
            self.fill(self.base + 1)
        reached, passed = to <= self.end, min(to, self.end) - self.base
        del self.window[:passed]
        self.base += passed
        return reached

    def find(self, pattern: re.Pattern[bytes], at: int) -> int | None:
        """Return where something is found from a byte on; the window begins there."""
        self.go(at)
        while (found := pattern.search(self.window)) is None:
            if self.ended:
                return None
            self.go(max(at, self.end - _FOLLOWING_BYTES))
            self.fill(self.end + _PIECE)
        self.go(place := self.base + found.start())
        return place

    def _restart(self) -> None:
        self.window, self.base, self.ended = bytearray(), 0, False
        self.following = self._last_read = self.start
        self._stream = self._unpack() if self._unpack else None

    def _read(self, size: int) -> bytes:
        self._last_read = self.following
        self._file.seek(self.following)
        data = self._file.read(size)
        self.following += len(data)
        return data

    def _piece(self) -> bytes:
        if self._stream is None:
            data = self._read(_PIECE)
            self.ended = not data
            if self.ended and self.following < self._size:
                self.error = _WRONG_END
            return data
        try:
            return self._unpacked(self._stream)
        except DAMAGED as error:
            self.error, self.ended = f"damaged or cut off: {error}", True
            self.following = self._last_read
            return b""

    def _unpacked(self, stream: Any) -> bytes:
        size = _FIRST_PIECE if self.following == self.start else _PACKED_PIECE
        if not self.end:
            size = min(size, self._most_silent - (self.following - self.start))
        needed = stream.needs_input
        data = self._read(size) if needed else b""
        piece: bytes = stream.decompress(data, _PIECE)
        if stream.eof:
            self.ended = True
            self.following -= len(stream.unused_data)
        elif not piece and (needed and not data):
            raise EOFError("the file ends in it")
        elif not piece and not self.end and self.following - self.start >= self._most_silent:
            raise EOFError("nothing can be unpacked")
        return piece


class _WarcReader:
    def __init__(self, file: BinaryIO, most: int, size: int | None = None) -> None:
        self._file, self._most = file, most
        self._size = file.seek(0, 2) if size is None else size
        self._raw = _Content(file, 0, self._size)
        self._large = (
            f"is larger than {most} bytes (DEDUP_MAX_PAGE_BYTES bounds a page), or its Content-Length is wrong"
        )
        self._in_vain = 0
        self._zstd_dict = self._dictionary()
        self.packing: str | None = None
        self.packing = self._packing()

    def records(self) -> Iterator[Told]:
        if not self.packing:
            yield from self._records(self._raw)
            return
        at, is_lost = 0, False
        while at < self._size:
            content = None if is_lost else self._member(at)
            if content is None:
                # Some files are filled up with zeros.
                if not is_lost and self._raw.find(_NO_PADDING, at) is None:
                    return
                if not is_lost:
                    yield at, f"byte {at}", "no record of a WARC file"
                content = self._next_member(self._raw, at)
                if content is None:
                    return
            yield from self._records(content)
            is_lost = content.error is not None
            at = content.following
            if is_lost:
                at = self._behind(content.start + 1, at, content.read_bytes)

    def _packing(self) -> str | None:
        self._raw.fill(_LOOK)
        head = bytes(self._raw.window[:_LOOK])
        if head.startswith(_MAGIC):
            return ""
        if _BEGINNING_OF_JSON.match(head):
            return None
        # A dictionary holds records, as all that was packed with it.
        plain = None if packed_by(head) else _HEAD.search(head)
        found = [(plain.start(), "")] if plain else []
        looked_at = _Content(BytesIO(head), 0, len(head))
        for self.packing in _MEMBERS:
            member = self._next_member(looked_at, 0)
            found += [(member.start, self.packing)] if member else []
        return min(found)[1] if found else None

    def _dictionary(self) -> Any:
        self._raw.fill(8)
        if not self._raw.window.startswith(_DICTIONARY):
            return None
        size = int.from_bytes(self._raw.window[4:8], "little")
        self._raw.fill(8 + min(size, _MOST_DICTIONARY_BYTES))
        raw = bytes(self._raw.window[8 : 8 + size])
        try:
            raw = unpacked(raw, packed_by(raw), _MOST_DICTIONARY_BYTES)
            return zstd.ZstdDict(raw, is_raw=not raw.startswith(_DICTIONARY_MAGIC))
        except (EncodingError, ValueError, zstd.ZstdError):
            return None  # each frame that needs it is told

    def _content(self, start: int) -> _Content:
        unpack = _Gunzip if self.packing == "gzip" else lambda: zstd.ZstdDecompressor(self._zstd_dict)
        return _Content(self._file, start, self._size, unpack, _MOST_SILENT_BYTES[self.packing or ""])

    def _member(self, at: int) -> _Content | None:
        """Return the member that begins at a byte of the file."""
        self._raw.go(at)
        self._raw.fill(at + 4)
        head = bytes(self._raw.window[:4])
        begins = _MEMBERS[self.packing or ""].match(head) or (self.packing == "zstd" and head in ZSTD_SKIPPABLE)
        return self._content(at) if begins else None

    def _next_member(self, raw: _Content, at: int) -> _Content | None:
        """Return the next member that begins as a record does."""
        while (place := raw.find(_MEMBERS[self.packing or ""], at)) is not None:
            content = self._content(place)
            content.fill(len(_MAGIC))
            if content.window.startswith(_MAGIC):
                return content
            at = self._behind(place + 1, content.following, content.read_bytes)
        return None

    def _behind(self, near: int, far: int, cost: int) -> int:
        """Return where to go on behind what was read in vain."""
        self._in_vain += cost
        return near if self._in_vain <= _IN_VAIN_BYTES + _IN_VAIN_TIMES * self._size else max(near, far)

    def _records(self, content: _Content) -> Iterator[Told]:
        at: int | None = 0
        is_lost = error_told = False
        while at is not None:
            content.go(at)
            content.fill(at + _MOST_HEAD_BYTES)
            if not content.window:
                break
            head = _HEAD.match(content.window, 0, _MOST_HEAD_BYTES)
            if head is None or _VERSION.search(head[0], len(_MAGIC)):
                if not is_lost:
                    yield *_place(content, at), content.error or "no record of a WARC file"
                    error_told = content.error is not None
                is_lost = True
                at = content.find(_VERSION, at + 1)
                continue
            found, following = self._judged(content, at, _fields(head[1]), at + len(head[0]))
            is_lost = isinstance(found, str) and following == at + 1
            if found is not None:
                error_told = isinstance(found, str) and content.error is not None
                yield *_place(content, at), found
            at = following
        if content.error is not None and not error_told:
            yield *_place(content, at or content.end), content.error

    def _judged(
        self, content: _Content, at: int, fields: Mapping[str, str], start: int
    ) -> tuple[WarcRecord | str | None, int]:
        """Return the record whose header ends at a byte, or why it is bad, if it says anything; and where to go on."""
        kind, said = fields.get("warc-type", "").lower(), fields.get("content-length", "")
        if kind != ANSWER and kind not in _OTHERS:
            return f"no record has the WARC-Type {kind[:40]!r}", at + 1
        if not (said.isdecimal() and len(said) <= 18):
            return f"no Content-Length: {said[:40]!r}", at + 1
        end = start + int(said)
        is_kept = end - start <= self._most
        is_there = is_kept or content.go(end)
        content.fill(end + _FOLLOWING_BYTES)
        is_there = is_there and end <= content.end
        behind = end - content.base
        rest = bytes(content.window[behind : behind + _FOLLOWING_BYTES])
        is_last = content.ended and content.error is None
        ends = is_there and (rest.startswith(_FOLLOWING) or (is_last and _END.startswith(rest)))
        can_be_proven = ends or rest.startswith(_END) or not fields.keys().isdisjoint(_DIGESTS)
        block = bytes(content.window[start - at : end - at]) if is_kept and is_there and can_be_proven else b""
        proof = _proof(kind, fields, block, self._most) if block else None
        if proof is None and not ends and rest.startswith(_END):
            answer = HttpAnswer.parse(block)
            proof = (answer is not None and answer.is_whole) or None
        # What a member holds that has another checksum may have another URL, too, which no digest covers.
        if proof is False or not (ends or (proof and content.error is None)):
            reason = _ALTERED if ends else (content.error or _WRONG_END) if is_kept else self._large
            cost = content.read_bytes if content.is_packed and not is_kept else len(block)
            return reason, self._behind(at + 1, min(end, content.end), cost)
        end += len(_END) if rest.startswith(_END) else len(rest) if _END.startswith(rest) else 0
        if kind != ANSWER:
            return None, end
        return (WarcRecord(fields, block) if is_kept else self._large), end


def _place(content: _Content, at: int) -> tuple[int, str]:
    if not content.is_packed:
        return at, f"byte {at}"
    return content.start, f"byte {content.start}" + (f", unpacked byte {at}" if at else "")


def _fields(head: bytes) -> dict[str, str]:
    """Return the fields of a header, of those with one name the first."""
    found: dict[str, str] = {}
    for name, value in _FIELD.findall(head):
        found.setdefault(name.decode().lower(), value.decode("utf-8", "replace").strip())
    return found


def _proof(kind: str, fields: Mapping[str, str], block: bytes, most: int) -> bool | None:
    """Say whether a record has the digest in its header; None where there is none that is known."""
    known = _has_digest(fields.get(_DIGESTS[0], ""), [block])
    if known is not None or kind != ANSWER:
        return known
    answer = HttpAnswer.parse(block)
    return _has_digest(fields.get(_DIGESTS[1], ""), answer.payloads(most) if answer else [block])


def _has_digest(said: str, candidates: Iterable[bytes]) -> bool | None:
    name, _, value = said.partition(":")
    name = name.strip().lower().replace("-", "")
    if name not in _ALGORITHMS:
        return None
    value = value.strip().rstrip("=")
    for one in candidates:
        digest = new(name, one, usedforsecurity=False).digest()
        base32, base64 = (encode(digest).decode().rstrip("=") for encode in (b32encode, b64encode))
        if value == base64 or value.upper() in (base32, digest.hex().upper()):
            return True
    return False


class AnswerRecord(Struct, frozen=True):
    """One answer of a server."""

    where: str
    address: str
    answer: HttpAnswer

    @property
    def size(self) -> int:
        """How many bytes the body has."""
        return len(self.answer.body)

    def url(self, settings: Settings) -> str | None:  # noqa: ARG002 (of all records)
        """Return the URL that was asked for."""
        return self.address

    def page(self, settings: Settings) -> InputPage | BadRecord | NoPage:
        """Unpack and decode the body."""
        try:
            body = self.answer.content(most_line_bytes(settings))
        except EncodingError as error:
            return BadRecord(self.where, str(error))
        return page_of(self.where, self.address, body, self.answer.content_type, settings)


def read_warc(path: Path, name: str, settings: Settings, advance: Advance) -> Iterator[Found]:
    """Iterate over the answers in a WARC file, and over what is bad in it.

    *name* stands in messages, *settings* bound the size of a record, *advance* is told of the bytes read.

    Raises:
        OSError: the file cannot be opened or read.
    """
    with path.open("rb") as file:
        told = 0
        for at, place, record in read_records(file, most_line_bytes(settings)):
            yield _found(record, f"{name}, {place}")
            advance(max(0, at - told))
            told = max(told, at)
        advance(path.stat().st_size - told)


def read_answers(raw: bytes, size: int, where: str, settings: Settings) -> Iterator[tuple[int, Found]]:
    """Iterate over the answers in the bytes of one record, each with the byte at which it begins.

    There is none where it is a record of another kind, and more than one where its length is wrong.

    *raw* is the record, unpacked, from `WARC/` to the two line ends behind it, or the beginning of a large one; *size*
    are the bytes of the whole; *where* it is, for a person.
    """
    for at, _, record in read_records(BytesIO(raw), most_line_bytes(settings), size):
        yield at, _found(record, where)
        if size > len(raw):
            break


def _found(record: WarcRecord | str, where: str) -> Found:
    if isinstance(record, str):
        return BadRecord(where, record)
    fields = record.fields
    url = fields.get("warc-target-uri", "").removeprefix("<").removesuffix(">")
    if not url:
        return BadRecord(where, "the record has no WARC-Target-URI")
    # The rest of a divided one stands in continuations, mostly in another file.
    for name in ("warc-truncated", "warc-segment-number"):
        if name in fields:
            return BadRecord(where, f"holds the beginning of an answer, by its {name}: {fields[name][:40]!r}")
    answer = HttpAnswer.parse(record.block)
    return BadRecord(where, "the record holds no answer by HTTP") if answer is None else _page(answer, url, where)


def _page(answer: HttpAnswer, url: str, where: str) -> Found:
    if not 200 <= answer.status < 300:
        return NoPage(where, f"{url[:200]}: status {answer.status}")
    if not (answer.content_type and is_page(answer.content_type)):
        return NoPage(where, f"{url[:200]}: neither HTML nor PDF")
    if answer.status == PARTIAL_CONTENT:
        return BadRecord(where, f"holds a part of an answer, by its status {answer.status}")
    return AnswerRecord(where, url, answer)

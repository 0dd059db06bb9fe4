"""Answers by HTTP as archives hold them: status, headers, and the body without chunks and encodings, whole or not."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Self

from scrapy_dedup.service.packed_files import EncodingError, unpacked

_MOST_HEAD_BYTES: Final = 65_536
_HEAD: Final = re.compile(rb"HTTP/\d(?:\.\d)? +(\d{3})\b[^\n]*+\n((?:[^\r\n][^\n]*+\n)*+)\r?\n")
_FIELD: Final = re.compile(rb"^([!#$%&'*+.^_`|~0-9A-Za-z-]++)[ \t]*:([^\n]*+(?:\n[ \t][^\n]*+)*+)", re.MULTILINE)
_CHUNK: Final = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\r\n]*+)?\r?\n")
_LINE_END: Final = re.compile(rb"\r?\n")
_TRAILER: Final = re.compile(rb"(?:[^\r\n]++\r?\n)*+\r?\n\Z")
_LAST_CHUNK: Final = b"\r\n0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class HttpAnswer:
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
        head = _HEAD.match(raw, 0, _MOST_HEAD_BYTES)
        if head is None:
            return None
        found: dict[bytes, list[bytes]] = {}
        for name, value in _FIELD.findall(head[2]):
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

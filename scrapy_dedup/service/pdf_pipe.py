"""What passes between the process that crawls and the one that reads PDFs: limits, refusals, frames."""

import struct
from dataclasses import dataclass
from enum import StrEnum
from typing import IO, Final, Literal

_HEADER: Final = struct.Struct(">cQ")
# No answer is as large: a few bytes for each character that the limits allow.
_MOST_BYTES: Final = 1 << 30

Tag = Literal[b"L", b"B", b"R", b"P", b"A", b"T", b"U"]
"""Limits, body; ready, progress, arranging, text, unread."""


class UnreadReason(StrEnum):
    """Why a file gives no text."""

    ENCRYPTED = "encrypted"
    DAMAGED = "damaged"
    NO_TEXT = "no text"
    """Pictures only, such as a scan without recognised text."""
    TOO_LARGE = "too large"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    MISSING = "library missing"


@dataclass(frozen=True, slots=True)
class Unread:
    """A file without text, why, and a sentence for people."""

    reason: UnreadReason
    message: str


@dataclass(frozen=True, slots=True)
class PdfLimits:
    """What one file may cost.

    Attributes:
        max_pages: that are read; the rest is left, and the text flagged as truncated.
        seconds: in all.
        page_seconds: without a page done; a file that stalls ends here.
        max_bytes: of a file.
        max_chars: that are read; as with pages.
        memory_bytes: of the process that reads, where the system can limit it.
    """

    max_pages: int = 2_000
    seconds: float = 60.0
    page_seconds: float = 1.5
    max_bytes: int = 100_000_000
    max_chars: int = 10_000_000
    memory_bytes: int = 1 << 30


def write_frame(pipe: IO[bytes], tag: Tag, body: bytes = b"") -> None:
    """Write one frame whole.

    Raises:
        OSError: nobody reads.
    """
    pipe.write(_HEADER.pack(tag, len(body)))
    pipe.write(body)
    pipe.flush()


def read_frame(pipe: IO[bytes]) -> tuple[bytes, bytes]:
    """Return the tag and the content of the next frame.

    Raises:
        EOFError: the other end is gone, or sent no frame.
    """
    header = pipe.read(_HEADER.size)
    if len(header) < _HEADER.size:
        raise EOFError("the other end is gone")
    tag, size = _HEADER.unpack(header)
    if size > _MOST_BYTES:
        raise EOFError(f"a frame of {size} bytes")
    body = pipe.read(size)
    if len(body) < size:
        raise EOFError("the other end went away")
    return tag, body

"""PDFs read in a process of their own, which may stall, crash or grow without harm to the crawl."""

import json
import os
import struct
import subprocess
import sys
import threading
import time
import weakref
from contextlib import suppress
from enum import StrEnum
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Literal, Self

from msgspec import Struct
from msgspec import json as typed_json
from msgspec.structs import asdict

from scrapy_dedup.settings import Settings

if TYPE_CHECKING:
    from scrapy_dedup.core.pdf.text import PdfText

_HEADER: Final = struct.Struct(">cQ")
# No answer is as large: a few bytes for each character that the limits allow.
_MOST_BYTES: Final = 1 << 30

Tag = Literal[b"L", b"B", b"R", b"P", b"A", b"T", b"U"]
"""Limits, body; ready, progress, arranging, text, unread."""

_WORKER: Final = "scrapy_dedup.service.pdf.worker"
_ROOT: Final = str(Path(__file__).resolve().parents[3])
# A machine under load takes its time to start Python; no file waits as long.
_START_SECONDS: Final = 60.0
# What a library may have lost by then goes with its process.
_MOST_FILES: Final = 500


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


class UnreadPdf(Struct, frozen=True):
    """A file without text, why, and a sentence for people."""

    reason: UnreadReason
    message: str


class PdfLimits(Struct, frozen=True):
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


class PdfReader:
    """Reads PDFs one after the other; any thread may ask. Its process starts with the first file."""

    def __init__(self, limits: PdfLimits | None = None) -> None:
        self.limits = limits or PdfLimits()
        self._lock = threading.Lock()
        self._worker: _Worker | None = None

    def close(self) -> None:
        """End the process; the next file starts another."""
        with self._lock:
            self._drop()

    def read(self, body: bytes) -> "PdfText | UnreadPdf":
        """Return the text of a file, or why there is none; blocks until then, within the limits."""
        if len(body) > self.limits.max_bytes:
            message = f"the PDF has {len(body)} bytes, more than the {self.limits.max_bytes} that may be read"
            return UnreadPdf(UnreadReason.TOO_LARGE, message)
        with self._lock:
            worker = self._ready()
            is_used = worker.files > 0
            answer = worker.ask(body, self.limits)
            if is_used and isinstance(answer, UnreadPdf) and answer.reason is UnreadReason.CRASHED:
                # It may be the fault of a file before.
                self._drop()
                answer = self._ready().ask(body, self.limits)
            return answer

    def _ready(self) -> "_Worker":
        worker = self._worker
        if worker is not None and worker.is_ours() and not worker.is_spent():
            return worker
        self._drop()
        self._worker = _Worker(self.limits.memory_bytes)
        return self._worker

    def _drop(self) -> None:
        if self._worker is not None and self._worker.is_ours():
            self._worker.end()
        self._worker = None


def read_pdf(body: bytes, limits: PdfLimits | None = None) -> "PdfText | UnreadPdf":
    """Return the text of a file, or why there is none; all calls with the same limits share a process."""
    if not _is_installed():
        return UnreadPdf(UnreadReason.MISSING, "PDFs need pypdfium2: pip install 'scrapy_dedup[pdf]'")
    return _reader(limits or PdfLimits()).read(body)


@lru_cache(maxsize=1)
def _is_installed() -> bool:
    return find_spec("pypdfium2") is not None


_reader = lru_cache(maxsize=4)(PdfReader)


class _Worker:
    """One process, and how many files it was given."""

    def __init__(self, memory_bytes: int) -> None:
        paths = [_ROOT, *filter(None, [os.environ.get("PYTHONPATH")])]
        self.process = subprocess.Popen(  # noqa: S603 -- our own module, no shell
            [sys.executable, "-P", "-m", _WORKER, str(memory_bytes), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        self.files = 0
        self.is_broken = False
        self._is_started = False
        self._owner = os.getpid()
        # Ends it, whatever it does.
        self.end = weakref.finalize(self, _end_process, self.process, self._owner)

    def is_ours(self) -> bool:
        """Tell whether this process started it; a fork shares the pipes, and must leave them alone."""
        return self._owner == os.getpid()

    def is_spent(self) -> bool:
        """Tell whether it can take no more files."""
        return self.is_broken or self.files >= _MOST_FILES or self.process.poll() is not None

    def ask(self, body: bytes, limits: PdfLimits) -> "PdfText | UnreadPdf":
        """Return what it makes of a file; it is broken after a refusal that it did not give itself."""
        self.files += 1
        with _Watch(self.process) as watch:
            try:
                return self._talk(body, limits, watch)
            except (EOFError, OSError, ValueError):
                self.is_broken = True
                if watch.has_struck:
                    return UnreadPdf(UnreadReason.TIMEOUT, f"the PDF took more than {watch.allowed:g} s")
                return UnreadPdf(UnreadReason.CRASHED, "the PDF ended the process that read it")

    def _talk(self, body: bytes, limits: PdfLimits, watch: "_Watch") -> "PdfText | UnreadPdf":
        from scrapy_dedup.core.pdf.text import PdfText  # noqa: PLC0415 (few crawls)

        assert self.process.stdin is not None
        assert self.process.stdout is not None
        if not self._is_started:
            watch.allow(_START_SECONDS)
            read_frame(self.process.stdout)
            self._is_started = True
        ends = time.monotonic() + limits.seconds
        watch.allow(min(limits.page_seconds, limits.seconds))
        write_frame(self.process.stdin, b"L", json.dumps(asdict(limits)).encode())
        write_frame(self.process.stdin, b"B", body)
        while True:
            tag, content = read_frame(self.process.stdout)
            if tag == b"T":
                watch.allow(_START_SECONDS)
                return typed_json.decode(content, type=PdfText)
            if tag == b"U":
                reason, message = json.loads(content)
                return UnreadPdf(UnreadReason(reason), str(message))
            left = ends - time.monotonic()
            watch.allow(left if tag == b"A" else min(limits.page_seconds, left), limits.seconds)


class _Watch:
    """Ends a process that is late."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.has_struck = False
        self.allowed = 0.0
        self._process = process
        self._until = float("inf")
        self._changed = threading.Condition()
        self._is_over = False
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        with self._changed:
            self._is_over = True
            self._changed.notify()
        self._thread.join()

    def allow(self, seconds: float, total: float | None = None) -> None:
        """Give so many seconds from now; the total is what a message names where less than a page's time is left."""
        with self._changed:
            self.allowed = seconds if total is None or seconds >= 1 else total
            self._until = time.monotonic() + seconds
            self._changed.notify()

    def _run(self) -> None:
        with self._changed:
            while not self._is_over:
                left = self._until - time.monotonic()
                if left <= 0:
                    self.has_struck = True
                    self._process.kill()
                    return
                self._changed.wait(None if left == float("inf") else left)


def _end_process(process: subprocess.Popen[bytes], owner: int) -> None:
    if owner != os.getpid():
        return
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    process.wait()


def pdf_limits(settings: Settings) -> PdfLimits:
    """Return what one file may cost."""
    return PdfLimits(max_pages=settings.pdf_max_pages, seconds=settings.pdf_timeout.total_seconds())


def pdf_text(pdf: "PdfText", settings: Settings) -> str:
    """Return the text of a file: Markdown, or plain text where that is asked for."""
    from scrapy_dedup.core.pdf.text import draw  # noqa: PLC0415 (few crawls)

    return draw(pdf, "text" if settings.output == "text" else "markdown")

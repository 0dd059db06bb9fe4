"""The process that reads PDFs: files come in through its input, texts go out through its output."""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Final

from scrapy_dedup.core.pdf import arrange
from scrapy_dedup.core.pdf_json import to_json
from scrapy_dedup.service.pdf_pipe import PdfLimits, Unread, UnreadReason, read_frame, write_frame

_PROGRESS_SECONDS: Final = 0.1
_ORPHAN_SECONDS: Final = 1.0


def serve(source: IO[bytes], sink: IO[bytes]) -> None:
    """Answer files until there are no more."""
    write_frame(sink, b"R")
    with suppress(EOFError):
        while True:
            _, limits = read_frame(source)
            _, body = read_frame(source)
            _answer(PdfLimits(**json.loads(limits)), body, sink)


def _answer(limits: PdfLimits, body: bytes, sink: IO[bytes]) -> None:
    try:
        made = _text(limits, body, sink)
    except MemoryError:
        made = Unread(UnreadReason.CRASHED, "the PDF needs more memory than it may have")
    if isinstance(made, Unread):
        write_frame(sink, b"U", json.dumps([made.reason, made.message]).encode())
    else:
        write_frame(sink, b"T", made)


def _text(limits: PdfLimits, body: bytes, sink: IO[bytes]) -> bytes | Unread:
    try:
        from scrapy_dedup.service.pdf_pages import read_pages  # noqa: PLC0415 -- its library may be missing
    except ImportError as error:
        return Unread(UnreadReason.MISSING, f"PDFs need pypdfium2 (pip install pypdfium2): {error}")
    reading = read_pages(body, limits, _progress(sink))
    if isinstance(reading, Unread):
        return reading
    write_frame(sink, b"A")
    return to_json(arrange(reading)).encode("utf-8", errors="replace")


def _progress(sink: IO[bytes]) -> Callable[[], None]:
    """Return what tells the other end now and then that pages are done."""
    last = time.monotonic()

    def tell() -> None:
        nonlocal last
        if time.monotonic() - last >= _PROGRESS_SECONDS:
            last = time.monotonic()
            write_frame(sink, b"P")

    return tell


def _limit_memory(most_bytes: int) -> None:
    try:
        import resource  # noqa: PLC0415 -- Windows has none
    except ImportError:
        return
    for kind, most in ((resource.RLIMIT_AS, most_bytes), (resource.RLIMIT_CORE, 0)):
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, most))


def _end_with(parent: int) -> None:
    """End this process when the one that started it is gone, even in the middle of a file."""
    while os.getppid() == parent:
        time.sleep(_ORPHAN_SECONDS)
    os._exit(1)


def main() -> None:
    """Serve standard input and output; the arguments are the memory limit and the parent's number."""
    # Ctrl-C reaches the whole group; the crawl decides when this process ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _limit_memory(int(sys.argv[1]))
    if os.name == "posix":
        threading.Thread(target=_end_with, args=(int(sys.argv[2]),), daemon=True).start()
    with suppress(BrokenPipeError):
        serve(sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()

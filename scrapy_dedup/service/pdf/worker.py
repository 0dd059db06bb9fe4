"""The process that reads PDFs: files come in through its input, texts go out through its output."""

import ctypes
import json
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from math import hypot, pi
from typing import IO, Any, Final

import pypdfium2
import pypdfium2.raw as pdfium
from msgspec import Struct, to_builtins

from scrapy_dedup.core.pdf.lines import PageLines, PdfLine
from scrapy_dedup.core.pdf.text import PdfFlag, PdfReading, arrange
from scrapy_dedup.service.pdf.reading import PdfLimits, UnreadPdf, UnreadReason, read_frame, write_frame

_PROGRESS_SECONDS: Final = 0.1
_ORPHAN_SECONDS: Final = 1.0

# Two letters or more of Hebrew, Arabic and their like, without digits, which run from left to right.
_RIGHT_TO_LEFT: Final = re.compile("[\u0590-\u065f\u066e-\u06ef\u06fa-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]{2,}")
_FACTS: Final = ("Title", "Author", "CreationDate")
# A hyphen at the end of a line stands for the line's end too.
_TEXT_LINE: Final = re.compile("[^\r\n\x02\ufffe]+[\x02\ufffe]?")
# Of the font's size, above and below the line on which letters stand.
_ASCENT: Final = 0.75
_DESCENT: Final = 0.25
# A gap in a line that is wider than this, in font sizes, may be one between columns.
_WIDE_GAP: Final = 1.0
# Where a line is wider than its characters could be, one piece of text hides a gap.
_WIDE_CHAR: Final = 0.55
_BOLD: Final = re.compile(r"bold|black|heavy|demi|[-,]bd|cmbx|cmssbx|sfbx", re.IGNORECASE)
_FIXED: Final = re.compile(r"mono|courier|consol|typewriter|cmtt|sftt|cmsltt|cmvtt|menlo|teletype", re.IGNORECASE)
_FIXED_FLAG: Final = 1
_NAME_BYTES: Final = 128
_NOWHERE: Final = (0.0, 0.0, 0.0, 0.0)


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
        made = UnreadPdf(UnreadReason.CRASHED, "the PDF needs more memory than it may have")
    if isinstance(made, UnreadPdf):
        write_frame(sink, b"U", json.dumps([made.reason, made.message]).encode())
    else:
        write_frame(sink, b"T", made)


def _text(limits: PdfLimits, body: bytes, sink: IO[bytes]) -> bytes | UnreadPdf:
    reading = read_pages(body, limits, _progress(sink))
    if isinstance(reading, UnreadPdf):
        return reading
    write_frame(sink, b"A")
    made = json.dumps(to_builtins(arrange(reading)), ensure_ascii=False)
    return made.encode("utf-8", errors="replace")


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


def read_pages(body: bytes, limits: PdfLimits, progress: Callable[[], None]) -> PdfReading | UnreadPdf:
    """Return the first pages of a file, within the limits of pages and characters.

    Calls *progress* after each page.
    """
    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        return _refusal(error)
    try:
        return _read(document, limits, progress)
    finally:
        document.close()


def _refusal(error: Any) -> UnreadPdf:
    code = getattr(error, "err_code", None)
    if code in (pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY):
        return UnreadPdf(UnreadReason.ENCRYPTED, "the PDF needs a password")
    return UnreadPdf(UnreadReason.DAMAGED, f"no PDF that can be read: {error}")


def _read(document: Any, limits: PdfLimits, progress: Callable[[], None]) -> PdfReading | UnreadPdf:
    count = len(document)
    if count < 1:
        return UnreadPdf(UnreadReason.DAMAGED, "the PDF has no pages")
    pages: list[PageLines] = []
    flags = set()
    left = limits.max_chars
    lost = 0
    for number in range(min(count, limits.max_pages)):
        page, chars = _read_page(document, number, left)
        if page is None:
            lost += 1
        pages.append(page or PageLines([], 0.0, 0.0))
        left -= chars
        progress()
        if left <= 0:
            flags.add(PdfFlag.TRUNCATED)
            break
    if lost == len(pages):
        return UnreadPdf(UnreadReason.DAMAGED, f"none of {lost} pages can be read")
    if lost:
        flags.add(PdfFlag.PAGES_LOST)
    if not any(page.lines for page in pages):
        return UnreadPdf(UnreadReason.NO_TEXT, f"none of {len(pages)} pages has text: pictures only?")
    facts = {name: document.get_metadata_value(name) for name in _FACTS}
    return PdfReading(pages, count, facts, frozenset(flags))


def _read_page(document: Any, number: int, most_chars: int) -> tuple[PageLines | None, int]:
    """Return the lines of a page, None where it is damaged, and how many characters it has."""
    page = pdfium.FPDF_LoadPage(document, number)
    if not page:
        return None, 0
    text_page = pdfium.FPDFText_LoadPage(page)
    try:
        if not text_page:
            return None, 0
        chars = pdfium.FPDFText_CountChars(text_page)
        return _TextPage(text_page, _page_box(page)).lines(min(chars, most_chars)), max(chars, 0)
    finally:
        pdfium.FPDFText_ClosePage(text_page)
        pdfium.FPDF_ClosePage(page)


def _page_box(page: Any) -> tuple[float, float, float, float]:
    """Return left, bottom, right and top of the part of a page that is shown."""
    box = pdfium.FS_RECTF()
    if not pdfium.FPDF_GetPageBoundingBox(page, box):
        return _NOWHERE
    return box.left, box.bottom, box.right, box.top


class _LinePiece(Struct):
    """A piece of a line in the page's own coordinates, which count upwards."""

    text: str
    left: float
    bottom: float
    right: float
    top: float
    x: float
    y: float
    size: float
    quarter: int
    bold: bool
    fixed: bool


class _TextPage:
    """Reads one page; numbers are those of pdfium's characters."""

    def __init__(self, handle: Any, box: tuple[float, float, float, float]) -> None:
        self.handle = handle
        self.box = box
        self._numbers = [ctypes.c_double() for _ in range(4)]
        self._matrix = pdfium.FS_MATRIX()
        self._name = ctypes.create_string_buffer(_NAME_BYTES)
        self._flags = ctypes.c_int()
        self._fonts: dict[tuple[bytes, int], tuple[bool, bool]] = {}

    def lines(self, chars: int) -> PageLines:
        """Return the lines among the first characters of the page, turned so that most are read from left to right."""
        pieces = list(self._pieces(self._text(chars)))
        quarters = [0, 0, 0, 0]
        for piece in pieces:
            quarters[piece.quarter] += len(piece.text)
        quarter = quarters.index(max(quarters))
        left, bottom, right, top = _turned(self.box, quarter)
        return PageLines([_line(piece, quarter, left, top) for piece in pieces], right - left, top - bottom)

    def _text(self, chars: int) -> str:
        if chars <= 0:
            return ""
        buffer = (ctypes.c_ushort * (chars + 1))()
        written = pdfium.FPDFText_GetText(self.handle, 0, chars, buffer)
        return bytes(buffer)[: max(written - 1, 0) * 2].decode("utf-16-le", errors="replace")

    def _pieces(self, text: str) -> Iterator[_LinePiece]:
        for found in _TEXT_LINE.finditer(text):
            line = found[0].rstrip()
            start = found.start() + len(line) - len(line.lstrip())
            if not line.strip():
                continue
            line = line.lstrip()
            first = pdfium.FPDFText_GetCharIndexFromTextIndex(self.handle, start)
            last = pdfium.FPDFText_GetCharIndexFromTextIndex(self.handle, start + len(line) - 1)
            if first < 0 or last < first:
                continue
            yield from self._split(self._as_read(line, start), first, last, start)

    def _as_read(self, line: str, start: int) -> str:
        """Return a line with each word as it is read: of some files Arabic comes with its last letter first."""

        def turned(word: re.Match[str]) -> str:
            begin, end = (
                self._char_box(pdfium.FPDFText_GetCharIndexFromTextIndex(self.handle, start + place))[0]
                for place in (word.start(), word.end() - 1)
            )
            return word[0][::-1] if begin < end else word[0]

        return _RIGHT_TO_LEFT.sub(turned, line)

    def _split(self, line: str, first: int, last: int, start: int) -> Iterator[_LinePiece]:
        """Return a line as one piece, or as several where it has wide gaps."""
        boxes = self._rects(first, last)
        piece = self._piece(line, first, last, boxes)
        if piece.quarter == 0 and self._has_gap(piece, boxes):
            for text, at, end in self._parts(line, start, piece.size):
                yield self._piece(text, at, end, self._rects(at, end))
        else:
            yield piece

    def _has_gap(self, piece: _LinePiece, boxes: list[tuple[float, float, float, float]]) -> bool:
        wide = _WIDE_GAP * piece.size
        ordered = sorted(boxes)
        reach = ordered[0][2]
        for left, _, right, _ in ordered[1:]:
            if left - reach > wide:
                return True
            reach = max(reach, right)
        return " " in piece.text and piece.right - piece.left > _WIDE_CHAR * piece.size * len(piece.text)

    def _parts(self, line: str, start: int, size: float) -> Iterator[tuple[str, int, int]]:
        """Return the parts of a line between wide gaps, each with its first and last character."""
        begin, reach, at, last = 0, None, -1, -1
        first = pdfium.FPDFText_GetCharIndexFromTextIndex(self.handle, start)
        for place, char in enumerate(line):
            # Fonts that do not say what their shapes are give controls, some of which count as spaces.
            if char.isspace():
                continue
            at = pdfium.FPDFText_GetCharIndexFromTextIndex(self.handle, start + place)
            left, _, right, _ = self._char_box(at)
            if reach is not None and left - reach > _WIDE_GAP * size:
                yield line[begin:place].rstrip(), first, last
                begin, first, reach = place, at, None
            reach = right if reach is None else max(reach, right)
            last = at
        yield line[begin:], first, max(at, first)

    def _rects(self, first: int, last: int) -> list[tuple[float, float, float, float]]:
        """Return left, bottom, right and top of what some characters cover; at least one box."""
        count = pdfium.FPDFText_CountRects(self.handle, first, last - first + 1)
        left, top, right, bottom = self._numbers
        boxes = []
        for at in range(count):
            pdfium.FPDFText_GetRect(self.handle, at, left, top, right, bottom)
            boxes.append((left.value, bottom.value, right.value, top.value))
        return boxes or [self._char_box(first)]

    def _char_box(self, at: int) -> tuple[float, float, float, float]:
        left, right, bottom, top = self._numbers
        if not pdfium.FPDFText_GetCharBox(self.handle, at, left, right, bottom, top):
            return _NOWHERE
        return left.value, bottom.value, right.value, top.value

    def _piece(self, text: str, first: int, last: int, boxes: list[tuple[float, float, float, float]]) -> _LinePiece:
        # A mark of a footnote may stand first, and a space says nothing.
        middle = len(text) // 2
        while text[middle] == " ":
            middle -= 1
        at = min(first + middle, last)
        x, y = self._numbers[:2]
        if not pdfium.FPDFText_GetCharOrigin(self.handle, at, x, y):
            x.value, y.value = boxes[0][:2]
        origin = x.value, y.value
        bold, fixed = self._font(at)
        return _LinePiece(
            text,
            min(box[0] for box in boxes),
            min(box[1] for box in boxes),
            max(box[2] for box in boxes),
            max(box[3] for box in boxes),
            *origin,
            self._size(at),
            round(-pdfium.FPDFText_GetCharAngle(self.handle, at) / (pi / 2)) % 4,
            bold and self._font(first)[0],
            fixed and self._font(first)[1],
        )

    def _size(self, at: int) -> float:
        size = pdfium.FPDFText_GetFontSize(self.handle, at)
        if not pdfium.FPDFText_GetMatrix(self.handle, at, self._matrix):
            return float(size)
        return float(size) * hypot(self._matrix.c, self._matrix.d)

    def _font(self, at: int) -> tuple[bool, bool]:
        """Return whether a character's font is bold, and whether its characters are all of one width."""
        size = pdfium.FPDFText_GetFontInfo(self.handle, at, self._name, _NAME_BYTES, self._flags)
        name = self._name.value if 0 < size <= _NAME_BYTES else b""
        key = name, self._flags.value
        known = self._fonts.get(key)
        if known is None:
            written = name.decode("latin-1")
            fixed = bool(_FIXED.search(written)) or bool(self._flags.value & _FIXED_FLAG)
            known = self._fonts[key] = (bool(_BOLD.search(written)), fixed)
        return known


def _turned(box: tuple[float, float, float, float], quarter: int) -> tuple[float, float, float, float]:
    """Return a box turned back by so many quarters of a circle."""
    left, bottom, right, top = box
    if quarter == 1:
        return bottom, -right, top, -left
    if quarter == 2:
        return -right, -top, -left, -bottom
    if quarter == 3:
        return -top, left, -bottom, right
    return box


def _line(piece: _LinePiece, quarter: int, left: float, top: float) -> PdfLine:
    box = _turned((piece.left, piece.bottom, piece.right, piece.top), quarter)
    _, base, _, _ = _turned((piece.x, piece.y, piece.x, piece.y), quarter)
    upper, lower = top - box[3], top - box[1]
    if piece.quarter == quarter:
        # Letters' own boxes differ with their shapes; those made from the base line do not.
        upper, lower = top - base - _ASCENT * piece.size, top - base + _DESCENT * piece.size
    return PdfLine(piece.text, box[0] - left, upper, box[2] - left, lower, piece.size, piece.bold, piece.fixed)


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

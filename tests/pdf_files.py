"""PDFs written by hand, and pages of lines as a reader hands them over."""

import zlib
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from scrapy_dedup.core.pdf.lines import PageLines, PdfLine

WIDTH, HEIGHT = 595.0, 842.0
FONTS = {"text": "Helvetica", "bold": "Helvetica-Bold", "fixed": "Courier", "hebrew": "Times-Roman"}
# Of the letters a, b, c, d.
_HEBREW = "<</Differences[97/afii57664/afii57665/afii57666/afii57667]>>"
_NAMES = {name: f"F{number}" for number, name in enumerate(FONTS)}


class Words(Struct, frozen=True):
    """A text at a place; `top` is the distance of its base line from the page's top."""

    text: str
    left: float = 72.0
    top: float = 100.0
    size: float = 10.0
    font: str = "text"
    drawing: str = ""


def column(
    texts: Sequence[str], left: float = 72.0, top: float = 100.0, size: float = 10.0, font: str = "text"
) -> list[Words]:
    return [Words(text, left, top + 1.2 * size * number, size, font) for number, text in enumerate(texts)]


def a_pdf(
    pages: Sequence[Sequence[Words] | bytes],
    *,
    facts: dict[str, str] | None = None,
    rotate: int = 0,
    is_encrypted: bool = False,
    forms: Sequence[bytes] = (),
) -> bytes:
    """Return a PDF.

    Args:
        pages: what stands on each, or its drawing commands.
        is_encrypted: with a password that nobody knows.
        forms: drawings that pages and other forms may use as X0, X1 and so on.
    """
    objects: list[bytes] = [b"<</Type/Catalog/Pages 2 0 R>>", b""]
    fonts = b"".join(
        f"/{_NAMES[key]}<</Type/Font/Subtype/Type1/BaseFont/{name}/Encoding"
        f"{_HEBREW if key == 'hebrew' else '/WinAnsiEncoding'}>>".encode()
        for key, name in FONTS.items()
    )
    first_form = len(objects) + 1
    names = b"".join(f"/X{number} {first_form + number} 0 R".encode() for number in range(len(forms)))
    resources = b"/Resources<</Font<<" + fonts + b">>/XObject<<" + names + b">>>>"
    for form in forms:
        head = f"/Type/XObject/Subtype/Form/BBox[0 0 {WIDTH} {HEIGHT}]".encode()
        objects.append(_stream(form, head + resources))
    kids = []
    for page in pages:
        objects.append(_stream(page if isinstance(page, bytes) else b"\n".join(map(_drawn, page))))
        kids.append(len(objects) + 1)
        box = f"/MediaBox[0 0 {WIDTH} {HEIGHT}]/Rotate {rotate}/Contents {len(objects)} 0 R".encode()
        objects.append(b"<</Type/Page/Parent 2 0 R" + box + resources + b">>")
    objects[1] = f"<</Type/Pages/Count {len(kids)}/Kids[{' '.join(f'{kid} 0 R' for kid in kids)}]>>".encode()
    objects.append(b"<<" + b"".join(f"/{key}({value})".encode() for key, value in (facts or {}).items()) + b">>")
    trailer = f"/Root 1 0 R/Info {len(objects)} 0 R".encode()
    if is_encrypted:
        key = b"<" + b"5a" * 32 + b">"
        objects.append(b"<</Filter/Standard/V 1/R 2/P -4/O" + key + b"/U" + key + b">>")
        trailer += f"/Encrypt {len(objects)} 0 R/ID[<5a5a><5a5a>]".encode()
    return _file(objects, trailer)


def _file(objects: Sequence[bytes], trailer: bytes) -> bytes:
    body, places = b"%PDF-1.7\n", []
    for number, made in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n".encode() + made + b"\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n<</Size {len(objects) + 1}"
    return body + end.encode() + trailer + f">>\nstartxref\n{len(body)}\n%%EOF\n".encode()


def _stream(content: bytes, head: bytes = b"") -> bytes:
    packed = zlib.compress(content)
    return b"<<" + head + f"/Filter/FlateDecode/Length {len(packed)}>>stream\n".encode() + packed + b"\nendstream"


def _drawn(words: Words) -> bytes:
    text = words.text.encode("cp1252")
    for char in (b"\\", b"(", b")"):
        text = text.replace(char, b"\\" + char)
    place = f"1 0 0 1 {words.left:g} {HEIGHT - words.top:g} Tm"
    begin = f"BT /{_NAMES[words.font]} {words.size:g} Tf {words.drawing} {place} (".encode()
    return begin + text + b") Tj ET"


def a_bomb() -> bytes:
    """Return a small file whose one page draws ten thousand million things."""
    forms = [b" ".join([f"/X{level + 1} Do".encode()] * 10) for level in range(10)]
    return a_pdf([b"/X0 Do"], forms=[*forms, b"BT /F0 10 Tf (x) Tj ET"])


def a_line(
    text: str, left: float = 72.0, top: float = 100.0, size: float = 10.0, *, width: float | None = None, **font: Any
) -> PdfLine:
    """Return a line as a reader makes it, half as wide a character as high."""
    right = left + (width if width is not None else len(text) * size / 2)
    return PdfLine(text, left, top, right, top + size, size, **font)


def stacked(
    texts: Sequence[str], left: float = 72.0, top: float = 100.0, size: float = 10.0, *, width: float | None = None
) -> list[PdfLine]:
    return [a_line(text, left, top + 1.2 * size * at, size, width=width) for at, text in enumerate(texts)]


def a_page(*lines: PdfLine) -> PageLines:
    return PageLines(list(lines), WIDTH, HEIGHT)

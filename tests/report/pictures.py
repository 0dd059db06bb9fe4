import struct
import zlib
from typing import Any

from scrapy_dedup.report.values import BoxKind, PictureBox, ReportPicture

WIDTH, HEIGHT = 1366, 900


def a_png(width: int = WIDTH, height: int = HEIGHT) -> bytes:
    rows = (b"\x00" + b"\xcc" * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    chunks = [struct.pack(">I", len(body)) + name + body + struct.pack(">I", _sum(name + body)) for name, body in parts]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _sum(body: bytes) -> int:
    return zlib.crc32(body)


def a_box(kind: BoxKind = BoxKind.CONTENT, **other: Any) -> PictureBox:
    values: dict[str, Any] = {"number": 7, "x": 200, "y": 120, "width": 700, "height": 500, "label": str(kind)}
    return PictureBox(kind=kind, **(values | other))


def boxes() -> tuple[PictureBox, ...]:
    """Return one box of each kind, as a page has them."""
    return (
        a_box(is_clear=True),
        a_box(BoxKind.BOILERPLATE, number=1, x=0, y=0, width=1366, height=90, label="navigation: is navigation"),
        a_box(BoxKind.BOILERPLATE, number=40, x=930, y=120, width=300, height=400, label="links: 0.91 are links"),
        a_box(BoxKind.OVERLAY, number=90, x=0, y=820, width=1366, height=80, label="repeats: on 12 of 12 pages"),
        a_box(BoxKind.UNSEEN, number=60, x=300, y=600, width=200, height=18, label="of the colour of its ground"),
        a_box(BoxKind.TITLE, number=8, y=124, height=40, label="title, from h1"),
        a_box(BoxKind.DATE, number=9, y=170, width=160, height=20, label="date, from json-ld"),
        a_box(BoxKind.AUTHOR, number=10, x=380, y=170, width=160, height=20, label="author, from byline"),
    )


def a_picture(**other: Any) -> ReportPicture:
    values: dict[str, Any] = {
        "url": "https://shop.example/tea/1",
        "png": a_png(),
        "width": WIDTH,
        "height": HEIGHT,
        "boxes": boxes(),
    }
    return ReportPicture(**(values | other))

"""Brochures of a hospital as PDF: a cover with the addresses of its campuses, and running headers."""

from typing import Final

from tests.hospital.words import prose
from tests.pdf_files import Words, a_pdf, column

HEADER: Final = "De Linde - brochure voor patienten"
COVER: Final = ("AZ De Linde", "Campus Noord", "Kerkstraat 1", "B 3600 Lindestad")
COVER_PATTERN: Final = r"AZ De Linde\s+Campus Noord\s+Kerkstraat 1\s+B 3600 Lindestad"

_PAGES: Final = 4
_LINES: Final = 24
_LINE_CHARS: Final = 84


def brochures(number: int, with_twins: int) -> dict[str, bytes]:
    """Return PDFs by path; some stand under a second one, too."""
    found = {}
    for each in range(number):
        body = a_brochure(each)
        found[f"/brochures/folder-{each}.pdf"] = body
        if each < with_twins:
            found[f"/sites/default/files/folder-{each}.pdf"] = body
    return found


def a_brochure(number: int) -> bytes:
    """Return a PDF with a cover, and some pages of text."""
    title = f"Folder {number}"
    cover = [Words(title, 72, 200, 24, "bold"), *column(COVER, top=600)]
    pages = [cover]
    lines = _lines(prose(("folder", number), _PAGES * _LINES))
    for page in range(_PAGES):
        body = column(lines[page * _LINES : (page + 1) * _LINES], top=120)
        pages.append([Words(HEADER, 72, 40, 8), *body, Words(f"{page + 2} / {_PAGES + 1}", 280, 810, 8)])
    return a_pdf(pages, facts={"Title": title})


def _lines(text: str) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= _LINE_CHARS:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines

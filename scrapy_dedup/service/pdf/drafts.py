"""PDF files as pages: how they are told, what they may cost, and what an item says of one."""

from typing import TYPE_CHECKING, Any

from scrapy_dedup.service.pdf.reading import PdfLimits
from scrapy_dedup.settings import Settings

if TYPE_CHECKING:
    from scrapy_dedup.core.pdf.text import PdfText

_MARK = b"%PDF-"
# Readers look so far into a file for its mark: some servers put a line before it.
_MARK_WITHIN = 1_024


def is_pdf(content_type: str, body: bytes) -> bool:
    """Say whether a body is a PDF file: by its mark, whatever its type, unless that is a text's."""
    media_type = content_type.partition(";")[0].strip().lower()
    return "html" not in media_type and _MARK in body[:_MARK_WITHIN]


def pdf_limits(settings: Settings) -> PdfLimits:
    """Return what one file may cost."""
    return PdfLimits(max_pages=settings.pdf_max_pages, seconds=settings.pdf_timeout.total_seconds())


def pdf_text(pdf: "PdfText", settings: Settings) -> str:
    """Return the text of a file: Markdown, or plain text where that is asked for."""
    from scrapy_dedup.core.pdf.text import draw  # noqa: PLC0415 (few crawls)

    return draw(pdf, "text" if settings.output == "text" else "markdown")


def pdf_report(pdf: "PdfText") -> dict[str, Any]:
    """Return what an item says of its file: how many pages it has, and what runs along them."""
    return {
        "pages": pdf.pages,
        "read": pdf.read,
        "flags": [str(flag) for flag in pdf.flags],
        "furniture": [{"text": one.text, "pages": one.pages, "reason": str(one.reason)} for one in pdf.furniture],
    }

"""The text of a PDF as JSON, and back."""

import json
from typing import Any, Final

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.pdf.blocks import BlockKind, PdfBlock
from scrapy_dedup.core.pdf.furniture import Furniture, FurnitureReason
from scrapy_dedup.core.pdf.text import PdfFlag, PdfText

FORM: Final = 1


class PdfFormError(DedupError):
    """A value is not the text of a PDF as this version writes it."""


def to_json(pdf: PdfText) -> str:
    """Return the text of a PDF as JSON; one text, one form."""
    return json.dumps(
        {
            "form": FORM,
            "pages": pdf.pages,
            "read": pdf.read,
            "title": pdf.title,
            "author": pdf.author,
            "date": pdf.date,
            "flags": list(pdf.flags),
            "blocks": [[block.text, block.page, block.kind, block.level] for block in pdf.blocks],
            "furniture": [[line.text, list(line.pages), line.reason] for line in pdf.furniture],
        },
        ensure_ascii=False,
        separators=(",", ":"),
    )


def from_json(value: str | bytes) -> PdfText:
    """Return the text that `to_json` wrote.

    Raises:
        PdfFormError: it was written otherwise.
    """
    try:
        return _read(json.loads(value))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise PdfFormError(
            f"no PDF text of form {FORM}: {type(error).__name__}: {error}; read the file again"
        ) from error


def _read(made: dict[str, Any]) -> PdfText:
    if made["form"] != FORM:
        raise ValueError(f"form {made['form']!r}")
    return PdfText(
        tuple(
            PdfBlock(_text(text), int(page), BlockKind(kind), int(level)) for text, page, kind, level in made["blocks"]
        ),
        tuple(
            Furniture(_text(text), tuple(map(int, pages)), FurnitureReason(reason))
            for text, pages, reason in made["furniture"]
        ),
        int(made["pages"]),
        int(made["read"]),
        _maybe(made["title"]),
        _maybe(made["author"]),
        _maybe(made["date"]),
        tuple(PdfFlag(flag) for flag in made["flags"]),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _maybe(value: object) -> str | None:
    return None if value is None else _text(value)

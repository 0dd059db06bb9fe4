"""Title, author and day of a PDF, as plain text."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

from scrapy_dedup.core.pdf_blocks import BlockKind, PdfBlock
from scrapy_dedup.core.pdf_lines import clean_text

_LONGEST: Final = 300
_DATE: Final = re.compile(
    r"\s*(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:(Z)|([+-])(\d\d)'?(\d\d)?'?)?", re.ASCII
)
# Names of files and of nothing, which programs write where nobody chose a title.
_NO_TITLE: Final = re.compile(
    r"untitled.*|unbenannt.*|unknown|document\d*|title|.*\.(?:docx?|dvi|tex|odt|indd|qxp|qxd|pdf|rtf|xlsx?|pptx?|fm|ps|html?)",
    re.IGNORECASE,
)
_MAKER: Final = re.compile(r"microsoft (?:word|powerpoint|excel) - ", re.IGNORECASE)
_LEAST_CHARS: Final = 3


def title_of(facts: Mapping[str, str], blocks: Sequence[PdfBlock]) -> str | None:
    """Return the declared title, else the largest heading of page 1; None where there is neither."""
    declared = _MAKER.sub("", clean_text(facts.get("Title", ""))[:_LONGEST])
    if len(declared) >= _LEAST_CHARS and not _NO_TITLE.fullmatch(declared):
        return declared
    headings = [block for block in blocks if block.page == 1 and block.kind is BlockKind.HEADING]
    first = min(headings, key=lambda block: block.level, default=None)
    return first.text[:_LONGEST] if first else None


def author_of(facts: Mapping[str, str]) -> str | None:
    """Return the declared author."""
    return clean_text(facts.get("Author", ""))[:_LONGEST] or None


def date_of(facts: Mapping[str, str]) -> str | None:
    """Return the instant of creation in ISO 8601, with its zone where it has one; None where it is no date."""
    found = _DATE.match(facts.get("CreationDate", "")[:40])
    if found is None:
        return None
    parts = [int(part or least) for part, least in zip(found.groups()[:6], "011000", strict=True)]
    try:
        return datetime(*parts[:3], *parts[3:], tzinfo=_zone(found)).isoformat()  # type: ignore[misc, arg-type]
    except ValueError:
        return None


def _zone(found: re.Match[str]) -> timezone | None:
    if found[7]:
        return UTC
    if not found[8]:
        return None
    away = timedelta(hours=int(found[9]), minutes=int(found[10] or 0))
    return timezone(-away if found[8] == "-" else away)

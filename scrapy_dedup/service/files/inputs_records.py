"""What the readers of pages yield: records, each of which gives its page when it is asked for it, in any process."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Final, Protocol, Self, TypeAlias, TypeVar

from msgspec import Struct
from w3lib.encoding import html_body_declared_encoding, http_content_type_encoding, read_bom, to_unicode

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.pages.guard import is_pdf
from scrapy_dedup.settings import Settings

Advance: TypeAlias = Callable[[int], None]
"""Told how many bytes were read since the last call."""

# Python has codecs that are no charsets of pages; punycode takes quadratic time.
_NO_CHARSETS: Final = frozenset(["idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"])
_WITHOUT_ORDER: Final = frozenset(["utf-16", "utf-32"])
_PDF: Final = "application/pdf"
_REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"


class InputError(DedupError):
    """Nothing can be read from a file or folder; the message says what to do."""


class InputPage(Struct, frozen=True):
    """A page that is to be cleaned.

    Attributes:
        where: the record that it came from, for a person.
        html: empty where it is a PDF file.
        pdf: the file; None where it is none.
    """

    where: str
    url: str
    html: str
    pdf: bytes | None = None


class _Pageless(Struct, frozen=True):
    """A record like any other, but for its page."""

    where: str
    reason: str

    @property
    def size(self) -> int:
        """How many bytes it takes in memory, roughly."""
        return 200

    def url(self, settings: Settings) -> None:
        """Return None: there is no page."""

    def page(self, settings: Settings) -> Self:  # noqa: ARG002 (of all records)
        """Return itself, which says why there is none."""
        return self


class BadRecord(_Pageless, frozen=True):
    """A record that is damaged, or is nothing that can be read."""


class NoPage(_Pageless, frozen=True):
    """A record that was read, and is no page: a redirect, an error, an image."""


class InputRecord(Protocol):
    """One record as it lies in its file; small enough to be sent to another process."""

    @property
    def where(self) -> str:
        """Which record it is, for a person: file and line, file and byte, or file."""

    @property
    def size(self) -> int:
        """How many bytes it takes in memory, roughly."""

    def url(self, settings: Settings) -> str | None:
        """Return the page's URL; None where the record holds no page, which `page` says more about."""

    def page(self, settings: Settings) -> InputPage | BadRecord | NoPage:
        """Return the page, or why there is none."""


Found: TypeAlias = InputRecord | BadRecord | NoPage

Thing = TypeVar("Thing")


def in_lots(
    things: Iterable[Thing], size_of: Callable[[Thing], int], most: int, most_bytes: int
) -> Iterator[tuple[int, list[Thing]]]:
    """Yield things in lots of so many, or of so many bytes, or of one that is larger, each lot with its size."""
    lot: list[Thing] = []
    size = 0
    for one in things:
        lot.append(one)
        size += size_of(one)
        if size >= most_bytes or len(lot) >= most:
            yield size, lot
            lot, size = [], 0
    if lot:
        yield size, lot


def is_page(content_type: str) -> bool:
    """Say whether a Content-Type is that of HTML or PDF; one that is not given counts as HTML."""
    media_type = content_type.partition(";")[0].strip().lower()
    return not media_type or "html" in media_type or media_type == _PDF


def page_of(where: str, url: str, body: bytes, content_type: str, settings: Settings) -> InputPage | NoPage:
    """Return the page that a body is, or why it is none."""
    if not is_pdf(content_type, body):
        if content_type.partition(";")[0].strip().lower() == _PDF:
            return NoPage(where, f"{url[:200]}: is called a PDF file, and is none")
        return InputPage(where, url, decoded(body, content_type))
    if not settings.pdf_enabled:
        return NoPage(where, f'{url[:200]}: a PDF file, and DEDUP_PDF["enabled"] is off')
    return InputPage(where, url, "", body)


def decoded(body: bytes, content_type: str) -> str:
    """Return a body as text, by its byte order mark, Content-Type or declaration, as Scrapy decodes it.

    One that says nothing is UTF-8 where it has more characters of it than damages, else Windows-1252. Scrapy guesses
    by statistics there, which takes seconds on large bodies. Bytes that no character is made of become U+FFFD.
    """
    marked, mark = read_bom(body)
    if marked is not None and mark is not None:
        return to_unicode(body[len(mark) :], marked)
    encoding = http_content_type_encoding(content_type) or html_body_declared_encoding(body)
    if encoding is not None and encoding not in _NO_CHARSETS:
        with suppress(LookupError, UnicodeError):  # codecs that give no text
            return to_unicode(body, f"{encoding}-be" if encoding in _WITHOUT_ORDER else encoding)
    return _guessed(body)


def _guessed(body: bytes) -> str:
    text = body.decode("utf-8", "replace")
    damages = text.count(_REPLACEMENT)
    if not damages:
        return text
    # Between ASCII a byte of Windows-1252 is one damage; a character of UTF-8 is two bytes or more.
    characters = len(text) - damages - len(text.encode("ascii", "ignore"))
    return text if characters > damages else body.decode("cp1252", "replace")

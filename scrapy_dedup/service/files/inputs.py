"""Pages to be cleaned, from files, folders and standard input; each is read once a pass.

JSON lines, and JSON feeds with an item a line, have `url` with `html`, or with `body` and `content_type`.
"""

import os
import re
import shutil
import tempfile
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, Self
from urllib.parse import quote

from msgspec import Struct

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.service.files.inputs_records import (
    Advance,
    BadRecord,
    Found,
    InputError,
    InputPage,
    NoPage,
    is_page,
    page_of,
)
from scrapy_dedup.service.files.warc_records import is_warc, read_warc
from scrapy_dedup.service.packed_files import (
    BYTE_ORDER_MARK,
    DAMAGED,
    EncodingError,
    lines_of,
    most_line_bytes,
    packed_by,
    read_json,
    regular_file,
    unpacked,
    unpacking,
)
from scrapy_dedup.settings import Settings

_BODY: Final = "body"
_CONTENT_TYPE: Final = "content_type"
_BRACKETS: Final = (b"", b"[", b"]")


class LineRecord(Struct, frozen=True):
    """One line."""

    where: str
    line: bytes

    @property
    def size(self) -> int:
        """How many bytes the line has."""
        return len(self.line)

    def url(self, settings: Settings) -> str | None:
        """Return the item's URL; None where it has none, or is no item."""
        found = _item(self)
        return None if isinstance(found, BadRecord) else _url(found, settings)

    def page(self, settings: Settings) -> InputPage | BadRecord | NoPage:
        """Return the item's page."""
        item = _item(self)
        if isinstance(item, BadRecord):
            return item
        url = _url(item, settings)
        if url is None:
            field = settings.url_field
            return BadRecord(self.where, f"no URL in the field {field!r}; -s DEDUP_URL_FIELD=NAME names another")
        html = item.get(settings.html_field)
        if isinstance(html, str):
            return InputPage(self.where, url, html)
        return _of_body(self.where, url, item, settings)


def read_lines(path: Path, name: str, settings: Settings, advance: Advance) -> Iterator[Found]:
    """Iterate over the lines of a file, packed by gzip or zstd or not, one in memory at a time.

    *name* stands in messages, *settings* bound the length of a line, *advance* is told of the bytes read.

    Raises:
        OSError: it cannot be opened or read.
    """
    with path.open("rb") as packed:
        told = number = 0
        try:
            for number, line in enumerate(lines_of(unpacking(packed), most_line_bytes(settings)), 1):
                where = f"{name}, line {number}"
                if line is None:
                    yield BadRecord(where, "the line is too long; DEDUP_MAX_PAGE_BYTES bounds a page")
                elif (record := record_of_line(line, where)) is not None:
                    yield record
                position = packed.tell()
                advance(position - told)
                told = position
        except DAMAGED as error:
            yield BadRecord(f"{name}, after line {number}", f"the packed file is damaged or cut off: {error}")


def record_of_line(line: bytes, where: str) -> LineRecord | None:
    """Return the record of a line; None where it holds none: it is empty, or a bracket around a feed."""
    text = line.removeprefix(BYTE_ORDER_MARK).strip().removesuffix(b",").rstrip()  # in a feed this may stand around it
    return None if text in _BRACKETS else LineRecord(where, text)


def _item(record: LineRecord) -> Mapping[str, Any] | BadRecord:
    try:
        item = read_json(record.line)
    except (ValueError, RecursionError) as error:
        return BadRecord(record.where, f"no JSON: {error}")
    if not isinstance(item, dict):
        hint = "; write one item a line" if isinstance(item, list) else ""
        return BadRecord(record.where, f"JSON, but no item{hint}")
    return item


def _url(item: Mapping[str, Any], settings: Settings) -> str | None:
    url = item.get(settings.url_field)
    return (url.strip() or None) if isinstance(url, str) else None


def _of_body(where: str, url: str, item: Mapping[str, Any], settings: Settings) -> InputPage | BadRecord | NoPage:
    """Return the page of an item that holds the bytes of a response."""
    body, declared = item.get(_BODY), item.get(_CONTENT_TYPE)
    if not isinstance(body, str):
        field = settings.html_field
        return BadRecord(where, f"neither HTML in {field!r} nor base64 in {_BODY!r}; see DEDUP_HTML_FIELD")
    content_type = declared if isinstance(declared, str) else ""
    if not is_page(content_type):
        return NoPage(where, f"{content_type[:100]!r} is neither HTML nor PDF")
    try:
        # MIME breaks base64 into lines.
        raw = b64decode("".join(body.split()), validate=True)
    except (Base64Error, ValueError) as error:
        return BadRecord(where, f"the field {_BODY!r} is no base64: {error}")
    return page_of(where, url, raw, content_type, settings)


MANIFESTS: Final = ("manifest.json", "manifest.jsonl")
"""In the order in which they are looked for."""

LOCAL: Final = "http://localhost/"
_PAGES: Final = (".html", ".htm", ".xhtml", ".pdf")
_START_BYTES: Final = 1_000
# By WHATWG's MIME Sniffing Standard, 7.1, and other tags that pages begin with; XHTML may declare itself XML first.
_IS_PAGE: Final = re.compile(
    rb"(?:\s+|<!--.*?-->|<\?xml.*?\?>)*+(?:%PDF-|<!--|<(?:!doctype\s+html|html|head|body|title|meta|link|style|script|"
    rb"iframe|main|header|nav|article|section|div|table|form|h[1-6]|p|a|b|br|center|font|ul|ol|dl|span)[\s/>])",
    re.IGNORECASE | re.DOTALL,
)
# Byte order marks, and the zero beside each letter in UTF-16.
_NO_LETTERS: Final = b"\0\xef\xbb\xbf\xfe\xff"
_NEEDED: Final = ("url", "file")
_MOST_MANIFEST_BYTES: Final = 32_000_000
_MOST_ENTRY_BYTES: Final = 200_000


class FileRecord(Struct, frozen=True):
    """One entry of a manifest."""

    where: str
    address: str
    folder: str
    file: str
    size: int
    """Bytes of the file, which is read where the page is asked for."""
    content_type: str = ""

    def url(self, settings: Settings) -> str | None:  # noqa: ARG002 (of all records)
        """Return the URL that the manifest gives."""
        return self.address if is_page(self.content_type) else None

    def page(self, settings: Settings) -> InputPage | BadRecord | NoPage:
        """Read the file, which must lie in the folder."""
        if not is_page(self.content_type):
            return NoPage(self.where, f"{self.content_type[:100]!r} is neither HTML nor PDF")
        try:
            body = _body(Path(self.folder), self.file, most_line_bytes(settings))
        except (DedupError, OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            return BadRecord(self.where, f"{self.file[:200]!r}: {reason}")
        return page_of(self.where, self.address, body, self.content_type, settings)


def read_pages(path: Path, name: str, advance: Advance, *, base: str) -> Iterator[Found]:
    """Iterate over one file that is a page, or all files of a folder, some of which may be none.

    To *base* the way in the folder is joined to give a page's address; of one file it is the address itself, unless it
    ends with a slash. *name* stands in messages, *advance* is told of the bytes of the files.
    """
    if path.is_file():
        address = _joined(base, path.name) if base.endswith("/") else base
        found = iter([(path.parent, path.name, name, address)])
    else:
        found = ((path, one, f"{name}/{one}", _joined(base, one)) for one in _files(path))
    for folder, file, where, address in found:
        size = _length(folder, file)
        advance(size)
        if path == folder and not may_be_page(folder, file):
            yield NoPage(where, "neither HTML nor PDF")
        else:
            yield FileRecord(where, address, str(folder), file, size)


def _joined(base: str, way: str) -> str:
    return f"{base.removesuffix('/')}/{quote(way, errors='surrogateescape')}"


def _files(folder: Path) -> Iterator[str]:
    """Yield the ways to the files of a folder, in order; no link to a folder is followed."""
    for around, folders, files in os.walk(folder):
        folders.sort()
        for file in sorted(files):
            yield Path(around, file).relative_to(folder).as_posix()


def may_be_page(folder: Path, file: str) -> bool:
    """Say whether a file is a page by its name or its first bytes, or cannot be read, which its record tells."""
    if file.lower().endswith(_PAGES):
        return True
    try:
        with _opened(folder, file) as opened:
            start = unpacking(opened).read(_START_BYTES)
    except (DedupError, OSError, *DAMAGED):
        return True
    return _IS_PAGE.match(start.translate(None, _NO_LETTERS)) is not None


def manifest_of(folder: Path) -> Path | None:
    """Return a folder's manifest, None where it has none."""
    return next((path for name in MANIFESTS if (path := folder / name).is_file()), None)


def read_folder(folder: Path, name: str, advance: Advance) -> Iterator[Found]:
    """Iterate over the pages of a folder in the order of its manifest.

    A manifest is `manifest.json` ({"pages": [{"url", "file"}, ...]}) or `manifest.jsonl` (an entry a line); an entry
    may say its `content_type`, too.

    Nothing outside of the folder is read. *name* stands in messages, *advance* is told of the bytes of the manifest.

    Raises:
        InputError: the manifest cannot be read.
    """
    manifest = manifest_of(folder)
    if manifest is None:
        raise InputError(f"{name}: there is no {' or '.join(MANIFESTS)}")
    for place, entry in enumerate(_entries(manifest, name, advance), 1):
        where = f"{name}/{manifest.name}, entry {place}"
        found = entry if isinstance(entry, str) else _record(folder, where, entry)
        yield BadRecord(where, found) if isinstance(found, str) else found


def _entries(manifest: Path, name: str, advance: Advance) -> Iterator[Mapping[str, Any] | str]:
    """Yield the entries of a manifest; in the place of what is none, why."""
    try:
        with regular_file(manifest) as file:
            if manifest.suffix == ".json":
                advance(manifest.stat().st_size)
                yield from _listed(read_json(_bounded(file).decode("utf-8-sig", "replace")), name)
                return
            for line in lines_of(file, _MOST_ENTRY_BYTES):
                advance(_MOST_ENTRY_BYTES if line is None else len(line))
                text = line and line.removeprefix(BYTE_ORDER_MARK)
                if text is None or text.strip():
                    yield _parsed(text)
    except (ValueError, RecursionError, OSError) as error:
        raise InputError(f"{name}/{manifest.name}: cannot be read: {error}") from error


def _bounded(file: BinaryIO) -> bytes:
    text = file.read(_MOST_MANIFEST_BYTES + 1)
    if len(text) > _MOST_MANIFEST_BYTES:
        raise ValueError(f"it has more than {_MOST_MANIFEST_BYTES:,} bytes: write manifest.jsonl")
    return text


def _parsed(line: bytes | None) -> Mapping[str, Any] | str:
    if line is None:
        return f"the line is longer than {_MOST_ENTRY_BYTES:,} bytes"
    try:
        entry = read_json(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        return f"no JSON: {error}"
    return entry if isinstance(entry, dict) else "JSON, but no entry"


def _listed(value: Any, name: str) -> Iterator[Mapping[str, Any] | str]:
    pages = value.get("pages") if isinstance(value, dict) else value
    if not isinstance(pages, list):
        raise InputError(f'{name}: a manifest is {{"pages": [{{"url": ..., "file": ...}}, ...]}}')
    yield from (entry if isinstance(entry, dict) else "no entry with url and file" for entry in pages)


def _record(folder: Path, where: str, entry: Mapping[str, Any]) -> FileRecord | str:
    url, file = (entry.get(field) for field in _NEEDED)
    if not isinstance(url, str) or not url.strip() or not isinstance(file, str) or not file:
        return "the entry needs url and file"
    declared = entry.get("content_type")
    content_type = declared if isinstance(declared, str) else ""
    return FileRecord(where, url.strip(), str(folder), file, _length(folder, file), content_type)


@contextmanager
def _opened(folder: Path, file: str) -> Iterator[BinaryIO]:
    """Give a file of a folder.

    Raises:
        InputError: it lies outside.
        FileRefusedError: it is no regular file.
        OSError: there is no such file, or it cannot be read.
        ValueError: its name cannot be that of a file.
    """
    root = folder.resolve()
    path = (root / file).resolve(strict=True)
    if not path.is_relative_to(root):
        raise InputError("lies outside of the folder")
    with regular_file(path) as opened:
        yield opened


def _body(folder: Path, file: str, most: int) -> bytes:
    """Return a file of a folder, unpacked; raises InputError where it is too large, too."""
    with _opened(folder, file) as opened:
        body = opened.read(most + 1)
    packing = packed_by(body[:4])
    if packing and len(body) <= most:
        try:
            return unpacked(body, packing, most)
        except EncodingError as error:
            raise InputError(str(error)) from error
    if len(body) > most:
        raise InputError(f"is larger than {most} bytes")
    return body


def _length(folder: Path, file: str) -> int:
    try:
        return (folder / file).stat().st_size
    except (OSError, ValueError):
        return 0


STDIN: Final = "-"

Kind = Literal["lines", "warc", "folder", "pages"]


class Input(Struct, frozen=True):
    """One file or folder.

    Attributes:
        name: as the user gave it.
        total: bytes that a pass reads, as `Advance` is told of them.
    """

    path: Path
    name: str
    kind: Kind
    total: int


class Inputs:
    """All that a call reads, in the order in which it was given. Closing it removes what was set aside.

    Standard input is written to a temporary file first, since there are several passes.
    """

    def __init__(self, names: Sequence[str], stdin: BinaryIO, base: str = LOCAL) -> None:
        """Find out what each is; *base* is the address of files that say none, see `read_pages`.

        Raises:
            InputError: one of them does not exist, or is nothing that can be read.
            FileRefusedError: one is neither a file nor a folder.
            OSError: it cannot be opened.
        """
        self._aside = ExitStack()
        self._base = base
        try:
            self.found = [one for name in names for one in self._find(name, stdin)]
        except BaseException:
            self.close()
            raise

    @property
    def total(self) -> int:
        """How many bytes a pass reads."""
        return sum(one.total for one in self.found)

    def records(self, settings: Settings, advance: Advance) -> Iterator[Found]:
        """Iterate over all records, in the same order at every call.

        Raises:
            InputError: one of them cannot be read at all.
            OSError: likewise.
        """
        for one in self.found:
            if one.kind == "folder":
                yield from read_folder(one.path, one.name, advance)
            elif one.kind == "pages":
                yield from read_pages(one.path, one.name, advance, base=self._base)
            else:
                yield from (read_warc if one.kind == "warc" else read_lines)(one.path, one.name, settings, advance)

    def close(self) -> None:
        """Remove what was set aside."""
        self._aside.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _find(self, name: str, stdin: BinaryIO) -> Iterator[Input]:
        if name == STDIN:
            yield _file(self._set_aside(stdin), "standard input")
            return
        path = Path(name)
        if path.is_dir():
            yield from _folders(path, name)
        elif not path.exists():
            raise InputError(f"{name}: there is no such file or folder")
        else:
            yield _file(path, name)

    def _set_aside(self, stream: BinaryIO) -> Path:
        folder = self._aside.enter_context(tempfile.TemporaryDirectory(prefix="scrapy-dedup-"))
        path = Path(folder) / "input"
        with path.open("wb") as file:
            shutil.copyfileobj(stream, file, 1 << 20)
        return path


def _folders(path: Path, name: str) -> Iterator[Input]:
    """Yield a folder of pages, or the folders of pages in it, by name."""
    if manifest := manifest_of(path):
        yield Input(path, name, "folder", manifest.stat().st_size)
        return
    inner = sorted((one, found) for one in path.iterdir() if one.is_dir() and (found := manifest_of(one)))
    if not inner:
        if not any(may_be_page(path, file) for file in _files(path)):
            raise InputError(f"{name}: a folder needs files of HTML or PDF, or one of {', '.join(MANIFESTS)}")
        yield Input(path, name, "pages", sum(_length(path, file) for file in _files(path)))
    for one, found in inner:
        yield Input(one, str(Path(name) / one.name), "folder", found.stat().st_size)


def _file(path: Path, name: str) -> Input:
    with regular_file(path) as file:
        if is_warc(file):
            return Input(path, name, "warc", path.stat().st_size)
        file.seek(0)
        start = b""
        with suppress(*DAMAGED):  # the reader tells
            start = unpacking(file).read(_START_BYTES)
    is_page = start.startswith(b"%PDF-") or start.removeprefix(BYTE_ORDER_MARK).lstrip()[:1] == b"<"
    kind: Kind = "pages" if is_page or path.name.lower().endswith(_PAGES) else "lines"
    return Input(path, name, kind, path.stat().st_size)

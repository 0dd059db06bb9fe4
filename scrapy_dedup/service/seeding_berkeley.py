"""Berkeley DB hash files, read without Berkeley DB: Python's modules for it are gone, its files are still there.

`bsddb3` wrote them, and `dbm.ndbm` of many Linux systems does; tried with files of version 5.3. A page of meta data
comes first, then pages of which those of two types hold keys and values by turns.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from scrapy_dedup.core.errors import DedupError

_MAGIC: Final = 0x061561
_MAGIC_AT: Final = 12
_META_BYTES: Final = 72
_PAGE_SIZES: Final = frozenset(1 << power for power in range(9, 17))
# Magic, version, page size, encryption, page type; the last page's number stands 4 bytes further.
_META: Final = "IIIBB"
_LAST_PAGE: Final = 32
_ENTRIES: Final = 20
_PAGE_TYPE: Final = 25
_INDEX: Final = 26
_WITH_PAIRS: Final = frozenset({2, 13})
_ON_PAGE: Final = 1


class BerkeleyError(DedupError):
    """The file is damaged, or is encrypted."""


def is_berkeley(head: bytes) -> bool:
    """Say whether a file that begins so is a Berkeley DB hash.

    Args:
        head: its first 16 bytes or more.
    """
    return _order(head) is not None


def read_pairs(path: Path) -> Iterator[tuple[bytes, bytes]]:
    """Iterate over the keys and values of a file, one page in memory at a time.

    Pairs of which a part is larger than a page are left out.

    Raises:
        BerkeleyError: it cannot be read.
        OSError: nor opened.
    """
    with path.open("rb") as file:
        order, page_bytes, last = _meta(file, path)
        for number in range(1, last + 1):
            file.seek(number * page_bytes)
            page = file.read(page_bytes)
            if len(page) < page_bytes:
                return  # allocated, and never written
            if page[_PAGE_TYPE] in _WITH_PAIRS:
                yield from _pairs(page, order, path)


def _order(head: bytes) -> str | None:
    """Return the order of the bytes in numbers; None where this is no such file."""
    found = head[_MAGIC_AT : _MAGIC_AT + 4]
    return next((order for order in "<>" if found == struct.pack(f"{order}I", _MAGIC)), None)


def _meta(file: BinaryIO, path: Path) -> tuple[str, int, int]:
    head = file.read(_META_BYTES)
    order = _order(head)
    if order is None or len(head) < _META_BYTES:
        raise BerkeleyError(f"{path}: is no Berkeley DB hash, or only its beginning")
    _, _, page_bytes, encrypted, _ = struct.unpack_from(order + _META, head, _MAGIC_AT)
    if encrypted:
        raise BerkeleyError(f"{path}: is encrypted; write its keys to a file that is not")
    if page_bytes not in _PAGE_SIZES:
        raise BerkeleyError(f"{path}: is damaged (pages of {page_bytes} bytes); take a backup of it")
    # A number that is not true must not keep us busy.
    last = min(struct.unpack_from(f"{order}I", head, _LAST_PAGE)[0], path.stat().st_size // page_bytes)
    return order, page_bytes, last


def _pairs(page: bytes, order: str, path: Path) -> Iterator[tuple[bytes, bytes]]:
    """Yield what a page holds: items lie from its end down, and their offsets stand at its beginning."""
    (entries,) = struct.unpack_from(f"{order}H", page, _ENTRIES)
    if _INDEX + 2 * entries > len(page):
        raise BerkeleyError(f"{path}: is damaged (a page with {entries} entries); take a backup of it")
    offsets = struct.unpack_from(f"{order}{entries}H", page, _INDEX)
    ends = (len(page), *offsets)
    items = [page[start:end] for start, end in zip(offsets, ends, strict=False)]
    for key, value in zip(items[::2], items[1::2], strict=False):
        if key[:1] == value[:1] == bytes([_ON_PAGE]):
            yield key[1:], value[1:]

"""Files that a command reads, `-` for what is piped into it: no verb opens what it imports otherwise."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, Final

from scrapy_dedup.service.packed_files import MOST_BYTES, FileRefusedError, checked_content, regular_file

STANDARD_INPUT: Final = "-"
_MOST_TEXT_BYTES: Final = 32_000_000


@contextmanager
def opened_input(name: str, most_bytes: int = MOST_BYTES) -> Iterator[BinaryIO]:
    """Give the content of a file or of standard input, packed by gzip or zstd or not, once it is known to be whole.

    Raises:
        FileRefusedError: it is no regular file, damaged or too large; nothing of it was given.
        OSError: it cannot be opened.
    """
    if name == STANDARD_INPUT:
        with checked_content(sys.stdin.buffer, "standard input", most_bytes, seekable=False) as content:
            yield content
        return
    with regular_file(name) as file, checked_content(file, name, most_bytes) as content:
        yield content


def text_of(name: str) -> str:
    """Return the text of a file that is read as a whole, or of standard input.

    Raises:
        FileRefusedError: it is no regular file, damaged, too large or no UTF-8.
        OSError: it cannot be opened.
    """
    with opened_input(name, _MOST_TEXT_BYTES) as file:
        try:
            return file.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise FileRefusedError(f"{name}: it is no UTF-8 ({error})") from error

"""Files that a command reads, `-` for what is piped into it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from scrapy_dedup.service.packed_files import unpacking

STANDARD_INPUT: Final = "-"


@contextmanager
def opened_input(name: str) -> Iterator[BinaryIO]:
    """Give a file's content, packed by gzip or zstd or not, or standard input.

    Raises:
        OSError: it cannot be opened.
    """
    if name == STANDARD_INPUT:
        yield sys.stdin.buffer
        return
    with Path(name).open("rb") as file:
        yield unpacking(file)

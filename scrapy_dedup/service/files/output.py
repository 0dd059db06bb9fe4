"""A file that is written by one process at a time, and is there whole or as it was before."""

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from scrapy_dedup.core.errors import DedupError

_FLAGS: Final = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_MODE: Final = 0o666


class OutputError(DedupError):
    """The output cannot be written; the message says why."""


def part_of(path: Path) -> Path:
    """Return where a file is written until it is whole."""
    return Path(f"{path}.part")


@contextmanager
def replacing_alone(path: Path) -> Iterator[BinaryIO]:
    """Give a file that takes the place of another when all is written; an exception leaves the other as it was.

    What is written stands in `<path>.part` until then. What a killed process left there is written over. A device or a
    pipe is written to directly.

    Raises:
        OutputError: another process is writing it, or there can be no file of this name.
        OSError: the disk is full.
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        if path.is_dir():
            raise OutputError(f"{path}: is a folder; the output needs a file's name")
        with path.open("wb") as device:
            yield device
        return
    part = part_of(path)
    with _locked(part, path) as file:
        try:
            file.truncate()
            yield file
            file.flush()
            os.fsync(file.fileno())
            if sys.platform == "win32":
                file.close()
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    _sync_folder(path.parent)


def _sync_folder(path: Path) -> None:
    """See to it that the names of the files in a folder outlast a power failure, where the system can do so."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def _locked(part: Path, path: Path) -> Iterator[BinaryIO]:
    """Give the part file, which is ours alone until it is closed, however this process ends."""
    while True:
        try:
            file = os.fdopen(os.open(part, _FLAGS, _MODE), "w+b")
        except OSError as error:
            raise OutputError(f"{path}: cannot be written ({error.strerror})") from error
        with file:
            try:
                _lock(file)
            except OSError as error:
                raise OutputError(f"{path}: another process is writing it just now ({part.name} is locked)") from error
            # Between opening and locking another process may have finished, and its file got the other name.
            if _is_still(part, file):
                yield file
                return


def _is_still(part: Path, file: BinaryIO) -> bool:
    try:
        return os.path.samestat(part.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def _lock(file: BinaryIO) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(file: BinaryIO) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

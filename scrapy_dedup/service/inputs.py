"""Pages to be cleaned, from files, folders and standard input; each is read once a pass."""

import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, Literal, Self

from scrapy_dedup.service.inputs_folder import manifest_of, read_folder, total_bytes
from scrapy_dedup.service.inputs_lines import read_lines
from scrapy_dedup.service.inputs_records import Advance, Found, InputError
from scrapy_dedup.service.inputs_warc import MAGIC, read_warc
from scrapy_dedup.service.packed_files import DAMAGED, unpacking
from scrapy_dedup.settings import Settings

STDIN: Final = "-"

Kind = Literal["lines", "warc", "folder"]
_READERS: Final[dict[Kind, Callable[[Path, str, Settings, Advance], Iterator[Found]]]] = {
    "lines": read_lines,
    "warc": read_warc,
    "folder": read_folder,
}


@dataclass(frozen=True, slots=True)
class Input:
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

    What can be read once only (a pipe, standard input) is written to a temporary file first, since there are several
    passes.
    """

    def __init__(self, names: Sequence[str], stdin: BinaryIO) -> None:
        """Find out what each is.

        Raises:
            InputError: one of them does not exist, or is nothing that can be read.
            OSError: it cannot be opened.
        """
        self._aside = ExitStack()
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
            yield from _READERS[one.kind](one.path, one.name, settings, advance)

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
        elif stat.S_ISREG(path.stat().st_mode):
            yield _file(path, name)
        else:
            with path.open("rb") as pipe:
                yield _file(self._set_aside(pipe), name)

    def _set_aside(self, stream: BinaryIO) -> Path:
        folder = self._aside.enter_context(tempfile.TemporaryDirectory(prefix="scrapy-dedup-"))
        path = Path(folder) / "input"
        with path.open("wb") as file:
            shutil.copyfileobj(stream, file, 1 << 20)
        return path


def _folders(path: Path, name: str) -> Iterator[Input]:
    """Yield a folder of pages, or the folders of pages in it, by name."""
    if manifest_of(path):
        yield Input(path, name, "folder", total_bytes(path))
        return
    inner = sorted(one for one in path.iterdir() if one.is_dir() and manifest_of(one))
    if not inner:
        raise InputError(f"{name}: a folder needs a manifest.json, manifest.jsonl or manifest.csv with url and file")
    for one in inner:
        yield Input(one, str(Path(name) / one.name), "folder", total_bytes(one))


def _file(path: Path, name: str) -> Input:
    with path.open("rb") as file:
        try:
            start = unpacking(file).read(len(MAGIC))
        except DAMAGED:  # the reader tells
            start = b""
    return Input(path, name, "warc" if start == MAGIC else "lines", path.stat().st_size)

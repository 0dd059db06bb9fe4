"""Files and folders wherever Spark reads and writes them: local, HDFS, S3."""

import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from scrapy_dedup.batch.records import Kind
from scrapy_dedup.batch.session import BatchError
from scrapy_dedup.service.packed_files import packed_by

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HEAD_BYTES: Final = 512
_PARQUET: Final = b"PAR1"
_WARC: Final = b"WARC/"
_HIDDEN: Final = ("_", ".")


class InputFile(Struct, frozen=True):
    """A file that is read.

    Attributes:
        path: as Spark takes it.
        address: the same as in a URL.
        name: as a person does.
        size: in bytes.
    """

    path: str
    address: str
    name: str
    kind: Kind
    size: int


class Files:
    """What Hadoop's file systems know."""

    def __init__(self, spark: "SparkSession") -> None:
        """Take the session by whose configuration paths are understood."""
        context: Any = spark.sparkContext
        self._hadoop = context._jvm.org.apache.hadoop.fs  # noqa: SLF001 (the one way to it)
        self._conf = context._jsc.hadoopConfiguration()  # noqa: SLF001

    def exists(self, name: str) -> bool:
        """Say whether there is such a file or folder."""
        path, system = self._opened(name)
        return bool(_asked(f"{name} cannot be looked for", system.exists, path))

    def names_in(self, name: str) -> set[str]:
        """Return the names of what a folder has; of a file its own name."""
        path, system = self._opened(name)
        return {str(one.getPath().getName()) for one in _asked(f"{name} cannot be read", system.listStatus, path)}

    def remove(self, name: str) -> None:
        """Remove a file or folder, if there is one.

        Raises:
            BatchError: the file system does not.
        """
        path, system = self._opened(name)
        problem = f"{name} cannot be removed"
        if not _asked(problem, system.delete, path, True) and self.exists(name):
            raise BatchError(problem)

    def rename(self, name: str, to: str) -> None:
        """Give a folder another name.

        Raises:
            BatchError: the name is taken, or the file system does not give it.
        """
        path, system = self._opened(name)
        problem = f"{name} cannot be given the name {to}"
        # Hadoop would move the one folder into the other.
        if self.exists(to):
            raise BatchError(f"{problem}: it is taken")
        if not _asked(problem, system.rename, path, self._hadoop.Path(to)):
            raise BatchError(problem)

    def replace(self, name: str, new: str, aside: str) -> None:
        """Give a new folder the name of one that is there, which has another name then.

        Nothing is put back where this is interrupted: Java goes on, and an object store copies file by file.

        Args:
            name: of the folder that is replaced.
            new: name of the one that takes its place.
            aside: what the one that is replaced is called from then on.

        Raises:
            BatchError: the file system does not; the folder that was to be replaced is as before, unless the message
                says where it is.
        """
        self.rename(name, aside)
        try:
            self.rename(new, name)
        except BatchError as error:
            try:
                self.rename(aside, name)
            except BatchError as second:
                raise BatchError(f"{error}; {second}") from error
            raise

    def find(self, names: Sequence[str]) -> list[InputFile]:
        """Return all files behind names (files, folders, patterns), in the order of the names, then of their paths.

        Raises:
            BatchError: one does not exist, is named twice, or is packed in a way that Spark does not read; or all are
                empty.
        """
        found: dict[str, InputFile] = {}
        for name in names:
            for one in self._behind(name):
                if one.path in found:
                    raise BatchError(f"{one.name}: is named twice")
                found[one.path] = one
        if not found:
            raise BatchError(f"{', '.join(names)[:300]}: nothing but empty files")
        return list(found.values())

    def _behind(self, name: str) -> Iterator[InputFile]:
        path, system = self._opened(name)
        found = list(system.globStatus(path) or ())
        if not found:
            raise BatchError(f"{name}: there is no such file or folder")
        for status in sorted(self._all(system, found), key=lambda one: str(one.getPath().toString())):
            if status.getLen():
                yield self._input(system, status)

    def _all(self, system: Any, found: Sequence[Any]) -> Iterator[Any]:
        """Yield the files among some, and in the folders among them."""
        for status in found:
            if status.isFile():
                yield status
            else:
                inner = system.listStatus(status.getPath())
                yield from self._all(system, [one for one in inner if not one.getPath().getName().startswith(_HIDDEN)])

    def _input(self, system: Any, status: Any) -> InputFile:
        path = str(status.getPath().toString())
        name = path.removeprefix("file:")
        stream = system.open(status.getPath())
        try:
            head = bytes(stream.readNBytes(_HEAD_BYTES))
        finally:
            stream.close()
        packing = packed_by(head)
        if packing == "zstd":
            raise BatchError(f"{name}: Spark does not read zstd; unpack it, or pack it by gzip")
        if packing == "gzip":
            if not path.endswith(".gz"):
                raise BatchError(f"{name}: is packed by gzip, which Spark tells by the name: call it {name}.gz")
            head = _unpacked(head)
        kind: Kind = "parquet" if head.startswith(_PARQUET) else "warc" if head.startswith(_WARC) else "lines"
        address = str(status.getPath().toUri().toString())
        return InputFile(path, address, name, kind, int(status.getLen()))

    def _opened(self, name: str) -> tuple[Any, Any]:
        path = self._hadoop.Path(name)
        return path, _asked(f"{name}: Spark does not know such a path", path.getFileSystem, self._conf)


def _asked(problem: str, call: Callable[..., Any], *given: Any) -> Any:
    """Return what a function of Java does; a problem that it has is told by these words and its own."""
    try:
        return call(*given)
    except Exception as error:
        raise BatchError(f"{problem}: {_java_words(error)}") from error


def _java_words(error: Exception) -> str:
    """Return what Java says; the first of more lines is that it says something."""
    first, *more = str(error).splitlines() or [type(error).__name__]
    return (more or [first])[0].lstrip(": ")[:300]


def _unpacked(head: bytes) -> bytes:
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(head, len(_WARC))
    except zlib.error:
        return b""

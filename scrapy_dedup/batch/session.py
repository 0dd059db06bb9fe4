"""Spark, started so that it needs no set-up on one machine, and little memory; and the files that it reads and writes.

Files and folders are wherever Spark finds them: local, HDFS, S3.
"""

import os
import shutil
import sys
import tempfile
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from scrapy_dedup.batch.records import Kind
from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.service.packed_files import packed_by

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_LOCAL: Final = "local"
# Pages are large: with Spark's 10,000 rows a batch would be half a gigabyte.
_PAGES_AT_ONCE: Final = "64"
_CONF: Final = {
    "spark.app.name": "scrapy-dedup clean --spark",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.execution.arrow.maxRecordsPerBatch": _PAGES_AT_ONCE,
    "spark.sql.execution.arrow.maxBytesPerBatch": "4m",
    # Rows go to Python one by one: columns of many pages at once would only be in memory.
    "spark.sql.parquet.enableVectorizedReader": "false",
    # Tasks of a few minutes: the last ones leave no core idle for long.
    "spark.sql.files.maxPartitionBytes": "32m",
    # A row group is in memory, packed and unpacked, for each file that is read or written.
    "spark.hadoop.parquet.block.size": str(4 << 20),
    "spark.hadoop.parquet.page.size": str(256 << 10),
    # Parquet looks after so many rows how much it holds; with its 100 that may be hundreds of megabytes.
    "spark.hadoop.parquet.block.size.row.check.min": "10",
    "spark.hadoop.parquet.page.size.row.check.min": "10",
    # What a task brings to the driver goes there at once. From Spark's block store, where it waits to be fetched, one
    # was lost in a run of 100,000 pages.
    "spark.task.maxDirectResultSize": "64m",
    # Workers begin as its copies, with all they need in memory that they share.
    "spark.python.daemon.module": "scrapy_dedup.batch.daemon",
    # Each task has a new one: what the last one left in memory, such as that of learning, goes with it.
    "spark.python.worker.reuse": "false",
    # Memory goes back to the system, which is kept otherwise for threads and batches that were.
    "spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL": "system",
    "spark.executorEnv.MALLOC_ARENA_MAX": "2",
}
_CONF_LOCAL: Final = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "480m",
    # The heap grows before Java looks for garbage in the whole of it.
    "spark.cleaner.periodicGC.interval": "30s",
    "spark.sql.shuffle.partitions": "16",
}
# One thread is enough to collect what half a gigabyte holds, and the first of Java's compilers to translate what waits
# for Python most of the time: its code and its own work are smaller.
_JAVA: Final = (
    "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xms96m -Xmn64m -XX:MinHeapFreeRatio=10 -XX:MaxHeapFreeRatio=30"
    " -XX:+IgnoreUnrecognizedVMOptions -XX:TrimNativeHeapInterval=3000"
    " -Dio.netty.allocator.numDirectArenas=1 -XX:MaxMetaspaceSize=192m -XX:ReservedCodeCacheSize=64m"
)
# What Java has outside of its heap: of that glibc would keep some 100 MB more, for each of many threads.
_ALLOCATOR: Final = {"MALLOC_ARENA_MAX": "1", "MALLOC_TRIM_THRESHOLD_": str(128 << 10)}
# Without a file of its own Spark tells at each start which one it takes.
_LOGGING: Final = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %p %c{1}: %m%n%ex{short.message}
"""


@contextmanager
def started(master: str | None, conf: Mapping[str, str]) -> Iterator["SparkSession"]:
    """Give a session; it ends with the context.

    *master* None: what Spark's own configuration says; *conf* are values of it, which win over ours.

    Raises:
        BatchError: Spark or Java is not there, or does not start.
    """
    session_class = _session_class()
    _check_java()
    # The executors of this machine need what this process has.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory(prefix="scrapy-dedup-") as folder:
        chosen = {**_CONF, **(_conf_local(folder) if master is not None and master.startswith(_LOCAL) else {}), **conf}
        session = _begun(session_class.builder, master, chosen)
        try:
            yield session
        except Exception as error:
            if type(error).__module__.startswith(("pyspark.", "py4j.")):
                raise BatchError(f"Spark failed: {_spark_words(error)}") from error
            raise
        finally:
            session.stop()


def _conf_local(folder: str) -> dict[str, str]:
    """Return the configuration of one machine."""
    for name, value in (_ALLOCATOR | {"SPARK_LOCAL_IP": "127.0.0.1"}).items():
        os.environ.setdefault(name, value)
    logging = Path(folder) / "log4j2.properties"
    logging.write_text(_LOGGING)
    return _CONF_LOCAL | {"spark.driver.extraJavaOptions": f"{_JAVA} -Dlog4j2.configurationFile=file:{logging}"}


def _begun(builder: Any, master: str | None, conf: Mapping[str, str]) -> "SparkSession":
    for name, value in conf.items():
        builder = builder.config(name, value)
    if master is not None:
        builder = builder.master(master)
    try:
        session: SparkSession = builder.getOrCreate()
    except Exception as error:
        raise BatchError(f"Spark does not start with --master {master}: {_spark_words(error)}") from error
    return session


def _spark_words(error: Exception) -> str:
    """Return what Spark says: how it begins, and what it was caused by."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines[1:] if line.startswith("Caused by:")]
    return "; ".join([*lines[:2], *causes[-1:]])[:800] or type(error).__name__


def _session_class() -> Any:
    try:
        with warnings.catch_warnings():
            # That some of its functions do not know the newest pandas, which nothing here uses.
            warnings.simplefilter("ignore", FutureWarning)
            import pyspark.sql.pandas.functions  # noqa: F401, PLC0415 (says the same when it is first asked for)
            from pyspark.sql import SparkSession  # noqa: PLC0415 (of an extra)
    except ImportError as error:
        raise BatchError("batch needs an extra: pip install 'scrapy_dedup[spark]'") from error
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
    return SparkSession


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if home is not None and (Path(home) / "bin" / "java").exists():
        return
    if home is not None or shutil.which("java") is None:
        where = f"JAVA_HOME={home} has no bin/java" if home is not None else "there is no java"
        raise BatchError(f"Spark needs Java 17 or later, and {where}: install one, such as openjdk-17-jre-headless")


class BatchError(DedupError):
    """The run cannot go on; the message says what to do."""


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

        The folder of that *name* is called *aside* from then on, and the *new* one has its name.

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
        # The first of more lines is that Java says something.
        first, *more = str(error).splitlines() or [type(error).__name__]
        raise BatchError(f"{problem}: {(more or [first])[0].lstrip(': ')[:300]}") from error


def _unpacked(head: bytes) -> bytes:
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(head, len(_WARC))
    except zlib.error:
        return b""

"""The files of one kind, as Spark reads them."""

from collections.abc import Iterator, Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql

from scrapy_dedup.batch.errors import BatchError
from scrapy_dedup.batch.files import InputFile
from scrapy_dedup.batch.records import WARC_BREAK, Kind, Source, path_of
from scrapy_dedup.settings import Settings

_BREAKS: Final[dict[Kind, str]] = {"lines": "\n", "warc": WARC_BREAK}
_KINDS: Final[tuple[Kind, ...]] = ("lines", "warc", "parquet")
_CONTENT: Final = "content"
_BODY: Final = "body"
_CONTENT_TYPE: Final = "content_type"


def frames(spark: SparkSession, inputs: Sequence[InputFile], settings: Settings) -> Iterator[tuple[DataFrame, Source]]:
    """Yield the files of each kind, with what tells their order and names.

    Raises:
        BatchError: a Parquet file has no pages.
    """
    for kind in _KINDS:
        of_kind = [one for one in inputs if one.kind == kind]
        if not of_kind:
            continue
        files = {
            path_of(name): (number, one.name)
            for number, one in enumerate(inputs)
            if one.kind == kind
            for name in (one.path, one.address)
        }
        paths = [one.path for one in of_kind]
        frame = _parquet(spark, paths, settings) if kind == "parquet" else _text(spark, paths, _BREAKS[kind])
        yield frame, Source(kind, files, settings)


def _text(spark: SparkSession, paths: Sequence[str], end: str) -> DataFrame:
    # As bytes, for not all of it need be UTF-8.
    return (
        spark.read.option("lineSep", end)
        .text(list(paths))
        .select("_metadata.file_path", "_metadata.file_block_start", sql.col("value").cast("binary"))
    )


def _parquet(spark: SparkSession, paths: Sequence[str], settings: Settings) -> DataFrame:
    frame = spark.read.option("mergeSchema", "true").parquet(*paths)
    types = dict(frame.dtypes)
    url, html = settings.url_field, settings.html_field
    if html not in types and _CONTENT in types:
        html = _CONTENT
    if url not in types or not types.keys() & {html, _BODY}:
        needed = f"{url!r} and {html!r} (or {_BODY!r} and {_CONTENT_TYPE!r})"
        columns = ", ".join(sorted(types))[:300]
        raise BatchError(
            f"{paths[0]}: needs the columns {needed}, and has {columns};"
            " DEDUP_URL_FIELD and DEDUP_HTML_FIELD name others"
        )
    wanted = [_taken(name, types) for name in (url, html, _BODY, _CONTENT_TYPE)]
    return frame.select("_metadata.file_path", "_metadata.row_index", *wanted)


def _taken(name: str, types: dict[str, str]) -> Column:
    """Return a column, or nulls where there is none that holds texts or bytes."""
    is_there = types.get(name) in ("string", "binary")
    return sql.col(f"`{name}`").alias(name) if is_there else sql.lit(None).cast("string").alias(name)

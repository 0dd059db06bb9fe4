"""A corpus from files to cleaned pages on Spark: survey the domains, learn each, cut every page, compare all, write.

It is the one step that is not spread: which page stands for which depends on all that came before. So it sees next to
nothing of a page: of most, which share nothing, some 300 bytes; of the others what is compared, with the clean text
where texts may be compared. What it needs of those it keeps in a temporary store, as `scrapy dedup clean` does, with
the same code.
"""

import dataclasses
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial, reduce
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, Protocol, Self

import pyarrow as pa
from msgspec import Struct, field
from msgspec import json as typed_json
from msgspec.structs import replace
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql

from scrapy_dedup.batch import columns, steps
from scrapy_dedup.batch.columns import raw, unraw
from scrapy_dedup.batch.records import WARC_BREAK, Kind, RecordSource, path_of
from scrapy_dedup.batch.session import BatchError, InputFile
from scrapy_dedup.batch.shared_facts import CHUNK, LookupWriter, PageTally, line_of
from scrapy_dedup.service.duplicates.chunking import ACROSS
from scrapy_dedup.service.files.run import BadInputError, CleaningPlan, CleaningTally, RunOthers
from scrapy_dedup.service.files.tasks import KnownDomains, Learned
from scrapy_dedup.service.templates.site_knowledge import SiteKnowledge
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.scratch import MOST_SAMPLE_BYTES, DomainPages

PAGES: Final = "pages"
LEFT_OUT: Final = "left_out"

# A domain takes half a second to be learned: more tasks than cores, so that none is idle for long.
_LEARNING_TASKS_A_CORE: Final = 4
# What comes to the driver is in its memory for one task, and the next: 10 MB of what is known of domains, or 5 MB of
# pages that share something.
_DOMAINS_A_TASK: Final = 100
_PAGES_A_TASK: Final = 500

_BREAKS: Final[dict[Kind, str]] = {"lines": "\n", "warc": WARC_BREAK}
_KINDS: Final[tuple[Kind, ...]] = ("lines", "warc", "parquet")
_CONTENT: Final = "content"
_BODY: Final = "body"
_CONTENT_TYPE: Final = "content_type"


class SparkWatcher(Protocol):
    """Is told how a run goes on."""

    def phase(self, name: str) -> None:
        """Take note of what is done from now on."""

    def complain(self, told: str) -> None:
        """Take note of a record that is passed over: where it is, and why."""


class BatchRun(Struct):
    """One run: `survey`, then `learn`, `cut`, `judge` and `write`. Closing it removes what it kept on this machine.

    Attributes:
        spark: what does the work.
        inputs: what is read.
        settings: what the user chose.
        watcher: is told how it goes on.
        work: a folder where Spark writes what goes from step to step; the run's own.
        strict: a bad record ends the run.
    """

    spark: SparkSession
    inputs: Sequence[InputFile]
    settings: Settings
    watcher: SparkWatcher
    work: str
    strict: bool = False
    plan: CleaningPlan = field(default_factory=CleaningPlan)
    tally: CleaningTally = field(default_factory=CleaningTally)
    _end: ExitStack = field(default_factory=ExitStack)
    _folder: str = ""
    _sources: list[tuple[DataFrame, RecordSource]] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._folder = self._end.enter_context(tempfile.TemporaryDirectory(prefix="scrapy-dedup-"))
        # A class of the user's might not find its way to other machines, and nobody asks for it there.
        settings = dataclasses.replace(self.settings, fallback_request_fingerprinter_class=None)
        self._sources = list(frames(self.spark, self.inputs, settings))
        return self

    def __exit__(self, *_error: object) -> None:
        self._end.close()

    @property
    def partitions(self) -> int:
        """How many tasks read the input."""
        return sum(frame.rdd.getNumPartitions() for frame, _ in self._sources)

    def survey(self, known: Callable[[str], SiteKnowledge | None]) -> CleaningPlan:
        """Read all records, and choose what each domain is learned from.

        *known* returns what the store knows of a domain; None where that is nothing to cut pages by.
        """
        self.watcher.phase("surveying")
        found = self._each(steps.SiteSurvey, columns.SURVEYED)
        first = sql.min(sql.struct("place", "size")).alias("first")
        pages = found.groupBy("domain", "key").agg(first).select("domain", "key", "first.place", "first.size")
        pages.write.mode("overwrite").parquet(self._path("survey"))
        pages = self._read("survey")
        counts = pages.groupBy("domain").count().orderBy("domain")
        with LookupWriter(self._local("knowledge")) as knowledge:
            domains = (DomainPages(unraw(name), pages) for name, pages in self._rows(counts))
            self.plan = CleaningPlan.of(domains, known, partial(keep_known, knowledge))
        smallest = pages.mapInArrow(steps.Smallest(self.settings.learn_pages), columns.SURVEYED)
        with LookupWriter(self._local("chosen")) as chosen:
            choose(self._rows(smallest.orderBy("domain", "key")), self.plan, chosen, self.settings.learn_pages)
        return self.plan

    def learn(self) -> list[Learned]:
        """Learn the domains that were chosen; return what became of each, by name."""
        self.watcher.phase("learning")
        found: list[Learned] = []
        if self.plan.learned:
            file = self._shared("chosen")
            sources = self._each(lambda source: steps.SampleSources(source, file), columns.SOURCES)
            domains, cores = len(self.plan.learned), self.spark.sparkContext.defaultParallelism
            tasks = min(domains, max(_LEARNING_TASKS_A_CORE * cores, domains // _DOMAINS_A_TASK))
            by_domain = sources.repartition(tasks, "domain").sortWithinPartitions("domain", "key")
            learning = steps.Learning(self.settings)
            with LookupWriter(self._local("knowledge")) as knowledge:
                for *figures, text in self._rows(by_domain, learning):
                    found.append(Learned(unraw(figures[0]), *figures[1:]))
                    if text is not None:
                        knowledge.put(figures[0], text)
        return sorted(found, key=lambda one: one.domain)

    def cut(self) -> None:
        """Cut every page; what came of it waits in the work folder."""
        self.watcher.phase("cleaning")
        file = self._shared("knowledge")
        cut = self._each(lambda source: steps.Cutting(source, file), columns.CUT)
        cut.write.mode("overwrite").parquet(self._path("cut"))

    def judge(self) -> CleaningTally:
        """Compare all pages; return what became of them.

        Raises:
            BadInputError: there is a bad record, and the run is strict.
        """
        self.watcher.phase("comparing")
        cut, shared = self._read("cut"), self._sharing()
        wanted = ("kind", "place", "domain", "chars", "tally")
        facts = sql.when(sql.col("compared").isNotNull(), sql.col("facts")).alias("facts")
        content = sql.when(sql.col("compared"), sql.col("cleaned_content")).alias("content")
        rows = cut.join(shared, "place", "left").select(*wanted, facts, content)
        tasks = 1 + self.plan.pages // _PAGES_A_TASK
        in_order = rows.repartitionByRange(tasks, "place").sortWithinPartitions("place")
        with LookupWriter(self._local("decisions")) as decisions:
            known = steps.KnowledgeFile(self._local("knowledge"))
            judge = Judge(self.settings, self._folder, known, decisions, self._complain)
            self._end.callback(judge.close)
            judge.judge(self._rows(in_order))
        self.tally = judge.tally
        return self.tally

    def _sharing(self) -> DataFrame:
        """Return the places of pages that may share something, and whether more than chunks."""
        keys = self._read("cut").select("place", sql.explode("keys").alias("key"))
        shared = keys.groupBy("key").count().where("count > 1").select("key")
        is_more = sql.substring("key", 1, 1) != sql.lit(CHUNK)
        found = keys.join(shared, "key", "left_semi").select("place", is_more.alias("more"))
        return found.groupBy("place").agg(sql.max("more").alias("compared"))

    def _complain(self, told: str) -> None:
        if self.strict:
            raise BadInputError(told)
        self.watcher.complain(told)

    def write(self, out: str) -> None:
        """Write the pages, and those that others stand for, into a folder."""
        self.watcher.phase("writing")
        file = self._shared("decisions")
        rows = self._read("cut").where(sql.col("kind") == steps.PAGE)
        wanted = ("url", "cleaned_content", "title", "date", "author", "dedup", "place")
        pages = rows.select(*wanted).mapInArrow(steps.Finishing(file, self.settings.item_details), columns.PAGES)
        left = rows.select("place").mapInArrow(steps.LeavingOut(file), columns.LEFT_OUT)
        for name, frame in ((PAGES, pages), (LEFT_OUT, left)):
            frame.write.option("compression", "zstd").parquet(f"{out}/{name}")

    def knowledge(self, domain: str) -> SiteKnowledge | None:
        """Return what was learned of a domain."""
        return steps.KnowledgeFile(self._local("knowledge")).get(domain)

    def _each(self, step: Callable[[RecordSource], Any], written: str) -> DataFrame:
        """Return what a step makes of all records."""
        made = [frame.mapInArrow(step(source), written) for frame, source in self._sources]
        return reduce(DataFrame.unionAll, made)

    def _rows(self, frame: DataFrame, step: Callable[[Any], Any] | None = None) -> Iterator[tuple[Any, ...]]:
        """Iterate over rows, or what a step makes of them, a few in memory at a time, as Arrow has them."""
        # By its RDD: what a frame's own toLocalIterator has given stays in memory until Spark ends, since its
        # scheduler notes the jobs for a query that is over by then (`DAGScheduler.activeQueryToJobs` of Spark 4.3).
        for row in frame.mapInArrow(steps.Packing(step), columns.BLOB).rdd.toLocalIterator(prefetchPartitions=True):
            with pa.ipc.open_stream(bytes(row.blob)) as stream:
                yield from columns.rows_of(stream)

    def _read(self, name: str) -> DataFrame:
        return self.spark.read.parquet(self._path(name))

    def _path(self, name: str) -> str:
        return f"{self.work}/{name}"

    def _local(self, name: str) -> str:
        return f"{self._folder}/{self._name(name)}"

    def _name(self, name: str) -> str:
        # Executors keep files of one application in one folder.
        return f"{Path(self._folder).name}-{name}.db"

    def _shared(self, name: str) -> str:
        """Send a lookup file to the executors; return by what name they know it."""
        self.spark.sparkContext.addFile(self._local(name))
        return self._name(name)


def keep_known(knowledge: LookupWriter, found: SiteKnowledge) -> None:
    """Let executors know what the store does of a domain."""
    knowledge.put(raw(found.domain), json.dumps(found.to_json()))


def choose(rows: Iterable[tuple[Any, ...]], plan: CleaningPlan, chosen: LookupWriter, most: int) -> None:
    """Choose of each domain that is to be learned the pages with the smallest keys, within a bound of bytes.

    *rows* are domain, page key, place and size of pages, by domain and key, those with the smallest keys among them;
    *chosen* takes their places. The *plan* is told from how many pages.
    """
    places = {raw(one.domain): place for place, one in enumerate(plan.learned)}
    for domain, pages in groupby(rows, itemgetter(0)):
        place = places.get(domain)
        if place is None:
            continue
        number = total = 0
        for _, _, record, size in pages:
            total += size
            if number == most or (number and total > MOST_SAMPLE_BYTES):
                break
            number += 1
            chosen.put(record, "")
        plan.learned[place] = replace(plan.learned[place], sampled=number)


def frames(
    spark: SparkSession, inputs: Sequence[InputFile], settings: Settings
) -> Iterator[tuple[DataFrame, RecordSource]]:
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
        yield frame, RecordSource(kind, files, settings)


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


class Judge:
    """Says of each page whether it goes out, and what of it does not."""

    def __init__(
        self,
        settings: Settings,
        folder: str,
        known: KnownDomains,
        decisions: LookupWriter,
        complain: Callable[[str], None],
    ) -> None:
        """Begin with no page.

        *folder*, the run's own, is for what is to be kept meanwhile; *decisions* takes what differs from a page that is
        alone; *complain* is told of bad records.
        """
        self.tally = CleaningTally()
        self._settings = settings
        # What is decided names chunks one by one.
        self._others = RunOthers(dataclasses.replace(settings, item_details=frozenset({"chunks"})), folder, known)
        self._decisions = decisions
        self._complain = complain

    def close(self) -> None:
        """Let go of the temporary store."""
        self._others.close()

    def judge(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Judge pages: rows of kind, place, domain, chars, tally, facts and cleaned_content, in their order."""
        for kind, place, domain, chars, tally, facts, content in rows:
            if kind == steps.BAD:
                self.tally.bad += 1
                self._complain(tally)
            elif kind == steps.NO_PAGE:
                self.tally.no_page += 1
            else:
                self._page(place, (unraw(domain), chars, facts, content), typed_json.decode(tally, type=PageTally))

    def _page(self, place: bytes, said: tuple[str, int, str | None, str | None], own: PageTally) -> None:
        domain, chars, facts, content = said
        counts = self.tally.counts
        counts.update(own.seconds)
        if facts is None:
            self.tally.add(own.how, own.flag, own.counts)
            counts.update(own.alone)
            # Of a page that could not be read there is no text, and nobody is compared with it.
            if chars != steps.NO_TEXT:
                self._others.pass_by(place, domain, chars, is_kept=own.is_kept)
            return
        line = line_of(facts, domain, (chars, content), self._settings, is_kept=own.is_kept)
        placed = self._others.place(line, counts)
        decision: dict[str, Any] = {}
        if placed.left is not None:
            decision["left"] = placed.left
        else:
            self.tally.add(own.how, own.flag, own.counts)
            decision = _decision(placed.rows[0]["dedup"])
        if decision:
            self._decisions.put(place, json.dumps(decision))


def _decision(report: dict[str, Any]) -> dict[str, Any]:
    """Return what of a report differs from that of a page which shares nothing."""
    found = {name: report[name] for name in ("near_duplicate",) if name in report}
    chunks = [
        [place, one["layer"], one["reason"], one.get("holder")]
        for place, one in enumerate(report.get("chunks", ()))
        if one.get("reason") == ACROSS
    ]
    return found | ({"chunks": chunks} if chunks else {})

"""A corpus from files to cleaned pages on Spark: survey the domains, learn each, cut every page, compare all, write."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any, Final, Protocol, Self

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from scrapy_dedup.batch import columns
from scrapy_dedup.batch.choosing import choose, plan_of
from scrapy_dedup.batch.files import InputFile
from scrapy_dedup.batch.frames import frames
from scrapy_dedup.batch.judging import Judge
from scrapy_dedup.batch.knowledge_file import KnowledgeFile
from scrapy_dedup.batch.lookups import LookupWriter
from scrapy_dedup.batch.records import Source
from scrapy_dedup.batch.shared_facts import CHUNK
from scrapy_dedup.batch.steps_pages import PAGE, Cutting, Finishing, LeavingOut, Packing
from scrapy_dedup.batch.steps_sites import Chosen, Learning, Smallest, Survey, learned_of
from scrapy_dedup.service.cleaning_run import BadInputError, Plan, Tally
from scrapy_dedup.service.cleaning_run_tasks import Learned
from scrapy_dedup.service.site_knowledge import SiteKnowledge
from scrapy_dedup.settings import Settings

PAGES: Final = "pages"
LEFT_OUT: Final = "left_out"

# A domain takes half a second to be learned: more tasks than cores, so that none is idle for long.
_LEARNING_TASKS_A_CORE: Final = 4
# What comes to the driver is in its memory for one task, and the next: 10 MB of what is known of domains, or 5 MB of
# pages that share something.
_DOMAINS_A_TASK: Final = 100
_PAGES_A_TASK: Final = 500


class Watcher(Protocol):
    """Is told how a run goes on."""

    def phase(self, name: str) -> None:
        """Take note of what is done from now on."""

    def complain(self, told: str) -> None:
        """Take note of a record that is passed over: where it is, and why."""


@dataclass(slots=True)
class BatchRun:
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
    watcher: Watcher
    work: str
    strict: bool = False
    plan: Plan = field(default_factory=Plan)
    tally: Tally = field(default_factory=Tally)
    _end: ExitStack = field(default_factory=ExitStack)
    _folder: str = ""
    _sources: list[tuple[DataFrame, Source]] = field(default_factory=list)
    _files: dict[str, str] = field(default_factory=dict)

    def __enter__(self) -> Self:
        self._folder = self._end.enter_context(tempfile.TemporaryDirectory(prefix="scrapy-dedup-"))
        # A class of the user's might not find its way to other machines, and nobody asks for it there.
        settings = replace(self.settings, fallback_request_fingerprinter_class=None)
        self._sources = list(frames(self.spark, self.inputs, settings))
        return self

    def __exit__(self, *_error: object) -> None:
        self._end.close()

    @property
    def partitions(self) -> int:
        """How many tasks read the input."""
        return sum(frame.rdd.getNumPartitions() for frame, _ in self._sources)

    def survey(self, known: Callable[[str], SiteKnowledge | None]) -> Plan:
        """Read all records, and choose what each domain is learned from.

        Args:
            known: what the store knows of a domain; None where that is nothing to cut pages by.
        """
        self.watcher.phase("surveying")
        found = self._each(Survey, columns.SURVEYED)
        first = sql.min(sql.struct("place", "size")).alias("first")
        pages = found.groupBy("domain", "key").agg(first).select("domain", "key", "first.place", "first.size")
        pages.write.mode("overwrite").parquet(self._path("survey"))
        pages = self._read("survey")
        counts = pages.groupBy("domain").count().orderBy("domain")
        with LookupWriter(self._local("knowledge")) as knowledge:
            self.plan = plan_of(self._rows(counts), known, knowledge, self.settings)
        smallest = pages.mapInArrow(Smallest(self.settings.learn_pages), columns.SURVEYED)
        with LookupWriter(self._local("chosen")) as chosen:
            choose(self._rows(smallest.orderBy("domain", "key")), self.plan, chosen, self.settings.learn_pages)
        return self.plan

    def learn(self) -> list[Learned]:
        """Learn the domains that were chosen; return what became of each, by name."""
        self.watcher.phase("learning")
        found: list[Learned] = []
        if self.plan.learned:
            file = self._shared("chosen")
            sources = self._each(lambda source: Chosen(source, file), columns.SOURCES)
            domains, cores = len(self.plan.learned), self.spark.sparkContext.defaultParallelism
            tasks = min(domains, max(_LEARNING_TASKS_A_CORE * cores, domains // _DOMAINS_A_TASK))
            by_domain = sources.repartition(tasks, "domain").sortWithinPartitions("domain", "key")
            learning = Learning(self.settings)
            with LookupWriter(self._local("knowledge")) as knowledge:
                for *figures, text in self._rows(by_domain, learning):
                    found.append(learned_of(*figures))
                    if text is not None:
                        knowledge.put(figures[0], text)
        return sorted(found, key=lambda one: one.domain)

    def cut(self) -> None:
        """Cut every page; what came of it waits in the work folder."""
        self.watcher.phase("cleaning")
        file = self._shared("knowledge")
        cut = self._each(lambda source: Cutting(source, file), columns.CUT)
        cut.write.mode("overwrite").parquet(self._path("cut"))

    def judge(self) -> Tally:
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
            judge = Judge(self.settings, self._folder, decisions, self._complain)
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
        rows = self._read("cut").where(sql.col("kind") == PAGE)
        wanted = ("url", "cleaned_content", "title", "date", "author", "dedup", "place")
        pages = rows.select(*wanted).mapInArrow(Finishing(file), columns.PAGES)
        left = rows.select("place").mapInArrow(LeavingOut(file), columns.LEFT_OUT)
        for name, frame in ((PAGES, pages), (LEFT_OUT, left)):
            frame.write.option("compression", "zstd").parquet(f"{out}/{name}")

    def knowledge(self, domain: str) -> SiteKnowledge | None:
        """Return what was learned of a domain."""
        return KnowledgeFile(self._local("knowledge")).get(domain)

    def _each(self, step: Callable[[Source], Any], written: str) -> DataFrame:
        """Return what a step makes of all records."""
        made = [frame.mapInArrow(step(source), written) for frame, source in self._sources]
        return reduce(DataFrame.unionAll, made)

    def _rows(self, frame: DataFrame, step: Callable[[Any], Any] | None = None) -> Iterator[tuple[Any, ...]]:
        """Iterate over rows, or what a step makes of them, a few in memory at a time, as Arrow has them."""
        # By its RDD: what a frame's own toLocalIterator has given stays in memory until Spark ends, since its
        # scheduler notes the jobs for a query that is over by then (`DAGScheduler.activeQueryToJobs` of Spark 4.3).
        for row in frame.mapInArrow(Packing(step), columns.BLOB).rdd.toLocalIterator(prefetchPartitions=True):
            with pa.ipc.open_stream(bytes(row.blob)) as stream:
                for batch in stream:
                    yield from zip(*(one.to_pylist() for one in batch.columns), strict=True)

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

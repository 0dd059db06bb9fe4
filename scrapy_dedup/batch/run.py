"""A corpus from files to cleaned pages on Spark: survey the domains, learn each, cut every page, compare all, write."""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, Protocol, Self

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from scrapy_dedup.batch import columns
from scrapy_dedup.batch.columns import raw, unraw
from scrapy_dedup.batch.errors import BatchError
from scrapy_dedup.batch.files import Files, InputFile
from scrapy_dedup.batch.frames import frames
from scrapy_dedup.batch.judging import Judge
from scrapy_dedup.batch.lookups import LookupWriter
from scrapy_dedup.batch.records import Source
from scrapy_dedup.batch.shared_facts import CHUNK
from scrapy_dedup.batch.steps import (
    PAGE,
    Chosen,
    Cutting,
    Finishing,
    Learning,
    LeavingOut,
    Packing,
    Smallest,
    Survey,
    learned_of,
)
from scrapy_dedup.service.cleaning_run import BadInputError, Plan, Tally
from scrapy_dedup.service.cleaning_run_samples import MOST_SAMPLE_BYTES, DomainPages
from scrapy_dedup.service.cleaning_run_tasks import Learned
from scrapy_dedup.service.site_knowledge import SiteKnowledge
from scrapy_dedup.settings import Settings

PAGES: Final = "pages"
LEFT_OUT: Final = "left_out"

# A domain takes half a second to be learned: more tasks than cores, so that none is idle for long.
_LEARNING_TASKS_A_CORE: Final = 4


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
    """

    spark: SparkSession
    inputs: Sequence[InputFile]
    settings: Settings
    watcher: Watcher
    work: str
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
            for domain, number in self._rows(counts):
                self._plan(unraw(domain), number, known, knowledge)
        smallest = pages.mapInArrow(Smallest(self.settings.learn_pages), columns.SURVEYED)
        with LookupWriter(self._local("chosen")) as chosen:
            self._choose(self._rows(smallest.orderBy("domain", "key")), chosen)
        return self.plan

    def _plan(
        self, domain: str, pages: int, known: Callable[[str], SiteKnowledge | None], file: LookupWriter
    ) -> None:
        one, knowledge = DomainPages(domain, pages), known(domain)
        if knowledge is not None:
            file.put(raw(domain), _knowledge_text(knowledge))
            self.plan.known.append(one)
        elif pages < self.settings.min_pages:
            self.plan.small.append(one)
        else:
            self.plan.learned.append(one)

    def _choose(self, rows: Iterable[tuple[Any, ...]], chosen: LookupWriter) -> None:
        """Choose of each domain that is to be learned the pages with the smallest keys."""
        places = {one.domain: place for place, one in enumerate(self.plan.learned)}
        for domain, pages in groupby(rows, itemgetter(0)):
            place = places.get(unraw(domain))
            if place is None:
                continue
            number = total = 0
            for _, _, record, size in pages:
                total += size
                if number == self.settings.learn_pages or (number and total > MOST_SAMPLE_BYTES):
                    break
                number += 1
                chosen.put(record, "")
            self.plan.learned[place] = replace(self.plan.learned[place], sampled=number)

    def learn(self) -> list[Learned]:
        """Learn the domains that were chosen; return what became of each, by name."""
        self.watcher.phase("learning")
        found: list[Learned] = []
        if self.plan.learned:
            file = self._shared("chosen")
            sources = self._each(lambda source: Chosen(source, file), columns.SOURCES)
            tasks = min(len(self.plan.learned), _LEARNING_TASKS_A_CORE * self.spark.sparkContext.defaultParallelism)
            by_domain = sources.repartition(tasks, "domain").sortWithinPartitions("domain", "key")
            learned = by_domain.mapInArrow(Learning(self.settings), columns.LEARNED)
            with LookupWriter(self._local("learned")) as knowledge:
                for *figures, text in self._rows(learned):
                    found.append(learned_of(*figures))
                    if text is not None:
                        knowledge.put(figures[0], text)
        return sorted(found, key=lambda one: one.domain)

    def _each(self, step: Callable[[Source], Any], written: str) -> DataFrame:
        """Return what a step makes of all records."""
        made = [frame.mapInArrow(step(source), written) for frame, source in self._sources]
        return reduce(DataFrame.unionAll, made)

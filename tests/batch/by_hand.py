"""The steps of a batch one after the other in this process: what Spark does between them is done by lists."""

import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa

from scrapy_dedup.batch import columns
from scrapy_dedup.batch.columns import batch_of, schema_of
from scrapy_dedup.batch.records import RecordSource
from scrapy_dedup.batch.run import Judge, choose, plan_of
from scrapy_dedup.batch.shared_facts import CHUNK, LookupWriter
from scrapy_dedup.batch.steps import (
    PAGE,
    Cutting,
    Finishing,
    KnowledgeFile,
    Learning,
    LeavingOut,
    SampleSources,
    SiteSurvey,
    Smallest,
)
from scrapy_dedup.service.files.run import CleaningPlan, CleaningTally
from scrapy_dedup.service.templates.site_knowledge import SiteKnowledge
from scrapy_dedup.settings import Settings

Table = list[tuple[Any, ...]]
Step = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

FILE = "file:/in"
# So many rows of a task are in one batch.
_ROWS = 5


def nothing(_domain: str) -> None:
    """Know no domain."""


class ByHand:
    """A batch that is over: `rows` and `left`, as tables with a place, and `tally`, `plan` and `bad`."""

    def __init__(
        self,
        *parts: Sequence[bytes],
        known: Callable[[str], SiteKnowledge | None] = nothing,
        settings: Settings | None = None,
    ) -> None:
        """Run on the lines of one file, of which each part is read by another task."""
        self.settings = settings or Settings()
        self.bad: list[str] = []
        self.source = RecordSource("lines", {FILE: (0, "in")}, self.settings)
        self._lines: list[Table] = [
            [(FILE, 1_000 * number, line) for line in lines] for number, lines in enumerate(parts)
        ]
        with tempfile.TemporaryDirectory() as folder:
            self._folder = folder
            self.plan = self._surveyed(known)
            self.learned = self._learned()
            self._cut = self.each(Cutting(self.source, self._file("knowledge")), self._lines, columns.LINES)
            self.tally = self._judged()
            pages = [row for row in self._cut if row[0] == PAGE]
            texts = [(*row[7:], row[1]) for row in pages]
            finishing = Finishing(self._file("decisions"), self.settings.item_details)
            leaving = LeavingOut(self._file("decisions"))
            self.rows = self.each(finishing, [texts], columns.PAGES)
            self.left = self.each(leaving, [[(row[1],) for row in pages]], "place binary")

    @staticmethod
    def each(step: Step, parts: Sequence[Table], written: str) -> Table:
        """Return what a step makes of the rows of several tasks."""
        made: Table = []
        for rows in parts:
            batches = [batch_of(rows[at : at + _ROWS], schema_of(written)) for at in range(0, len(rows), _ROWS)]
            for batch in step(batches):
                made += zip(*(one.to_pylist() for one in batch.columns), strict=True)
        return made

    def _file(self, name: str) -> str:
        return str(Path(self._folder) / name)

    def _surveyed(self, known: Callable[[str], SiteKnowledge | None]) -> CleaningPlan:
        found = self.each(SiteSurvey(self.source), self._lines, columns.LINES)
        pages = [min(group, key=itemgetter(2)) for _, group in groupby(sorted(found), itemgetter(0, 1))]
        counts = [(domain, len(list(group))) for domain, group in groupby(pages, itemgetter(0))]
        with LookupWriter(self._file("knowledge")) as knowledge:
            plan = plan_of(counts, known, knowledge)
        # Each part has some of every domain's pages.
        smallest = self.each(Smallest(self.settings.learn_pages), [pages[::2], pages[1::2]], columns.SURVEYED)
        with LookupWriter(self._file("chosen")) as chosen:
            choose(sorted(smallest), plan, chosen, self.settings.learn_pages)
        return plan

    def _learned(self) -> Table:
        sources = self.each(SampleSources(self.source, self._file("chosen")), self._lines, columns.LINES)
        learned = self.each(Learning(self.settings), [sorted(sources)], columns.SOURCES)
        with LookupWriter(self._file("knowledge")) as knowledge:
            for domain, *_, text in learned:
                if text is not None:
                    knowledge.put(domain, text)
        return learned

    def _judged(self) -> CleaningTally:
        places = defaultdict(set)
        for row in self._cut:
            for key in row[5]:
                places[key].add(row[1])
        shared = {key: found for key, found in places.items() if len(found) > 1}
        compared: dict[bytes, bool] = {}
        for key, found in shared.items():
            for place in found:
                compared[place] = compared.get(place, False) or not key.startswith(CHUNK)
        rows = [
            (*row[:5], row[6] if row[1] in compared else None, row[8] if compared.get(row[1]) else None)
            for row in sorted(self._cut, key=itemgetter(1))
        ]
        with LookupWriter(self._file("decisions")) as decisions:
            known = KnowledgeFile(self._file("knowledge"))
            judge = Judge(self.settings, self._folder, known, decisions, self.bad.append)
            try:
                judge.judge(rows)
            finally:
                judge.close()
        return judge.tally

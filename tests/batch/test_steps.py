"""What a batch gives is what `scrapy dedup clean` gives, however the input is divided; without Spark."""

import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from scrapy_dedup.batch import columns
from scrapy_dedup.batch.columns import batch_of, schema_of, unraw
from scrapy_dedup.batch.records import RecordSource
from scrapy_dedup.batch.run import Judge, choose, keep_known
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
from scrapy_dedup.store.scratch import DomainPages
from tests.batch.corpora import MIXED, PATIENT, as_lines, hospital
from tests.service.files.test_run import SITE, Done, a_row, without_seconds
from tests.standing import CASES as STANDING
from tests.standing import SETTINGS
from tests.standing import rows as rows_of

Table = list[tuple[Any, ...]]
Step = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

FILE = "file:/in"
LINES = "file string, start bigint, value binary"
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
            self._cut = self.each(Cutting(self.source, self._file("knowledge")), self._lines, LINES)
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
        found = self.each(SiteSurvey(self.source), self._lines, LINES)
        pages = [min(group, key=itemgetter(2)) for _, group in groupby(sorted(found), itemgetter(0, 1))]
        counts = [(domain, len(list(group))) for domain, group in groupby(pages, itemgetter(0))]
        with LookupWriter(self._file("knowledge")) as knowledge:
            domains = (DomainPages(unraw(name), number) for name, number in counts)
            plan = CleaningPlan.of(domains, known, partial(keep_known, knowledge))
        # Each part has some of every domain's pages.
        smallest = self.each(Smallest(self.settings.learn_pages), [pages[::2], pages[1::2]], columns.SURVEYED)
        with LookupWriter(self._file("chosen")) as chosen:
            choose(sorted(smallest), plan, chosen, self.settings.learn_pages)
        return plan

    def _learned(self) -> Table:
        sources = self.each(SampleSources(self.source, self._file("chosen")), self._lines, LINES)
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


PLANS = ("known", "learned", "small")


def reports(batch: ByHand) -> list[dict[str, Any]]:
    names = ("url", "cleaned_content", "title", "date", "author", "dedup")
    rows = [dict(zip(names, row, strict=False)) for row in sorted(batch.rows, key=lambda row: row[-1])]
    return [row | {"dedup": json.loads(row["dedup"])} for row in rows]


def left(batch: ByHand) -> list[dict[str, Any]]:
    rows = sorted(batch.left, key=lambda row: row[-1])
    return [dict(zip(("url", "layer", "reason", "keeper"), row, strict=False)) for row in rows]


def parts_of(rows: Sequence[Any], number: int) -> list[Sequence[bytes]]:
    lines = as_lines(rows)
    size = -(-len(lines) // number)
    return [lines[at : at + size] for at in range(0, len(lines), size)]


def check(rows: Sequence[Any], parts: int, **chosen: Any) -> ByHand:
    """Run both on some rows, and compare all that they say."""
    chosen = {"pdf_timeout": PATIENT} | chosen
    batch, done = ByHand(*parts_of(rows, parts), settings=Settings(**chosen)), Done(*rows, **chosen)
    assert reports(batch) == done.rows
    assert left(batch) == done.watching.left
    tally, expected = batch.tally, done.tally
    assert [one.partition(": ")[2] for one in batch.bad] == [one.reason for one in done.watching.bad]
    assert (tally.pages, tally.bad, tally.no_page) == (expected.pages, expected.bad, expected.no_page)
    assert (tally.hows, tally.flags) == (expected.hows, expected.flags)
    assert without_seconds(tally.counts) == without_seconds(expected.counts)
    assert [getattr(batch.plan, name) for name in PLANS] == [getattr(done.plan, name) for name in PLANS]
    return batch


CASES: Mapping[str, Mapping[str, Any]] = {
    "as-it-is": {},
    "with-details": {"item_details": frozenset({"chunks", "removed"})},
    "near-duplicates-left-out": {"near_duplicate": "drop"},
    "no-near-duplicates": {"near_duplicate": "off"},
    "within-domains": {"near_duplicate_scope": "domain"},
    "trusted-titles": {"title_trust": "always"},
    "two-layers-in-the-shadow": {"shadow": frozenset({"chunk", "duplicate"})},
    "no-chunks": {"chunk_enabled": False},
    "no-addresses": {"url_enabled": False, "canonical_enabled": False},
    "one-language": {"languages": frozenset({"nl"})},
    "as-text": {"output": "text"},
    "as-html": {"output": "html"},
    "few-to-learn-from": {"learn_pages": 6},
}


@pytest.mark.parametrize("chosen", [pytest.param(value, id=name) for name, value in CASES.items()])
def test_a_batch_gives_what_clean_gives(chosen):
    batch = check(MIXED, 3, **chosen)

    assert batch.rows


def test_so_it_does_on_a_site_with_every_kind_of_repetition():
    batch = check(hospital(), 4, languages=frozenset({"nl"}))

    assert batch.left


def test_so_it_does_where_pages_may_stand_for_others():
    rows = [row for number, case in enumerate(STANDING.values()) for row in rows_of(case, f"https://s{number}.example")]

    check(rows, 4, **SETTINGS)


@pytest.mark.parametrize(("seed", "parts"), [(1, 1), (2, 9)])
def test_so_it_does_in_any_order_and_in_any_number_of_parts(seed, parts):
    rows = list(MIXED)
    Random(seed).shuffle(rows)

    check(rows, parts)


def test_a_site_that_the_store_knows_is_cut_by_that_and_not_learned():
    rows = [a_row(number) for number in range(8)]
    learned = ByHand(as_lines(rows))
    (known,) = [SiteKnowledge.from_json(json.loads(row[-1])) for row in learned.learned]

    batch = ByHand(as_lines(rows[:2]), known={known.domain: known}.get)

    assert [len(getattr(batch.plan, name)) for name in PLANS] == [1, 0, 0]
    assert [row["dedup"]["how"] for row in reports(batch)] == ["template", "template"]


def test_a_domain_that_cannot_be_learned_is_cut_by_the_fallback():
    batch = check([a_row(number, html="<p>" * 3) for number in range(6)], 2)

    assert {row["url"] for row in reports(batch)} <= {f"{SITE}{number}" for number in range(6)}

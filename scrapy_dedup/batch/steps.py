"""What executors do: find out which pages there are, learn sites, cut pages, and write what was decided beside others.

It knows neither Scrapy nor a database: a contract in setup.cfg holds that.
"""

import json
from collections.abc import Callable, Iterator
from heapq import heappush, heappushpop
from itertools import groupby
from operator import itemgetter
from typing import Any, ClassVar, Final

import pyarrow as pa
from msgspec import Struct
from msgspec import json as typed_json

from scrapy_dedup.batch import columns
from scrapy_dedup.batch.records import RecordSource, records
from scrapy_dedup.batch.shared_facts import PageTally, facts_json, keys_of, local_path, look_up
from scrapy_dedup.core.urls.normal_form import extract_domain, page_key
from scrapy_dedup.service.duplicates.chunking import across, chunks_report, makes_chunks, states_of
from scrapy_dedup.service.files.inputs_records import BadRecord, InputPage, in_lots
from scrapy_dedup.service.files.tasks import CleanedLine, Result, clean_records, named
from scrapy_dedup.service.policies import url_rules
from scrapy_dedup.service.templates.site_knowledge import RecentKnowledge, SiteKnowledge, learn_site
from scrapy_dedup.settings import Settings

# Of the smallest keys that one task holds; beyond it they go on, and more of them than needed come together.
_MOST_HELD: Final = 200_000


class _Step(Struct, frozen=True):
    """What an executor makes of the rows of one task: batches of so many rows with some columns."""

    made: ClassVar[str]
    at_once: ClassVar[int] = columns.SMALL_ROWS_AT_ONCE

    def __call__(self, batches: columns.Batches) -> columns.Made:
        """Return the rows of one task."""
        return columns.in_batches(self._rows(batches), self.made, self.at_once)

    def _rows(self, batches: columns.Batches) -> Iterator[columns.Row]:
        raise NotImplementedError


class SiteSurvey(_Step, frozen=True):
    """Tells which pages there are: domain, page key, place and size of each."""

    made: ClassVar[str] = columns.SURVEYED
    source: RecordSource

    def _rows(self, batches: columns.Batches) -> Iterator[columns.Row]:
        settings = self.source.settings
        rules = url_rules(settings)
        for place, record in records(batches, self.source):
            url = record.url(settings)
            domain = extract_domain(url, settings.domain_scope) if url is not None else None
            if url is not None and domain is not None:
                yield columns.raw(domain), page_key(url, rules), place, record.size


class Smallest(_Step, frozen=True):
    """Leaves of each domain's pages those with the smallest page keys of one task, and perhaps more."""

    made: ClassVar[str] = columns.SURVEYED
    most: int

    def _rows(self, batches: columns.Batches) -> Iterator[columns.Row]:
        heaps: dict[bytes, list[tuple[bytes, bytes, bytes, int]]] = {}
        held = 0
        for domain, key, place, size in columns.rows_of(batches):
            heap = heaps.setdefault(domain, [])
            # Turned, so that the largest key goes first.
            entry = (bytes(255 - value for value in key), key, place, size)
            if len(heap) < self.most:
                heappush(heap, entry)
                held += 1
            else:
                heappushpop(heap, entry)
            if held >= _MOST_HELD:
                yield from _entries(heaps)
                heaps, held = {}, 0
        yield from _entries(heaps)


def _entries(heaps: dict[bytes, list[tuple[bytes, bytes, bytes, int]]]) -> Iterator[columns.Row]:
    for domain, heap in heaps.items():
        for _, key, place, size in heap:
            yield domain, key, place, size


class SampleSources(_Step, frozen=True):
    """Gives the sources of the pages that sites are learned from.

    Attributes:
        file: of their places.
    """

    made: ClassVar[str] = columns.SOURCES
    at_once: ClassVar[int] = 1
    source: RecordSource
    file: str

    def _rows(self, batches: columns.Batches) -> Iterator[columns.Row]:
        settings, path = self.source.settings, local_path(self.file)
        rules = url_rules(settings)
        found = records(batches, self.source)
        for _, lot in in_lots(found, lambda one: one[1].size, columns.PAGES_AT_ONCE, columns.BYTES_AT_ONCE):
            chosen = look_up(path, [place for place, _ in lot])
            for place, record in lot:
                page = record.page(settings) if place in chosen else None
                if isinstance(page, InputPage) and page.pdf is None:
                    domain = extract_domain(page.url, settings.domain_scope) or ""
                    yield columns.raw(domain), page_key(page.url, rules), columns.raw(page.url), columns.raw(page.html)


class Learning(_Step, frozen=True):
    """Learns domains, whose pages come one after the other, by their keys."""

    made: ClassVar[str] = columns.LEARNED
    at_once: ClassVar[int] = 1
    settings: Settings

    def _rows(self, batches: columns.Batches) -> Iterator[columns.Row]:
        for domain, rows in groupby(columns.rows_of(batches), itemgetter(0)):
            # One page after the other is read, parsed and let go.
            pages = _Counted((columns.unraw(url), columns.unraw(html)) for _, _, url, html in rows)
            try:
                known = learn_site(columns.unraw(domain), pages, self.settings)
            except Exception as error:  # noqa: BLE001 (one domain must not end the others)
                for _ in pages:
                    pass
                yield domain, pages.count, 0, 0, columns.text_of(named(error)), None
                continue
            live = sum(one.state == "live" for one in known.templates.values())
            text = json.dumps(known.to_json())
            yield domain, pages.count, len(known.index.layouts), live, None, text


class _Counted(Iterator[tuple[str, str]]):
    """Pages, counted as they are read."""

    def __init__(self, pages: Iterator[tuple[str, str]]) -> None:
        self.count = 0
        self._pages = pages

    def __next__(self) -> tuple[str, str]:
        page = next(self._pages)
        self.count += 1
        return page


PAGE: Final = "page"
BAD: Final = "bad"
NO_PAGE: Final = "no_page"
NO_TEXT: Final = -1
"""In place of the number of characters: the page could not be read."""


class Cutting(_Step, frozen=True):
    """Cuts pages, and tells what of each others may have, too.

    Attributes:
        file: of what is known of each domain.
    """

    made: ClassVar[str] = columns.CUT
    at_once: ClassVar[int] = columns.PAGES_AT_ONCE
    source: RecordSource
    file: str

    def _rows(self, batches: columns.Batches) -> Iterator[columns.Row]:
        settings = self.source.settings
        known = KnowledgeFile(local_path(self.file))
        for place, record in records(batches, self.source):
            (result,) = clean_records((settings, known, [record]))
            yield _cut_row(place, result, settings)


def _cut_row(place: bytes, result: Result, settings: Settings) -> columns.Row:
    if not isinstance(result, CleanedLine):
        kind = BAD if isinstance(result, BadRecord) else NO_PAGE
        told = columns.text_of(f"{result.where}: {result.reason}")
        return kind, place, b"", 0, told, [], "", *[None] * 6
    facts, row, said = result.facts, result.row, {}
    alone = {"items/in": 1, "items/out": 1}
    if facts is not None:
        chunks = across(facts.chunks, {}, (), settings)
        alone |= chunks.counts()
        # Who keeps a page whole wants nothing of languages either.
        if settings.chunk_enabled if result.is_kept else makes_chunks(settings):
            said = {"chunks": chunks_report(chunks)}
    seconds = facts.watch if facts is not None else {}
    tally = PageTally(result.how, columns.text_of(result.flag), result.counts, alone, seconds, result.is_kept)
    texts = (columns.text_of(row[name]) for name in ("url", "cleaned_content", "title", "date", "author"))
    return (
        PAGE,
        place,
        columns.raw(facts.domain) if facts is not None else b"",
        len(facts.text) if facts is not None else NO_TEXT,
        typed_json.encode(tally).decode(),
        keys_of(result, settings),
        facts_json(result, settings),
        *texts,
        columns.json_of(row["dedup"] | said),
    )


class Packing(Struct, frozen=True):
    """Makes of each batch one value, so that the driver gets it as it is.

    Attributes:
        step: what is done first; two steps in one task of Spark would be two processes.
    """

    step: Callable[[columns.Batches], columns.Made] | None = None

    def __call__(self, batches: columns.Batches) -> columns.Made:
        """Return the rows of one task."""
        schema = columns.schema_of(columns.BLOB)
        for batch in self.step(batches) if self.step is not None else batches:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as stream:
                stream.write_batch(batch)
            yield columns.batch_of([(sink.getvalue().to_pybytes(),)], schema)


class Finishing(_Step, frozen=True):
    """Writes into pages what the others have of them; those that do not go out are not there.

    Attributes:
        file: of what was decided about pages that share something.
        details: which of them a page has whole.
    """

    made: ClassVar[str] = columns.PAGES
    at_once: ClassVar[int] = columns.PAGES_AT_ONCE
    file: str
    details: frozenset[str]

    def _rows(self, batches: columns.Batches) -> Iterator[columns.Row]:
        path = local_path(self.file)
        for batch in batches:
            rows = list(columns.rows_of([batch]))
            decided = look_up(path, [row[-1] for row in rows])
            for *row, report, place in rows:
                decision = json.loads(decided[place]) if place in decided else {}
                if "left" not in decision:
                    yield (*row, self._decided(report, decision), place)

    def _decided(self, report: str, decision: dict[str, Any]) -> str:
        """Return a page's report with what was decided about it."""
        found = json.loads(report)
        chunks = found.pop("chunks", None)
        if "near_duplicate" in decision:
            found["near_duplicate"] = decision["near_duplicate"]
        if chunks is not None:
            for position, layer, reason, holder in decision.get("chunks", ()):
                chunks[position] = _removed(chunks[position], layer, reason, holder)
            found["chunks"] = chunks if "chunks" in self.details else states_of(chunks)
        return columns.json_of(found)


_BEHIND: Final = ("language", "mixed")
_GIVEN: Final = ("text", "overlap", *_BEHIND)


def _removed(chunk: dict[str, Any], layer: str, reason: str, holder: str | None) -> dict[str, Any]:
    """Return the report of a chunk that went out, as that of one that does not."""
    found = {name: value for name, value in chunk.items() if name not in _GIVEN}
    found |= {"state": "removed", "layer": layer, "reason": reason}
    if holder is not None:
        found["holder"] = holder
    return found | {name: chunk[name] for name in _BEHIND if name in chunk}


class LeavingOut(_Step, frozen=True):
    """Tells which pages others stand for.

    Attributes:
        file: of what was decided about pages that share something.
    """

    made: ClassVar[str] = columns.LEFT_OUT
    file: str

    def _rows(self, batches: columns.Batches) -> Iterator[columns.Row]:
        path = local_path(self.file)
        for batch in batches:
            places = batch.column(0).to_pylist()
            decided = look_up(path, places)
            for place in places:
                left = json.loads(decided[place]).get("left") if place in decided else None
                if left is not None:
                    yield (*(columns.text_of(left[name]) for name in ("url", "layer", "reason", "keeper")), place)


class KnowledgeFile:
    """A lookup file of knowledge by domain; as `Shelf`, for those who did not put it there."""

    def __init__(self, path: str) -> None:
        """Take the file's path on this machine."""
        self._path = path
        self._recent = RecentKnowledge()

    def get(self, domain: str) -> SiteKnowledge | None:
        """Return what is known of a domain."""
        key = columns.raw(domain)
        return self._recent.get(domain, lambda: look_up(self._path, [key]).get(key))

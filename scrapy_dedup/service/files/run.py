"""Pages from files to cleaned pages, without a crawl: survey the domains, learn each, cut every page."""

import dataclasses
import gc
import os
import signal
import tempfile
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import chain
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from operator import attrgetter
from typing import Any, Final, Protocol, Self, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from scrapy_dedup.core.duplicates import NEAR_DUPLICATE, NO_FIELDS, PageEvidence, proves, proves_near
from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.urls.canonical import Alias
from scrapy_dedup.core.urls.normal_form import extract_domain, page_key
from scrapy_dedup.service.crawl.drafts import place_among_others
from scrapy_dedup.service.crawl.start_check import keeping_all, marking_all
from scrapy_dedup.service.duplicates.chunking import PageChunks, chunks_report
from scrapy_dedup.service.duplicates.index import DuplicateIndex, PageComparison
from scrapy_dedup.service.duplicates.page_facts import Aliases, Duplicate, PageFacts
from scrapy_dedup.service.files import tasks
from scrapy_dedup.service.files.inputs import FileRecord, Inputs, LineRecord
from scrapy_dedup.service.files.inputs_records import BadRecord, Found, InputPage, NoPage, in_lots
from scrapy_dedup.service.policies import canonical_policy, url_rules
from scrapy_dedup.service.templates.site_knowledge import FEWEST_PAGES, SiteKnowledge
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import DocumentRecord, KeepPolicy, Record, SourceRecord
from scrapy_dedup.store.scratch import DomainPages, Samples, ShownPages
from scrapy_dedup.store.store import Store

_ROWS_AT_ONCE: Final = 500
# Document, source, signature, chunks.
_ROWS_A_PAGE: Final = 4
# Nobody asks when: the store is gone with the run.
_AT: Final = datetime(2000, 1, 1, tzinfo=UTC)


class PlacedPage(Struct, frozen=True):
    """What became of a page.

    Attributes:
        rows: that go out; its chunks, where they go out by themselves, before it.
        left: why none does: url, layer, reason, and keeper, the URL of the page that stands for it.
    """

    rows: list[dict[str, Any]]
    left: dict[str, Any] | None = None


class RunOthers:
    """What went out of a run so far, in files that last as long as the run does; any number of pages."""

    def __init__(self, settings: Settings, folder: str, known: tasks.KnownDomains) -> None:
        """Begin with no page.

        The store lies in *folder*, which is the run's own.
        """
        self._settings = settings
        self._known = known
        # No row of it must outlive a crash.
        self._store = Store.open(f"sqlite:///{folder}/others.db")
        self._project = self._store.project("clean", KeepPolicy(decisions=0))
        self._shown = ShownPages()
        self._index = DuplicateIndex(self._project, is_alone=True)
        self._aliases = Aliases()
        self._rules = url_rules(settings)
        self._policy = canonical_policy(settings)
        self._rows: list[Record] = []
        self._unshared = 0
        """Rows that pages which share nothing would have had, were they written."""

    def close(self) -> None:
        """Let go of the files."""
        self._store.close()
        self._shown.close()

    def place(self, line: tasks.CleanedLine, counts: Counter[str]) -> PlacedPage:
        """Return what goes out of a page, or why nothing does, and count what became of it."""
        counts["items/in"] += 1
        facts = line.facts
        if facts is None:
            counts["items/out"] += 1
            return PlacedPage([line.row])
        settings = keeping_all(self._settings) if line.is_kept else self._settings
        duplicate = self._by_address(line, facts, counts) if not line.is_kept else None
        found = duplicate or self._compared(line, facts, settings, counts)
        self._write_at_times()
        if isinstance(found, PageComparison):
            self._meet(line, facts, line.evidence)
            counts["items/out"] += 1
            row = line.row | {"dedup": line.row["dedup"] | place_among_others(found, settings)}
            named = {"url": row["url"], "page_key": facts.page_key.hex(), "title": row["title"]}
            chunks = [named | one for one in chunks_report(found.chunks)] if settings.emit_chunks else []
            return PlacedPage([*chunks, row])
        if found.layer != "url":
            self._meet(line, facts, None)
        counts[f"{found.layer}/dropped"] += 1
        counts["items/dropped"] += 1
        keeper, _ = self._of(found.document_key)
        return PlacedPage([], {"url": line.row["url"], "layer": found.layer, "reason": found.reason, "keeper": keeper})

    def pass_by(self, key: bytes, domain: str, chars: int, *, is_kept: bool) -> None:
        """Let a page go out that shares nothing with any other: no address, title, text, sketch or chunk.

        All that it does to others is to take its place among the recent pages, so that each of these is looked for in
        memory or in the store as if nothing had been known of it before.

        *key* tells it from all other pages; *chars* are those of its words; *is_kept*: somebody decided that it stays
        as it is.
        """
        if self._settings.canonical_enabled and not is_kept:
            self._aliases.pages[domain] += 1
        stand_in = PageFacts(key, domain, None, key, "", " " * chars)
        self._index.admit(stand_in, None, PageChunks(), dropped=False)
        self._unshared += _ROWS_A_PAGE
        self._write_at_times()

    def _by_address(self, line: tasks.CleanedLine, facts: PageFacts, counts: Counter[str]) -> Duplicate | None:
        """Return what stands for a page by its address; None: its text has to say more."""
        settings, key = self._settings, facts.page_key
        if settings.url_enabled and self._of(key)[0] is not None:
            if "url" in settings.acting:
                return Duplicate("a page of this run", key, "url")
            counts["shadow/url/items"] += 1
        return self._alias(line, facts, counts) if settings.canonical_enabled else None

    def _alias(self, line: tasks.CleanedLine, facts: PageFacts, counts: Counter[str]) -> Duplicate | None:
        """Return the page that went out whose other address one is, or the same page's; as in a crawl."""
        aliases, key, acts, target = self._aliases, facts.page_key, "canonical" in self._settings.acting, None
        if line.canonical is None:
            aliases.pages[facts.domain] += 1
        else:
            judged = aliases.judge_declaration(line.canonical, key, facts.domain, self._policy, self._rules)
            target = judged.target if isinstance(judged, Alias) else None
        candidates = aliases.candidates(key, target)
        for one in candidates:
            if self._is_proven(line, facts, one):
                if target is not None:
                    aliases.stand(target.page_key, one.document_key)
                if acts:
                    return one
                counts["shadow/canonical/items"] += 1
                return None
        if candidates:
            counts["canonical/unproven"] += 1
        if acts:
            has_come = target is not None and self._of(target.page_key)[0] is not None
            aliases.go_out(key, None if has_come else target)
        return None

    def _compared(
        self, line: tasks.CleanedLine, facts: PageFacts, settings: Settings, counts: Counter[str]
    ) -> Duplicate | PageComparison:
        """Return what stands for a page by its title or its text, or what else came of it beside the others."""
        key, url, domain = facts.page_key, line.row["url"], facts.domain
        found = self._index.ask(facts, settings)
        comparison = self._index.compare(facts, found, settings)
        counts.update(comparison.counts())
        duplicate = None
        if comparison.dropped and (same := comparison.same) is not None:
            # Of several pages with one text that a cut left, any may be the page's equal.
            others = [*self._index.with_text(key, domain, facts.text_hash, settings), *found.texts]
            keepers = (Duplicate(same.reason, key, same.layer) for key in dict.fromkeys([same.keeper, *others]))
            duplicate = next((one for one in keepers if self._is_proven(line, facts, one)), None)
            if duplicate is None:
                counts[f"{same.layer}/unproven"] += 1
                comparison = self._index.compare(facts, found, marking_all(settings))
                counts.update(comparison.counts())
        self._rows += [
            DocumentRecord(key, url, domain, "completed", _AT),
            SourceRecord(key, url, domain, "html", "", _AT, cleaned_content=line.row["cleaned_content"]),
            *comparison.knowledge(settings),
        ]
        return duplicate or comparison

    def _is_proven(self, line: tasks.CleanedLine, facts: PageFacts, duplicate: Duplicate) -> bool:
        """Say whether nothing is lost with a page: one that went out has its text."""
        own, (_, other) = line.evidence, self._of(duplicate.document_key)
        if own is None or other is None:
            return False
        site = tasks.site_seen(self._known, facts.domain, self._settings)
        if proves(own, other, NO_FIELDS, line.own_words, site):
            return True
        return duplicate.layer == NEAR_DUPLICATE and proves_near(own, other, NO_FIELDS)

    def _meet(self, line: tasks.CleanedLine, facts: PageFacts, evidence: PageEvidence | None) -> None:
        """Note that a page came; with its evidence, that it went out."""
        self._shown.put(facts.page_key, line.row["url"], evidence.pack() if evidence is not None else None)

    def _of(self, key: bytes) -> tuple[str | None, PageEvidence | None]:
        """Return a page's URL, None where it has not come, and what it shows, where it went out."""
        url, packed = self._shown.of(key)
        return url, PageEvidence.unpack(packed) if packed is not None else None

    def _write_at_times(self) -> None:
        if len(self._rows) + self._unshared >= _ROWS_AT_ONCE:
            self._project.write(self._rows)
            self._rows.clear()
            self._unshared = 0


PASSES: Final = 2
"""So often `CleaningWatcher.advance` is told of all bytes: while domains are surveyed, and while pages are cut."""

_LOT_BYTES: Final = 1_000_000
_LOT_RECORDS: Final = 64
# More than that, and than half of all, is no damage: it is another kind of file.
_MOST_BAD: Final = 100_000

Given = TypeVar("Given")
Result = TypeVar("Result")

_MOST_BYTES_IN_FLIGHT: Final = 16_000_000
_LOTS_A_WORKER: Final = 3


class BadInputError(DedupError):
    """A record is bad, and the run was to be strict; or most are."""


class CleaningWatcher(Protocol):
    """Is told how a run goes on."""

    def phase(self, name: str) -> None:
        """Take note of what is done from now on."""

    def advance(self, some: int) -> None:
        """Take note of so many bytes more."""

    def complain(self, bad: BadRecord) -> None:
        """Take note of a record that is passed over."""

    def left_out(self, left: Mapping[str, Any]) -> None:
        """Take note of a page that another one stands for: url, layer, reason, keeper (the other's URL)."""


class CleaningTally(Struct):
    """What became of what was read.

    Attributes:
        bad: records that were passed over.
        no_page: records that are no pages.
        hows: cleaned pages by what cut them.
        counts: what each layer did, by the names of a crawl's stats without `dedup/`.
        flags: cleaned pages by why they were not cut as they should.
    """

    pages: int = 0
    bad: int = 0
    no_page: int = 0
    hows: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    flags: Counter[str] = field(default_factory=Counter)

    def add(self, how: str, flag: str | None, counts: Mapping[str, int]) -> None:
        """Count a page that goes out."""
        self.pages += 1
        self.counts.update(counts)
        self.hows[how] += 1
        if flag is not None:
            self.flags[flag] += 1


class CleaningPlan(Struct, frozen=True):
    """What is to be learned.

    Attributes:
        known: domains that the store knows; they are cut by what it knows.
        learned: domains that are learned from their own pages.
        small: domains with too few pages; they are cut by the fallback.
    """

    known: list[DomainPages] = field(default_factory=list)
    learned: list[DomainPages] = field(default_factory=list)
    small: list[DomainPages] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        domains: Iterable[DomainPages],
        known: Callable[[str], SiteKnowledge | None],
        keep: Callable[[SiteKnowledge], None],
    ) -> Self:
        """Return what becomes of each domain; *keep* takes what the store knows."""
        plan = cls()
        for one in domains:
            knowledge = known(one.domain)
            if knowledge is not None:
                keep(knowledge)
                plan.known.append(one)
            else:
                (plan.small if one.pages < FEWEST_PAGES else plan.learned).append(one)
        return plan

    @property
    def pages(self) -> int:
        """How many pages all domains have."""
        return sum(one.pages for one in chain(self.known, self.learned, self.small))


class CleaningRun:
    """One run: `survey`, then `learn`, then `lines`. Closing it removes what it kept on disk.

    Memory does not grow with the pages or the domains: what is chosen to be learned from waits on disk, one domain of
    it is in memory for each process.
    """

    def __init__(
        self, inputs: Inputs, settings: Settings, watcher: CleaningWatcher, *, jobs: int = 1, strict: bool = False
    ) -> None:
        """Begin; so many processes do the work, or this one."""
        self.tally = CleaningTally()
        self._inputs = inputs
        self._watcher = watcher
        self._strict = strict
        self._end = ExitStack()
        self._samples = self._end.enter_context(Samples())
        folder = self._end.enter_context(tempfile.TemporaryDirectory(prefix="scrapy-dedup-"))
        # A class of the user's might not find its way to other processes, and nobody asks for it there.
        self._settings = dataclasses.replace(settings, fallback_request_fingerprinter_class=None)
        self._shelf = tasks.Shelf(folder)
        self._index = RunOthers(self._settings, folder, self._shelf)
        self._end.callback(self._index.close)
        self._workers = self._end.enter_context(Workers(jobs))

    def survey(self, known: Callable[[str], SiteKnowledge | None]) -> CleaningPlan:
        """Read all records, and choose what each domain is learned from.

        *known* returns what the store knows of a domain; None where that is nothing to cut pages by.

        Raises:
            BadInputError: there is a bad record, and the run is strict; or there are more of them than pages.
        """
        self._watcher.phase("surveying")
        rules = url_rules(self._settings)
        pages = bad = 0
        for place, record in enumerate(self._records()):
            url = self._url(record)
            domain = extract_domain(url, self._settings.domain_scope) if url is not None else None
            if url is not None and domain is not None:
                pages += record.size > 0
                self._samples.add(domain, page_key(url, rules), place, record.size)
            # Whether one without a URL is a page or not is told later: in an archive most are none.
            is_none = isinstance(record, LineRecord | FileRecord) and (domain is None or record.size == 0)
            bad += is_none or isinstance(record, BadRecord)
            if bad > max(pages, _MOST_BAD):
                told = f"up to here {bad:,} records cannot be read, and {pages:,} are pages"
                raise BadInputError(f"{record.where}: {told}: is this what you meant to clean?")
        plan = CleaningPlan.of(self._samples.domains(), known, self._shelf.put)
        for place, one in enumerate(plan.learned):
            plan.learned[place] = replace(one, sampled=self._samples.choose(one.domain, self._settings.learn_pages))
        return plan

    def learn(self) -> Iterator[tasks.Learned]:
        """Learn the domains that were chosen, by name; yield what became of each."""
        self._watcher.phase("learning")
        self._set_aside()
        lots = (
            (sum(len(html) for _, html in pages), (self._settings, self._shelf, domain, pages))
            for domain, pages in self._samples.sources()
        )
        yield from self._workers.in_order(tasks.learn_domain, lots)

    def lines(self) -> Iterator[bytes]:
        """Yield one line a page, in the order of the input, and count them.

        Raises:
            BadInputError: there is a bad record, and the run is strict.
        """
        self._watcher.phase("cleaning")
        sized = in_lots(self._records(), attrgetter("size"), _LOT_RECORDS, _LOT_BYTES)
        lots = ((size, (self._settings, self._shelf, lot)) for size, lot in sized)
        for result in chain.from_iterable(self._workers.in_order(tasks.clean_records, lots)):
            if isinstance(result, tasks.CleanedLine):
                yield from map(tasks.as_json, self._placed(result))
            elif isinstance(result, NoPage):
                self.tally.no_page += 1
            else:
                self._refuse_if_strict(result)
                self.tally.bad += 1
                self._watcher.complain(result)

    def _placed(self, line: tasks.CleanedLine) -> list[dict[str, Any]]:
        """Return the rows of a page that goes out; of pages that do not, how they were cut is not counted."""
        placed = self._index.place(line, self.tally.counts)
        if placed.left is not None:
            self._watcher.left_out(placed.left)
            return []
        self.tally.add(line.how, line.flag, line.counts)
        return placed.rows

    def knowledge(self, domain: str) -> SiteKnowledge | None:
        """Return what was learned of a domain."""
        return self._shelf.get(domain)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._end.close()

    def _records(self) -> Iterator[Found]:
        return self._inputs.records(self._settings, self._watcher.advance)

    def _url(self, record: Found) -> str | None:
        """Return a record's URL, None where it has no page."""
        url = record.url(self._settings)
        if url is None and self._strict:
            self._refuse_if_strict(record.page(self._settings))
        return url

    def _refuse_if_strict(self, found: InputPage | BadRecord | NoPage) -> None:
        if self._strict and isinstance(found, BadRecord):
            raise BadInputError(f"{found.where}: {found.reason}")

    def _set_aside(self) -> None:
        """Put the sources of the chosen pages where they can be read domain by domain."""
        chosen = self._samples.chosen()
        following = next(chosen, None)
        if following is None:
            return
        for place, record in enumerate(self._inputs.records(self._settings, lambda _: None)):
            if place != following[0]:
                continue
            page = record.page(self._settings)
            if isinstance(page, InputPage) and page.pdf is None:
                self._samples.put(following[1], following[2], page.url, page.html)
            following = next(chosen, None)
            if following is None:
                return


class WorkerError(DedupError):
    """A process died."""


class Workers:
    """So many processes; one: this process itself."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._pool = (
            # Forked children would share our files and threads.
            ProcessPoolExecutor(jobs, get_context("spawn"), _begin, (gc.get_threshold(),)) if jobs > 1 else None
        )

    def in_order(self, task: Callable[[Given], Result], lots: Iterable[tuple[int, Given]]) -> Iterator[Result]:
        """Yield what a task gives for each lot, in the order of the lots.

        The *task* is a function that other processes can import. The *lots*, each with its size in bytes, are drawn as
        they are worked on, so that 16 MB of them are in flight at most, or one that is larger.

        Raises:
            WorkerError: a process was ended by the system.
        """
        if self._pool is None:
            for _, lot in lots:
                yield task(lot)
            return
        waiting: deque[tuple[int, Future[Result]]] = deque()
        in_flight = 0
        try:
            for size, lot in lots:
                while waiting and (
                    in_flight + size > _MOST_BYTES_IN_FLIGHT or len(waiting) >= _LOTS_A_WORKER * self._jobs
                ):
                    done, future = waiting.popleft()
                    in_flight -= done
                    yield future.result()
                waiting.append((size, self._pool.submit(task, lot)))
                in_flight += size
            while waiting:
                yield waiting.popleft()[1].result()
        except BrokenProcessPool as error:
            raise WorkerError(
                "a worker process was ended by the system, as a rule for want of memory: use fewer --jobs"
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)


def _begin(thresholds: tuple[int, int, int]) -> None:
    """Prepare a worker: interrupts are for the parent; it collects garbage as rarely, and must not outlive it."""
    gc.freeze()
    gc.set_threshold(*thresholds)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    wait([parent.sentinel])
    # No cleaning up: whoever would read what we are writing is gone.
    os._exit(1)

"""An exported cache, read back: what fits is taken, what does not is told and done again by the next crawl."""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.service import cache_index
from scrapy_dedup.service.cache_files import (
    EXTRACTION_FILE,
    EXTRACTIONS,
    INDEX,
    KNOWLEDGE,
    AlteredFileError,
    CacheFileError,
    MissingFileError,
    Scratch,
    check_folder,
    extraction_file,
    from_bytes,
    read_bytes,
)
from scrapy_dedup.service.cache_index import Entry
from scrapy_dedup.service.cache_knowledge import Learned, WrongFact, read_knowledge
from scrapy_dedup.service.cache_pages import PageFile, read_page
from scrapy_dedup.service.cache_values import WrongValueError
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.cache_reads import CacheReads
from scrapy_dedup.store.records import CrawledUrlRecord, Record, ValidatorRecord
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore

Progress = Callable[[int], None]
"""Is told of so many more files."""

_PAGES_AT_ONCE: Final = 50
_CHARS_AT_ONCE: Final = 20_000_000
_URLS_AT_ONCE: Final = 1_000
_MOST_TOLD: Final = 200


class NoCacheError(DedupError):
    """There is nothing to import; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is not imported, and why.

    Attributes:
        where: the file in the tree.
        url: that it is about, as far as it is known.
    """

    where: str
    reason: str
    url: str = ""


@dataclass(slots=True)
class Import:
    """What was imported, or would be.

    Attributes:
        pages: whose state was taken over.
        extractions: that were taken over, those of pages whose state the store had among them.
        urls: that are no pages of their own, such as aliases, and were not known.
        domains: whose knowledge was taken over.
        pages_held: that the store has in this or a newer state.
        index_rebuilt: why the index was made anew from the extraction files; None: it is sound.
        problems_by_kind: how many there are: `missing`, `altered`, `unreadable`, `other_page` (its file holds
            another URL), `fact` (a line of the knowledge).
        problems: the first of them.
        files_left: extraction files that a sound index does not name.
    """

    pages: int = 0
    extractions: int = 0
    urls: int = 0
    domains: int = 0
    pages_held: int = 0
    index_rebuilt: str | None = None
    problems_by_kind: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)
    files_left: int = 0

    def tell(self, kind: str, problem: Problem) -> None:
        """Note a problem."""
        self.problems_by_kind[kind] += 1
        if len(self.problems) < _MOST_TOLD:
            self.problems.append(problem)


def count_files(folder: Path) -> int:
    """Return how many extraction files there are."""
    return sum(1 for _ in _names(folder))


def import_cache(
    store: Store,
    project: ProjectStore,
    folder: Path,
    settings: Settings,
    progress: Progress = lambda _files: None,
    *,
    dry_run: bool,
) -> Import:
    """Read an exported cache into a project. What the store has in a newer state stays; a second time changes nothing.

    Without a sound index all extraction files count; with one, those that it names. The URL inside of a file decides
    whose page it is.

    Raises:
        NoCacheError: the folder holds none.
        StoreError: the store failed; what was written before is whole pages.
    """
    run = _Run(store, project, folder, settings, dry_run=dry_run)
    try:
        entries = run.entries()
    except CacheFileError as error:
        advice = "name the folder that `scrapy dedup cache export` wrote"
        raise NoCacheError(f"{folder} holds no exported cache ({INDEX} {error}): {advice}") from error
    # First: a page's own row of its URL is only made up where the knowledge has none.
    run.take_knowledge()
    with Scratch() as scratch:
        for entry in entries:
            run.take(entry, scratch)
            progress(1)
    run.write_pages()
    run.done.files_left = max(0, count_files(folder) - run.named)
    return run.done


@dataclass(slots=True)
class _Run:
    """One import under way."""

    store: Store
    project: ProjectStore
    folder: Path
    settings: Settings
    dry_run: bool = field(kw_only=True)
    done: Import = field(default_factory=Import)
    waiting: dict[bytes, PageFile] = field(default_factory=dict)
    chars: int = 0
    named: int = 0

    def entries(self) -> Iterator[Entry]:
        """Return what the index names; without a sound index, what there is."""
        check_folder(self.folder / EXTRACTIONS)
        try:
            cache_index.check_index(self.folder / INDEX)
        except CacheFileError as error:
            if not (self.folder / EXTRACTIONS).is_dir():
                raise
            self.done.index_rebuilt = f"{INDEX} {error}"
            return (Entry("", "", extraction_file(stem)) for stem in _names(self.folder))
        return cache_index.read_index(self.folder / INDEX)

    def take(self, entry: Entry, scratch: Scratch) -> None:
        """Read the file of an entry."""
        name = EXTRACTION_FILE.fullmatch(entry.extraction_file)
        if name is None:
            self._tell("unreadable", entry, f"{INDEX} names no file of {EXTRACTIONS}/")
            return
        inside = scratch.get(name[0])
        try:
            page = None if inside is not None else self._read(entry, name[0])
        except MissingFileError as error:
            self._tell("missing", entry, f"{error}: its entry is dropped")
            return
        except (CacheFileError, WrongValueError) as error:
            kind = "altered" if isinstance(error, AlteredFileError) else "unreadable"
            self._tell(kind, entry, f"{error}; its page is done again")
            self.named += 1
            return
        if page is not None:
            inside = page.document.url
            scratch.put([(name[0], inside)])
            self.named += 1
            self._add(page)
        if entry.url not in ("", inside):
            self._tell("other_page", entry, f"holds the page {inside}: the entry is dropped")

    def _read(self, entry: Entry, name: str) -> PageFile:
        held = from_bytes(read_bytes(self.folder / name), sealed=True)
        page = read_page(held, self.settings)
        if entry.url == page.document.url and entry.content_hash != held["content_hash"]:
            raise AlteredFileError(f"does not fit the content_hash in {INDEX}")
        return page

    def _tell(self, kind: str, entry: Entry, reason: str) -> None:
        self.done.tell(kind, Problem(entry.extraction_file[:200], reason, entry.url))

    def _add(self, page: PageFile) -> None:
        key = page.document.page_key
        held = self.waiting.get(key)
        if held is not None and _seen_at(held) >= _seen_at(page):
            self.done.pages_held += 1
            return
        self.waiting[key] = page
        self.chars += len(page.source.content) if page.source else 0
        if len(self.waiting) >= _PAGES_AT_ONCE or self.chars >= _CHARS_AT_ONCE:
            self.write_pages()

    def write_pages(self) -> None:
        """Write the pages that wait, in one transaction."""
        keys = list(self.waiting)
        with self.store.session(read_only=True) as session:
            reads = CacheReads(session, self.project.id)
            standings, urls = reads.standings(keys), reads.urls_by_key(keys)
        states = self.project.page_states(keys)
        records: list[Record] = []
        for key, page in self.waiting.items():
            standing, state = standings.get(key), states.get(key)
            in_work = standing is not None and standing.status == "processing"
            if standing is None or (not in_work and (state is None or state.last_seen_at < _seen_at(page))):
                records += page.records()
                records += [] if key in urls else [page.url]
                self.done.pages += 1
                self.done.extractions += len(page.extractions)
                continue
            self.done.pages_held += 1
            if state is not None and state.last_seen_at == _seen_at(page):
                missing = [one for one in page.extractions if one.memo_key not in state.memo_keys]
                records += missing
                self.done.extractions += len(missing)
        self._write(records)
        self.waiting.clear()
        self.chars = 0

    def take_knowledge(self) -> None:
        """Read what is known of domains and URLs."""
        urls: dict[bytes, CrawledUrlRecord] = {}
        try:
            for fact in read_knowledge(self.folder / KNOWLEDGE, self.settings):
                if isinstance(fact, WrongFact):
                    self.done.tell("fact", Problem(f"{KNOWLEDGE}, line {fact.line}", fact.reason))
                elif isinstance(fact, CrawledUrlRecord):
                    urls[fact.page_key] = fact
                else:
                    self._take_domain(fact)
                if len(urls) >= _URLS_AT_ONCE:
                    self._take_urls(urls)
        except CacheFileError as error:
            self.done.tell("fact", Problem(KNOWLEDGE, f"{error}: domains are learned anew"))
        self._take_urls(urls)

    def _take_domain(self, fact: Learned | ValidatorRecord) -> None:
        """Take what is known of a domain, unless the store knows it better."""
        if isinstance(fact, ValidatorRecord):
            if self.project.validator_counts(fact.domain) == ValidatorRecord(fact.domain):
                self._write([fact])
            return
        held = self.project.knowledge(fact.record.domain).get(fact.record.method)
        if held is None or held.updated_at < fact.updated_at:
            self._write([fact.record])
            self.done.domains += 1

    def _take_urls(self, urls: dict[bytes, CrawledUrlRecord]) -> None:
        with self.store.session(read_only=True) as session:
            held = CacheReads(session, self.project.id).urls_by_key(urls)
        newer = [record for key, record in urls.items() if key not in held or held[key] < record.last_crawled_at]
        self._write(list(newer))
        self.done.urls += sum(record.page_key not in held for record in newer if record.document_key != record.page_key)
        urls.clear()

    def _write(self, records: list[Record]) -> None:
        if records and not self.dry_run:
            self.project.write(records)


def _seen_at(page: PageFile) -> datetime:
    seen_at = page.document.last_seen_at
    assert seen_at is not None  # `read_page` sees to that
    return seen_at


def _names(folder: Path) -> Iterator[str]:
    """Iterate over the names of the extraction files there are."""
    if not (folder / EXTRACTIONS).is_dir():
        return
    with os.scandir(folder / EXTRACTIONS) as found:
        for each in found:
            name = EXTRACTION_FILE.fullmatch(f"{EXTRACTIONS}/{each.name}")
            if name:
                yield name[1]

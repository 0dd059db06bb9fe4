"""The cache as a tree of files: the index, and of each page its extraction and its metadata."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.service import cache_index
from scrapy_dedup.service.cache_files import (
    EXTRACTION_FILE,
    EXTRACTIONS,
    INDEX,
    KNOWLEDGE,
    MAX_FILE_BYTES,
    METADATA,
    NAME_DIGITS,
    CacheFileError,
    MissingFileError,
    Scratch,
    check_folder,
    extraction_file,
    metadata_file,
    sync_folder,
    to_bytes,
    write_file,
)
from scrapy_dedup.service.cache_index import IndexWriter, url_record
from scrapy_dedup.service.cache_knowledge import read_owner, write_knowledge
from scrapy_dedup.service.cache_pages import extraction_of, metadata_of
from scrapy_dedup.store.cache_reads import CacheReads, PackedPage
from scrapy_dedup.store.errors import DamagedError
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore

Progress = Callable[[int], None]
"""Is told of so many more pages."""

_PAGES_AT_ONCE: Final = 10
_ROWS_AT_ONCE: Final = 5_000
_MOST_LEFT_OUT: Final = 100


class ExportError(DedupError):
    """The folder cannot be written to; the message says what to do."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A page that is not in the export, and why."""

    url: str
    reason: str


@dataclass(frozen=True, slots=True)
class Export:
    """What was written.

    Attributes:
        pages: in the index.
        files_written: of the pages; the others were as they should be.
        files_removed: of pages that are no longer there.
        pages_left_out: damaged, or too large.
        left_out: the first of them.
    """

    folder: Path
    pages: int
    files_written: int
    files_removed: int
    pages_left_out: int
    left_out: tuple[LeftOut, ...]


def count_pages(store: Store, project: ProjectStore) -> int:
    """Return how many pages an export has.

    Raises:
        StoreError: the store failed.
    """
    with store.session(read_only=True) as session:
        return CacheReads(session, project.id).count_pages()


def iterate_pages(store: Store, project: ProjectStore) -> Iterator[PackedPage]:
    """Iterate over the pages that have been seen, in the order of their keys, some in memory at a time."""
    after: bytes | None = None
    while True:
        with store.session(read_only=True) as session:
            some = CacheReads(session, project.id).pages(after, _PAGES_AT_ONCE)
        if not some:
            return
        yield from some
        after = some[-1].document.page_key


def export_cache(
    store: Store,
    project: ProjectStore,
    folder: Path,
    progress: Progress = lambda _pages: None,
    *,
    name_digits: int = NAME_DIGITS,
    most_bytes: int = MAX_FILE_BYTES,
) -> Export:
    """Write a project's cache into a folder: a new one, an empty one, or one with an older export of the project.

    Each file is there whole or as it was before; what the older export had and the project no longer has is removed
    when all else is written.

    Args:
        store: to read.
        project: to export.
        folder: where to.
        progress: is told of pages.
        name_digits: of a URL's hash, in the names of its files.
        most_bytes: of a file; a page that needs a larger one is left out, for it could not be read again.

    Raises:
        ExportError: the folder holds something else.
        StoreError: the store failed.
        OSError: a file cannot be written.
    """
    _prepare(folder, project.name)
    with Scratch() as scratch:
        write_knowledge(store, project, folder / KNOWLEDGE)
        _remember_reasons(store, project, scratch)
        run = _Run(folder, scratch, name_digits, most_bytes)
        with cache_index.writing(folder / INDEX) as index:
            for page in iterate_pages(store, project):
                run.add(page, index)
                progress(1)
            stale = run.stale()
        removed = _remove(folder, stale)
    for name in (EXTRACTIONS, METADATA, ""):
        sync_folder(folder / name)
    return Export(folder, run.pages, run.files_written, removed, run.pages_left_out, tuple(run.left_out))


def _prepare(folder: Path, project: str) -> None:
    """Make the folders, unless something stands there that is none of ours."""
    advice = "name an empty folder, a new one, or one that `scrapy dedup cache export` wrote before"
    try:
        if folder.exists() and not folder.is_dir():
            raise ExportError(f"{folder} is a file: {advice}")
        if folder.is_dir() and any(folder.iterdir()):
            if not (folder / INDEX).is_file():
                raise ExportError(f"{folder} is not empty and holds no {INDEX}: {advice}")
            _check_owner(folder, project, advice)
        for part in (EXTRACTIONS, METADATA):
            check_folder(folder / part)
            (folder / part).mkdir(parents=True, exist_ok=True)
        if not (folder / INDEX).exists():
            # A killed export is known by it, so that the next one may go on in this folder.
            write_file(folder / INDEX, b"{}\n")
    except CacheFileError as error:
        raise ExportError(str(error)) from error


def _check_owner(folder: Path, project: str, advice: str) -> None:
    """Refuse an index of another project, or of another program."""
    try:
        owner = read_owner(folder / KNOWLEDGE)
    except MissingFileError as error:
        # So a killed export leaves its folder.
        if cache_index.is_empty(folder / INDEX):
            return
        unknown = f"{folder} holds an {INDEX} and no {KNOWLEDGE}"
        raise ExportError(f"{unknown}, so it is not known whose it is: {advice}") from error
    except CacheFileError as error:
        raise ExportError(f"{folder / KNOWLEDGE} {error}, so it is not known whose it is: {advice}") from error
    if owner != project:
        raise ExportError(f"{folder} holds an export of project {owner!r}, not of {project!r}: {advice}")


def _remember_reasons(store: Store, project: ProjectStore, scratch: Scratch) -> None:
    """Remember the reason of each page's last verdict: visits cannot be found by page."""
    after = None
    while True:
        with store.session(read_only=True) as session:
            some = CacheReads(session, project.id).reasons(after, _ROWS_AT_ONCE)
        if not some:
            return
        scratch.put((key, reason) for *_, key, reason in some)
        after = some[-1][:2]


@dataclass(slots=True)
class _Run:
    """One export under way."""

    folder: Path
    scratch: Scratch
    digits: int
    most_bytes: int
    pages: int = 0
    files_written: int = 0
    pages_left_out: int = 0
    left_out: list[LeftOut] = field(default_factory=list)

    def add(self, page: PackedPage, index: IndexWriter) -> None:
        """Write the files of a page, and its line."""
        url = page.document.url
        try:
            held = extraction_of(page)
            metadata = metadata_of(page, self.scratch.get(page.document.page_key))
        except DamagedError as error:
            self._leave_out(url, f"{error}; `scrapy dedup cache verify --fix` has the page done again")
            return
        content = to_bytes(held, sealed=True)
        if len(content) > self.most_bytes:
            self._leave_out(url, f"its file would be larger than {self.most_bytes:,} bytes")
            return
        stem = self.scratch.stem(url, self.digits)
        self.scratch.put([(_written(stem), "")])
        self.files_written += write_file(self.folder / extraction_file(stem), content)
        self.files_written += write_file(self.folder / metadata_file(stem), to_bytes(metadata))
        index.add(url, url_record(url, held["content_hash"], held["extraction_timestamp"], stem))
        self.pages += 1

    def _leave_out(self, url: str, reason: str) -> None:
        self.pages_left_out += 1
        if len(self.left_out) < _MOST_LEFT_OUT:
            self.left_out.append(LeftOut(url, reason))

    def stale(self) -> list[str]:
        """Return the names that the older export's index has, and this one has not."""
        return [stem for stem in _old_names(self.folder) if self.scratch.get(_written(stem)) is None]


def _written(stem: str) -> str:
    return f"written {stem}"


def _old_names(folder: Path) -> Iterator[str]:
    """Iterate over the names of an older export's files, as far as its index is sound."""
    try:
        for entry in cache_index.read_index(folder / INDEX):
            name = EXTRACTION_FILE.fullmatch(entry.extraction_file)
            if name:
                yield name[1]
    except CacheFileError:
        return


def _remove(folder: Path, stems: list[str]) -> int:
    removed = 0
    for stem in stems:
        for path in (folder / extraction_file(stem), folder / metadata_file(stem)):
            if path.is_file() or path.is_symlink():
                path.unlink()
                removed += 1
    return removed

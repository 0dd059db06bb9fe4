"""Backups are written while crawls go on, and restored at once or not at all."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path

from scrapy_dedup.service.projects import list_projects
from scrapy_dedup.service.store_upkeep_backup import BackupError, Manifest, check, pack, unpack
from scrapy_dedup.store.engines import file_of, parse_url
from scrapy_dedup.store.errors import StoreError, shown
from scrapy_dedup.store.migrations import HEAD
from scrapy_dedup.store.schema import Refused
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.stored import ProjectFigures
from scrapy_dedup.store.upkeep_copy import check_snapshot, take_place, upgrade_snapshot

Progress = Callable[[str, int], None]
"""Told what is done, and how many rows, pages or bytes more."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What there is where a backup is to be restored.

    Attributes:
        projects: of the store; empty for one that is not there yet.
        problem: why it cannot be read; it may be what a backup is restored for.
    """

    projects: tuple[ProjectFigures, ...] = ()
    problem: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing would be lost."""
        return not self.projects and self.problem is None


@dataclass(frozen=True, slots=True)
class Restored:
    """What was restored.

    Attributes:
        rows: by table.
        aside: where the old store is kept; None where there was none.
    """

    manifest: Manifest
    rows: Mapping[str, int]
    aside: Path | None


def back_up(store: Store, archive: Path, progress: Progress, *, replace: bool = False) -> Manifest:
    """Write the whole store to a file, as it is at one instant; return what the file says of itself.

    Args:
        store: crawls may write to it meanwhile.
        archive: where to; it is there when it is whole.
        progress: told how far it is.
        replace: take the place of a file that is there.

    Raises:
        BackupError: there is such a file.
        StoreError: the store failed.
        OSError: the file cannot be written.
    """
    if archive.exists() and not replace:
        raise BackupError(f"{archive}: it is there already. Name another file, or repeat it with --replace.")
    with _folder_beside(archive) as folder:
        made_at = datetime.now(UTC).isoformat(timespec="seconds")
        file = folder / "store.db"
        rows = store.write_snapshot(file, lambda moved: progress("read", moved))
        with Store.open(f"sqlite:///{file}") as snapshot:
            projects = tuple(snapshot.project_names().values())

        def describe(size_bytes: int, packed_bytes: int, sha256: str) -> Manifest:
            sizes = {"size_bytes": size_bytes, "packed_bytes": packed_bytes, "sha256": sha256}
            about = {"made_at": made_at, "version": version("scrapy-dedup"), "schema": HEAD, "database": store.kind}
            return Manifest(format=1, projects=projects, rows=rows, **sizes, **about)  # type: ignore[arg-type]

        part = folder / "backup"
        manifest = pack(file, part, describe, lambda moved: progress("packed", moved))
        part.replace(archive)
    return manifest


def standing(url: str, timeout: timedelta) -> Standing:
    """Return what there is now at the URL of a store.

    Raises:
        StoreError: the URL is wrong, or its server fails.
    """
    parsed = parse_url(url)
    path = file_of(parsed)
    if path is None and parsed.get_backend_name() == "sqlite":
        raise StoreError(f"store {shown(parsed)}: it is in memory. Name another one in DEDUP_DATABASE_URL.")
    if path is not None and not (path.exists() and path.stat().st_size):
        return Standing()
    try:
        # On a server, an empty database gets the tables that are to be filled.
        with Store.open(url, timeout=timeout, create=path is None) as store:
            return Standing(tuple(list_projects(store)))
    except StoreError as error:
        if path is None:
            raise
        return Standing(problem=str(error))


def restore(archive: Path, manifest: Manifest, url: str, timeout: timedelta, progress: Progress) -> Restored:
    """Let a backup take the place of a store; killed at any time, the store is the old one or the new one.

    Args:
        archive: the backup.
        manifest: what it says of itself.
        url: of the store; what is there is kept aside.
        timeout: how long to wait for the locks of others.
        progress: told how far it is.

    Raises:
        BackupError: the backup is damaged; the store is as it was.
        StoreError: the store failed, or is in use; likewise.
        OSError: a file cannot be written; likewise.
    """
    check(archive, manifest, lambda moved: progress("checked", moved))
    path = file_of(parse_url(url))
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
    with _folder_beside(path or Path(tempfile.gettempdir()) / "store") as folder:
        file = folder / "store.db"
        unpack(archive, manifest, file, lambda moved: progress("unpacked", moved))
        refused = check_snapshot(file)
        if isinstance(refused, Refused):
            raise BackupError(f"{archive}: {refused}")
        rows = upgrade_snapshot(file)
        if path is not None:
            aside = take_place(file, parse_url(url), _aside(path))
            return Restored(manifest, rows, aside)
        return _to_server(file, manifest, url, timeout, progress)


def _to_server(file: Path, manifest: Manifest, url: str, timeout: timedelta, progress: Progress) -> Restored:
    with Store.open(url, timeout=timeout) as store:
        aside = None
        if store.project_names():
            aside = _aside(Path.cwd() / "dedup.backup")
            back_up(store, aside, progress)
        return Restored(manifest, store.fill_server(file, lambda moved: progress("written", moved)), aside)


def _aside(path: Path) -> Path:
    stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%S}"
    names = (path.with_name(f"{path.name}.replaced-{stamp}{end}") for end in ("", *(f"-{n}" for n in range(2, 1_000))))
    return next(name for name in names if not name.exists())


@contextmanager
def _folder_beside(file: Path) -> Iterator[Path]:
    """Give a folder on a file's disk, which goes with all that is in it."""
    with tempfile.TemporaryDirectory(prefix=".dedup-", dir=file.absolute().parent) as name:
        yield Path(name)

"""The form of a backup: one file with the whole store in it, packed, and a manifest that says what it is.

The file is a ZIP archive of two members that are not packed by ZIP: `store.db.zst`, a SQLite store packed by zstd, and
`manifest.json`. So a backup of either database is restored into either, and can be looked into without us.
"""

import hashlib
import json
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.store.migrations import HEAD, REVISIONS

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

FORMAT: Final = 1
_STORE: Final = "store.db.zst"
_MANIFEST: Final = "manifest.json"
_MOST_MANIFEST_BYTES: Final = 4_000_000
_READ_BYTES: Final = 1_048_576
# Most of a store is packed already: higher levels cost much and bring little.
_LEVEL: Final = 3
Progress = Callable[[int], None]


class BackupError(DedupError):
    """A backup cannot be written, or is not whole; the message names the file, what is wrong, and what to do."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup says of itself.

    Attributes:
        format: of the file.
        made_at: ISO 8601.
        version: of scrapy-dedup.
        schema: the revision of the store.
        database: what it was made from, sqlite or postgresql.
        projects: their names.
        rows: by table.
        size_bytes: of the unpacked file.
        packed_bytes: of the packed one.
        sha256: of the packed one, in hexadecimal digits.
    """

    format: int
    made_at: str
    version: str
    schema: str
    database: str
    projects: tuple[str, ...]
    rows: Mapping[str, int]
    size_bytes: int
    packed_bytes: int
    sha256: str


def pack(file: Path, archive: Path, describe: Callable[[int, int, str], Manifest], progress: Progress) -> Manifest:
    """Write a store's file into a new archive; return its manifest.

    Args:
        file: a SQLite store that nobody writes to.
        archive: is not there yet.
        describe: makes the manifest of the two sizes and the hash.
        progress: told how many bytes were read.

    Raises:
        OSError: a file cannot be read or written.
    """
    digest = hashlib.sha256()
    packed_bytes = 0
    packer = zstd.ZstdCompressor(level=_LEVEL)
    with zipfile.ZipFile(archive, "x", zipfile.ZIP_STORED) as members:
        with members.open(zipfile.ZipInfo(_STORE), "w", force_zip64=True) as member, file.open("rb") as source:
            for part in _parts(source):
                packed = packer.compress(part)
                digest.update(packed)
                packed_bytes += member.write(packed)
                progress(len(part))
            packed = packer.flush()
            digest.update(packed)
            packed_bytes += member.write(packed)
        manifest = describe(file.stat().st_size, packed_bytes, digest.hexdigest())
        members.writestr(zipfile.ZipInfo(_MANIFEST), json.dumps(asdict(manifest), indent=2))
    return manifest


def read_manifest(archive: Path) -> Manifest:
    """Return what a backup says of itself, once it is clear that this code can restore it.

    Raises:
        BackupError: the file is no backup, is not whole, or is newer than this code.
        OSError: the file cannot be read.
    """
    with _members(archive) as members:
        values = _loaded(archive, members)
    manifest = _manifest(archive, values)
    if manifest.format > FORMAT or manifest.schema not in REVISIONS:
        newest = f"format {FORMAT} and schema revision {HEAD!r}"
        found = f"format {manifest.format} and schema revision {manifest.schema!r}"
        raise BackupError(f"{archive}: it has {found}; this scrapy-dedup knows none after {newest}. Upgrade it.")
    return manifest


def check(archive: Path, manifest: Manifest, progress: Progress) -> None:
    """Read a backup as it is packed, and see that every byte is as it was written.

    Raises:
        BackupError: it is not.
        OSError: the file cannot be read.
    """
    digest, size = hashlib.sha256(), 0
    with _members(archive) as members, members.open(_STORE) as member:
        for part in _parts(member):
            digest.update(part)
            size += len(part)
            progress(len(part))
    if (size, digest.hexdigest()) != (manifest.packed_bytes, manifest.sha256):
        raise _damaged(archive, "its bytes are not those that were written")


def unpack(archive: Path, manifest: Manifest, file: Path, progress: Progress) -> None:
    """Write the store of a backup that was checked to a new file; never more than its manifest says.

    Raises:
        BackupError: it unpacks to something else, or there is no room for it.
        OSError: a file cannot be read or written.
    """
    free = shutil.disk_usage(file.parent).free
    if free < manifest.size_bytes:
        raise BackupError(f"{archive}: it unpacks to {manifest.size_bytes} bytes, and {free} are free in {file.parent}")
    size = 0
    with (
        _members(archive) as members,
        members.open(_STORE) as member,
        zstd.ZstdFile(member) as unpacked,
        file.open("xb") as target,
    ):
        for part in _parts(unpacked):
            size += len(part)
            if size > manifest.size_bytes:
                raise _damaged(archive, "it unpacks to more than it says")
            target.write(part)
            progress(len(part))
    if size != manifest.size_bytes:
        raise _damaged(archive, "it unpacks to less than it says")


def _parts(source: Any) -> Iterator[bytes]:
    while part := source.read(_READ_BYTES):
        yield part


@contextmanager
def _members(archive: Path) -> Iterator[zipfile.ZipFile]:
    """Give the archive; of what its directory says nothing is believed that would cost more than reading it."""
    with archive.open("rb") as opened:
        try:
            members = zipfile.ZipFile(opened)
        except (zipfile.BadZipFile, ValueError, NotImplementedError, OverflowError) as error:
            raise _damaged(archive, error) from error
        with members:
            found = members.infolist()
            if sorted(member.filename for member in found) != [_MANIFEST, _STORE]:
                raise BackupError(f"{archive}: it is no backup. Take a file that `scrapy dedup backup` wrote.")
            if any(member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1 for member in found):
                raise _damaged(archive, "its members are packed in another way")
            try:
                yield members
            except (zipfile.BadZipFile, EOFError, zstd.ZstdError) as error:
                raise _damaged(archive, error) from error


def _loaded(archive: Path, members: zipfile.ZipFile) -> Mapping[str, Any]:
    if members.getinfo(_MANIFEST).file_size > _MOST_MANIFEST_BYTES:
        raise _damaged(archive, "its manifest is too large")
    try:
        with members.open(_MANIFEST) as member:
            values = json.loads(member.read(_MOST_MANIFEST_BYTES + 1))
    except (ValueError, RecursionError) as error:
        raise _damaged(archive, error) from error
    if not isinstance(values, dict):
        raise _damaged(archive, "its manifest is no object")
    return values


def _manifest(archive: Path, values: Mapping[str, Any]) -> Manifest:
    kinds: dict[str, type] = {
        "made_at": str,
        "version": str,
        "schema": str,
        "database": str,
        "sha256": str,
        "projects": list,
    }
    kinds |= {"format": int, "size_bytes": int, "packed_bytes": int, "rows": dict}
    for name, kind in kinds.items():
        if not isinstance(values.get(name), kind):
            raise _damaged(archive, f"its manifest has no {name}")
    if not all(isinstance(number, int) for number in values["rows"].values()):
        raise _damaged(archive, "its manifest has wrong rows")
    known = {name: values[name] for name in kinds}
    return Manifest(**known | {"projects": tuple(str(name) for name in values["projects"])})


def _damaged(archive: Path, why: object) -> BackupError:
    return BackupError(f"{archive}: the backup is damaged ({why}). Take another one; nothing was changed.")

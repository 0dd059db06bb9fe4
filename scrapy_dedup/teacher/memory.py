"""How much memory a page takes; one that takes too much ends alone, before the machine does."""

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Final

from playwright.async_api import CDPSession

# Of one page's process; large pages of real sites take 300 MB. Scripts can take far more than the limit of their heap.
MOST_PAGE_BYTES: Final = 1_000_000_000
_EVERY_SECONDS: Final = 0.5


async def watch_memory(session: CDPSession) -> None:
    """Go on until cancelled, and end each process of a page that takes too much; nothing where the system has no /proc.

    Args:
        session: of the browser, not of a page.
    """
    while _resident_bytes(os.getpid()):
        await asyncio.sleep(_EVERY_SECONDS)
        answer = await session.send("SystemInfo.getProcessInfo")
        for entry in answer["processInfo"]:
            process = int(entry["id"])
            if entry["type"] == "renderer" and _resident_bytes(process) > MOST_PAGE_BYTES:
                with suppress(OSError):
                    os.kill(process, signal.SIGKILL)


def _resident_bytes(process: int) -> int:
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text("ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")

"""A small site on 127.0.0.1 whose pages change on command, and which knows what was asked of it.

Page n leads to pages 2n + 1 and 2n + 2. Every eighth page leads to a page of its own version, too, so that a version
that is lost takes a page along.
"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from benchmarks.local_site import WORDS

MENU = "<nav><ul><li><a href='/p/0'>Harbour office</a></li><li><a href='/p/1'>Terms of use</a></li></ul></nav>"
FOOTER = "<footer><p>Published by the harbour office, all rights reserved, no part may be copied.</p></footer>"
LEADS_ON = 8


class ChangingSite:
    """What is served; only the thread that changes it reads what was asked for."""

    def __init__(self, pages: int, *, etags: bool, versions: int | None = None) -> None:
        """Make it; after so many versions, where they are bounded, a page is what it was at first."""
        self.etags = etags
        self.start = ""
        self.asked: set[str] = set()
        """Paths since it was last emptied."""
        self._bound = versions
        self._versions = [0] * pages
        self._before = [0] * pages
        self._newest = [0] * pages

    def change(self, chosen: Random) -> None:
        """Change a few pages."""
        self._before = list(self._versions)
        for number in chosen.sample(range(len(self._versions)), chosen.randint(1, len(self._versions) // 4)):
            self._newest[number] += 1
            self._versions[number] = self._newest[number] % (self._bound or self._newest[number] + 1)

    def undo(self) -> None:
        """Be what the site was before its last change."""
        self._versions = list(self._before)

    def pages(self) -> dict[str, int]:
        """Return what can be reached now: path to version."""
        found = {f"/p/{number}": version for number, version in enumerate(self._versions)}
        return found | {f"/of/{number}/{found[f'/p/{number}']}": 0 for number in self._leading()}

    def answer(self, path: str, validator: str) -> bytes:
        """Return the response to a request."""
        self.asked.add(path)
        version = self.pages().get(path)
        if version is None:
            return b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n"
        etag = f'"{version}"'
        if self.etags and validator == etag:
            return f"HTTP/1.1 304 Not Modified\r\nETag: {etag}\r\n\r\n".encode()
        body = self._page(path, version).encode()
        told = f"Content-Length: {len(body)}\r\n" + (f"ETag: {etag}\r\n" if self.etags else "")
        return f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{told}\r\n".encode() + body

    def _leading(self) -> range:
        return range(LEADS_ON // 2, len(self._versions), LEADS_ON)

    def _page(self, path: str, version: int) -> str:
        links = ""
        if path.startswith("/p/"):
            number = int(path.removeprefix("/p/"))
            targets = [f"/p/{n}" for n in (2 * number + 1, 2 * number + 2) if n < len(self._versions)]
            targets += [f"/of/{number}/{version}"] if number in self._leading() else []
            links = "".join(f"<p class=link><a href='{target}'>{target}</a></p>" for target in targets)
        chosen = Random(f"{path} {version}")
        prose = "".join(f"<p>{' '.join(chosen.choices(WORDS, k=25)).capitalize()}.</p>" for _ in range(3))
        return (
            f"<!doctype html><html><head><title>Page {path}</title><meta name=version content={version}></head><body>"
            f"{MENU}<main><h1>On {path}</h1>{prose}{links}</main>{FOOTER}</body></html>"
        )


@contextmanager
def serving(site: ChangingSite) -> Iterator[None]:
    """Serve a site from a thread; its `start` is then the first page."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = asyncio.run_coroutine_threadsafe(_listen(site), loop).result()
    site.start = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/p/0"
    try:
        yield
    finally:
        asyncio.run_coroutine_threadsafe(_stop(server), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _listen(site: ChangingSite) -> asyncio.Server:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A crawler that is killed breaks its connections.
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.decode("latin-1").split("\r\n")
                validators = [line.partition(":")[2].strip() for line in lines if line.lower()[:14] == "if-none-match:"]
                writer.write(site.answer(lines[0].split()[1], *(validators or [""])))
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    return await asyncio.start_server(answer, "127.0.0.1", 0)


async def _stop(server: asyncio.Server) -> None:
    server.close()
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)

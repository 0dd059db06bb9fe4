"""Folders of real sites served on 127.0.0.1, each by a port of its own.

A site's pages have the paths that they had; "/" links to them. What they link to beside each other is not asked for.
"""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import escape
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scrapy import Request

from benchmarks import corpus
from benchmarks.local_site import running

_TYPE = b"Content-Type: text/html\r\nContent-Length: "


@contextmanager
def serving(folder: Path, most: int) -> Iterator[list[str]]:
    """Serve the first pages of each site of a folder; give the addresses of their lists."""
    with running(_run, folder, most) as ports:
        yield [f"http://127.0.0.1:{port}/" for port in ports]


def _run(folder: Path, most: int, started: Connection) -> None:
    asyncio.run(_serve([_bodies(*site, most) for site in corpus.sites(folder)], started))


def _bodies(manifest: dict[str, Any], folder: Path, most: int) -> dict[str, bytes]:
    """Return a site's pages by path and query as Scrapy asks for them."""
    bodies = {}
    for page in manifest["pages"][:most]:
        parts = urlsplit(Request(page["url"]).url)
        path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path
        bodies[path if path != "/" else "/start"] = (folder / page["file"]).read_bytes()
    bodies["/"] = "".join(f'<a href="{escape(path)}">page</a>' for path in bodies).encode()
    return bodies


async def _serve(sites: list[Mapping[str, bytes]], started: Connection) -> None:
    servers = [await asyncio.start_server(_answering(site), "127.0.0.1", 0) for site in sites]
    started.send([server.sockets[0].getsockname()[1] for server in servers])
    await asyncio.gather(*(server.serve_forever() for server in servers))


def _answering(site: Mapping[str, bytes]) -> Any:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            while (await reader.readline()).strip():
                pass
            body = site.get(line.split(b" ")[1].decode())
            head = b"404 Not Found\r\n" if body is None else b"200 OK\r\n"
            body = body or b""
            writer.write(b"HTTP/1.1 " + head + _TYPE + str(len(body)).encode() + b"\r\n\r\n" + body)
            await writer.drain()
        writer.close()

    return answer

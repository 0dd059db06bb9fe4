"""A made-up site of any size on 127.0.0.1, in a process of its own so that its CPU time is not the crawler's.

A page has what pages have: a menu, a sidebar of its section, prose of its own with some links, a teaser list, a footer
with legal text; about 100 links and at least 30 kB. On demand it has an ETag, and who sends that back gets 304, or a
number that is another one each time. `/sent` tells how many bytes went out since it was asked last; `/change` gives
every other page another text.
"""

import asyncio
import hashlib
import multiprocessing
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing.connection import Connection
from typing import Any

WORDS = (
    "river stone morning garden engine letter window market silver number winter ladder copper bridge island valley "
    "signal harbour lantern feather meadow timber orchard thunder compass saddle barrel kettle marble pocket ribbon "
    "the of and to in with for on by from as at that it is was are were be has had not but which their its"
).split()
MENU_LINKS = 40
SECTION_LINKS = 25
TEXT_LINKS = 15
LEGAL = "These terms apply to every use of this site, and to whatever is ordered here, unless agreed otherwise. "


@dataclass(frozen=True, slots=True)
class _Site:
    pages: int
    paragraphs: int
    etags: bool
    nonce: bool = False


@lru_cache(maxsize=4096)
def page(number: int, pages: int, paragraphs: int, version: int = 0) -> bytes:
    """Return page *number* of a site of *pages* pages."""
    chosen = random.Random(number + version * pages)
    section = number // SECTION_LINKS * SECTION_LINKS
    menu = "".join(_item(n * max(1, pages // MENU_LINKS) % pages, "menu-item") for n in range(MENU_LINKS))
    sidebar = "".join(_item((section + n) % pages, "side-item") for n in range(SECTION_LINKS))
    prose = "".join(f"<p>{_sentence(chosen, 90)}</p>" for _ in range(paragraphs))
    linked = "".join(_item(chosen.randrange(pages), "related", _sentence(chosen, 6)) for _ in range(TEXT_LINKS))
    legal = "".join(f"<p class='legal'>{n}. {LEGAL * 3}</p>" for n in range(8))
    return (
        f"<!doctype html><html lang=en><head><title>Page {number}</title><style>{'.a{color:red}' * 200}</style>"
        f"<script>{'var a = 1;' * 300}</script></head><body><header><nav class=main><ul>{menu}</ul></nav></header>"
        f"<div class=layout><aside class=sidebar><ul>{sidebar}</ul></aside><main><h1>{_sentence(chosen, 6)}</h1>{prose}"
        f"<ul>{linked}</ul></main></div><div class=cookies><p>We use cookies to make this site work. {LEGAL}</p></div>"
        f"<footer>{legal}</footer></body></html>"
    ).encode()


def _item(number: int, css: str, label: str = "") -> str:
    label = label or f"{WORDS[number % len(WORDS)].title()} {number}"
    return f'<li class="{css}"><a href="/page/{number}"><span>{label}</span></a></li>'


def _sentence(chosen: random.Random, words: int) -> str:
    return " ".join(chosen.choice(WORDS) for _ in range(words)).capitalize() + "."


def _answer(path: str, validator: str, site: _Site, changes: int) -> bytes:
    name = path.partition("?")[0].removeprefix("/page/")
    if not name.isdigit() or int(name) >= site.pages:
        return b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 0\r\n\r\n"
    body = page(int(name), site.pages, site.paragraphs, (changes + int(name)) // 2 - int(name) // 2)
    if site.nonce:
        body = body.replace(b"</head>", f"<meta name=token content={random.getrandbits(64):x}></head>".encode())
    etag = f'"{hashlib.sha256(body).hexdigest()[:16]}"' if site.etags else ""
    if etag and validator == etag:
        return f"HTTP/1.1 304 Not Modified\r\nETag: {etag}\r\n\r\n".encode()
    told = f"ETag: {etag}\r\n" if etag else ""
    return (
        f"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n{told}Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body


async def _serve(site: _Site, ports: int, started: Connection) -> None:
    sent = changes = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent, changes
        while line := await reader.readline():
            path = line.split(b" ")[1].decode()
            validator = ""
            while header := (await reader.readline()).strip():
                name, _, value = header.decode("latin-1").partition(":")
                if name.lower() == "if-none-match":
                    validator = value.strip()
            if path == "/sent":
                told, sent = str(sent).encode(), 0
                writer.write(b"HTTP/1.0 200 OK\r\n\r\n" + told)
                break
            if path == "/change":
                changes += 1
                writer.write(b"HTTP/1.0 204 No Content\r\n\r\n")
                break
            made = _answer(path, validator, site, changes)
            sent += len(made)
            writer.write(made)
            await writer.drain()
        writer.close()

    servers = [await asyncio.start_server(answer, "127.0.0.1", 0) for _ in range(ports)]
    started.send([server.sockets[0].getsockname()[1] for server in servers])
    await asyncio.gather(*(server.serve_forever() for server in servers))


def _run(site: _Site, ports: int, started: Connection) -> None:
    asyncio.run(_serve(site, ports, started))


@contextmanager
def serving(
    pages: int, *, paragraphs: int = 32, domains: int = 1, etags: bool = False, nonce: bool = False
) -> Iterator[list[str]]:
    """Serve a site for each domain; give their first pages."""
    with running(_run, _Site(pages, paragraphs, etags, nonce), domains) as ports:
        yield [f"http://127.0.0.1:{port}/page/0" for port in ports]


@contextmanager
def running(serve: Callable[..., None], *given: Any) -> Iterator[list[int]]:
    """Let a process of its own serve, which takes *given* and a connection, and sends its ports; give these."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=serve, args=(*given, theirs), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        process.terminate()
        process.join()

"""A site for many crawlers, in a process of its own: small pages in a tree, and other addresses for three of ten.

The other addresses are, in turn: a tracking parameter, another spelling, a redirect, and a page of its own that names
the first one as canonical.
"""

import asyncio
import json
import multiprocessing
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from posixpath import normpath
from urllib.parse import unquote

WORDS = (
    "river stone morning garden engine letter window market silver number winter ladder copper bridge island valley "
    "signal harbour lantern feather meadow timber orchard thunder compass saddle barrel kettle marble pocket ribbon "
    "anchor basket candle desert empire falcon glacier hammer insect jungle kernel legend mirror needle oxygen palace"
).split()
ALIASES = ("tracking", "spelling", "redirect", "canonical")
_CHILDREN = 10
_MENU = 12
_STEP = 7_919
"""A prime: each alias stands on a page far from its own."""


@dataclass(frozen=True, slots=True)
class SharedSite:
    """So many addresses, of which a share leads to a page that has another, too."""

    addresses: int
    alias_share: float = 0.3

    @property
    def documents(self) -> int:
        """How many pages there are."""
        return self.addresses - self.aliases

    @property
    def aliases(self) -> int:
        """How many further addresses these have."""
        return int(self.addresses * self.alias_share)

    def alias_kinds(self) -> Counter[str]:
        """Return how many addresses there are of each kind."""
        return Counter(ALIASES[number % len(ALIASES)] for number in range(self.aliases))

    def links(self, number: int, host: str) -> list[str]:
        """Return what a page links to."""
        menu = [f"/p/{n * max(1, self.documents // _MENU)}" for n in range(_MENU)]
        children = range(number * _CHILDREN + 1, number * _CHILDREN + 1 + _CHILDREN)
        tree = [f"/p/{child}" for child in children if child < self.documents]
        # The alias with this number leads to the page with the same.
        here = [alias for alias in self._aliases_on(number) if alias < self.aliases]
        return menu + tree + [_alias(alias, host) for alias in here]

    def _aliases_on(self, number: int) -> Iterator[int]:
        # The page with number n has those whose number times a prime is n, modulo the number of pages.
        inverse = pow(_STEP, -1, self.documents) if self.documents % _STEP else 1
        first = number * inverse % self.documents
        yield from range(first, self.aliases, self.documents)


def _alias(number: int, host: str) -> str:
    kind = ALIASES[number % len(ALIASES)]
    if kind == "tracking":
        return f"/p/{number}?utm_source=mail&utm_campaign={number}"
    if kind == "spelling":
        return f"HTTP://{host.upper()}/x/../%70/{number}#top"
    return f"/{'r' if kind == 'redirect' else 'c'}/{number}"


def page(site: SharedSite, number: int, host: str, *, canonical: bool) -> bytes:
    """Return a page of some kB."""
    chosen = random.Random(number)
    links = site.links(number, host)
    menu = "".join(f'<li><a href="{href}">Section {n}</a></li>' for n, href in enumerate(links[:_MENU]))
    further = "".join(f'<li><a href="{href}">{_sentence(chosen, 4)}</a></li>' for href in links[_MENU:])
    prose = "".join(f"<p>{_sentence(chosen, 30)}</p>" for _ in range(6))
    head = f"<title>{_sentence(chosen, 5)} {number}</title>"
    head += f'<link rel="canonical" href="/p/{number}">' if canonical else ""
    return (
        f'<!doctype html><html lang=en><head>{head}</head><body data-number="{number}">'
        f"<nav><ul>{menu}</ul></nav><main><h1>{_sentence(chosen, 5)}</h1>{prose}</main><ul>{further}</ul>"
        "<footer><p>These terms apply to every use of this site and to whatever is ordered here.</p>"
        "<p>We use cookies to make this site work, and for nothing else at all.</p></footer></body></html>"
    ).encode()


def _sentence(chosen: random.Random, words: int) -> str:
    return " ".join(chosen.choice(WORDS) for _ in range(words)).capitalize() + "."


def _answer(site: SharedSite, path: str, host: str) -> bytes:
    kind, _, name = normpath(unquote(path.partition("?")[0])).strip("/").partition("/")
    if not name.isdigit() or int(name) >= site.documents or kind not in ("p", "r", "c"):
        return b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n"
    if kind == "r":
        return f"HTTP/1.1 301 Moved Permanently\r\nLocation: /p/{name}\r\nContent-Length: 0\r\n\r\n".encode()
    body = page(site, int(name), host, canonical=kind == "c")
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def _serve(site: SharedSite, delay_seconds: float, started: Connection) -> None:
    asked: Counter[str] = Counter()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Crawlers that are killed break their connections.
        with suppress(ConnectionError):
            await answer_all(reader, writer)

    async def answer_all(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            path = line.split(b" ")[1].decode("latin-1")
            host = ""
            while header := (await reader.readline()).strip():
                name, _, value = header.decode("latin-1").partition(":")
                host = value.strip() if name.lower() == "host" else host
            if path == "/asked":
                body = json.dumps(asked).encode()
                asked.clear()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            else:
                asked[path] += 1
                await asyncio.sleep(delay_seconds)
                writer.write(_answer(site, path, host))
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1024)
    started.send(server.sockets[0].getsockname()[1])
    await server.serve_forever()


def _run(site: SharedSite, delay_seconds: float, started: Connection) -> None:
    asyncio.run(_serve(site, delay_seconds, started))


@contextmanager
def serving(site: SharedSite, delay_seconds: float = 0) -> Iterator[str]:
    """Serve a site until the block ends; give its origin. `/asked` tells what was asked for since the last time.

    Args:
        site: what is served.
        delay_seconds: how long each page takes to answer.
    """
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=_run, args=(site, delay_seconds, theirs), daemon=True)
    process.start()
    try:
        yield f"http://localhost:{ours.recv()}"
    finally:
        process.terminate()
        process.join()

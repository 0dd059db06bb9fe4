"""Servers on loopback that note whatever reaches them: each connection, each datagram, and what it says."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

_ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nAccess-Control-Allow-Origin: *\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%s"
)


@dataclass
class Listeners:
    """One port on several addresses, by TCP and UDP."""

    port: int
    hosts: list[str]
    """As they stand in a URL."""
    page: bytes = b""
    """What /page gives."""
    hits: list[str] = field(default_factory=list)
    """First words of what came: `tcp GET /image`, `udp`."""


@contextmanager
def listening() -> Iterator[Listeners]:
    """Listen on 127.0.0.1, 127.0.0.2 and ::1, as far as this machine has them."""
    sockets, listeners = _bound()
    for each in sockets:
        takes = _take_connections if each.type == socket.SOCK_STREAM else _take_datagrams
        threading.Thread(target=takes, args=(each, listeners), daemon=True).start()
    try:
        yield listeners
    finally:
        for each in sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


def _bound() -> tuple[list[socket.socket], Listeners]:
    for _ in range(50):
        first = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        first.bind(("127.0.0.1", 0))
        port = first.getsockname()[1]
        sockets, hosts = [first], ["127.0.0.1"]
        wanted = [
            (socket.AF_INET, socket.SOCK_DGRAM, "127.0.0.1"),
            (socket.AF_INET, socket.SOCK_STREAM, "127.0.0.2"),
            (socket.AF_INET, socket.SOCK_DGRAM, "127.0.0.2"),
            (socket.AF_INET6, socket.SOCK_STREAM, "::1"),
            (socket.AF_INET6, socket.SOCK_DGRAM, "::1"),
        ]
        for family, kind, address in wanted:
            with suppress(OSError):
                each = socket.socket(family, kind)
                sockets.append(each)
                each.bind((address, port))
                hosts.append(f"[{address}]" if ":" in address else address)
        if "127.0.0.2" in hosts:
            for each in sockets:
                if each.type == socket.SOCK_STREAM:
                    each.listen(100)
            return sockets, Listeners(port, sorted(set(hosts)))
        for each in sockets:
            each.close()
    raise AssertionError("no port is free on 127.0.0.1 and 127.0.0.2")


def _take_connections(listener: socket.socket, listeners: Listeners) -> None:
    with suppress(OSError):
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=_answer, args=(connection, listeners), daemon=True).start()


def _answer(connection: socket.socket, listeners: Listeners) -> None:
    with connection, suppress(OSError):
        connection.settimeout(5)
        said = ""
        try:
            said = connection.recv(4096).decode("latin-1")
        finally:
            listeners.hits.append(f"tcp {' '.join(said.split()[:2])}")
        body = listeners.page if " /page " in said else b""
        connection.sendall(_ANSWER % (len(body), body))


def _take_datagrams(listener: socket.socket, listeners: Listeners) -> None:
    with suppress(OSError):
        while True:
            listener.recvfrom(4096)
            listeners.hits.append("udp")

"""What servers have in common, whatever they speak: the socket on which they listen, and how a signal ends them."""

import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from scrapy_dedup.core.errors import DedupError

_BACKLOG: Final = 128


class ListenError(DedupError):
    """The address cannot, or must not, be listened on."""


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address; port 0 is one that is free.

    Raises:
        ListenError: another program listens there, or this machine has no such address.
    """
    bare = host.strip("[]")
    try:
        family = socket.getaddrinfo(bare, port, type=socket.SOCK_STREAM)[0][0]
        found = socket.socket(family, socket.SOCK_STREAM)
        # A server that ended leaves connections behind, which would hold its port for a minute.
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((bare, port))
        found.listen(_BACKLOG)
    except OSError as error:
        told = f"cannot listen on {host}, port {port}: {error.strerror or error}"
        raise ListenError(f"{told}. Name another by --host and --port, or port 0 for one that is free.") from error
    return found


@contextmanager
def signals_end_it() -> Iterator[None]:
    """Let a signal end the server and nothing else: uvicorn raises it again at its end."""

    def nothing(_number: int, _frame: Any) -> None:
        pass

    former = {number: signal.signal(number, nothing) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)

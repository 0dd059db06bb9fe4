"""The server in front of the application: its socket, its limits, and its end."""

import asyncio
import logging
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from scrapy_dedup.core.errors import DedupError

_HEADER_BYTES: Final = 16_384
_IDLE_SECONDS: Final = 15
_HEAD_SECONDS: Final = 15.0
_LAST_SECONDS: Final = 5
# Each holds a thread while it is answered; more of them wait no better.
_CONNECTIONS: Final = 200
_BACKLOG: Final = 128


class ListenError(DedupError):
    """The address cannot be listened on."""


class Impatient(H11Protocol):
    """Closes a connection that begins a request and does not go on: uvicorn waits without end, and holds a place."""

    head_seconds = _HEAD_SECONDS
    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a request's head from now on."""
        super().connection_made(transport)
        self._look()

    def data_received(self, data: bytes) -> None:
        """Take what came; bytes that come one by one give no more time."""
        super().data_received(data)
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        super().connection_lost(exc)
        self._wait_no_more()

    def _look(self) -> None:
        # DONE: the answer is out, and the rest of a body that nobody reads is still to come.
        if self.conn.our_state not in (h11.IDLE, h11.DONE):
            self._wait_no_more()
        elif self._waiting is None:
            self._waiting = self.loop.call_later(self.head_seconds, self.transport.abort)

    def _wait_no_more(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


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


def run(app: ASGIApp, listening: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM; requests that run are answered first, for a few seconds."""
    config = uvicorn.Config(
        app,
        http=Impatient,
        h11_max_incomplete_event_size=_HEADER_BYTES,
        ws="none",
        lifespan="off",
        log_config=None,
        # It would write the token that the first address holds.
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=_LAST_SECONDS,
        limit_concurrency=_CONNECTIONS,
    )
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    with _signals_end_it():
        uvicorn.Server(config).run(sockets=[listening])


@contextmanager
def _signals_end_it() -> Iterator[None]:
    """Let a signal end the server and nothing else: uvicorn raises it again at its end."""

    def nothing(_number: int, _frame: Any) -> None:
        pass

    former = {number: signal.signal(number, nothing) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)

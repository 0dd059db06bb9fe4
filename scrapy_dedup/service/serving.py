"""How both servers speak HTTP, by uvicorn: nobody holds a place for long who says nothing."""

import asyncio
import logging
from typing import Final

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

_HEADER_BYTES: Final = 16_384
_IDLE_SECONDS: Final = 15
_HEAD_SECONDS: Final = 15.0
_LAST_SECONDS: Final = 5
# Each holds a thread while it is answered; more of them wait no better.
_CONNECTIONS: Final = 200


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


def http_server(app: ASGIApp) -> uvicorn.Server:
    """Return what serves an ASGI application; at its end requests that run are answered, for a few seconds."""
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    return uvicorn.Server(
        uvicorn.Config(
            app,
            http=Impatient,
            h11_max_incomplete_event_size=_HEADER_BYTES,
            ws="none",
            log_config=None,
            # It would write the token that the dashboard's first address holds.
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=_IDLE_SECONDS,
            timeout_graceful_shutdown=_LAST_SECONDS,
            limit_concurrency=_CONNECTIONS,
        )
    )

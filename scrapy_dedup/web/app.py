"""The application: the gate, REST, the dashboard, and its files."""

import asyncio
import logging
import socket
from pathlib import Path
from typing import Final

import h11
import uvicorn
from fastapi import FastAPI
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from scrapy_dedup.service.jobs import signals_end_it
from scrapy_dedup.web.api import router as api
from scrapy_dedup.web.dashboard import router as dashboard
from scrapy_dedup.web.dashboard.frame import Memory
from scrapy_dedup.web.dashboard.overview import Slow
from scrapy_dedup.web.openapi import describe
from scrapy_dedup.web.problems import add_handlers
from scrapy_dedup.web.security import Access, AccessGate
from scrapy_dedup.web.server import Server

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
    with signals_end_it():
        uvicorn.Server(config).run(sockets=[listening])


STATIC: Final = Path(__file__).parent / "static"


def make_app(server: Server, access: Access) -> FastAPI:
    """Return the application that serves a store."""
    # The pages that FastAPI brings load their scripts from a CDN.
    app = FastAPI(title="scrapy-dedup", docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.state.server, app.state.dashboard, app.state.fronts = server, Memory(), Slow()
    add_handlers(app)
    app.include_router(api)
    app.include_router(dashboard)
    app.mount("/static", StaticFiles(directory=STATIC, check_dir=False), name="static")
    app.add_middleware(AccessGate, access=access)
    app.openapi = describe(app)  # type: ignore[method-assign]
    return app

"""The application: the gate, REST, the dashboard, and its files."""

import socket
from pathlib import Path
from typing import Final

from fastapi import FastAPI
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from scrapy_dedup.service.jobs import signals_end_it
from scrapy_dedup.service.serving import http_server
from scrapy_dedup.web.api import router as api
from scrapy_dedup.web.dashboard import router as dashboard
from scrapy_dedup.web.dashboard.frame import Memory
from scrapy_dedup.web.dashboard.overview import Slow
from scrapy_dedup.web.openapi import describe
from scrapy_dedup.web.problems import add_handlers
from scrapy_dedup.web.security import Access, AccessGate
from scrapy_dedup.web.server import Server


def run(app: ASGIApp, listening: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM; requests that run are answered first, for a few seconds."""
    with signals_end_it():
        http_server(app).run(sockets=[listening])


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

"""The application: the gate, REST, the dashboard, and its files."""

from pathlib import Path
from typing import Final

from fastapi import FastAPI
from starlette.staticfiles import StaticFiles

from scrapy_dedup.web.api import router as api
from scrapy_dedup.web.dashboard import router as dashboard
from scrapy_dedup.web.openapi import describe
from scrapy_dedup.web.problems import add_handlers
from scrapy_dedup.web.security import Access, AccessGate
from scrapy_dedup.web.server import Server

STATIC: Final = Path(__file__).parent / "static"


def make_app(server: Server, access: Access) -> FastAPI:
    """Return the application that serves a store.

    Args:
        server: what it serves.
        access: who may ask.
    """
    # The pages that FastAPI brings load their scripts from a CDN.
    app = FastAPI(title="scrapy-dedup", docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.state.server = server
    add_handlers(app)
    app.include_router(api)
    app.include_router(dashboard)
    app.mount("/static", StaticFiles(directory=STATIC, check_dir=False), name="static")
    app.add_middleware(AccessGate, access=access)
    app.openapi = describe(app)  # type: ignore[method-assign]
    return app

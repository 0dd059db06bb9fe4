"""The dashboard: pages of HTML about a project, drawn by `report`, that work without script."""

from functools import cache
from pathlib import Path
from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from scrapy_dedup.report.drawing import css
from scrapy_dedup.web.dashboard import config, domains, overview, page, templates
from scrapy_dedup.web.dashboard.frame import path_in
from scrapy_dedup.web.server import server_of

_STYLE: Final = Path(__file__).parents[1] / "static" / "dashboard.css"
router = APIRouter(include_in_schema=False)
for part in (overview, domains, config, page, templates):
    router.include_router(part.router)


@router.get("/")
def first_page(request: Request) -> Response:
    """Return the way to the project that is shown where none is asked for."""
    return RedirectResponse(path_in(str(server_of(request).default_project().id)), 303)


@router.get("/static/dashboard.css")
def style_sheet() -> Response:
    """Return the style of all pages, the report's and the dashboard's own."""
    return Response(_style(), media_type="text/css", headers={"Cache-Control": "no-cache"})


@cache
def _style() -> str:
    return css() + _STYLE.read_text(encoding="utf-8")

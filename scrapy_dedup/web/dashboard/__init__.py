"""The dashboard: pages of HTML about a project, drawn by `report`, that work without script."""

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from scrapy_dedup.report.nav import path_in
from scrapy_dedup.web.dashboard import config, domain, domains, keeping, overview, page, runs, style, templates
from scrapy_dedup.web.server import server_of

router = APIRouter(include_in_schema=False)
for part in (style, overview, domains, runs, config, domain, keeping, page, templates):
    router.include_router(part.router)


@router.get("/")
def first_page(request: Request) -> Response:
    """Return the way to the project that is shown where none is asked for."""
    return RedirectResponse(path_in(str(server_of(request).default_project().id)), 303)

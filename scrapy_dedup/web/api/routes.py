"""All routes of REST, and their description."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from scrapy_dedup.web.api import cache, configs, domains, jobs, keeping, pages, projects, runs, templates
from scrapy_dedup.web.api.asked import PREFIX
from scrapy_dedup.web.etags import answered

router = APIRouter(prefix=PREFIX)
for part in (projects, domains, configs, templates, pages, runs, keeping, cache, jobs):
    router.include_router(part.router)


@router.get("/openapi.json", include_in_schema=False)
def description(request: Request) -> Response:
    """Return the description of this interface."""
    return answered(request, request.app.openapi())

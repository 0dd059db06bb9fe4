"""All routes of REST, and their description."""

from typing import Any

from fastapi import APIRouter, Request

from scrapy_dedup.web.api import cache, domains, jobs, pages, projects, templates
from scrapy_dedup.web.api.asked import PREFIX
from scrapy_dedup.web.problems import AsciiResponse

# An operation is called as its function is.
router = APIRouter(
    prefix=PREFIX, default_response_class=AsciiResponse, generate_unique_id_function=lambda route: route.name
)
for part in (
    projects.router,
    domains.router,
    domains.config,
    templates.router,
    pages.router,
    pages.runs,
    cache.router,
    jobs.router,
):
    router.include_router(part)


@router.get("/openapi.json", include_in_schema=False)
def description(request: Request) -> dict[str, Any]:
    """Return the description of this interface."""
    found: dict[str, Any] = request.app.openapi()
    return found

"""The dashboard: pages of HTML about a project, written by `report`, that work without script."""

from fastapi import APIRouter

from scrapy_dedup.web.dashboard import config, domain, domains, keeping, overview, page, runs, style, templates

router = APIRouter(include_in_schema=False)
for part in (style, overview, domains, runs, config, domain, keeping, page, templates):
    router.include_router(part.router)

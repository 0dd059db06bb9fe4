"""Pages: lists, search, and why what was removed of one."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from scrapy_dedup.answers import pages as answers
from scrapy_dedup.service.views import page_lists
from scrapy_dedup.service.views.explain import explain
from scrapy_dedup.web.api.asked import After, DomainInQuery, Here, Limit, UrlInQuery

router = APIRouter(prefix="/projects/{project}", tags=["pages"])


@router.get("/pages", response_description="Pages, those that were written last first.")
def list_pages(
    asked: Here,
    domain: DomainInQuery = None,
    status: Annotated[
        Literal["processing", "completed", "failed"] | None, Query(description="Only these.", examples=["completed"])
    ] = None,
    verdict: Annotated[
        Literal["new", "changed", "unchanged", "removed", "duplicate", "skipped"] | None,
        Query(description="Only these.", examples=["changed"]),
    ] = None,
    limit: Limit = 50,
    after: After = None,
) -> answers.PageListAnswer:
    """Return pages, of the project or of one domain; a part that is empty may still have a `next`."""
    choice = page_lists.PageChoice(domain.lower() if domain else None, status, verdict, limit, after)  # type: ignore[arg-type]
    return answers.PageListAnswer.of(page_lists.list_pages(*asked.known, choice), project=asked.project.name)


@router.get("/pages/search", response_description="Pages that have all words.")
def search_pages(
    asked: Here,
    q: Annotated[str, Query(description="Words, in URL, title or text.", max_length=500, examples=["green tea"])],
    domain: DomainInQuery = None,
    limit: Annotated[int, Query(description="So many at most.", ge=1, le=100, examples=[20])] = 20,
    after: After = None,
) -> answers.SearchAnswer:
    """Return the pages that have some words, newest first."""
    choice = page_lists.SearchChoice(q, domain.lower() if domain else None, limit, after)
    return answers.SearchAnswer.made(asked.project.name, page_lists.search_pages(*asked.known, choice))


@router.get("/pages/explain", response_description="What is known of the URL; `known` is false where it was never met.")
def explain_url(asked: Here, url: UrlInQuery) -> answers.ExplanationAnswer:
    """Return what is known of a URL, and why its blocks were removed."""
    return answers.ExplanationAnswer.made(explain(asked.store, asked.project.name, url, asked.settings))

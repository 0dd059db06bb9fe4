"""Lists of pages and what a search found, as JSON."""

from typing import Any

from scrapy_dedup.service.page_lists import ListedPage, PageList
from scrapy_dedup.service.page_search import SearchResults


def listed_page_answer(page: ListedPage) -> dict[str, Any]:
    """Return a page of a list as JSON has it."""
    return {
        "page_key": page.page_key.hex(),
        "url": page.url,
        "domain": page.domain,
        "title": page.title,
        "status": page.status,
        "verdict": page.verdict,
        "chars_in": page.chars_in,
        "chars_out": page.chars_out,
        "updated_at": page.updated_at.isoformat(),
        "last_seen_at": page.last_seen_at.isoformat() if page.last_seen_at else None,
        "last_changed_at": page.last_changed_at.isoformat() if page.last_changed_at else None,
        "gone_at": page.gone_at.isoformat() if page.gone_at else None,
    }


def page_list_answer(project: str, found: PageList) -> dict[str, Any]:
    """Return a list of pages as JSON has it."""
    pages = [listed_page_answer(page) for page in found.pages]
    return {"project": project, "pages": pages, "next": found.next, "total": found.total}


def search_answer(project: str, found: SearchResults) -> dict[str, Any]:
    """Return what a search found as JSON has it."""
    return {
        "project": project,
        "words": list(found.words),
        "pages": [
            {**listed_page_answer(each.page), "found_in": list(each.found_in), "snippet": each.snippet}
            for each in found.found
        ],
        "looked_at": found.looked_at,
        "stopped": found.stopped,
        "next": found.next,
    }

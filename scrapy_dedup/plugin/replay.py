"""What was kept of a page, given again in place of its callback."""

from collections.abc import Callable, Iterator
from typing import Any

from itemadapter import ItemAdapter
from scrapy import Request, Spider
from scrapy.http import HtmlResponse, Response

from scrapy_dedup.plugin.items import REPORT
from scrapy_dedup.plugin.outcomes import kept_items, kept_requests
from scrapy_dedup.service.recrawling import Judgement
from scrapy_dedup.store.records import ExtractionRecord

FLAG = "dedup-unchanged"
"""Of responses whose callback does not run."""
REPLAYED = "replayed"

_under_way: dict[int, Any] = {}
"""Replayed items of classes without a field `dedup`, by id, until they have left the pipelines."""


def is_replayed(item: Any) -> bool:
    """Say whether an item was given again from the store: what later pipelines did to it was kept and is in it.

    For pipelines that cost: `if is_replayed(item): return item`.
    """
    if id(item) in _under_way:
        return True
    if not ItemAdapter.is_item(item):
        return False
    report = ItemAdapter(item).get(REPORT)
    return isinstance(report, dict) and report.get(REPLAYED) is True


def forget(item: Any) -> None:
    """Forget an item that has left the pipelines."""
    _under_way.pop(id(item), None)


def replayed_items(extraction: ExtractionRecord, judgement: Judgement, run: str) -> list[Any]:
    """Return the items that were kept, marked.

    Raises:
        OutcomeError: one cannot be made again.
    """
    items = kept_items(extraction.items or ())
    state = judgement.state
    for item in items:
        adapter = ItemAdapter(item)
        report = adapter.get(REPORT)
        if isinstance(report, dict):
            report |= {
                REPLAYED: True,
                "run": run,
                "verdict": judgement.verdict.kind.value,
                "change": judgement.verdict.change.value,
                "reason": judgement.verdict.reason,
                "previous_seen_at": state.last_seen_at.isoformat() if state else None,
            }
            report.pop("diff", None)
        else:
            _under_way[id(item)] = item
    return items


def replaying(request: Request, judgement: Judgement, spider: Spider, run: str) -> Request:
    """Return a request whose callback gives what is held; whoever reads the response reads its request's callback.

    Raises:
        OutcomeError: what is held cannot be given any more.
    """
    extraction = judgement.known.extraction
    assert extraction is not None
    items = replayed_items(extraction, judgement, run) if judgement.gives_stored else []

    def replay(response: Response) -> Iterator[Any]:  # noqa: ARG001 (Scrapy's signature)
        yield from kept_requests(extraction.requests, spider)
        yield from items

    callback: Callable[..., Any] = replay
    return request.replace(callback=callback, cb_kwargs={})


def empty_response(request: Request, status: int = 200) -> Response:
    """Return what stands for a page that was not received."""
    return HtmlResponse(request.url, status=status, flags=[FLAG], request=request, encoding="utf-8")

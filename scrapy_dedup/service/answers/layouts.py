"""From which designs a domain's pages are built."""

from datetime import datetime
from typing import Any

from scrapy_dedup.service.layout_figures import DomainLayout, DomainLayouts
from scrapy_dedup.store.layout_records import to_digits


def layouts_answer(domain: DomainLayouts) -> dict[str, Any]:
    """Return the layouts of a domain."""
    return {
        "domain": domain.domain,
        "runs": [
            {"id": str(each.id) if each.id else None, "started_at": _time(each.started_at)} for each in domain.runs
        ],
        "layouts": [_layout(each) for each in domain.layouts],
        "alarms": [
            {
                "layout": to_digits(alarm.layout),
                "cause": alarm.cause,
                "raised_at": _time(alarm.raised_at),
                "pages_failed": alarm.pages_failed,
                "pages_looked": alarm.pages_looked,
            }
            for alarm in domain.alarms
        ],
    }


def _layout(layout: DomainLayout) -> dict[str, Any]:
    figures = layout.figures
    template = figures.template
    names = ("version", "state", "reason", "confidence", "pages", "source")
    return {
        "layout": to_digits(figures.layout),
        "kind": template.kind if template else None,
        "pages": figures.pages,
        "signatures": figures.signatures,
        "first_seen_at": _time(figures.first_seen_at),
        "last_seen_at": _time(figures.last_seen_at),
        "pages_by_run": list(layout.pages_by_run),
        "url_pattern": template.url_pattern if template else None,
        "example_url": figures.example_url,
        "template": {name: getattr(template, name) for name in names} if template else None,
    }


def _time(at: datetime | None) -> str | None:
    return at.isoformat() if at else None

"""What was fetched, dropped and kept."""

from dataclasses import asdict
from typing import Any

from scrapy_dedup.report.values import Report


def report_answer(report: Report) -> dict[str, Any]:
    """Return a report; pictures are for the page of HTML."""
    found = asdict(report)
    found["generated_at"] = report.generated_at.isoformat()
    if report.recrawl is not None:
        found["recrawl"]["began_at"] = report.recrawl.began_at.isoformat()
    for picture in (layout["picture"] for domain in found["layouts"] for layout in domain["layouts"]):
        if picture is not None:
            del picture["png"]
    for alarm in found["alarms"]:
        alarm["raised_at"] = alarm["raised_at"].isoformat()
    if report.ledger is not None:
        for name in ("run", "all_runs"):
            if (began_at := getattr(getattr(report.ledger, name), "began_at", None)) is not None:
                found["ledger"][name]["began_at"] = began_at.isoformat()
    return found

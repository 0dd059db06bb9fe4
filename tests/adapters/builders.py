from typing import Any

from scrapy_dedup.core.urls.normal_form import page_key

SITE = "https://www.example.com"


def a_url(name: object) -> str:
    return f"{SITE}/{name}"


def an_item(name: object = 1, text: str | None = "What the page says.", run: str = "run-1", **report: Any) -> Any:
    """Return an item; *name* makes its URL, unless it is one."""
    url = str(name) if str(name).startswith("http") else a_url(name)
    defaults = {
        "project": "shop",
        "run": run,
        "domain": "www.example.com",
        "url": url,
        "page_key": page_key(url).hex(),
        "fetched_at": f"2026-03-01T12:00:00+00:00 of {run}",
        "previous_seen_at": f"before {run}",
        "verdict": "new",
        "reason": "never seen",
    }
    return {"url": url, "title": f"Page {name}", "cleaned_content": text, "dedup": defaults | report}


def a_tombstone(name: object = 1, run: str = "run-2") -> Any:
    item = an_item(name, run=run, verdict="removed", reason="absent from 2 complete runs")
    del item["cleaned_content"]
    return item

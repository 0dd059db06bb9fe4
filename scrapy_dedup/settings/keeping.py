"""Settings of items, their fields, and what the store keeps of them."""

from dataclasses import dataclass
from typing import Any, Literal

from scrapy_dedup.settings.content import ContentSettings
from scrapy_dedup.settings.parsers import (
    SWITCH,
    boolean,
    choice,
    integer,
    keep_pages,
    setting,
    text,
)


@dataclass(frozen=True, slots=True)
class KeepingSettings(ContentSettings):
    """Of items and of what is kept."""

    output: Literal["markdown", "text", "html"] = setting(
        "markdown", choice("markdown", "text", "html"), "Form of cleaned_content.", allowed="markdown, text or html"
    )
    url_field: str = setting("url", text, "Item field with the page's URL.")
    html_field: str = setting("html", text, "Item field with the page's HTML.")
    content_field: str = setting("content", text, "Item field with the page's text or Markdown.")
    attach_response: bool = setting(
        True,
        boolean,
        "Items with neither HTML nor content that name their response's URL are cleaned from the response's HTML.",
        allowed=SWITCH,
    )
    keep_pages: Literal["latest", "none"] | int = setting(
        "latest", keep_pages, "Originals kept in the store.", allowed="latest, none, or a number of versions"
    )
    store_max_bytes: int = setting(
        20_000_000_000,
        integer(0, 10**15),
        "Bytes of kept originals and texts; beyond it the oldest are emptied. 0: no bound.",
        allowed="0 to 10**15 bytes",
    )
    keep_decisions: int = setting(
        100_000, integer(0, 10**9), "Rows kept of why something was dropped.", allowed="0 to 1000000000 rows"
    )
    keep_visits: int = setting(500_000, integer(0, 10**10), "Rows kept of visits.", allowed="0 to 10000000000 rows")
    keep_extractions: int = setting(
        4,
        integer(0, 1000),
        "Outcomes of callbacks kept of each page, the newest: its contents, callbacks and their arguments.",
        allowed="0 to 1000 outcomes",
    )
    write_every: int = setting(
        500,
        integer(1, 2_000),
        "Rows after which the store is written, or after a second. Where eight times as many wait, the crawl waits.",
        allowed="1 to 2000 rows",
    )
    fallback_request_fingerprinter_class: Any = setting(
        "scrapy.utils.request.RequestFingerprinter",
        lambda value: value,
        "The fingerprinter behind ours; the add-on sets it to the one that it replaces.",
        allowed="a class or its import path",
    )

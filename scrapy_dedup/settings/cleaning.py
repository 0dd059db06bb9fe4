"""Settings of how pages are cut: what repeats on a site, selectors, expressions, PDF."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from scrapy_dedup.settings.parsers import (
    SWITCH,
    boolean,
    choice,
    expressions,
    integer,
    number,
    seconds,
    setting,
    some_of,
)
from scrapy_dedup.settings.visiting import VisitingSettings

LAYERS = (
    "domain",
    "url",
    "title",
    "canonical",
    "unchanged",
    "boilerplate",
    "patterns",
    "duplicate",
    "near_duplicate",
    "chunk",
    "language",
)
"""In the order in which they act."""


@dataclass(frozen=True, slots=True)
class CleaningSettings(VisitingSettings):
    """Of the layers `boilerplate` and `patterns`."""

    boilerplate_enabled: bool = setting(
        True, boolean, "Layer `boilerplate`: blocks that repeat across a domain's pages.", allowed=SWITCH
    )
    boilerplate_method: Literal["auto", "template", "html", "text"] = setting(
        "auto",
        choice("auto", "template", "html", "text"),
        "`template` learns a verdict for each DOM path and layout; `html` and `text` drop what is on enough pages, by"
        " (DOM path, text) or by parts between blank lines; `auto`: template where there is HTML, else text.",
        allowed="auto, template, html or text",
    )
    fallback: Literal["extractor", "whole"] = setting(
        "extractor",
        choice("extractor", "whole"),
        "Pages of layouts that are not known yet, method `template`: cut by a page-at-a-time extractor, or left whole.",
        allowed="extractor or whole",
    )
    learn_after: int = setting(
        5,
        integer(2, 1000),
        "Pages of a layout from which on it has a template of its own.",
        allowed="2 to 1000 pages",
    )
    shadow: frozenset[str] = setting(
        frozenset(),
        some_of(*LAYERS),
        "Layers that find out what they would do, and do nothing: the report shows it.",
        allowed=f"a list of {', '.join(LAYERS)}",
    )
    threshold_pct: float = setting(
        0.7, number(0.1, 1.0), "Share of a domain's pages that makes a block boilerplate.", allowed="0.1 to 1.0"
    )
    min_pages: int = setting(5, integer(2, 100), "Nothing is learned from fewer pages.", allowed="2 to 100")
    min_block_chars: int = setting(
        50, integer(10, 500), "Method `text`: shorter blocks stay.", allowed="10 to 500 characters"
    )
    batch_pages: int = setting(
        16, integer(1, 1000), "Pages of an unknown domain that wait for each other.", allowed="1 to 1000 pages"
    )
    learn_pages: int = setting(60, integer(2, 10_000), "Pages that a domain learns from.", allowed="2 to 10000 pages")
    max_wait: timedelta = setting(
        timedelta(seconds=30), seconds(0.1, 3600), "Seconds that a page waits at most.", allowed="0.1 to 3600 seconds"
    )
    max_parked_bytes: int = setting(
        8_000_000,
        integer(0, 10**10),
        "Bytes of HTML that wait at most, over all domains; beyond it the largest batches are let go.",
        allowed="0 to 10000000000 bytes",
    )
    max_page_bytes: int = setting(
        8_000_000,
        integer(1_000, 10**9),
        "Larger pages go out uncleaned and flagged.",
        allowed="1000 to 1000000000 bytes",
    )
    patterns_enabled: bool = setting(
        True, boolean, "Layer `patterns`: what selectors and expressions name, in HTML and PDF.", allowed=SWITCH
    )
    generic_selectors: bool = setting(
        True,
        boolean,
        "Layer `patterns`: the selectors that hold on any site act where no template knows better.",
        allowed=SWITCH,
    )
    boilerplate_css_selectors: tuple[str, ...] = setting(
        (),
        expressions,
        "CSS selectors, or XPath 1.0, of what is left out on all domains; `scrapy dedup config` sets those of one.",
        allowed="a list; as text: JSON, or one a line",
    )
    boilerplate_text_patterns: tuple[str, ...] = setting(
        (),
        expressions,
        "Regular expressions (RE2) of what is left out of the Markdown of all pages.",
        allowed="a list; as text: JSON, or one a line",
    )
    pdf_boilerplate_patterns: tuple[str, ...] = setting(
        (),
        expressions,
        "Regular expressions (RE2) of what is left out of the text of PDF files.",
        allowed="a list; as text: JSON, or one a line",
    )
    allow_slow_patterns: bool = setting(
        False,
        boolean,
        "Expressions that RE2 refuses, such as look-ahead, run all the same, with a time limit a page.",
        allowed=SWITCH,
    )
    pdf_enabled: bool = setting(True, boolean, "PDF files are read as pages.", allowed=SWITCH)
    pdf_max_pages: int = setting(
        500,
        integer(1, 100_000),
        "So many pages of a PDF file are read; the item tells of more by a flag.",
        allowed="1 to 100000 pages",
    )
    pdf_timeout: timedelta = setting(
        timedelta(seconds=30), seconds(0.1, 3600), "Seconds to read a PDF file.", allowed="0.1 to 3600 seconds"
    )

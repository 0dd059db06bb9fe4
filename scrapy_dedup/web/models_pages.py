"""Words of the schema for pages: lists, explanations, changes, runs, what is held, and what is kept."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from scrapy_dedup.web.models import (
    LONGEST,
    Answer,
    Body,
    Chars,
    Count,
    Cursor,
    Domain,
    Id,
    Instant,
    Key,
    Named,
    Project,
    Seconds,
    Switch,
    Url,
    Verdict,
    Version,
)

MaybeUrl = Annotated[str | None, Field(examples=["https://example.org/tea"])]
Size = Annotated[int | None, Field(examples=[4_821])]
Names = Annotated[list[str], Field(examples=[["title"]])]
Urls = Annotated[list[Annotated[str, Field(max_length=LONGEST, examples=["https://example.org/tea"])]], Field()]


class ListedPageAnswer(Answer):
    """A page, as lists show it."""

    page_key: Key
    url: Url
    domain: Domain
    title: Annotated[str | None, Field(examples=["Tea"])]
    status: Annotated[str, Field(examples=["completed"])]
    verdict: Verdict
    chars_in: Size
    chars_out: Size
    updated_at: Instant
    last_seen_at: Instant | None
    last_changed_at: Instant | None
    gone_at: Instant | None


class PageListAnswer(Answer):
    """Pages, those that were written last first; total is null where they are many, or were chosen."""

    project: Project
    pages: list[ListedPageAnswer]
    next: Cursor
    total: Annotated[int | None, Field(examples=[12])]


class FoundPageAnswer(ListedPageAnswer):
    """A page that has all words."""

    found_in: Names
    snippet: Annotated[str, Field(examples=["green tea from"])]


class SearchAnswer(Answer):
    """What a search found; stopped tells by which bound it ended early: go on at `next`."""

    project: Project
    words: Annotated[list[str], Field(examples=[["tea"]])]
    pages: list[FoundPageAnswer]
    looked_at: Count
    stopped: Annotated[Literal["pages", "seconds"] | None, Field(examples=[None])]
    next: Cursor


class CrawledRunAnswer(Answer):
    """The run that crawled a page last."""

    id: Id
    spider: Annotated[str, Field(examples=["site"])]
    status: Annotated[str, Field(examples=["finished"])]
    started_at: Instant


class CrawledAnswer(Answer):
    """The last crawl of a URL."""

    url: Url
    status: Annotated[str, Field(examples=["completed"])]
    http_status: Annotated[int | None, Field(examples=[200])]
    at: Instant
    alias_kind: Annotated[str | None, Field(examples=[None])]
    run: CrawledRunAnswer | None


class AliasAnswer(Answer):
    """Another address of a document."""

    url: Url
    status: Annotated[str, Field(examples=["completed"])]
    alias_kind: Annotated[str | None, Field(examples=["redirect"])]
    last_crawled_at: Instant


class DocumentAnswer(Answer):
    """What came of a page."""

    url: Url
    status: Annotated[str, Field(examples=["completed"])]
    verdict: Verdict
    title: Annotated[str | None, Field(examples=["Tea"])]
    canonical_url: MaybeUrl
    chars_in: Size
    chars_out: Size
    error: Annotated[str | None, Field(examples=[None])]
    content_hash: Annotated[str | None, Field(examples=["ab12"])]
    cleaned_hash: Annotated[str | None, Field(examples=["cd34"])]
    updated_at: Instant


class SourceAnswer(Answer):
    """The original of a page."""

    field: Annotated[str, Field(examples=["html"])]
    source_group: Annotated[str, Field(examples=["products"])]
    content_type: Annotated[str | None, Field(examples=["text/html"])]
    fetched_at: Instant
    kept: Switch


class PageDecisionAnswer(Answer):
    """What a layer decided about a page."""

    layer: Annotated[str, Field(examples=["boilerplate"])]
    action: Annotated[str, Field(examples=["removed"])]
    reason: Annotated[str, Field(examples=["3 blocks, 120 of 4000 characters"])]
    decided_at: Instant


class Loose(Answer):
    """An object whose members the command's help describes."""

    model_config = ConfigDict(extra="allow")


class ExplanationAnswer(Answer):
    """As `scrapy dedup explain --json`."""

    project: Project
    url: Url
    normal_url: Url
    page_key: Key
    domain: Domain
    known: Switch
    crawled: CrawledAnswer | None
    stands_for: MaybeUrl
    aliases: list[AliasAnswer]
    document: DocumentAnswer | None
    source: SourceAnswer | None
    decisions: list[PageDecisionAnswer]
    removed: Annotated[
        list[dict[str, Any]],
        Field(
            description="Each with layer, rule, evidence, on_pages, of_pages, fingerprint, path, text, rule_path.",
            examples=[[{"layer": "boilerplate", "rule": "repeats", "fingerprint": "9f1c2ab0d4e57768"}]],
        ),
    ]
    like: Annotated[dict[str, Any] | None, Field(description="url, layer, jaccard", examples=[None])]
    chunks: Annotated[list[dict[str, Any]], Field(examples=[[{"position": 0, "state": "kept"}]])]


class SinceAnswer(Answer):
    """From when on; run is null for a date."""

    at: Instant
    run: Annotated[str | None, Field(examples=["4f6c9a52-7a57-4a0c-a3f1-9d2b7e6c1a10"])]


class CountsAnswer(Answer):
    """Changes by verdict."""

    new: Count
    changed: Count
    removed: Count


class ChangeAnswer(Answer):
    """A page that one visit found new, changed or removed; diff and no_diff only where they were asked for."""

    verdict: Annotated[Literal["new", "changed", "removed"], Field(examples=["changed"])]
    change_class: Annotated[str | None, Field(examples=["content"])]
    reason: Annotated[str, Field(examples=["2 of 40 passages differ"])]
    url: MaybeUrl
    domain: Annotated[str | None, Field(examples=["example.org"])]
    page_key: Key
    at: Instant
    run: Annotated[str | None, Field(examples=["4f6c9a52-7a57-4a0c-a3f1-9d2b7e6c1a10"])]
    http_status: Annotated[int | None, Field(examples=[200])]
    diff: Annotated[str | None, Field(examples=["-black tea\n+green tea"])] = None
    no_diff: Annotated[str | None, Field(examples=[None])] = None


class ChangesAnswer(Answer):
    """As `scrapy dedup changes --json`, a part at a time."""

    project: Project
    since: SinceAnswer
    counts: CountsAnswer
    changes: list[ChangeAnswer]
    next: Cursor


class RunAnswer(Answer):
    """What a run found."""

    id: Id
    spider: Annotated[str, Field(examples=["site"])]
    status: Annotated[str, Field(examples=["finished"])]
    reason: Annotated[str | None, Field(examples=["finished"])]
    started_at: Instant
    finished_at: Instant | None
    seconds: Annotated[float | None, Field(examples=[12.5])]
    visits: Count
    verdicts: Annotated[dict[str, int], Field(examples=[{"new": 12}])]
    callbacks: Count
    bytes_received: Chars
    request_seconds: Seconds


class RunsAnswer(Answer):
    """As `scrapy dedup runs --json`."""

    project: Project
    runs: list[RunAnswer]


class LiveRunAnswer(RunAnswer):
    """What a run says of itself: when it was last heard, and its stats so far."""

    seen_at: Instant | None
    silent_seconds: Annotated[float | None, Field(description="Of a run that should be heard.", examples=[None])]
    stats: Annotated[dict[str, float], Field(examples=[{"dedup/url/dropped": 9}])]


class KeptAnswer(Answer):
    """What is kept on a domain in spite of all rules."""

    kind: Annotated[Literal["block", "page", "rule"], Field(examples=["block"])]
    domain: Domain
    entry: Annotated[str, Field(examples=["9f1c2ab0d4e57768"])]
    text: Annotated[str, Field(examples=["9f1c2ab0d4e57768"])]


class KeptListAnswer(Answer):
    """As `scrapy dedup undo --list --json`."""

    kept: list[KeptAnswer]


class TrialAnswer(Answer):
    """What would change on stored pages."""

    pages: Count
    changed: Count
    chars_less: Annotated[int, Field(examples=[-310])]
    example: MaybeUrl


class UndoneAnswer(KeptAnswer):
    """As `scrapy dedup undo --json`."""

    pages: Count
    dry_run: Switch
    was_there: Switch
    version: Version | None
    stale: Annotated[int | None, Field(examples=[12])]
    trial: TrialAnswer | None


class KeepBody(Body):
    """What is to stay: a block (16 hexadecimal digits), a page (its URL), or a rule, as explanations show it."""

    target: Annotated[str, Field(min_length=1, max_length=LONGEST, examples=["9f1c2ab0d4e57768"])]
    domain: Annotated[str | None, Field(max_length=300, examples=["example.org"])] = None
    dry_run: Switch = False


class CacheStatsAnswer(Answer):
    """As `scrapy dedup cache stats --json`."""

    project: Project
    run: CrawledRunAnswer | None
    price: Annotated[float | None, Field(examples=[None])]
    money_saved: Annotated[float | None, Field(examples=[None])]
    total: Annotated[dict[str, Any], Field(examples=[{"visits": 12, "hit_rate": 0.5}])]
    domains: Annotated[list[dict[str, Any]], Field(examples=[[{"domain": "example.org", "visits": 12}]])]


class CachedPageAnswer(Answer):
    """A page with extractions."""

    url: Url
    domain: Domain
    extractions: Count
    current: Count
    packed_bytes: Chars
    extracted_at: Instant


class CacheListAnswer(Answer):
    """As `scrapy dedup cache list --json`."""

    pages: list[CachedPageAnswer]
    total: Count


class CachedAnswer(Answer):
    """As `scrapy dedup cache show --json`."""

    url: Url
    page_key: Key
    known: Switch
    stands_for: MaybeUrl
    record: Annotated[dict[str, Any] | None, Field(examples=[None])]
    metadata: Annotated[dict[str, Any] | None, Field(examples=[None])]
    validators: Annotated[dict[str, Any], Field(examples=[{"etag": None}])]
    extractions: Annotated[list[dict[str, Any]], Field(examples=[[]])]


class CacheRemovalAnswer(Answer):
    """What was deleted, or would be; unknown are URLs without a page."""

    dry_run: Switch
    extractions: Count
    packed_bytes: Chars
    unknown: Annotated[list[str], Field(examples=[[]])]


class InvalidateBody(Body):
    """Which pages are extracted anew: exactly one of urls, domain, pattern, all."""

    urls: Annotated[list[Annotated[str, Field(max_length=LONGEST)]] | None, Field(max_length=1_000)] = None
    domain: Annotated[Named | None, Field(examples=["example.org"])] = None
    pattern: Annotated[str | None, Field(min_length=1, max_length=LONGEST, examples=[None])] = None
    all: Switch = False
    dry_run: Switch = False


class ExpireBody(Body):
    """How old the extractions are that are deleted."""

    older_than: Annotated[
        str,
        Field(
            description="A number and s, m, h, d or w.", pattern="^[0-9]{1,9}(\\.[0-9]{1,9})?[smhdw]$", examples=["30d"]
        ),
    ]
    dry_run: Switch = False


class GcBody(Body):
    """Whether it is only to be said what would be deleted."""

    dry_run: Switch = False


class VerifyBody(Body):
    """Whether what is damaged is deleted, so that its pages come again."""

    fix: Switch = False

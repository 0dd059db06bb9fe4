"""Words of the schema for pages: lists, search, explanations."""

from typing import Annotated, Any, Literal

from pydantic import Field

from scrapy_dedup.web.models import Answer, Count, Cursor, Domain, Id, Instant, Key, Project, Switch, Url, Verdict

MaybeUrl = Annotated[str | None, Field(examples=["https://example.org/tea"])]
Size = Annotated[int | None, Field(examples=[4_821])]
Names = Annotated[list[str], Field(examples=[["title"]])]


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

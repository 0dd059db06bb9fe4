"""Pages: lists of them, what a search found, and what is known of one."""

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field

from scrapy_dedup.answers.words import (
    Answer,
    Count,
    Cursor,
    Domain,
    Hash,
    Id,
    Instant,
    Key,
    MaybeUrl,
    Project,
    Size,
    Status,
    Switch,
    Title,
    Url,
    Verdict,
)
from scrapy_dedup.service.views.explain import Explanation, chunks_of
from scrapy_dedup.service.views.page_lists import SearchResults

Layer = Annotated[str, Field(examples=["boilerplate"])]


class ListedPageAnswer(Answer):
    """A page, as lists show it."""

    page_key: Key
    url: Url
    domain: Domain
    title: Title
    status: Status
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
    """A page that has all words; found_in is url, title or text."""

    found_in: Annotated[list[str], Field(examples=[["title"]])]
    snippet: Annotated[str, Field(examples=["green tea from"])]


class SearchAnswer(Answer):
    """What a search found; stopped tells by which bound it ended early: go on at `next`."""

    project: Project
    words: Annotated[list[str], Field(examples=[["tea"]])]
    pages: list[FoundPageAnswer]
    looked_at: Annotated[int, Field(description="How many pages were looked at.", ge=0, examples=[12])]
    stopped: Annotated[
        Literal["pages", "seconds"] | None,
        Field(description="The bound at which it stopped early; null: it did not.", examples=[None]),
    ]
    next: Cursor

    @classmethod
    def made(cls, project: str, found: SearchResults) -> Self:
        """Return what was found in a project."""
        pages = [FoundPageAnswer.of(each, each.page) for each in found.found]
        return cls.of(found, project=project, pages=pages)


class CrawledRunAnswer(Answer):
    """The run that crawled a page last."""

    id: Id
    spider: Annotated[str, Field(examples=["site"])]
    status: Annotated[str, Field(examples=["finished"])]
    started_at: Instant


class AliasAnswer(Answer):
    """Another address of a document."""

    url: Url
    status: Status
    alias_kind: Annotated[str | None, Field(examples=["redirect"])]
    last_crawled_at: Instant


class CrawledAnswer(AliasAnswer):
    """The last crawl of a URL."""

    http_status: Annotated[int | None, Field(examples=[200])]
    run: CrawledRunAnswer | None


class DocumentAnswer(Answer):
    """What came of a page."""

    url: Url
    status: Status
    verdict: Verdict
    title: Title
    canonical_url: MaybeUrl
    chars_in: Size
    chars_out: Size
    error: Annotated[str | None, Field(examples=[None])]
    content_hash: Hash
    cleaned_hash: Hash
    updated_at: Instant


class SourceAnswer(Answer):
    """The original of a page."""

    field: Annotated[str, Field(examples=["html"])]
    source_group: Annotated[str | None, Field(examples=["products"])]
    content_type: Annotated[str | None, Field(examples=["text/html"])]
    fetched_at: Instant
    kept: Switch


class PageDecisionAnswer(Answer):
    """What a layer decided about a page."""

    layer: Layer
    action: Annotated[str, Field(examples=["removed"])]
    reason: Annotated[str, Field(examples=["3 blocks, 120 of 4000 characters"])]
    decided_at: Instant


class RemovedAnswer(Answer):
    """A block that was left out: by which layer and rule, and why."""

    layer: Layer
    rule: Annotated[str, Field(examples=["repeats"])]
    evidence: Annotated[str, Field(examples=["on 12 of 12 pages"])]
    on_pages: Count
    of_pages: Count
    fingerprint: Annotated[str, Field(examples=["9f1c2ab0d4e57768"])]
    path: Annotated[str, Field(examples=["html > body > nav.menu"])]
    text: Annotated[str, Field(examples=["Home Shop Contact"])]
    rule_path: Annotated[str, Field(examples=[""])]


class LikeAnswer(Answer):
    """The page that stands for this one, by a layer; or, without one, that it is nearly like."""

    url: Url
    layer: Annotated[str | None, BeforeValidator(lambda layer: layer or None), Field(examples=["duplicate"])]
    jaccard: Annotated[float | None, Field(examples=[0.95])]


class ChunkAnswer(Answer):
    """A chunk of the clean text, and the URL of the page that gives it in its place."""

    position: Count
    id: Annotated[str, Field(examples=["ab12"])]
    state: Annotated[str, Field(examples=["kept"])]
    kind: Annotated[str, Field(examples=["text"])]
    chars: Count
    sample: Annotated[str, Field(examples=["Green tea from"])]
    language: Annotated[str, Field(examples=["en"])]
    layer: Annotated[str, Field(examples=[""])]
    reason: Annotated[str, Field(examples=[""])]
    holder: Annotated[str, Field(examples=[""])]


class ExplanationAnswer(Answer):
    """What is known of a URL, what the layers decided about it, oldest first, and which blocks were left out."""

    project: Project
    url: Url
    normal_url: Url
    page_key: Key
    domain: Domain
    known: Annotated[bool, Field(description="Whether anything is stored about it.", examples=[True])]
    crawled: CrawledAnswer | None
    stands_for: MaybeUrl
    aliases: list[AliasAnswer]
    document: DocumentAnswer | None
    source: SourceAnswer | None
    decisions: list[PageDecisionAnswer]
    removed: list[RemovedAnswer]
    like: LikeAnswer | None
    chunks: list[ChunkAnswer]

    @classmethod
    def made(cls, found: Explanation) -> Self:
        """Return what is known of a URL."""
        source = found.source
        return cls.of(
            found,
            found.keys,
            known=found.is_known,
            crawled=CrawledAnswer.of(found.crawled, run=found.run) if found.crawled else None,
            source=SourceAnswer.of(source, kept=source.content is not None) if source else None,
            chunks=chunks_of(found),
        )

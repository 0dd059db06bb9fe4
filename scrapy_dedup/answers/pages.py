"""Pages: lists, what a search found, what is known of one; runs, and what each found new, changed or removed."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import AliasPath, BeforeValidator, Field

from scrapy_dedup.answers import (
    Answer,
    Chars,
    Count,
    Cursor,
    Domain,
    Hash,
    Id,
    Instant,
    Key,
    MaybeId,
    MaybeUrl,
    OfProject,
    Size,
    Status,
    Switch,
    Title,
    Url,
    Verdict,
)
from scrapy_dedup.core.runs import DropAlarm
from scrapy_dedup.service.views.changes import VERDICTS, Since
from scrapy_dedup.service.views.explain import Explanation
from scrapy_dedup.service.views.page_lists import SearchResults, Stopped
from scrapy_dedup.store.records.stored import RunFigures, StoredRun

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


class PageListAnswer(OfProject):
    """Pages, those that were written last first; total is null where they are many, or were chosen."""

    pages: list[ListedPageAnswer]
    next: Cursor
    total: Annotated[int | None, Field(examples=[12])]


class FoundPageAnswer(ListedPageAnswer):
    """A page that has all words; found_in is url, title or text."""

    found_in: Annotated[list[str], Field(examples=[["title"]])]
    snippet: Annotated[str, Field(examples=["green tea from"])]


class SearchAnswer(OfProject):
    """What a search found; stopped tells by which bound it ended early: go on at `next`."""

    words: Annotated[list[str], Field(examples=[["tea"]])]
    pages: list[FoundPageAnswer]
    looked_at: Annotated[int, Field(description="How many pages were looked at.", ge=0, examples=[12])]
    stopped: Annotated[
        Stopped | None, Field(description="The bound at which it stopped early; null: it did not.", examples=[None])
    ]
    next: Cursor

    @classmethod
    def made(cls, project: str, found: SearchResults) -> Self:
        """Return what was found in a project."""
        pages = [FoundPageAnswer.of(each, each.page) for each in found.found]
        return cls.of(found, project=project, pages=pages)


class CrawledRunAnswer(Answer):
    """A run: the one that crawled a page last, or whose visits are counted."""

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


MaybeText = Annotated[str, BeforeValidator(lambda text: text or ""), Field(examples=[""])]


class ChunkAnswer(Answer):
    """A chunk of the clean text, and the URL of the page that gives it in its place."""

    position: Count
    id: Annotated[str, Field(validation_alias="chunk_id", examples=["ab12"])]
    state: Annotated[str, Field(examples=["kept"])]
    kind: Annotated[str, Field(examples=["text"])]
    chars: Count
    sample: Annotated[str, Field(examples=["Green tea from"])]
    language: Annotated[MaybeText, Field(examples=["en"])]
    layer: MaybeText
    reason: MaybeText
    holder: Annotated[str, Field(validation_alias="holder_url", examples=[""])]


class ExplanationAnswer(OfProject):
    """What is known of a URL, what the layers decided about it, oldest first, and which blocks were left out."""

    url: Url
    normal_url: Url
    page_key: Key
    domain: Domain
    known: Annotated[bool, Field(description="Whether anything is stored about it.", examples=[True])]
    crawled: CrawledAnswer | None
    gone_at: Instant | None
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
        )


Spider = Annotated[str, Field(examples=["site"])]
State = Annotated[str, Field(examples=["finished"])]
Why = Annotated[str | None, Field(examples=["finished"])]


class WorkerAnswer(Answer):
    """One of the crawlers that share a run: running, finished, stopped, lost, or resumed by a later part of it."""

    name: Annotated[str, Field(examples=["crawler-1:4711"])]
    status: State
    reason: Why
    started_at: Instant
    finished_at: Instant | None
    responses: Count
    items: Count


class DropAlarmAnswer(Answer):
    """A layer left out a tenth of a domain's pages or more: the first, each with the page that stands for it."""

    domain: Annotated[str, Field(examples=["example.org"])]
    layer: Annotated[str, Field(examples=["duplicate"])]
    dropped: Count
    pages: Count
    pairs: Annotated[list[tuple[str, str]], Field(examples=[[("https://example.org/b", "https://example.org/a")]])]


class RunAnswer(CrawledRunAnswer):
    """What a run found."""

    reason: Why
    finished_at: Instant | None
    seen_at: Instant | None
    so_far: Annotated[dict[str, int] | None, Field(examples=[{"responses": 90, "items": 80}])]
    seconds: Annotated[float | None, Field(examples=[12.5])]
    visits: Count
    verdicts: Annotated[dict[str, int], Field(examples=[{"new": 12}])]
    callbacks: Count
    bytes_received: Chars
    request_seconds: Annotated[float, Field(ge=0, examples=[12.5])]
    workers: list[WorkerAnswer]
    drop_alarms: list[DropAlarmAnswer]

    @classmethod
    def made(cls, figures: RunFigures) -> Self:
        """Return what a run found."""
        one = figures.run
        return cls.of(
            one,
            figures,
            so_far=_so_far(one),
            seconds=one.took.total_seconds() if one.took is not None else None,
            request_seconds=round(figures.seconds, 3),
            workers=[WorkerAnswer.of(worker, **_counted(worker.stats)) for worker in figures.workers],
            drop_alarms=[DropAlarmAnswer.of(alarm) for alarm in DropAlarm.of_run(one.stats)],
        )


class OneRunAnswer(RunAnswer):
    """The same, its stats so far, and for how long a run that should be heard has said nothing."""

    silent_seconds: Annotated[float | None, Field(examples=[None])]
    stats: Annotated[dict[str, float], Field(examples=[{"dedup/url/dropped": 9}])]

    @classmethod
    def at(cls, figures: RunFigures, at: datetime) -> Self:
        """Return what a run found and counted, and how it stands at an instant."""
        silence = figures.run.silence(at)
        silent_seconds = silence.total_seconds() if silence is not None else None
        stats = {name: one for name, one in figures.run.stats.items() if isinstance(one, int | float)}
        return cls.of(RunAnswer.made(figures), silent_seconds=silent_seconds, stats=stats)


class RunsAnswer(OfProject):
    """The last runs of a project, newest first."""

    runs: list[RunAnswer]


def _so_far(one: StoredRun) -> dict[str, int] | None:
    """Return what a run that is under way, or was killed, has counted; None where it never said so."""
    if one.finished_at is not None or one.seen_at is None:
        return None
    return _counted(one.stats)


def _counted(stats: Mapping[str, Any]) -> dict[str, int]:
    counted = {"responses": "response_received_count", "items": "item_scraped_count"}
    return {name: int(stats.get(stat, 0)) for name, stat in counted.items()}


class SinceAnswer(Answer):
    """From when on; run is null for a date."""

    at: Instant
    run: MaybeId


class CountsAnswer(Answer):
    """Changes by verdict."""

    new: Count
    changed: Count
    removed: Count


class ChangeAnswer(Answer):
    """A page that one visit found new, changed or removed; diff and no_diff are null where they were not asked for."""

    verdict: Annotated[Literal["new", "changed", "removed"], Field(examples=["changed"])]
    change_class: Annotated[str | None, Field(examples=["content"])]
    reason: Annotated[str, Field(examples=["2 of 40 passages differ"])]
    url: MaybeUrl
    domain: Annotated[str | None, Field(examples=["example.org"])]
    page_key: Key
    at: Instant
    run: Annotated[MaybeId, Field(validation_alias=AliasPath("run_id"))]
    http_status: Annotated[int | None, Field(examples=[200])]
    diff: Annotated[str | None, Field(examples=["-black tea\n+green tea"])]
    no_diff: Annotated[str | None, Field(examples=[None])]


class ChangesAnswer(OfProject):
    """Which pages were found new, changed or removed; next is null where all of them stand here."""

    since: SinceAnswer
    counts: Annotated[CountsAnswer, Field(description="Of all changes.")]
    changes: list[ChangeAnswer]
    next: Cursor

    @classmethod
    def made(
        cls, project: str, start: Since, counts: Mapping[str, int], changes: object = (), following: str | None = None
    ) -> Self:
        """Return some of the changes since an instant, and how many there are of each verdict."""
        return cls.of(
            project=project,
            since={"at": start.at, "run": start.run_id},
            counts={verdict: counts.get(verdict, 0) for verdict in VERDICTS},
            changes=changes,
            next=following,
        )

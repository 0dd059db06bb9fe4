"""What callers hand to the store: plain values; the store packs and compresses them in its writer thread.

Page keys and hashes are 16 raw bytes, content hashes 32; times are aware.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import IntEnum
from typing import Any, Final, Literal, NamedTuple

from msgspec import Struct, field

from scrapy_dedup.core.chunks.chunks import StoredChunk
from scrapy_dedup.core.duplicates import Sketch


class Record(Struct, frozen=True):
    """Base of what one write may hold; what is read back has fields more."""


class SignatureRecord(Record, frozen=True, tag=True):
    """A page as others may find it; it replaces what is stored of the page.

    Pages with a keeper are not found by their sketch, only keepers are: so the pages of a cluster share one row a band,
    and no page leads to another that is not a keeper.
    """

    page_key: bytes
    domain: str
    text_hash: bytes
    title_key: bytes | None = None
    language: str = ""
    sketch: Sketch | None = None
    """None for a page without text."""
    layer: str | None = None
    keeper: bytes | None = None
    jaccard: float | None = None

    def bands(self) -> tuple[int, ...]:
        """Return the bands by which it is found."""
        return self.sketch.bands if self.sketch is not None and self.keeper is None else ()


class ChunksRecord(Record, frozen=True, tag=True):
    """All chunks of a page; they replace those of an earlier version.

    Attributes:
        most_holders: so many pages may hold one text.
    """

    page_key: bytes
    chunks: tuple[StoredChunk, ...]
    most_holders: int = 1


class ForgetRecord(Record, frozen=True, tag=True):
    """A page's text does not count any more: its items failed, or another page stands for it.

    Attributes:
        most_holders: so many pages may hold one text.
    """

    page_key: bytes
    most_holders: int = 1


class ClaimKind(IntEnum):
    """What a page claims before it goes out, in a run that several workers share."""

    TITLE = 1
    TEXT = 2
    PAGE = 3
    """Itself: kept with what it shows, by which others find out whether it has what they have."""


class ClaimKey(NamedTuple):
    """By what a claim is known within a run; *key* has 16 bytes."""

    kind: ClaimKind
    key: bytes


class ReleaseRecord(Record, frozen=True):
    """What a page claimed is free again; without effect on what another page has."""

    claim: ClaimKey
    owner: bytes


PageKnowledge = SignatureRecord | ChunksRecord | ForgetRecord


class Twin(Struct, frozen=True):
    """A page that has the title of another."""

    page_key: bytes
    text_hash: bytes
    dropped: bool
    """Another page stood for it."""


class KeepPolicy(Struct, frozen=True):
    """How much of a project's past is kept.

    Attributes:
        pages: originals a page: "latest" (1), a number of versions, or "none".
        max_bytes: bound of packed originals and cleaned texts; beyond it the oldest are emptied. None: no bound.
        decisions: bound of the rows of `decisions`; several writers at once may exceed it by a tenth each.
        visits: bound of the rows of `visits`, likewise.
        visits_a_page: how many of them there may be for each page that is stored, on average. None: no bound.
        extractions: how many extractions of a page are kept, the newest: its contents, callbacks and their arguments.
        enough_pages: what was learned of a domain from so many pages replaces what rests on more; from fewer it does
            not: two crawls may learn at once.
    """

    pages: Literal["latest", "none"] | int = "latest"
    max_bytes: int | None = None
    decisions: int = 100_000
    visits: int = 500_000
    visits_a_page: int | None = None
    extractions: int = 4
    enough_pages: int = 0

    @property
    def versions(self) -> int:
        """Return how many originals of a page are kept."""
        if isinstance(self.pages, int):
            return self.pages
        return {"latest": 1, "none": 0}[self.pages]


Level = Literal[1, 2]
TemplateState = Literal["probation", "live", "retired"]
TemplateSource = Literal["static", "visual", "override", "import"]

_BITS = 64
_DIGITS = re.compile(r"[0-9a-fA-F]{1,16}")


def from_digits(digits: str) -> int:
    """Return the signature behind hexadecimal digits.

    Raises:
        ValueError: these are no 1 to 16 hexadecimal digits.
    """
    if not _DIGITS.fullmatch(digits):
        raise ValueError(f"{digits!r}: needs 1 to 16 hexadecimal digits")
    number = int(digits, 16)
    return number - 2**_BITS if number >= 2 ** (_BITS - 1) else number


class LayoutSignatureRecord(Record, frozen=True):
    """Pages of a domain had a signature; counts twice when written twice, as `ValidatorRecord` does.

    Attributes:
        template_id: the layout to which it belongs; None where none is near, which leaves what is stored.
        seen_count: by how many pages more.
    """

    domain: str
    signature_hash: int
    level: Level
    template_id: int | None
    seen_count: int
    last_seen_at: datetime
    algorithm_version: int = 1


class LayoutRunRecord(Record, frozen=True):
    """A run met pages of a layout; counts twice when written twice.

    Attributes:
        pages: so many more.
        first_url: of one of them; the first that is written stays.
    """

    domain: str
    layout: int
    pages: int
    first_url: str


class TemplateRecord(Record, frozen=True):
    """How the pages of a layout are cut, as a whole; the store gives it the next version number.

    What equals the newest version in body, overrides and state makes no new one: kind, url_pattern, structure, paths,
    confidence, pages and model of that one are brought up to date. One that is live retires the live one before it.

    Attributes:
        structure: the layout's signature of level 2.
        body: everything that is needed to cut, plain JSON.
        selectors: the same for a person: content, exclude, title, date, author.
        overrides: what a person decided, in order, each with action (keep or drop), selector, at, by.
        paths: container paths of the page that leads the layout.
        kind: what its pages are: article, listing ...
        url_pattern: a regular expression that fits this layout's URLs and no other's.
        confidence: 0.0 to 1.0.
        pages: from which it was learned.
        reason: why it has this state.
        model: what stands for the file of the model that made it; empty where nobody says.
    """

    domain: str
    layout: int
    structure: int
    body: Mapping[str, Any]
    created_at: datetime
    state: TemplateState = "probation"
    reason: str = ""
    kind: str = "page"
    url_pattern: str | None = None
    selectors: Mapping[str, Any] = field(default_factory=dict)
    overrides: Sequence[Mapping[str, Any]] = ()
    paths: Sequence[str] = ()
    confidence: float = 0.0
    pages: int = 0
    source: TemplateSource = "static"
    model: str = ""
    algorithm_version: int = 1


class TemplateStateRecord(Record, frozen=True):
    """A version of a template changes its state; without effect where there is none, or where it has that state.

    Attributes:
        version: None: the newest.
    """

    domain: str
    layout: int
    version: int | None
    state: TemplateState
    reason: str
    at: datetime


class AlarmRecord(Record, frozen=True):
    """A layout's template ceased to fit its pages, or fits them again.

    Attributes:
        raised_at: of an alarm that is raised; one that is open already keeps its own and takes the new figures. None:
            the open alarm, if there is one, is cleared at cleared_at, and nothing else counts.
        cause: in words for a person.
        pages_failed, pages_looked: on so many of so many pages.
    """

    domain: str
    layout: int
    cause: str = ""
    pages_failed: int = 0
    pages_looked: int = 0
    first_failed_at: datetime | None = None
    raised_at: datetime | None = None
    cleared_at: datetime | None = None


LayoutKnowledge = LayoutSignatureRecord | LayoutRunRecord | TemplateRecord | TemplateStateRecord | AlarmRecord

Method = Literal["template", "html", "text"]
Field = Literal["html", "content", "item_html", "bare", "pdf"]
# Of a page's originals: the response's HTML, an item's text, an item's own HTML, and the HTML of a page without items,
# which is kept to be compared with later versions alone.
BARE: Final = "bare"
# The text of a PDF file.
PDF: Final = "pdf"
HTML_FIELDS = frozenset({"html", "item_html", BARE})
RunStatus = Literal["running", "finished", "stopped", "killed"]
DocumentStatus = Literal["processing", "completed", "failed"]
UrlStatus = Literal["crawled", "alias", "duplicate", "failed", "skipped"]
AliasKind = Literal["redirect", "canonical", "title", "duplicate", "near_duplicate"]
Verdict = Literal["new", "changed", "unchanged", "removed", "duplicate"]
ChangeClass = Literal["content", "title", "numbers", "files", "links", "volatile", "boilerplate_only"]
Fetched = Literal["get", "304", "skip"]


class ConfidenceRecord(Record, frozen=True):
    """How good items of a domain were; written twice, it counts twice.

    Attributes:
        high: items with DEDUP_DOMAIN["high_quality"] at least.
        low: the others.
        total: the sum of all confidences.
        best: the largest.
        at: when the last one went out.
    """

    domain: str
    high: int
    low: int
    total: float
    best: float
    at: datetime

    def __add__(self, other: "ConfidenceRecord") -> "ConfidenceRecord":
        """Return the counts of both; the first one's domain."""
        return ConfidenceRecord(
            self.domain,
            self.high + other.high,
            self.low + other.low,
            self.total + other.total,
            max(self.best, other.best),
            max(self.at, other.at),
        )


class SourceRecord(Record, frozen=True, forbid_unknown_fields=True):
    """A page's original at one fetch; it replaces an older one, never a newer one."""

    page_key: bytes
    url: str
    domain: str
    field: Field
    content: str
    fetched_at: datetime
    title: str | None = None
    content_type: str | None = None
    source_group: str | None = None
    cleaned_content: str | None = None
    report: Mapping[str, Any] | None = None


class ResponseRecord(Record, frozen=True):
    """An answer as it came over the wire.

    Attributes:
        wire_key: of the URL as it was sent.
        received_at: when it came whole.
        validated_at: when the server said last that it holds.
        sent_hash: of the request's headers that `Vary` names.
        cookie_hash: of the request's cookies, whoever set them.
        headers: names and values, in their order, by latin-1.
        body: as it came.
    """

    wire_key: bytes
    url: str
    domain: str
    etag: str | None
    last_modified: str | None
    received_at: datetime
    validated_at: datetime
    sent_hash: bytes
    cookie_hash: bytes
    body_hash: bytes
    headers: Sequence[tuple[str, str]]
    body: bytes


class ValidatedRecord(Record, frozen=True):
    """A held answer still holds; without effect where it is not held any more."""

    wire_key: bytes
    validated_at: datetime


class DeliveryRecord(Record, frozen=True):
    """What the items of a page's visits in one run were, delivered or left out.

    Attributes:
        giver: of spider and callback.
        items: eight bytes for each.
        fields: that an item of another page may have, too: eight bytes for those of each item, each once.
        left_out: of those that were left out for another page's: eight bytes for the item, 16 for that page.
    """

    page_key: bytes
    giver: bytes
    domain: str
    at: datetime
    items: bytes
    fields: bytes = b""
    left_out: bytes = b""


class CleanedRecord(Record, frozen=True):
    """What is left of a stored page; without effect when its original is not kept."""

    page_key: bytes
    cleaned_content: str
    report: Mapping[str, Any] | None = None


class DocumentRecord(Record, frozen=True, forbid_unknown_fields=True):
    """What became of a page's content.

    A completed document replaces everything that is stored, the state of the last acknowledged visit included. One that
    is being processed or failed changes url, domain, status, error and updated_at only: what was last acknowledged
    stays good.

    Attributes:
        chars_in: characters of visible text before cleaning.
        chars_out: the same after cleaning.
        validated_at: when the page was last received whole, not by a 304.
        first_seen_at: counts only while none is stored; None: updated_at.
        last_seen_at: None: updated_at.
        blocks: fingerprints in the order of the page, by `codec.pack_fingerprints`.
        missed_runs: complete runs since, in which it was not found.
        gone_at: when it was declared removed.
        last_changed_at: when the version was fetched that is stored: its source has this time.
        lastmod: what the sitemap said at the last visit.
        depth: links from a start page, by the way that found it.
        parent_key: of the page that led to it; None: none did, or it is not known.
    """

    page_key: bytes
    url: str
    domain: str
    status: DocumentStatus
    updated_at: datetime
    verdict: str | None = None
    title: str | None = None
    canonical_url: str | None = None
    content_hash: bytes | None = None
    cleaned_hash: bytes | None = None
    chars_in: int | None = None
    chars_out: int | None = None
    error: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    validated_at: datetime | None = None
    first_seen_at: datetime | None = None
    last_seen_at: datetime | None = None
    last_changed_at: datetime | None = None
    blocks: bytes | None = None
    body_hash: bytes | None = None
    interval_seconds: float | None = None
    visits_count: int = 0
    changes_count: int = 0
    missed_runs: int = 0
    gone_at: datetime | None = None
    lastmod: datetime | None = None
    depth: int | None = None
    parent_key: bytes | None = None


class SeenRecord(Record, frozen=True):
    """A page was seen again, and its document stays as it is; without effect where there is none.

    It is completed in this run, no longer missing, and not gone.

    Attributes:
        validated_at, blocks, body_hash, lastmod: None: as stored, after a 304 or a skip.
        visits_count: of this visit too.
        is_renewed: its items were made anew, so that it is stale no more.
    """

    page_key: bytes
    at: datetime
    visits_count: int
    verdict: Verdict = "unchanged"
    etag: str | None = None
    last_modified: str | None = None
    interval_seconds: float | None = None
    validated_at: datetime | None = None
    blocks: bytes | None = None
    body_hash: bytes | None = None
    lastmod: datetime | None = None
    parent_key: bytes | None = None
    is_renewed: bool = False


class GoneRecord(Record, frozen=True):
    """A page was removed from its site; without effect where that is known."""

    page_key: bytes
    at: datetime


class VisitRecord(Record, frozen=True):
    """One visit of a page; unique by run, page_key and time.

    Attributes:
        verdict: None where none could be given, as after a failed fetch.
        bytes_received: of the body, as it came over the network.
        seconds: from the request to its acknowledgement.
        callback_run: the spider's callback was not spared.
    """

    page_key: bytes
    at: datetime
    fetched: Fetched
    verdict: Verdict | None
    reason: str
    change_class: ChangeClass | None = None
    http_status: int | None = None
    bytes_received: int = 0
    seconds: float = 0.0
    callback_run: bool = False


class ExtractionRecord(Record, frozen=True, forbid_unknown_fields=True):
    """What a callback yielded for one content of a page, as it is written and as it is read.

    Values are plain JSON: what is not raises TypeError when it is written. A
    request may be a string, which packs four times as fast as a dict with one.

    Attributes:
        memo_key: names the page and all that the outcome depends on beside what the page says.
        body_hash: of the response.
        requests: what was yielded, in its order; a number is the place of an item among the items.
        items: as they were yielded, before any pipeline; None: not kept.
    """

    memo_key: bytes
    page_key: bytes
    url: str
    domain: str
    content_hash: bytes
    callback: str
    created_at: datetime
    requests: Sequence[Any] = ()
    items: Sequence[Mapping[str, Any]] | None = None
    cb_kwargs: Mapping[str, Any] = field(default_factory=dict)
    dedup_version: str | None = None
    body_hash: bytes | None = None


class ValidatorRecord(Record, frozen=True):
    """By how much a domain's counts of trust grew; written twice, it counts twice.

    Attributes:
        sent: conditional requests.
        not_modified: of these, answered by 304.
        useless: of these, answered by 200 although the content was equal.
        changed_304: full answers that had changed although a 304 had said otherwise.
        lastmod_right: pages that had changed, as the date in the sitemap said.
        lastmod_wrong: pages that had changed although the date said otherwise.
    """

    domain: str
    sent: int = 0
    not_modified: int = 0
    useless: int = 0
    changed_304: int = 0
    lastmod_right: int = 0
    lastmod_wrong: int = 0


class CrawledUrlRecord(Record, frozen=True):
    """The whole present state of a URL; document_key is the page_key of the document that it stands for."""

    page_key: bytes
    url: str
    domain: str
    status: UrlStatus
    last_crawled_at: datetime
    http_status: int | None = None
    document_key: bytes | None = None
    alias_kind: AliasKind | None = None


class DecisionRecord(Record, frozen=True, forbid_unknown_fields=True):
    """What a layer decided about a page; a page has one decision of each layer."""

    page_key: bytes
    layer: str
    action: str
    reason: str
    decided_at: datetime
    detail: Mapping[str, Any] | None = None


class Recleaned(Struct, frozen=True):
    """A stored page and what is left of it now; unlike the others it is written in a transaction of its own.

    Attributes:
        cleaned_content: None where it is what is stored already.
        chars_in: characters of visible text before.
        chars_out: characters of them that are kept.
        decisions: why layers left out blocks; of a layer that left out none there is no decision any more.
        report: what stands on an item beside it now; None: as it went out last.
        fetched_at: of the original that was cut; where another is stored by now, nothing is written.
        compared: by what other pages are compared with such a page now.
    """

    page_key: bytes
    cleaned_content: str | None
    chars_in: int
    chars_out: int
    decisions: Sequence[DecisionRecord] = ()
    report: Mapping[str, Any] | None = None
    fetched_at: datetime | None = None
    compared: Sequence[PageKnowledge] = ()


class BlockEvidence(NamedTuple):
    """Why a fingerprint counts as boilerplate: on how many pages, where, and how it reads."""

    pages: int
    path: str
    sample: str


class BoilerplateRecord(Record, frozen=True):
    """What repeats on a domain; without hashes it says that the domain is known and nothing repeats.

    boilerplate_hashes and the keys of evidence are 16 lower-case hex digits.
    """

    domain: str
    method: Method
    boilerplate_hashes: tuple[str, ...] = ()
    pages_analyzed: int = 0
    blocks_total: int = 0
    blocks_boilerplate: int = 0
    bytes_removed_avg: int = 0
    threshold_pct: float = 0.7
    min_pages: int = 5
    min_block_chars: int = 50
    evidence: Mapping[str, BlockEvidence] | None = None


class LeaseRecord(Record, frozen=True):
    """A request of a shared queue, to be given back once the records before this one are written; nothing is stored."""

    token: str

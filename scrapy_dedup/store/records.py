"""What callers hand to the store: plain values; the store packs and compresses them in its writer thread.

Page keys and hashes are 16 raw bytes, times are aware.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple

Method = Literal["html", "text"]
Field = Literal["html", "content"]
RunStatus = Literal["running", "finished", "stopped", "killed"]
DocumentStatus = Literal["processing", "completed", "failed"]
UrlStatus = Literal["crawled", "alias", "duplicate", "failed", "skipped"]
AliasKind = Literal["redirect", "canonical"]


@dataclass(frozen=True, slots=True)
class SourceRecord:
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


@dataclass(frozen=True, slots=True)
class CleanedRecord:
    """What is left of a stored page; without effect when its original is not kept."""

    page_key: bytes
    cleaned_content: str


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """The whole present state of a document; chars_in and chars_out count visible text before and after cleaning."""

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
    sketch: bytes | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class CrawledUrlRecord:
    """The whole present state of a URL; document_key is the page_key of the document that it stands for."""

    page_key: bytes
    url: str
    domain: str
    status: UrlStatus
    last_crawled_at: datetime
    http_status: int | None = None
    document_key: bytes | None = None
    alias_kind: AliasKind | None = None


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """What a layer decided about a page; a page has one decision of each layer."""

    page_key: bytes
    layer: str
    action: str
    reason: str
    decided_at: datetime
    detail: Mapping[str, Any] | None = None


class Evidence(NamedTuple):
    """Why a fingerprint counts as boilerplate: on how many pages, where, and how it reads."""

    pages: int
    path: str
    sample: str


@dataclass(frozen=True, slots=True)
class BoilerplateRecord:
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
    evidence: Mapping[str, Evidence] | None = None


Record = SourceRecord | CleanedRecord | DocumentRecord | CrawledUrlRecord | DecisionRecord | BoilerplateRecord


@dataclass(frozen=True, slots=True)
class KeepPolicy:
    """How much of a project's past is kept.

    Attributes:
        pages: originals a page: "latest" (1), a number of versions, or "none".
        max_bytes: bound of packed originals and cleaned texts; beyond it the oldest are emptied. None: no bound.
        decisions: bound of the rows of `decisions`; several writers at once may exceed it by a tenth each.
    """

    pages: Literal["latest", "none"] | int = "latest"
    max_bytes: int | None = None
    decisions: int = 100_000

    @property
    def versions(self) -> int:
        """Return how many originals of a page are kept."""
        if isinstance(self.pages, int):
            return self.pages
        return {"latest": 1, "none": 0}[self.pages]

"""A page on its way through the layers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from scrapy_dedup.core.blocks import Page
from scrapy_dedup.core.canonical import Address
from scrapy_dedup.core.evidence import Evidence
from scrapy_dedup.core.metadata import Metadata
from scrapy_dedup.core.pdf import PdfText
from scrapy_dedup.service.aliases import Duplicate
from scrapy_dedup.service.cleaning import Cleaned
from scrapy_dedup.service.comparison import Comparison
from scrapy_dedup.service.recrawling import Judgement
from scrapy_dedup.service.site_cleaning import SiteCut
from scrapy_dedup.store.page_records import ClaimKey
from scrapy_dedup.store.records import BARE, PDF, Field, Method, SourceRecord


@dataclass(slots=True)
class Draft:
    """A page on its way through the layers; made for the first item that brings it."""

    url: str
    page_key: bytes
    domain: str
    source: str
    """The original: HTML, or text where *page* is None."""
    fetched_at: datetime
    method: Method = "template"
    """How its blocks are counted."""
    page: Page | None = None
    pdf: PdfText | None = None
    """What was read of a PDF file."""
    text: str = ""
    """What the text method works on."""
    http_status: int | None = None
    content_type: str | None = None
    source_group: str | None = None
    canonical: Address | None = None
    """The page that this one stands for, where it is another address of it."""
    sketch: bytes = b""
    """The blocks by which it is compared with other addresses, packed."""
    evidence: Evidence | None = None
    """What it shows, uncut, once an item of it may count for others."""
    went_out: bool = False
    """One of its items did."""
    checked: bool = False
    """It was compared with other addresses, for its first item."""
    duplicate: Duplicate | None = None
    """Why all items of the page are dropped."""
    cleaned: Cleaned | None = None
    metadata: Metadata = field(default_factory=Metadata)
    cut: SiteCut | None = None
    """How it was cut, by the method `template`."""
    released: str = "known"
    """What let the page go: that its domain is known, or why its batch ended."""
    of_response: bool = False
    """Its HTML is the response's."""
    comparison: Comparison | None = None
    """What came of it beside the other pages of the project, once somebody asked."""
    counted: bool = False
    """What was left out of it is in the stats."""
    chunks_sent: bool = False
    """Its chunks left as items of their own."""
    bare: bool = False
    """The page gave no item."""
    claims: Sequence[ClaimKey] = ()
    """What it claimed, in a run that several workers share."""
    judgement: Judgement | None = None
    """What the visit comes to that brought it."""

    @property
    def is_new(self) -> bool:
        """Whether it is surely met for the first time."""
        return self.judgement is not None and self.judgement.state is None

    @property
    def head_title(self) -> str | None:
        """What the page or the file is called."""
        if self.page is not None:
            return self.page.title
        return self.pdf.title if self.pdf is not None else None

    @property
    def field(self) -> Field:
        """What *source* is."""
        if self.pdf is not None:
            return PDF
        if self.page is None:
            return "content"
        if self.bare:
            return BARE
        return "html" if self.of_response else "item_html"


def source_record(draft: Draft, fetched_at: datetime) -> SourceRecord:
    """Return a page's original as it is stored; *fetched_at* is that by which its document knows it."""
    return SourceRecord(
        page_key=draft.page_key,
        url=draft.url,
        domain=draft.domain,
        field=draft.field,
        content=draft.source,
        fetched_at=fetched_at,
        title=draft.head_title,
        content_type=draft.content_type,
        source_group=draft.source_group or None,
        cleaned_content=draft.cleaned.content if draft.cleaned and not draft.bare else None,
    )

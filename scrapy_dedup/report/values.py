"""What a report says: plain values, made by `service`, drawn by this folder.

Texts, titles, URLs and domains come from pages and are kept here as they were
found; they are made harmless where they are drawn. `dataclasses.asdict` of a
Report, with ISO dates, is the report's JSON form.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class DomainFigures:
    """What came in from one domain and what was kept.

    Attributes:
        pages: cleaned pages, aliases not counted.
        chars_in: characters of visible text of those pages.
        chars_out: characters of them that were kept, at most chars_in.
        removed_by_layer: characters removed, by layer; together chars_in - chars_out.
    """

    domain: str
    pages: int
    chars_in: int
    chars_out: int
    removed_by_layer: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class LayerFigures:
    """What one layer dropped.

    Attributes:
        prevents: half a sentence for readers, such as "the second URL of one page".
        pages: pages (or requests) dropped whole.
        blocks: blocks dropped from pages that stayed.
        chars: characters of those blocks.
    """

    layer: str
    prevents: str
    pages: int
    blocks: int
    chars: int


@dataclass(frozen=True, slots=True)
class RepeatedBlock:
    """A block that a domain repeats.

    Attributes:
        path: DOM path, or "" where blocks came from plain text.
        on_pages: pages that have it, of the domain's of_pages.
        chars: characters of one copy; text may be shorter than that.
    """

    domain: str
    text: str
    path: str
    on_pages: int
    of_pages: int
    chars: int


@dataclass(frozen=True, slots=True)
class SampleBlock:
    """One block of a sample page; layer, rule and evidence are "" where it was kept."""

    text: str
    kept: bool
    layer: str = ""
    rule: str = ""
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class SamplePage:
    """One page before (its blocks in document order) and after (its cleaned text)."""

    url: str
    title: str
    blocks: tuple[SampleBlock, ...]
    cleaned: str


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that one report shows.

    Attributes:
        generated_at: aware; shown in UTC.
        pages_fetched: responses that were pages, aliases and duplicates included.
        layers: in the order in which they act.
        repeated: most pages first.
    """

    project: str
    generated_at: datetime
    pages_fetched: int
    domains: tuple[DomainFigures, ...]
    layers: tuple[LayerFigures, ...]
    repeated: tuple[RepeatedBlock, ...]
    samples: tuple[SamplePage, ...]

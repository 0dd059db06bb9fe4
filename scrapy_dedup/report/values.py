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
class ChangedPage:
    """A page that a crawl found changed.

    Attributes:
        change: of what class the difference is: "content", "numbers", "title" ...; "" where that is not known.
        diff: unified diff of its main text, a passage a line, with its two lines of heading.
    """

    url: str
    title: str
    change: str
    diff: str


@dataclass(frozen=True, slots=True)
class Recrawl:
    """What a crawl found of pages, some of which were known before it.

    Attributes:
        began_at: aware; shown in UTC.
        new, changed, unchanged, removed: pages by verdict.
        requests: pages that were asked for; the others were left alone or are removed.
        not_modified: pages of which the server said that they are what they were (304).
        callbacks_saved: pages whose callback did not run, since what it once gave is kept.
        bytes_saved: by which answers were smaller than the pages are.
        diffs: some of the changed pages, the least changed first; none where no diff is kept.
    """

    began_at: datetime
    new: int
    changed: int
    unchanged: int
    removed: int
    requests: int
    not_modified: int
    callbacks_run: int
    callbacks_saved: int
    bytes_received: int
    bytes_saved: int
    diffs: tuple[ChangedPage, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that one report shows.

    Attributes:
        generated_at: aware; shown in UTC.
        pages_fetched: responses that were pages, aliases and duplicates included.
        layers: in the order in which they act.
        repeated: most pages first.
        recrawl: of the crawl that is reported on, else of the last one; None where it found nothing but new pages.
    """

    project: str
    generated_at: datetime
    pages_fetched: int
    domains: tuple[DomainFigures, ...]
    layers: tuple[LayerFigures, ...]
    repeated: tuple[RepeatedBlock, ...]
    samples: tuple[SamplePage, ...]
    recrawl: Recrawl | None = None

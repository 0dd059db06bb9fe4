"""Figures of a whole project or of one run: the table of its domains, and the report."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from sqlalchemy.orm import Session

from scrapy_dedup.core.fingerprints import to_hex
from scrapy_dedup.report import values
from scrapy_dedup.service.findings import findings
from scrapy_dedup.service.layout_overview import open_alarms, shown_layouts
from scrapy_dedup.service.learning import SAMPLE_CHARS
from scrapy_dedup.service.reading import read_again
from scrapy_dedup.service.removals import ACTION, LAYER, blocks_in
from scrapy_dedup.service.shadow_overview import sample_page, shadowed_layers
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.figures import FigureRepository
from scrapy_dedup.store.reads import Reads
from scrapy_dedup.store.repositories import SourceRepository
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.stored import DomainFigures, RepeatedBlock, StoredRun
from scrapy_dedup.store.writer import ProjectStore

MUCH = 0.1
"""The share of boilerplate from which a domain is worth a look."""

SAMPLE_PAGES = 3
REPEATED_BLOCKS = 10

PREVENTS = {
    "url": "the second URL of one page",
    "canonical": "other addresses of a page, by redirect and canonical link",
    "boilerplate": "blocks that repeat on the pages of a domain",
}
"""The layers in the order in which they act, and what each of them prevents."""

# Of all blocks that are on every page, the longest are shown: so many are looked at.
_CANDIDATES = 1_000
_PAGES_SEARCHED = 20
_RUNS_SUMMED = 10_000


@dataclass(frozen=True, slots=True)
class Overview:
    """A project's domains, those with the largest share of boilerplate first."""

    project: str
    domains: tuple[DomainFigures, ...]

    @property
    def total(self) -> DomainFigures:
        """The sums over all domains."""
        return DomainFigures(
            domain="",
            pages=sum(each.pages for each in self.domains),
            chars_in=sum(each.chars_in for each in self.domains),
            chars_out=sum(each.chars_out for each in self.domains),
        )

    @property
    def domains_with_much(self) -> int:
        """How many domains exceed 10 % boilerplate."""
        return sum(each.removed_share > MUCH for each in self.domains)


def overview(store: Store, project: ProjectStore) -> Overview:
    """Return the figures of a project's domains.

    Raises:
        StoreError: the store failed.
    """
    with store.session(read_only=True) as session:
        domains = FigureRepository(session).domains(project.id)
    return Overview(project.name, tuple(sorted(domains, key=lambda each: (-each.removed_share, each.domain))))


def make_report(
    store: Store, project: ProjectStore, settings: Settings, at: datetime, run: StoredRun | None = None
) -> values.Report:
    """Return what a report shows of one run, or of everything that is stored of a project.

    What layers dropped whole is counted by runs: without a run it is the sum over all of them. What was found of
    pages is told of that run, or the last one. All else is the present state: with a run, of the pages that this run
    fetched last.

    Raises:
        StoreError: the store failed.
    """
    runs = [run] if run is not None else project.last_runs(_RUNS_SUMMED)
    with store.session(read_only=True) as session:
        reads = Reads(session, project.id, run.id if run is not None else None)
        domains = reads.domains()
        blocks = sum(blocks_in(reason) for reason in reads.reasons(LAYER, ACTION))
        pages_fetched = reads.pages_fetched()
        repeated = _repeated(session, project, settings, [each.domain for each in domains])
        keys = reads.pages_by_share(SAMPLE_PAGES)
    last = run or next(iter(runs), None)
    return values.Report(
        project=project.name,
        generated_at=at,
        pages_fetched=pages_fetched,
        domains=tuple(_domain(each) for each in domains),
        layers=_layers(runs, blocks, sum(each.chars_in - each.chars_out for each in domains)),
        repeated=tuple(repeated),
        samples=tuple(_samples(project, settings, keys)),
        recrawl=findings(store, project, settings, last) if last else None,
        alarms=open_alarms(project),
        layouts=shown_layouts(store, project, run.id if run is not None else None),
        shadowed=shadowed_layers(store, project, settings, runs, run),
    )


def _domain(figures: DomainFigures) -> values.DomainFigures:
    removed = {LAYER: figures.chars_in - figures.chars_out}
    return values.DomainFigures(figures.domain, figures.pages, figures.chars_in, figures.chars_out, removed)


def _layers(runs: Sequence[StoredRun], blocks: int, chars: int) -> tuple[values.LayerFigures, ...]:
    return tuple(
        values.LayerFigures(
            layer=layer,
            prevents=prevents,
            pages=sum(int(run.stats.get(f"dedup/{layer}/dropped", 0)) for run in runs),
            blocks=blocks if layer == LAYER else 0,
            chars=chars if layer == LAYER else 0,
        )
        for layer, prevents in PREVENTS.items()
    )


def _repeated(
    session: Session, project: ProjectStore, settings: Settings, domains: Sequence[str]
) -> list[values.RepeatedBlock]:
    """Return the blocks on most pages; of those on equally many the longest."""
    figures = FigureRepository(session)
    found = [block for domain in domains for block in figures.repeated_blocks(project.id, _CANDIDATES, domain)]
    found.sort(key=lambda block: (-block.pages, -len(block.sample), block.domain, block.path, block.fingerprint))
    return [
        values.RepeatedBlock(
            domain=block.domain,
            text=block.sample,
            path=block.path,
            on_pages=block.pages,
            of_pages=block.pages_analyzed,
            chars=_chars(session, project, settings, block),
        )
        for block in found[:REPEATED_BLOCKS]
    ]


def _chars(session: Session, project: ProjectStore, settings: Settings, block: RepeatedBlock) -> int:
    """Return how long a block is; its sample may be cut, so it is looked for on some pages."""
    if len(block.sample) < SAMPLE_CHARS:
        return len(block.sample)
    by_its_method = settings.override({"boilerplate_method": block.method}, "")
    pages = SourceRepository(session).iterate(project.id, block.domain)
    for source in islice(pages, _PAGES_SEARCHED):
        reading = read_again(source, by_its_method)
        for located in reading.blocks() if reading else ():
            if to_hex(located.fingerprint) == block.fingerprint:
                return len(located.text)
    return len(block.sample)


def _samples(project: ProjectStore, settings: Settings, keys: Iterable[bytes]) -> Iterator[values.SamplePage]:
    for key in keys:
        page = project.page(key)
        source = page.source if page else None
        if source is None:
            continue  # a crawl dropped the original just now
        yield sample_page(project, settings, source, ACTION)

"""Analyses of what repeats on the stored pages of domains and projects, for commands, REST and MCP.

Whatever reads or writes the store raises StoreError where that fails.
"""

import json
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Literal, TypedDict, Unpack

from msgspec import Struct, convert, field, to_builtins
from msgspec.structs import asdict, replace
from sqlalchemy.orm import Session

from scrapy_dedup.core.boilerplate.repeats import (
    EPOCH_PAGES,
    MOST_BLOCKS,
    Boilerplate,
    DomainAnalysisResult,
    Epochs,
    ProjectAnalysisResult,
)
from scrapy_dedup.core.errors import MissingError
from scrapy_dedup.core.patterns import SiteConfig
from scrapy_dedup.service.cut.cleaning import LAYERS, Cleaned
from scrapy_dedup.service.cut.reading import Reading, read_again
from scrapy_dedup.service.cut.removals import removal_decisions
from scrapy_dedup.service.cut.site_patterns import patterns_of
from scrapy_dedup.service.learning import SAMPLE_CHARS, Sample, record_of
from scrapy_dedup.service.policies import repeat_policy
from scrapy_dedup.service.templates.site_knowledge import SiteKnowledge, SiteSample, learn_sample, learned_page
from scrapy_dedup.service.templates.site_records import new_templates
from scrapy_dedup.settings import COUNTING, PARAMETERS, Settings
from scrapy_dedup.store.engine.database import begin
from scrapy_dedup.store.pages import site_configs
from scrapy_dedup.store.records.records import BoilerplateRecord, Method, Recleaned, TemplateRecord
from scrapy_dedup.store.records.stored import StoredSource
from scrapy_dedup.store.repositories import (
    DomainBoilerplateRepository,
    RecleaningRepository,
    SourceRepository,
    TemplateRepository,
)
from scrapy_dedup.store.writer import ProjectStore

PASSES = 2
_PAGES_AT_ONCE = 100
_ASIDE_IN_MEMORY = 16_000_000

Progress = Callable[[str, int], None]
"""Called with a domain and how many of its pages were read since the last call; each page is read PASSES times."""


class AnalysisParameters(TypedDict, total=False):
    """What one analysis does differently from the settings; None and what is left out leave it to them.

    source_groups: only pages stored under one of these.
    method: `template`, `html`, `text` or `auto`, as DEDUP_BOILERPLATE_METHOD.
    dry_run: find out, and write nothing.
    most_blocks: different blocks of an epoch that are counted in memory; with fewer, pages may be read once more.
    epoch_pages: pages of a large domain after which it is looked whether a redesign began.
    """

    threshold_pct: float | None
    min_pages: int | None
    min_block_chars: int | None
    method: Literal["auto", "template", "html", "text"] | None
    source_groups: Collection[str] | None
    dry_run: bool
    progress: Progress | None
    most_blocks: int
    epoch_pages: int


class _Found(Struct):
    """What one method found on a domain."""

    boilerplate: Boilerplate[int]
    site: SiteKnowledge | None = None
    """What its pages are cut by, by the method `template`."""
    samples: dict[int, Sample] = field(default_factory=dict)
    pages_cleaned: int = 0
    bytes_removed: int = 0

    def note(self, reading: Reading, cleaned: Cleaned, min_block_chars: int) -> None:
        """Take in a page that was cut."""
        if len(self.samples) < len(self.boilerplate.counts):
            for key, path, text in reading.blocks(min_block_chars):
                if key in self.boilerplate.counts:
                    self.samples.setdefault(key, Sample(path, text[:SAMPLE_CHARS]))
        self.pages_cleaned += bool(cleaned.removed)
        self.bytes_removed += reading.bytes_removed(cleaned)


class _Learned(Struct, frozen=True):
    """What is to be remembered of a domain."""

    templates: list[TemplateRecord]
    boilerplate: list[BoilerplateRecord]


class DomainAnalysis:
    """One analysis of one domain, which reads; what is to be written it puts *aside*, in parts."""

    def __init__(
        self,
        session: Session,
        settings: Settings,
        project_id: uuid.UUID,
        domain: str,
        parameters: AnalysisParameters,
        aside: IO[str],
    ) -> None:
        self._session = session
        self._aside = aside
        self._settings = settings
        self._policy = repeat_policy(settings)
        self._project_id = project_id
        self._domain = domain
        self._groups = parameters.get("source_groups")
        self._writes = not parameters.get("dry_run")
        self._progress = parameters.get("progress") or (lambda _domain, _pages: None)
        self._counts = partial(
            Epochs,
            self._policy,
            epoch_pages=parameters.get("epoch_pages", EPOCH_PAGES),
            most_blocks=parameters.get("most_blocks", MOST_BLOCKS),
        )
        self._at = datetime.now(UTC)
        self._sample = SiteSample(settings.learn_pages)
        config = site_configs.get(session.connection(), project_id, domain)
        decided = SiteConfig.from_json(config.config) if config is not None else None
        self._patterns = patterns_of(settings, decided, domain)

    def run(self) -> DomainAnalysisResult:
        """Find what repeats, and how every page is without it; returns what was found."""
        counts = self._count()
        settled = self._settled(counts)
        site = learn_sample(self._domain, self._sample, self._settings) if "template" in counts else None
        found = {
            method: _Found(count.boilerplate(settled.get(method)), site if method == "template" else None)
            for method, count in counts.items()
        }
        recleaned = self._cut(found)
        while pages := list(islice(recleaned, _PAGES_AT_ONCE)):
            self._keep(pages)
        self._keep(self._learned(found))
        return DomainAnalysisResult(
            domain=self._domain,
            pages_analyzed=sum(each.boilerplate.pages for each in found.values()),
            pages_cleaned=sum(each.pages_cleaned for each in found.values()),
            blocks_boilerplate=sum(len(each.boilerplate.counts) for each in found.values()),
            bytes_removed_total=sum(each.bytes_removed for each in found.values()),
        )

    def _keep(self, part: list[Recleaned] | _Learned) -> None:
        if self._writes:
            # In ASCII: lone surrogates, which pages may hold, are no valid UTF-8.
            print(json.dumps(to_builtins(part, str_keys=True)), file=self._aside)

    def _pages(self, *, oldest_first: bool = False, tells: bool = True) -> Iterator[tuple[StoredSource, Reading]]:
        """Iterate over the pages that can be read; the others stay as they are."""
        sources = SourceRepository(self._session).iterate(
            self._project_id, self._domain, self._groups, oldest_first=oldest_first
        )
        for source in sources:
            reading = read_again(source, self._settings)
            if reading is not None:
                yield source, reading
            if tells:
                self._progress(self._domain, 1)

    def _count(self) -> dict[Method, Epochs]:
        counts: dict[Method, Epochs] = {}
        for source, reading in self._pages(oldest_first=True):
            if reading.method == "template" and reading.page is not None and self._sample.wants(source.page_key):
                self._sample.add(learned_page(source.page_key, source.url, reading.page))
            blocks = reading.blocks(self._policy.min_block_chars)
            if reading.method not in counts:
                counts[reading.method] = self._counts()
            counts[reading.method].add(block.fingerprint for block in blocks)
        return counts

    def _settled(self, counts: Mapping[Method, Epochs]) -> dict[Method, Counter[int]]:
        """Return exact counts of the blocks that are in doubt after one look at a domain of hundreds of thousands."""
        doubtful = {method: count.doubtful() for method, count in counts.items()}
        settled: dict[Method, Counter[int]] = {}
        if any(doubtful.values()):
            for _, reading in self._pages(tells=False):
                blocks = {block.fingerprint for block in reading.blocks(self._policy.min_block_chars)}
                settled.setdefault(reading.method, Counter()).update(blocks & doubtful.get(reading.method, frozenset()))
        return settled

    def _cut(self, found: Mapping[Method, _Found]) -> Iterator[Recleaned]:
        for source, reading in self._pages():
            by_method = found.get(reading.method)
            if by_method is None:
                continue  # a crawl stored the first page of this kind just now
            cleaned = reading.clean(by_method.boilerplate, self._settings, by_method.site, self._patterns)
            by_method.note(reading, cleaned, self._policy.min_block_chars)
            yield Recleaned(
                page_key=source.page_key,
                cleaned_content=None if cleaned.content == source.cleaned_content else cleaned.content,
                chars_in=cleaned.chars_in,
                chars_out=cleaned.chars_out,
                decisions=removal_decisions(source.page_key, cleaned, self._at),
                fetched_at=source.fetched_at,
            )

    def _learned(self, found: Mapping[Method, _Found]) -> _Learned:
        templates, boilerplate = list[TemplateRecord](), list[BoilerplateRecord]()
        for method, each in sorted(found.items()):
            if each.site is not None:
                templates += new_templates(None, each.site, self._at)
            record = record_of(self._domain, method, each.boilerplate, each.samples, self._policy)
            removed = each.bytes_removed // each.boilerplate.pages
            boilerplate.append(replace(record, bytes_removed_avg=removed))
        return _Learned(templates, boilerplate)


class NoPagesError(MissingError):
    """There is nothing to analyse; the message says what to do."""


def pages_to_analyze(project: ProjectStore, groups: Sequence[str] | None) -> dict[str, int]:
    """Return how many stored pages there are of each domain: of the project, or of some groups of its pages.

    Raises:
        NoPagesError: there are none, or none of one of the groups, whose name may be mistyped.
    """
    with project.session(read_only=True) as session:
        sources = SourceRepository(session)
        found = dict(sources.get_domains_for_project(project.id, groups))
        unknown = (one for one in groups or () if not found or not sources.get_domains_for_project(project.id, [one]))
        missing = next(unknown, None)
    if found and missing is None:
        return found
    of_group = f" of the group {missing!r}" if missing is not None else ""
    raise NoPagesError(
        f"project {project.name!r} keeps no pages{of_group}: run a crawl first, and keep its pages (DEDUP_KEEP_PAGES)"
    )


def settings_of_analysis(settings: Settings, parameters: AnalysisParameters) -> Settings:
    """Return the settings by which an analysis decides.

    One that names threshold_pct, min_pages or min_block_chars counts repeats, whatever method the settings name: pages
    of HTML by DOM path and text, where the settings do not ask for text alone.

    Raises:
        SettingError: a parameter is out of its range, or beside a method that is named and has none.
    """
    of_method = {name: parameters.get(name) for name in PARAMETERS if parameters.get(name) is not None}
    method = parameters.get("method")
    if method is None and of_method and settings.boilerplate_method not in COUNTING:
        method = "html"
    named = {"boilerplate_method": method} if method is not None else {}
    return settings.override({**named, **of_method}, "")


class DomainDedupService:
    """Analyses over the pages that are stored, independent of any crawl; each can be repeated with the same outcome."""

    def __init__(self, session: Session, settings: Settings) -> None:
        self._session = session
        self._settings = settings

    def analyze_domain(
        self, project_id: uuid.UUID, domain: str, **parameters: Unpack[AnalysisParameters]
    ) -> DomainAnalysisResult:
        """Find what repeats on a domain's stored pages and store every page without it; the caller commits.

        What is stored is what this analysis found, whatever an earlier one did: a block that is boilerplate no longer
        is in `cleaned_content` again, and with fewer than min_pages pages all blocks are. Parameters hold for this
        analysis: the next one without them cuts as the settings ask for. Pages of HTML and pages of text are counted
        apart, and summed in the result. Originals are never changed.

        Returns:
            `pages_cleaned` counts the pages that lost a block, `bytes_removed_total` UTF-8 bytes of visible text.

        Raises:
            SettingError: a parameter is out of its range.
        """
        (result,) = self._analyze(project_id, [domain], parameters)
        return result

    def _analyze(
        self, project_id: uuid.UUID, domains: Iterable[str] | None, parameters: AnalysisParameters
    ) -> list[DomainAnalysisResult]:
        """Read and cut first, and write then: others write meanwhile, unless the session is in a transaction already.

        Of all pages at once what is to be written has no room in memory.
        """
        settings, session = settings_of_analysis(self._settings, parameters), self._session
        is_first = not session.in_transaction()
        with SpooledTemporaryFile(_ASIDE_IN_MEMORY, "w+", encoding="ascii") as aside:
            if is_first:
                begin(session, write=False)
            if domains is None:
                of_groups = parameters.get("source_groups")
                domains = dict(SourceRepository(session).get_domains_for_project(project_id, of_groups))
            analyses = (DomainAnalysis(session, settings, project_id, domain, parameters, aside) for domain in domains)
            results = [analysis.run() for analysis in analyses]
            if parameters.get("dry_run"):
                return results
            if is_first:
                session.rollback()
                begin(session, write=True)
            aside.seek(0)
            writer = RecleaningRepository(session, project_id, LAYERS, settings.keep_decisions)
            for part in map(json.loads, aside):
                if isinstance(part, list):
                    writer.write_unless_replaced(convert(part, list[Recleaned], str_keys=True))
                else:
                    self._remember(project_id, convert(part, _Learned, str_keys=True))
        session.flush()
        return results

    def _remember(self, project_id: uuid.UUID, learned: _Learned) -> None:
        TemplateRepository(self._session, project_id).add(learned.templates)
        for record in learned.boilerplate:
            DomainBoilerplateRepository(self._session).upsert(project_id, **asdict(record))

    def analyze_project(
        self, project_id: uuid.UUID, domains: Iterable[str] | None = None, **parameters: Unpack[AnalysisParameters]
    ) -> ProjectAnalysisResult:
        """Analyse these domains, or all that have stored pages by their names, and commit once.

        Raises:
            SettingError: a parameter is out of its range.
            StoreError: the store failed; nothing was written.
        """
        results = self._analyze(project_id, domains, parameters)
        if not parameters.get("dry_run"):
            self._session.commit()
        return ProjectAnalysisResult(
            domains_analyzed=len(results),
            domains_with_boilerplate=sum(result.blocks_boilerplate > 0 for result in results),
            total_pages_cleaned=sum(result.pages_cleaned for result in results),
            total_bytes_removed=sum(result.bytes_removed_total for result in results),
            domain_results=results,
        )

    def get_domain_stats(self, project_id: uuid.UUID) -> list[dict[str, Any]]:
        """Return what is known of each domain by each method, in the order of domains and methods.

        Keys: domain, method, pages_analyzed, blocks_total, blocks_boilerplate, bytes_removed_avg, threshold_pct,
        min_pages, min_block_chars, updated_at (ISO 8601).
        """
        names = (
            "domain method pages_analyzed blocks_total blocks_boilerplate bytes_removed_avg threshold_pct min_pages "
            "min_block_chars"
        ).split()
        return [
            {**{name: getattr(row, name) for name in names}, "updated_at": row.updated_at.isoformat()}
            for row in DomainBoilerplateRepository(self._session).list_by_project(project_id)
        ]

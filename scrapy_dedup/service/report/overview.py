"""Figures of a whole project or of one run: the table of its domains, its layouts and alarms, and the report.

Whatever reads or writes the store raises StoreError where that fails.
"""

import re
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Final, Self

from msgspec import Struct, convert
from msgspec.structs import replace
from sqlalchemy.orm import Session

from scrapy_dedup.core.errors import MissingError
from scrapy_dedup.core.pages.fingerprints import to_hex
from scrapy_dedup.core.runs import DropAlarm
from scrapy_dedup.core.templates.templates import Template, Vision, selector
from scrapy_dedup.core.templates.url_patterns import matches_pattern
from scrapy_dedup.report import values
from scrapy_dedup.report.values import ReportPicture, boxes_from
from scrapy_dedup.service.cache.cache import spared, total_of
from scrapy_dedup.service.cut.cleaning import LAYER, PATTERNS
from scrapy_dedup.service.cut.cleaning import LAYERS as LAYERS_OF_BLOCKS
from scrapy_dedup.service.cut.reading import read_again
from scrapy_dedup.service.cut.removals import SHADOW, blocks_in, removals_in
from scrapy_dedup.service.learning import SAMPLE_CHARS
from scrapy_dedup.service.report.ledger import PREVENTS, make_ledger, sums_of
from scrapy_dedup.service.stored.template_upkeep import FIELDS, evidence_of, template_in, texts_of
from scrapy_dedup.service.templates.layout_figures import (
    DomainLayout,
    DomainLayouts,
    UnknownLayoutError,
    domain_layouts,
    name_of,
)
from scrapy_dedup.service.views.changes import ChangesChoice, PageChange, Since, find_run, iterate_changes
from scrapy_dedup.service.views.explain import judged_blocks, own_removals, page_blocks
from scrapy_dedup.settings import LAYERS, Settings
from scrapy_dedup.store.domains.layouts import StoredPicture
from scrapy_dedup.store.domains.lists import some_pages
from scrapy_dedup.store.pages.reads import Reads
from scrapy_dedup.store.records.stored import (
    DomainFigures,
    LayoutFigures,
    RepeatedBlock,
    StoredRun,
    StoredSource,
    StoredTemplate,
    TemplateFigures,
)
from scrapy_dedup.store.repositories import SourceRepository
from scrapy_dedup.store.upkeep.cache import StoredCache
from scrapy_dedup.store.writer import ProjectStore

SAMPLES: Final = 3
PAGES: Final = 10

_PREFIX: Final = "shadow/"


def shadowed_layers(
    project: ProjectStore, settings: Settings, runs: Sequence[StoredRun], run: StoredRun | None
) -> tuple[values.ShadowedLayer, ...]:
    """Return what layers in the shadow would have dropped: of one run, or of all that are given."""
    sums = sums_of(runs)
    counts = {layer: _counts(sums, layer) for layer in LAYERS}
    layers = [layer for layer in LAYERS if counts[layer]]
    with project.session(read_only=True) as session:
        reads = Reads(session, project.id, run.id if run is not None else None)
        found = {layer: reads.decided(layer, SHADOW, PAGES) for layer in layers}
    return tuple(
        values.ShadowedLayer(
            layer,
            counts[layer],
            pages=() if layer == LAYER else tuple(values.ShadowedPage(url, reason) for _, reason, url in found[layer]),
            samples=tuple(_shadow_samples(project, settings, [key for key, *_ in found[layer]]))
            if layer == LAYER
            else (),
        )
        for layer in layers
    )


def _counts(sums: Mapping[str, float], layer: str) -> dict[str, int]:
    prefix = f"{_PREFIX}{layer}/"
    return {
        name.removeprefix(prefix): int(sums[name]) for name in sorted(sums) if name.startswith(prefix) and sums[name]
    }


def _shadow_samples(project: ProjectStore, settings: Settings, keys: Sequence[bytes]) -> Iterator[values.SamplePage]:
    shown = 0
    for key in keys:
        page = project.page(key)
        if page is not None and page.source is not None and shown < SAMPLES:
            shown += 1
            decisions = project.decisions(key)
            decision = next((each for each in decisions if (each.layer, each.action) == (LAYER, SHADOW)), None)
            yield _sample(page.source, judged_blocks(page.source, removals_in(decision), settings))


MUCH = 0.1
"""The share of boilerplate from which a domain is worth a look."""

SAMPLE_PAGES = 3
REPEATED_BLOCKS = 10

# Of all blocks that are on every page, the longest are shown: so many are looked at.
_CANDIDATES = 1_000
_PAGES_SEARCHED = 20
_RUNS_SUMMED = 10_000
_CHARS = re.compile(r"blocks?, ([0-9]+) of ")

DIFFS = 3
READABLE_CHARS = 3_000
"""Longer diffs are shown only where there are not enough that are shorter."""

_KNOWN_BEFORE = ("changed", "unchanged", "removed")
# Where no diff was kept with its change, each costs a parse of both versions.
_CHANGES_SEARCHED = 60


class Overview(Struct, frozen=True):
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


def overview(project: ProjectStore) -> Overview:
    """Return the figures of a project's domains."""
    with project.session(read_only=True) as session:
        domains = Reads(session, project.id).domains(without_text=True)
    return Overview(project.name, tuple(sorted(domains, key=lambda each: (-each.removed_share, each.domain))))


class UnknownRunError(MissingError):
    """A project has no run of that id."""


def named_run(project: ProjectStore, name: str | None) -> StoredRun | None:
    """Return a run by its id, by how that begins, or the `last` one; None of None.

    Raises:
        UnknownRunError: there is none.
        SinceError: several ids begin so.
    """
    if name is None:
        return None
    found = find_run(project, name.strip().lower())
    if found is None:
        known = "give one that `scrapy dedup runs` lists, or last"
        raise UnknownRunError(f"project {project.name!r} has no run {name!r}: {known}")
    return found


def make_report(project: ProjectStore, settings: Settings, at: datetime, run: StoredRun | None = None) -> values.Report:
    """Return what a report shows of one run, or of everything that is stored of a project.

    What layers dropped whole is counted by runs: without a run it is the sum over all of them. What was found of
    pages is told of that run, or the last one. All else is the present state: with a run, of the pages that this run
    fetched last.
    """
    runs = [run] if run is not None else project.last_runs(_RUNS_SUMMED)
    with project.session(read_only=True) as session:
        reads_of = run.id if run is not None else None
        reads = Reads(session, project.id, reads_of)
        domains = reads.domains(without_text=True)
        cuts = {layer: _Cuts.read(Reads(session, project.id, reads_of), layer) for layer in LAYERS_OF_BLOCKS}
        pages_fetched = reads.pages_fetched()
        repeated = _repeated(session, project, settings, [each.domain for each in domains])
        keys = reads.pages_by_share(SAMPLE_PAGES)
    last = run or next(iter(runs), None)
    return values.Report(
        project=project.name,
        generated_at=at,
        pages_fetched=pages_fetched,
        domains=tuple(_domain(each, cuts) for each in domains),
        layers=_layers(runs, cuts, sum(each.chars_in - each.chars_out for each in domains)),
        repeated=tuple(repeated),
        samples=tuple(_samples(project, settings, keys)),
        recrawl=findings(project, settings, last) if last else None,
        alarms=open_alarms(project),
        drop_alarms=DropAlarm.of_run(last.stats) if last else (),
        layouts=shown_layouts(project, run.id if run is not None else None),
        shadowed=shadowed_layers(project, settings, runs, run),
        ledger=make_ledger(project, settings, runs, run),
    )


class _Cuts(Struct, frozen=True):
    """What a layer took out of the pages that are stored now."""

    blocks: int
    chars: Counter[str]
    """By domain."""

    @classmethod
    def read(cls, reads: Reads, layer: str) -> Self:
        """Return the sums of a layer's decisions."""
        blocks, chars = 0, Counter[str]()
        for domain, reason in reads.removed_reasons(layer):
            blocks += blocks_in(reason)
            chars[domain] += _chars_in(reason)
        return cls(blocks, chars)


def _chars_in(reason: str) -> int:
    """Return how many characters a decision's reason names."""
    found = _CHARS.search(reason)
    return int(found[1]) if found else 0


def _domain(figures: DomainFigures, cuts: Mapping[str, _Cuts]) -> values.ReportDomain:
    removed = figures.chars_in - figures.chars_out
    by_patterns = min(cuts[PATTERNS].chars[figures.domain], removed)
    by_layer = {LAYER: removed - by_patterns} | ({PATTERNS: by_patterns} if by_patterns else {})
    return values.ReportDomain(figures.domain, figures.pages, figures.chars_in, figures.chars_out, by_layer)


def _layers(runs: Sequence[StoredRun], cuts: Mapping[str, _Cuts], chars: int) -> tuple[values.LayerFigures, ...]:
    by_patterns = min(cuts[PATTERNS].chars.total(), chars)
    removed, sums = {LAYER: chars - by_patterns, PATTERNS: by_patterns}, sums_of(runs)
    return tuple(
        values.LayerFigures(
            layer=layer,
            prevents=prevents,
            pages=int(sums[f"{layer}/dropped"]),
            blocks=cuts[layer].blocks if layer in cuts else 0,
            chars=removed.get(layer, 0),
        )
        for layer, prevents in PREVENTS.items()
    )


def _repeated(
    session: Session, project: ProjectStore, settings: Settings, domains: Sequence[str]
) -> list[values.ReportBlock]:
    """Return the blocks on most pages; of those on equally many the longest."""
    reads = Reads(session, project.id)
    found = [block for domain in domains for block in reads.repeated_blocks(_CANDIDATES, domain)]
    found.sort(key=lambda block: (-block.pages, -len(block.sample), block.domain, block.path, block.fingerprint))
    return [
        values.ReportBlock(
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
        removals = own_removals(project.decisions(key), key)
        yield _sample(source, page_blocks(project, source, removals, settings)[0])


def _sample(source: StoredSource, blocks: Iterable[values.ExplainedBlock]) -> values.SamplePage:
    shown = tuple(_shown(block) for block in blocks if not block.is_part)
    return values.SamplePage(source.url, source.title or "", shown, source.cleaned_content or "")


def _shown(block: values.ExplainedBlock) -> values.ExplainedBlock:
    return replace(block, rule=f"{block.rule} {block.rule_path}") if block.layer == PATTERNS else block


def findings(project: ProjectStore, settings: Settings, run: StoredRun) -> values.ReportRecrawl | None:
    """Return what a run found; None where no page was known before it."""
    cache = StoredCache(project)
    traffic = cache.traffic(run.id)
    pages: Counter[str] = Counter()
    for one in traffic:
        pages[one.verdict or ""] += one.visits
    if not any(pages[verdict] for verdict in _KNOWN_BEFORE):
        return None
    total = total_of(spared(cache, run, {}))
    return values.ReportRecrawl(
        began_at=run.started_at,
        new=pages["new"],
        changed=pages["changed"],
        unchanged=pages["unchanged"],
        removed=pages["removed"],
        requests=sum(one.visits for one in traffic if one.fetched != "skip"),
        not_modified=total.not_modified,
        callbacks_run=total.misses,
        callbacks_saved=total.hits,
        bytes_received=total.bytes_received,
        bytes_saved=total.bytes_saved,
        diffs=tuple(_diffs(project, settings, run)) if pages["changed"] else (),
    )


def _diffs(project: ProjectStore, settings: Settings, run: StoredRun) -> Iterator[values.ChangedPage]:
    """Iterate over a small, a middling and a large change, of those that can be read at a glance."""
    changes = iterate_changes(
        project, Since(run.started_at, run.id), ChangesChoice(verdict="changed", diff=True), settings
    )
    of_run = (change for change in changes if change.run_id == run.id)
    # By page: of one that was visited twice in the run, the last diff is kept, and stands for both.
    found = {change.page_key: change for change in islice(of_run, _CHANGES_SEARCHED) if change.diff}
    ranked = sorted(found.values(), key=lambda change: (len(change.diff or ""), change.url or "", str(change.at)))
    readable = [change for change in ranked if len(change.diff or "") <= READABLE_CHARS]
    if len(readable) < DIFFS:
        readable = ranked[:DIFFS]
    # The middles of as many equal parts.
    for place in sorted({(2 * part + 1) * len(readable) // (2 * DIFFS) for part in range(DIFFS)}):
        yield from (_changed_page(project, change) for change in readable[place : place + 1])


def _changed_page(project: ProjectStore, change: PageChange) -> values.ChangedPage:
    page = project.page(change.page_key)
    document = page.document if page else None
    return values.ChangedPage(
        url=change.url or "",
        title=(document.title if document else None) or "",
        change=change.change_class or "",
        diff=change.diff or "",
    )


DOMAINS: Final = 12
LAYOUTS: Final = 12
RULES: Final = 20
EXAMPLES: Final = 3
RUNS: Final = 12
# They are PNG, which nothing here could make smaller; a report is to stay one that a mail can carry.
PICTURES: Final = 8
PICTURE_BYTES: Final = 3_000_000

# Texts that stand at what is left out are looked for among so many of a domain's most repeated blocks.
_BLOCKS_SEARCHED: Final = 1_000
_URLS_SEARCHED: Final = 500


def open_alarms(project: ProjectStore) -> tuple[values.Alarm, ...]:
    """Return the alarms that are open, newest first."""
    found = project.alarms(open_only=True)
    return tuple(values.Alarm(each.domain, name_of(each.layout), each.cause, each.raised_at) for each in found)


def shown_layouts(project: ProjectStore, run_id: uuid.UUID | None = None) -> tuple[values.ReportDomainLayouts, ...]:
    """Return the layouts of the domains with most pages; of those that a run met, if one is named."""
    try:
        domains = domain_layouts(project)
    except UnknownLayoutError:
        return ()
    if run_id is not None:
        domains = [each for each in domains if any(run.id == run_id for run in each.runs)]
    domains.sort(key=lambda each: (-_visits(each), each.domain))
    room = _Room()
    return tuple(_layouts_of(project, each, room) for each in domains[:DOMAINS])


class _Room(Struct):
    """For pictures in one report."""

    pictures: int = PICTURES
    size_bytes: int = PICTURE_BYTES

    def with_picture(self, each: values.ReportLayout, stored: StoredPicture | None) -> values.ReportLayout:
        """Return a layout with its picture, or with word of it where there is no room left."""
        if stored is None:
            return each
        if self.pictures < 1 or len(stored.picture) > self.size_bytes:
            return replace(each, left_out=stored.url)
        self.pictures -= 1
        self.size_bytes -= len(stored.picture)
        boxes = boxes_from(stored.boxes)
        return replace(each, picture=ReportPicture(stored.url, stored.picture, stored.width, stored.height, boxes))


def _visits(domain: DomainLayouts) -> int:
    return sum(each.visits for each in domain.layouts)


def _layouts_of(project: ProjectStore, found: DomainLayouts, room: _Room) -> values.ReportDomainLayouts:
    with project.session(read_only=True) as session:
        repeated = Reads(session, project.id).repeated_blocks(_BLOCKS_SEARCHED, found.domain)
        urls = some_pages(session.connection(), project.id, found.domain, _URLS_SEARCHED)
    live = {one.layout: one for one in project.templates(found.domain)}
    pictures = project.pictures(found.domain)
    layouts = tuple(
        room.with_picture(_layout(each, live.get(each.layout), repeated, urls), pictures.get(each.layout))
        for each in found.layouts[:LAYOUTS]
    )
    return values.ReportDomainLayouts(found.domain, _visits(found), layouts, len(found.layouts))


def _layout(
    figures: DomainLayout, live: StoredTemplate | None, repeated: Sequence[RepeatedBlock], urls: Iterable[str]
) -> values.ReportLayout:
    present = figures.template
    return values.ReportLayout(
        layout=name_of(figures.layout),
        kind=present.kind if present else "",
        visits=figures.visits,
        pages_by_run=figures.pages_by_run[-RUNS:],
        examples=_examples(figures, urls),
        url_pattern=present.url_pattern if present else None,
        template=_template(present, live, repeated) if present else None,
    )


def _examples(figures: LayoutFigures, urls: Iterable[str]) -> tuple[str, ...]:
    """Return the page that led the layout in the last run, and other stored ones with such URLs."""
    pattern = figures.template.url_pattern if figures.template else None
    first = (figures.example_url,) if figures.example_url else ()
    alike = (url for url in urls if pattern and url not in first and matches_pattern(pattern, url))
    return (*first, *islice(alike, EXAMPLES - len(first)))


def _template(
    figures: TemplateFigures, live: StoredTemplate | None, repeated: Sequence[RepeatedBlock]
) -> values.ReportTemplate:
    told = convert(figures, values.ReportTemplate, from_attributes=True)
    known = template_in(live) if live is not None else None
    if live is None or known is None:
        return told
    dropped = [path for path, verdict in known.verdicts.items() if not verdict.keep]
    # What most pages have comes first: the small things of a few pages are the long tail of any list.
    dropped.sort(key=lambda path: (-known.verdicts[path].pages, path))
    texts = _texts(known, repeated)
    return replace(
        told,
        content=tuple(
            values.ReportLocator(selector(path), evidence_of(known.verdicts.get(path)))
            for path in known.containers[:RULES]
        ),
        left_out=tuple(
            values.ReportLocator(selector(path), known.verdicts[path].evidence, texts.get(path, ""))
            for path in dropped[:RULES]
        ),
        rules=len(dropped),
        fields={name: ", ".join(found) for name in FIELDS if (found := texts_of(live.selectors, name))},
        vision=convert(live.body.get("vision"), Vision | None),
    )


def _texts(template: Template, repeated: Iterable[RepeatedBlock]) -> dict[str, str]:
    """Return what stands at the paths that are left out: of each the text on most pages, as far as one is kept."""
    found: dict[str, str] = {}
    for block in repeated:
        why = template.lookup.standing(block.path).why if block.path else None
        if why is not None:
            found.setdefault(why.path, block.sample)
    return found

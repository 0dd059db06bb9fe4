"""What a report shows of a project's layouts, of the templates that cut their pages, and of alarms."""

import uuid
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from msgspec import Struct, convert
from msgspec.structs import replace

from scrapy_dedup.core.teacher.vision import Vision
from scrapy_dedup.core.templates.templates import Template, selector
from scrapy_dedup.core.templates.url_patterns import matches_pattern
from scrapy_dedup.report import values
from scrapy_dedup.report.values import ReportPicture, boxes_from
from scrapy_dedup.service.stored.template_upkeep import FIELDS, evidence_of, template_in, texts_of
from scrapy_dedup.service.templates.layout_figures import (
    DomainLayout,
    DomainLayouts,
    UnknownLayoutError,
    domain_layouts,
    name_of,
)
from scrapy_dedup.store.knowledge.layout_pictures import StoredPicture
from scrapy_dedup.store.pages.reads import Reads
from scrapy_dedup.store.records.stored import LayoutFigures, RepeatedBlock, StoredTemplate, TemplateFigures
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore

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


def shown_layouts(
    store: Store, project: ProjectStore, run_id: uuid.UUID | None = None
) -> tuple[values.ReportDomainLayouts, ...]:
    """Return the layouts of the domains with most pages; of those that a run met, if one is named."""
    try:
        domains = domain_layouts(project)
    except UnknownLayoutError:
        return ()
    if run_id is not None:
        domains = [each for each in domains if any(run.id == run_id for run in each.runs)]
    domains.sort(key=lambda each: (-_pages(each), each.domain))
    room = _Room()
    return tuple(_domain(store, project, each, room) for each in domains[:DOMAINS])


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


def _pages(domain: DomainLayouts) -> int:
    return sum(each.figures.pages for each in domain.layouts)


def _domain(store: Store, project: ProjectStore, found: DomainLayouts, room: _Room) -> values.ReportDomainLayouts:
    with store.session(read_only=True) as session:
        repeated = Reads(session, project.id).repeated_blocks(_BLOCKS_SEARCHED, found.domain)
        urls = Reads(session, project.id).some_urls(found.domain, _URLS_SEARCHED)
    live = {one.layout: one for one in project.templates(found.domain)}
    pictures = project.pictures(found.domain)
    layouts = tuple(
        room.with_picture(
            _layout(each, live.get(each.figures.layout), repeated, urls), pictures.get(each.figures.layout)
        )
        for each in found.layouts[:LAYOUTS]
    )
    return values.ReportDomainLayouts(found.domain, _pages(found), layouts, len(found.layouts))


def _layout(
    each: DomainLayout, live: StoredTemplate | None, repeated: Sequence[RepeatedBlock], urls: Iterable[str]
) -> values.ReportLayout:
    figures = each.figures
    present = figures.template
    return values.ReportLayout(
        layout=name_of(figures.layout),
        kind=present.kind if present else "",
        pages=figures.pages,
        pages_by_run=each.pages_by_run[-RUNS:],
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
    told = values.ReportTemplate(
        version=figures.version,
        state=figures.state,
        confidence=figures.confidence,
        pages=figures.pages,
        reason=figures.reason,
    )
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

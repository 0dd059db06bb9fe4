"""One domain as the dashboard shows it: what the registry, its layouts, its blocks and its pages say."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from scrapy_dedup.core.patterns.config import KEYS, SiteConfig
from scrapy_dedup.service.domains.registry import DomainService, StoredDomain
from scrapy_dedup.service.patterns.config import read_stored
from scrapy_dedup.service.templates.layout_figures import DomainLayout, UnknownLayoutError, domain_layouts, name_of
from scrapy_dedup.service.views.kept import KeptEntry, kept_of
from scrapy_dedup.service.views.page_lists import PageChoice, PageList, list_pages
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.knowledge.layout_pictures import PictureFacts
from scrapy_dedup.store.pages.figures import FigureRepository
from scrapy_dedup.store.records.stored import RepeatedBlock, StoredAlarm
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore

LAYOUTS: Final = 24
BLOCKS: Final = 40
PAGES: Final = 25
# Counting goes on where nobody looks any more; so many are told from "more".
_BLOCKS_COUNTED: Final = 2_000


@dataclass(frozen=True, slots=True)
class LayoutView:
    """A layout with its name as people say it: 16 hexadecimal digits, or `rest`."""

    name: str
    layout: DomainLayout
    picture: PictureFacts | None


@dataclass(frozen=True, slots=True)
class DomainView:
    """One domain as the dashboard shows it.

    Attributes:
        at: as of when.
        alarms: (layout's name, that its template does not fit).
        blocks: those on most pages first; there are `all_blocks`.
        kept: what people keep in spite of all rules; kept_blocks: fingerprints among it.
        is_continued: these are not its first pages.
    """

    domain: str
    at: datetime
    registered: StoredDomain | None
    layouts: Sequence[LayoutView]
    all_layouts: int
    alarms: Sequence[tuple[str, StoredAlarm]]
    blocks: Sequence[RepeatedBlock]
    all_blocks: int
    kept: Sequence[KeptEntry]
    kept_blocks: frozenset[str]
    pages: PageList
    is_continued: bool = False
    config_entries: int = 0


def domain_view(
    known: tuple[Store, ProjectStore], domain: str, settings: Settings, at: datetime, after: str = ""
) -> DomainView | None:
    """Return what is shown of a domain, with its pages behind a cursor; None where nothing is known of it.

    Raises:
        PageCursorError: the part begins at no place of its list.
        StoreError: the store failed.
    """
    store, project = known
    found = DomainService(store, project, settings).find_by_domain_name(domain)
    layouts, all_layouts, alarms = _layouts(project, domain)
    pages = list_pages(store, project, PageChoice(domain=domain, limit=PAGES, after=after or None))
    stored = read_stored(store, project, domain)
    config = SiteConfig.from_json(dict(stored.config)) if stored else SiteConfig()
    with store.session(read_only=True) as session:
        blocks = FigureRepository(session).repeated_blocks(project.id, _BLOCKS_COUNTED, domain)
    if not (found or layouts or pages.pages or stored or blocks or after):
        return None
    return DomainView(
        domain=domain,
        at=at,
        registered=found,
        layouts=layouts,
        all_layouts=all_layouts,
        alarms=alarms,
        blocks=blocks[:BLOCKS],
        all_blocks=len(blocks),
        kept=kept_of(store, project, domain),
        kept_blocks=frozenset(config.keep_blocks),
        pages=pages,
        is_continued=bool(after),
        config_entries=sum(len(getattr(config, key)) for key in KEYS),
    )


def _layouts(project: ProjectStore, domain: str) -> tuple[Sequence[LayoutView], int, Sequence[tuple[str, StoredAlarm]]]:
    try:
        found = domain_layouts(project, domain)[0]
    except UnknownLayoutError:
        return (), 0, ()
    pictures = project.picture_facts(domain)
    layouts = [
        LayoutView(name_of(each.figures.layout), each, pictures.get(each.figures.layout))
        for each in found.layouts[:LAYOUTS]
    ]
    return layouts, len(found.layouts), [(name_of(each.layout), each) for each in found.alarms]

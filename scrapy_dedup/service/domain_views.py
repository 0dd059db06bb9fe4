"""One domain as the dashboard shows it: what the registry, its layouts, its blocks and its pages say."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from scrapy_dedup.core.domain_states import is_blacklisted, present_status
from scrapy_dedup.core.patterns_config import KEYS, SiteConfig
from scrapy_dedup.report.dashboard_values import (
    AlarmLine,
    BlockLine,
    DomainView,
    KeptLine,
    LayoutCard,
    LayoutPictureFacts,
    PageLine,
    RefineState,
    Registered,
)
from scrapy_dedup.report.values import boxes_from
from scrapy_dedup.service.domains import DomainService, StoredDomain
from scrapy_dedup.service.kept import kept_of
from scrapy_dedup.service.layout_figures import DomainLayout, UnknownLayoutError, domain_layouts, name_of
from scrapy_dedup.service.page_lists import ListedPage, PageChoice, list_pages
from scrapy_dedup.service.site_config import read_stored
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.figures import FigureRepository
from scrapy_dedup.store.layout_pictures import PictureFacts
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.stored import RepeatedBlock
from scrapy_dedup.store.writer import ProjectStore

LAYOUTS: Final = 24
BLOCKS: Final = 40
PAGES: Final = 25
RUNS: Final = 12
_RULES: Final = {"text": "repeated text", "html": "repeated block", "template": "repeated block"}
# Counting goes on where nobody looks any more; so many are told from "more".
_BLOCKS_COUNTED: Final = 2_000


@dataclass(frozen=True, slots=True)
class Part:
    """Which part of a domain's pages is shown, and what is under way: after is a cursor, "" for the first."""

    after: str = ""
    refine: RefineState | None = None


def domain_view(
    known: tuple[Store, ProjectStore], domain: str, settings: Settings, at: datetime, part: Part
) -> DomainView | None:
    """Return what is shown of a domain; None where nothing is known of it.

    Raises:
        PageCursorError: the part begins at no place of its list.
        StoreError: the store failed.
    """
    store, project = known
    found = DomainService(store, project, settings).find_by_domain_name(domain)
    cards, all_layouts, alarms = _layouts(project, domain)
    choice = PageChoice(domain=domain, limit=PAGES, after=part.after or None)
    pages = list_pages(store, project, choice)
    stored = read_stored(store, project, domain)
    config = SiteConfig.from_json(dict(stored.config)) if stored else SiteConfig()
    with store.session(read_only=True) as session:
        blocks = FigureRepository(session).repeated_blocks(project.id, _BLOCKS_COUNTED, domain)
    if not (found or cards or pages.pages or stored or blocks or part.after):
        return None
    return DomainView(
        domain=domain,
        registered=_registered(found, at) if found else None,
        layouts=cards,
        all_layouts=all_layouts,
        alarms=alarms,
        blocks=tuple(_blocks(blocks[:BLOCKS], config)),
        all_blocks=len(blocks),
        kept=tuple(KeptLine(one.kind, one.entry, one.text) for one in kept_of(store, project, domain)),
        pages=tuple(map(_page, pages.pages)),
        all_pages=pages.total,
        next_pages=pages.next or "",
        is_continued=bool(part.after),
        config_entries=sum(len(getattr(config, key)) for key in KEYS),
        refine=part.refine,
    )


def _registered(found: StoredDomain, at: datetime) -> Registered:
    return Registered(
        status=present_status(found, at),
        best=found.best_confidence_score,
        mean=found.mean_confidence_score,
        high=found.high_quality_candidate_count,
        low=found.low_quality_candidate_count,
        pages=found.pages,
        chars_in=found.chars_in,
        chars_out=found.chars_out,
        errors=found.errors,
        last_crawled_at=found.last_crawled_at,
        discovered_at=found.discovered_at,
        last_processed_at=found.last_processed_at,
        twin=found.twin or "",
        joined_to=found.joined_to or "",
        pages_alike=found.pages_alike,
        pages_unlike=found.pages_unlike,
        is_blacklisted=is_blacklisted(found, at),
        blacklisted_at=found.blacklisted_at,
        blacklisted_by=found.blacklisted_by or "",
        blacklist_reason=found.blacklist_reason or "",
        blacklist_expires_at=found.blacklist_expires_at,
    )


def _layouts(project: ProjectStore, domain: str) -> tuple[tuple[LayoutCard, ...], int, tuple[AlarmLine, ...]]:
    try:
        found = domain_layouts(project, domain)[0]
    except UnknownLayoutError:
        return (), 0, ()
    pictures = project.picture_facts(domain)
    cards = tuple(_card(each, pictures.get(each.figures.layout)) for each in found.layouts[:LAYOUTS])
    alarms = tuple(AlarmLine(name_of(each.layout), each.cause, each.raised_at) for each in found.alarms)
    return cards, len(found.layouts), alarms


def _card(each: DomainLayout, picture: PictureFacts | None) -> LayoutCard:
    figures, template = each.figures, each.figures.template
    return LayoutCard(
        layout=name_of(figures.layout),
        kind=template.kind if template else "",
        pages=figures.pages,
        pages_by_run=each.pages_by_run[-RUNS:],
        example_url=figures.example_url or "",
        url_pattern=(template.url_pattern if template else None) or "",
        state=template.state if template else "",
        version=template.version if template else 0,
        confidence=template.confidence if template else 0.0,
        reason=template.reason if template else "",
        picture=LayoutPictureFacts(picture.width, picture.height, boxes_from(picture.boxes)) if picture else None,
    )


def _blocks(blocks: Iterable[RepeatedBlock], config: SiteConfig) -> Iterable[BlockLine]:
    kept = frozenset(config.keep_blocks)
    for each in blocks:
        yield BlockLine(
            text=each.sample,
            path=each.path,
            method=each.method,
            pages=each.pages,
            of_pages=each.pages_analyzed,
            fingerprint=each.fingerprint,
            rule=_RULES.get(each.method, "repeated block"),
            is_kept=each.fingerprint in kept,
        )


def _page(each: ListedPage) -> PageLine:
    return PageLine(
        key=each.page_key.hex(),
        url=each.url,
        title=each.title or "",
        status=each.status,
        verdict=each.verdict or "",
        chars_in=each.chars_in,
        chars_out=each.chars_out,
        seen_at=each.last_seen_at or each.updated_at,
    )

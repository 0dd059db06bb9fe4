"""What the dashboard shows of a domain and of a template; a test overrides what it is about."""

import uuid
from typing import Any

from msgspec import to_builtins
from msgspec.structs import replace

from scrapy_dedup.report.values import ReportLocator
from scrapy_dedup.service.stored.template_upkeep import ShownTemplate
from scrapy_dedup.service.templates.layout_figures import DomainLayout
from scrapy_dedup.service.views.page_lists import PageList
from scrapy_dedup.service.views.undoing import KeptEntry, KeptKind
from scrapy_dedup.store.domains.layouts import PictureFacts
from scrapy_dedup.store.domains.registry import StoredDomain
from scrapy_dedup.store.pages.reads import ListedPage
from scrapy_dedup.store.records.stored import LayoutFigures, RepeatedBlock, StoredAlarm, StoredTemplate, TemplateFigures
from scrapy_dedup.web.dashboard.domains import DomainView, LayoutView
from scrapy_dedup.web.dashboard.templates import TemplateView
from tests.report.builders import NOON
from tests.report.hostile import ALL
from tests.report.pictures import boxes

LAYOUT = "05b8c1d2e3f40718"
BLOCK = RepeatedBlock("shop.example", "template", "0123456789abcdef", 39, 40, "body>footer>p", "Contact us")
PAGE = ListedPage(
    b"\0" * 16, "http://shop.example/", "shop.example", "Shop", "completed", "new", 10, 5, NOON, NOON, None, None
)
FIGURES = TemplateFigures(
    "shop.example", 7, 3, "live", "", "article", None, LAYOUT, 0.9, 40, "static", NOON, NOON, ({"action": "drop"},)
)


def a_registered(status: str = "PROCESSED_HIGH_QUALITY", **other: Any) -> StoredDomain:
    values: dict[str, Any] = dict.fromkeys(StoredDomain.__struct_fields__)
    values |= dict.fromkeys(("errors", "pages_alike", "pages_unlike"), 0)
    values |= {
        "domain_id": uuid.UUID(int=1),
        "domain_name": "shop.example",
        "status": status,
        "high_quality_candidate_count": 3,
        "low_quality_candidate_count": 1,
        "best_confidence_score": 0.8,
        "pages": 40,
        "chars_in": 1_000,
        "chars_out": 400,
        "boilerplate_share": 0.6,
        "discovered_at": NOON,
    }
    return StoredDomain(**(values | other))


def a_layout(name: str = LAYOUT, picture: PictureFacts | None = None, **other: Any) -> LayoutView:
    figures = LayoutFigures("shop.example", 7, 1, 40, NOON, NOON, (), None, FIGURES)
    return LayoutView(name, DomainLayout(replace(figures, **other), (10, 30)), picture)


def a_view(**other: Any) -> DomainView:
    values: dict[str, Any] = {
        "domain": "shop.example",
        "at": NOON,
        "registered": a_registered(),
        "layouts": (a_layout(),),
        "all_layouts": 1,
        "alarms": (),
        "blocks": (BLOCK,),
        "all_blocks": 1,
        "kept": (),
        "kept_blocks": frozenset(),
        "pages": PageList((PAGE,), None, 1),
    }
    return DomainView(**(values | other))


def a_hostile_view() -> DomainView:
    found = a_registered(
        "BLACKLISTED", domain_name=ALL, twin=ALL, joined_to=ALL, blacklisted_by=ALL, blacklist_reason=ALL * 900
    )
    figures = replace(FIGURES, domain=ALL, state=ALL, reason=ALL, kind=ALL, url_pattern=ALL)
    picture = PictureFacts("www.example.com", 7, ALL, NOON, 5, 5, to_builtins(boxes()))
    page = replace(PAGE, url="javascript:window.__ran=1", title=ALL * 1_000, status=ALL, verdict=ALL, chars_in=None)
    return a_view(
        domain=ALL,
        registered=found,
        layouts=(a_layout(ALL, picture, example_url=ALL, template=figures),) * 24,
        all_layouts=10**6,
        alarms=((ALL, StoredAlarm(ALL, 7, ALL, first_failed_at=NOON, raised_at=NOON)),) * 1_000,
        blocks=(replace(BLOCK, sample=ALL + "b" * 10_000_000, path=ALL, fingerprint=ALL),) * 40,
        all_blocks=10**6,
        kept=(KeptEntry(KeptKind.RULE, ALL, ALL, ALL),) * 5_000,
        pages=PageList((page,) * 25, "c", None),
    )


def a_version(version: int = 2, **other: Any) -> StoredTemplate:
    decided = {"action": "drop", "selector": "aside", "at": "2026-03-01T12:00:00", "by": "Ann"}
    values: dict[str, Any] = {"domain": "shop.example", "layout": 7, "structure": 7, "body": {}, "created_at": NOON}
    values |= {"state": "live", "kind": "article", "confidence": 0.9, "pages": 20, "overrides": (decided,)}
    return StoredTemplate(**(values | {"version": version, "state_at": NOON, "fingerprint": LAYOUT} | other))


def a_template_view(stored: StoredTemplate | None = None, **other: Any) -> TemplateView:
    shown = ShownTemplate(
        stored or a_version(), (), (ReportLocator("main", "0.9"),), (ReportLocator("nav", "nav"),), {"title": ("h1",)}
    )
    return replace(TemplateView(LAYOUT, shown, (a_version(), a_version(1, state="retired"))), **other)

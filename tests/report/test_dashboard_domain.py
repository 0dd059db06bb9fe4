"""One domain on the dashboard, as HTML."""

import uuid
from dataclasses import replace
from typing import Any

import pytest

from scrapy_dedup.service.templates.layout_figures import DomainLayout
from scrapy_dedup.service.views.page_lists import ListedPage, PageList
from scrapy_dedup.service.views.undoing import KeptEntry, KeptKind
from scrapy_dedup.store.domains.registry import StoredDomain
from scrapy_dedup.store.knowledge.layout_pictures import PictureFacts
from scrapy_dedup.store.records.stored import LayoutFigures, RepeatedBlock, StoredAlarm, TemplateFigures
from scrapy_dedup.web.dashboard.domain import DomainView, LayoutView
from tests.report.builders import NOON
from tests.report.dashboard import drawn
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
    values: dict[str, Any] = dict.fromkeys(StoredDomain.__dataclass_fields__)
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
    picture = PictureFacts(7, ALL, NOON, 5, 5, [box.to_json() for box in boxes()])
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


def page(view: DomainView) -> str:
    return drawn("domain.html", view=view, refine=None)


@pytest.mark.parametrize(
    ("found", "told"),
    [
        pytest.param(
            a_registered(twin="www.shop.example", pages_alike=7, pages_unlike=1), "7 pages alike, 1 unlike", id="twin"
        ),
        pytest.param(a_registered(joined_to="www.shop.example", pages_alike=7), "One site with", id="joined"),
        pytest.param(
            a_registered("BLACKLISTED", blacklisted_at=NOON, blacklisted_by="Ann", blacklist_reason="Spam"),
            "By <bdi>Ann</bdi> on",
            id="blacklisted",
        ),
        pytest.param(
            a_registered("BLACKLISTED", blacklisted_at=NOON, blacklist_expires_at=NOON),
            "It was blacklisted until",
            id="expired-blacklist",
        ),
    ],
)
def test_registry_is_told(found: StoredDomain, told: str) -> None:
    assert told in page(a_view(registered=found))


def test_blocks_are_few_and_counted_and_a_kept_one_can_be_taken_back_with_the_token() -> None:
    other = replace(BLOCK, fingerprint="f" * 16)

    html = page(a_view(blocks=(BLOCK, *[other] * 14), all_blocks=40, kept_blocks=frozenset({BLOCK.fingerprint})))

    assert html.count("take_back=1") == html.count(">Take back<") == 1
    assert "<summary>5 more blocks</summary>" in html
    assert "… and 25 more" in html
    assert html.count('method="post"') == html.count('name="csrf_token" value="token"') > 0

"""One domain on the dashboard, as HTML."""

from dataclasses import replace

import pytest

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
from tests.report.builders import NOON
from tests.report.dashboard import drawn
from tests.report.hostile import ALL
from tests.report.pictures import boxes


def a_block() -> BlockLine:
    return BlockLine("Contact us", "body>footer>p", "template", 39, 40, "0123456789abcdef")


def a_view(**other: object) -> DomainView:
    view = DomainView(
        "shop.example",
        registered=Registered("PROCESSED_HIGH_QUALITY", 0.8, 0.7, 3, 1, 40, 1_000, 400, discovered_at=NOON),
        layouts=(LayoutCard("05b8c1d2e3f40718", "article", 40, (10, 30), state="live", version=3),),
        all_layouts=1,
        blocks=(a_block(),),
        all_blocks=1,
        pages=(PageLine("0" * 32, "http://shop.example/", "Shop", "completed", "new", 10, 5, NOON),),
        all_pages=1,
    )
    return replace(view, **other)  # type: ignore[arg-type]


def a_hostile_view() -> DomainView:
    found = Registered(
        ALL, twin=ALL, joined_to=ALL, is_blacklisted=True, blacklisted_by=ALL, blacklist_reason=ALL * 900
    )
    card = LayoutCard(ALL, ALL, 1, (1, 2), ALL, ALL, ALL, 1, 0.5, ALL, LayoutPictureFacts(5, 5, boxes()))
    return DomainView(
        ALL,
        registered=found,
        layouts=(card,) * 24,
        all_layouts=10**6,
        alarms=(AlarmLine(ALL, ALL, NOON),) * 1_000,
        blocks=(BlockLine(ALL + "b" * 10_000_000, ALL, ALL, 1, 2, ALL, ALL, ALL),) * 40,
        all_blocks=10**6,
        kept=(KeptLine(ALL, ALL, ALL),) * 5_000,
        pages=(PageLine("0" * 32, "javascript:window.__ran=1", ALL * 1_000, ALL, ALL, None, None, None),) * 25,
        next_pages="c",
        refine=RefineState("j", "failed", outcome=ALL),
    )


@pytest.mark.parametrize(
    ("change", "told"),
    [
        pytest.param(
            {"twin": "www.shop.example", "pages_alike": 7, "pages_unlike": 1}, "7 pages alike, 1 unlike", id="twin"
        ),
        pytest.param({"joined_to": "www.shop.example", "pages_alike": 7}, "One site with", id="joined"),
        pytest.param(
            {"is_blacklisted": True, "blacklisted_at": NOON, "blacklisted_by": "Ann", "blacklist_reason": "Spam"},
            "By <bdi>Ann</bdi> on",
            id="blacklisted",
        ),
        pytest.param(
            {"blacklisted_at": NOON, "blacklist_expires_at": NOON}, "It was blacklisted until", id="expired-blacklist"
        ),
    ],
)
def test_registry_is_told(change: dict[str, object], told: str) -> None:
    view = a_view(registered=replace(Registered("DISCOVERED"), **change))  # type: ignore[arg-type]

    assert told in drawn("domain.html", view=view)


def test_blocks_are_few_and_counted_and_a_kept_one_can_be_taken_back_with_the_token() -> None:
    view = a_view(blocks=(replace(a_block(), is_kept=True), *[a_block()] * 14), all_blocks=40)

    html = drawn("domain.html", view=view)

    assert "take_back=1" in html
    assert ">Take back<" in html
    assert "<summary>5 more blocks</summary>" in html
    assert "… and 25 more" in html
    assert html.count('method="post"') == html.count('name="csrf_token" value="token"') > 0

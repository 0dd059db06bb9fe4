"""One page and what is kept of it on the dashboard, as HTML."""

from dataclasses import replace

from scrapy_dedup.report.dashboard_config import ConfigView, PreviewEffect, PreviewLine, PreviewView, config_content
from scrapy_dedup.report.dashboard_keep import KeepView, keep_content
from scrapy_dedup.report.dashboard_page import PageView, page_content, unknown_page
from scrapy_dedup.report.values import ExplainedBlock
from tests.report.builders import a_diff, an_explained_page
from tests.report.hostile import ALL, HOSTILE, a_hostile_page, without_values

BASE = "/p/1/"
BLOCK = ExplainedBlock("Menu", "boilerplate", "template: outside", "body>nav", "on 9 of 9 pages", "0123456789abcdef")
PART = ExplainedBlock("x", "patterns", "text pattern", "x+", "", "aaaaaaaaaaaaaaaa", is_part=True)


def a_view(*blocks: ExplainedBlock) -> PageView:
    return PageView(
        an_explained_page(blocks=blocks or (BLOCK,), lost=()), BASE, "shop.example", "0" * 32, has_original=True
    )


def test_hostile_page_is_escaped_and_bounded() -> None:
    view = PageView(a_hostile_page(), BASE, ALL, "0" * 32, diff=a_diff("-" + ALL, "+" + "e" * 10_000_000), no_diff=ALL)

    html = page_content(replace(view, kept=frozenset({ALL}), has_original=True), "token")

    assert HOSTILE not in html
    assert "<script" not in html
    assert "\u202e" not in without_values(html)
    assert len(html) < 12_000_000


def test_frame_of_the_stored_page_is_sandboxed_with_nothing_allowed() -> None:
    html = page_content(a_view(), "token")

    assert '<iframe class="stored" sandbox src="/p/1/page/raw?key=' in html
    assert "allow-" not in html


def test_block_and_rule_can_be_kept_and_what_is_kept_taken_back_and_a_part_by_its_rule_alone() -> None:
    html = page_content(a_view(), "token")
    kept = page_content(replace(a_view(), kept=frozenset({BLOCK.fingerprint, BLOCK.where})), "token")
    part = page_content(a_view(PART), "token")

    assert "keep?what=0123456789abcdef&amp;domain=shop.example" in html
    assert "keep?what=body%3Enav" in html
    assert kept.count("take_back=1") == 2
    assert ("what=aaaaaaaaaaaaaaaa" in part, "what=x%2B" in part) == (False, True)


def test_hostile_address_and_keeping_are_escaped_and_bounded() -> None:
    view = KeepView(
        BASE, ALL, ALL, ALL * 100, "s" * 10_000_000, 1, 2, 1, -5, ALL, was_there=False, take_back=False, back="/"
    )

    html = keep_content(view, "token")

    assert HOSTILE not in html + unknown_page(ALL, ALL)
    assert len(html) < 60_000


def test_hostile_preview_is_escaped_and_bounded() -> None:
    lines = (
        PreviewLine(ALL + "p" * 10_000_000, "goes", ALL, ALL, ALL),
        PreviewLine(ALL, "back", ALL),
        PreviewLine(ALL, "kept"),
    )
    preview = PreviewView(
        ALL, lines * 1_000, 1, 1, (PreviewEffect(ALL, 1, 1),) * 5_000, ((ALL, ALL),) * 5_000, "a" * 10_000_000
    )
    view = ConfigView(
        BASE,
        ALL,
        1,
        {"keep_rules": f"</textarea>{HOSTILE}"},
        errors={"keep_rules": ALL * 100},
        preview=preview,
        conflict=ALL,
    )

    html = config_content(view, "token")

    assert HOSTILE not in html
    assert "<script" not in html
    assert html.count("</textarea>") == 6
    assert len(html) < 2_500_000

"""One page and what is kept of it on the dashboard, as HTML."""

from dataclasses import replace

from scrapy_dedup.core.patterns.config import KEYS, SiteConfig
from scrapy_dedup.report.values import ExplainedBlock
from scrapy_dedup.web.dashboard.config import ConfigView, Typed
from scrapy_dedup.web.dashboard.page import PageView
from tests.report.builders import an_explained_page
from tests.report.dashboard import drawn

BLOCK = ExplainedBlock("Menu", "boilerplate", "template: outside", "body>nav", "on 9 of 9 pages", "0123456789abcdef")
PART = ExplainedBlock("x", "patterns", "text pattern", "x+", "", "aaaaaaaaaaaaaaaa", is_part=True)


def a_view(*blocks: ExplainedBlock) -> PageView:
    return PageView(an_explained_page(blocks=blocks or (BLOCK,), lost=()), "shop.example", "0" * 32, has_original=True)


def page(view: PageView) -> str:
    return drawn("page.html", view=view, refine=None)


def test_frame_of_the_stored_page_is_sandboxed_with_nothing_allowed() -> None:
    html = page(a_view())

    assert '<iframe class="stored" sandbox src="/p/1/page/raw?key=' in html
    assert "allow-" not in html


def test_block_and_rule_can_be_kept_and_what_is_kept_taken_back_and_a_part_by_its_rule_alone() -> None:
    html = page(a_view())
    kept = page(replace(a_view(), kept=frozenset({BLOCK.fingerprint, BLOCK.where})))
    part = page(a_view(PART))

    assert "keep?what=0123456789abcdef&amp;domain=shop.example" in html
    assert "keep?what=body%3Enav" in html
    assert kept.count("take_back=1") == 2
    assert ("what=aaaaaaaaaaaaaaaa" in part, "what=x%2B" in part) == (False, True)


def a_form(fields: dict[str, str]) -> ConfigView:
    return ConfigView("shop.example", Typed(SiteConfig(), 1, fields))


def test_form_has_a_field_for_every_key_and_opens_those_that_say_something() -> None:
    closed = drawn("config.html", view=a_form({"keep_rules": "nav"}))
    opened = drawn("config.html", view=a_form({"keep_pages": "0" * 32}))

    assert all(f'<textarea id="{key}" name="{key}"' in closed for key in KEYS)
    assert ('class="folded rare" open' in closed, 'class="folded rare" open' in opened) == (False, True)

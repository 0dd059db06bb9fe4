"""What was left out by mistake is kept from now on, and comes back when the domain is refined."""

import pytest
from playwright.sync_api import expect

from scrapy_dedup.service.patterns import stored_config
from tests.end_to_end.crawling import ROOT
from tests.web.dashboard.filled import HARBOUR
from tests.web.dashboard.looking import a_changed_page, page_path, violations
from tests.web.dashboard.serving import Dashboard, Seen, seen

pytestmark = pytest.mark.browser
BLOCK = "Published since 1977. Nothing here may be reprinted without asking; we usually say yes."


def test_kept_block_is_back_in_the_clean_text_once_the_domain_is_refined(browser, own_dashboard, monkeypatch):
    # The project's spiders are in this repository, which is nowhere installed.
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    page = a_changed_page(own_dashboard)

    with seen(browser, own_dashboard, page_path(own_dashboard, page)) as shown:
        assert BLOCK not in _clean_text(shown)
        shown.page.locator(f".cut p:has(del:has-text('{BLOCK}')) a.keep").click()
        assert shown.page.locator(".sample-text").inner_text() == BLOCK
        foreseen = own_dashboard.json("undo", _fingerprint(shown), "--dry-run")
        told = shown.page.locator(".foreseen").inner_text()
        assert f"Of {foreseen['trial']['pages']} pages that were tried, {foreseen['trial']['changed']} would" in told
        assert f"{foreseen['pages']} stored pages" in told
        assert violations(shown.page) == []
        shown.page.get_by_role("button", name="Keep it").click()
        expect(shown.page.locator(".told")).to_contain_text("is kept from now on")
        expect(shown.page.locator(".note-of-page")).to_contain_text("refine")
        shown.page.get_by_role("button", name=f"Refine {HARBOUR} now").click()
        expect(shown.page.locator(".notice.refine")).to_contain_text("Refine has ended", timeout=60_000)
        shown.page.get_by_role("link", name="Load this page again").click()

        expect(shown.page.locator(".pane pre").first).to_contain_text(BLOCK)
        shown.assert_clean()

    source = own_dashboard.project.page(page.page_key)
    assert source
    assert source.source
    assert BLOCK in (source.source.cleaned_content or "")


def test_what_is_kept_is_taken_back_on_the_page_of_the_domain(browser, own_dashboard):
    with seen(browser, own_dashboard, own_dashboard.path("domains", HARBOUR), with_script=False) as shown:
        row = shown.page.locator("#blocks tr").filter(has_text="Port Ellery Almanac, 3 Rope Walk")
        row.locator("a.keep").click()
        shown.page.get_by_role("button", name="Keep it").click()
        assert _kept(own_dashboard) == 1
        kept = shown.page.locator("#kept li")
        expect(kept).to_have_count(1)
        kept.get_by_role("link").click()
        shown.page.get_by_role("button", name="Take back").click()

        assert _kept(own_dashboard) == 0
        expect(shown.page.locator("#kept")).to_have_count(0)


def test_what_nobody_removed_cannot_be_kept(dashboard):
    asked = f"{dashboard.path('keep')}?what=<script>window.__ran=1</script>"

    assert "lost anything by" in dashboard.refused(asked, 409)


def _clean_text(shown: Seen) -> str:
    return shown.page.locator(".pane pre").first.inner_text()


def _fingerprint(shown: Seen) -> str:
    return shown.page.locator(".head code").inner_text()


def _kept(dashboard: Dashboard) -> int:
    config = stored_config(dashboard.project, HARBOUR)
    return len(config.keep_blocks) if config else 0

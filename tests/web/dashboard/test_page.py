from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.service.patterns import stored_config
from scrapy_dedup.service.views.explain import explain
from scrapy_dedup.store.records.records import CrawledUrlRecord, DocumentRecord, SourceRecord
from scrapy_dedup.store.writer import ProjectStore
from tests.end_to_end.crawling import ROOT
from tests.report.hostile import HOSTILE
from tests.service.stored_pages import NOON
from tests.web.dashboard.filled import HARBOUR
from tests.web.dashboard.looking import a_changed_page, page_path, violations
from tests.web.dashboard.serving import Dashboard, Seen, seen

pytestmark = pytest.mark.browser


def test_page_says_what_explain_says_and_what_went_out_stands_beside_it_with_a_link_that_keeps_it(browser, dashboard):
    page = a_changed_page(dashboard)
    told = dashboard.json("explain", page.url)
    found = explain(dashboard.project, page.url, dashboard.server.settings)
    first = next(block for block in found.blocks if not block.kept)
    assert found.source

    with seen(browser, dashboard, page_path(dashboard, page)) as shown:
        removed = [one["fingerprint"] for one in told["removed"]]
        assert shown.page.locator("#blocks .key").all_text_contents() == removed
        assert sorted(set(shown.page.locator(".pane .cut .badge").all_text_contents())) == sorted(
            {one["layer"] for one in told["removed"]}
        )
        facts = dict(
            zip(
                shown.page.locator(".facts dt").all_inner_texts(),
                shown.page.locator(".facts dd").all_inner_texts(),
                strict=True,
            )
        )
        assert facts["page key"] == told["page_key"]
        assert facts["verdict"] == told["document"]["verdict"]
        assert facts["content hash"] == told["document"]["content_hash"]
        assert facts["cleaned hash"] == told["document"]["cleaned_hash"]
        decisions = shown.page.locator(".decisions tbody tr")
        assert decisions.count() == len(told["decisions"])
        assert shown.page.locator(".chunks > li").count() == len(told["chunks"])

        before, after = shown.page.locator("#blocks .pane").all()
        assert after.locator("pre").inner_text().strip() == (found.source.cleaned_content or "").strip()
        boxes = before.bounding_box(), after.bounding_box()
        assert boxes[0]
        assert boxes[1]
        assert boxes[0]["x"] < boxes[1]["x"]
        assert shown.page.locator("#diff .hunk :is(del, ins)").count() > 0

        link = shown.page.locator(f".cut p:has(code:has-text('{first.fingerprint}')) a.keep")
        # Screen readers get to know which block.
        assert first.text[:30] in (link.text_content() or "")


def test_stored_page_has_an_opaque_origin_runs_nothing_and_asks_for_nothing(browser, own_dashboard):
    url = "http://evil.example/frame"
    put_page(
        own_dashboard.project,
        url,
        "<html><head><title>Frame</title><meta http-equiv='refresh' content='0;url=/logout'>"
        "<link rel=stylesheet href='/canary.css'><style>body { background: url(/canary.png) }</style></head>"
        "<body onload='parent.__ran=1'><p>Stored words.</p><script>window.__ran = 1; parent.__ran = 1</script>"
        "<img src='/canary.gif' onerror='parent.__ran=1'><iframe src='/canary-frame'></iframe>"
        "<form action='/canary-form' method=post><button id=send>Send</button></form>"
        "<a id=away href='http://elsewhere.example/' target=_top>away</a>"
        "<object data='/canary-object'></object></body></html>",
    )
    path = f"{own_dashboard.path('page')}?key={page_key(url).hex()}"

    with seen(browser, own_dashboard, path) as shown:
        shown.page.get_by_text("Show the stored page").click()
        frame = shown.page.frame_locator("iframe.stored")
        expect(frame.get_by_text("Stored words.")).to_be_visible()
        inside = next(one for one in shown.page.frames if "page/raw" in one.url)
        assert inside.evaluate("self.origin") == "null"
        assert shown.page.evaluate("document.querySelector('iframe.stored').contentDocument") is None
        frame.locator("#send").click()
        frame.locator("#away").click()
        # What would run, would have by the time that another page was asked for and came.
        shown.page.evaluate("fetch(location.href)")
        assert not shown.has_run
        # Some browsers tell of what the page's policy refuses ("csp: URL"); what came to the server has a status.
        refused = {each.partition(": ")[2] for each in shown.failed if each.startswith("csp: ")}
        assert [each for each in shown.failed if not each.startswith("csp: ")] == []
        assert [each for each in shown.asked_elsewhere if each not in refused] == []
        assert shown.page.url.endswith(path)


def test_raw_page_may_be_framed_by_the_dashboard_alone(dashboard):
    page = a_changed_page(dashboard)

    with dashboard.client() as client:
        answer = client.get(dashboard.path("page", "raw"), params={"key": page.page_key.hex()})

    policy = answer.headers["content-security-policy"]
    assert {"sandbox", "default-src 'none'", "frame-ancestors 'self'"} <= {part.strip() for part in policy.split(";")}
    assert "allow-" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


NO_PAGES = {
    "url=http://never.example/": (404, "never met"),
    "url=javascript:alert(1)": (422, "no URL of a page"),
    f"url={quote(HOSTILE)}": (422, "no URL"),
    "": (422, "no URL"),
    "key=zz": (404, "32 hexadecimal digits"),
    f"key={'0' * 32}": (404, "no such page"),
}


def test_what_is_no_page_is_said(dashboard):
    for query, (status, told) in NO_PAGES.items():
        assert told in dashboard.refused(f"{dashboard.path('page')}?{query}", status)


def test_hostile_page_is_text_and_bounded(browser, dashboard):
    path = f"{dashboard.path('page', project=dashboard.hostile)}?url=http://evil.example/long"

    with seen(browser, dashboard, path) as shown:
        shown.assert_clean()
        assert len(shown.page.content()) < 6_000_000
        assert len(shown.page.title()) < 500


def put_page(project: ProjectStore, url: str, html: str) -> None:
    """Store a page as a crawl would have left it."""
    key = page_key(url)
    project.write(
        [
            DocumentRecord(key, url, "evil.example", "completed", NOON, title="Frame", chars_in=50, chars_out=20),
            SourceRecord(key, url, "evil.example", "html", html, NOON, title="Frame", cleaned_content="words"),
            CrawledUrlRecord(key, url, "evil.example", "crawled", NOON, http_status=200, document_key=key),
        ]
    )


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

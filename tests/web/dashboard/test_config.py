import pytest
from playwright.sync_api import expect
from selectolax.lexbor import LexborHTMLParser

from scrapy_dedup.core.patterns import SiteConfig
from scrapy_dedup.service.patterns import put_config, stored_config
from tests.report.hostile import HOSTILE
from tests.service.stored_pages import NOON
from tests.web.dashboard.filled import HARBOUR
from tests.web.dashboard.looking import a_changed_page, config_path, violations
from tests.web.dashboard.serving import LOOKS, seen

pytestmark = pytest.mark.browser
SELECTORS = "boilerplate_css_selectors"
EXPRESSIONS = "boilerplate_text_patterns"


def test_what_would_go_is_shown_while_one_types(browser, dashboard):
    page = a_changed_page(dashboard)
    title = (page.title or "").partition(" · ")[0]

    with seen(browser, dashboard, config_path(dashboard, page)) as shown:
        preview = shown.page.locator("#preview")
        expect(preview.locator("pre")).to_contain_text(title)
        shown.page.locator(f"#{SELECTORS}").press_sequentially("main > h1")
        expect(preview.locator(".by-patterns")).to_contain_text("Would go")
        expect(preview.locator(".by-patterns del")).to_have_text(title)
        expect(preview.locator("pre")).not_to_contain_text(title)
        expect(preview.locator(".preview-told")).to_contain_text("1 block would go, 0 would come back")
        for width, scheme in LOOKS:
            shown.look(width, scheme)
            shown.assert_clean()
        assert violations(shown.page) == []
        shown.page.locator(f"#{SELECTORS}").fill("")
        shown.page.locator("#keep_rules").fill("template: outside")
        expect(preview.locator(".comes-back").first).to_contain_text("Would come back")
        shown.page.locator("#keep_rules").fill("")
        shown.page.locator(f"#{EXPRESSIONS}").fill("(unclosed")
        expect(preview.locator(".wrong-field")).to_contain_text("line 1")
        shown.assert_clean()
    assert dashboard.project.site_config(HARBOUR) is None


def test_without_script_a_button_shows_it_another_tries_it_and_it_is_saved(browser, own_dashboard):
    page = a_changed_page(own_dashboard)

    with seen(browser, own_dashboard, config_path(own_dashboard, page), with_script=False) as shown:
        shown.page.locator(f"#{SELECTORS}").fill("main > h1\n\n.never-there")
        shown.page.get_by_role("button", name="Preview").click()
        expect(shown.page.locator("#preview .by-patterns")).to_have_count(1)
        assert stored_config(own_dashboard.project, HARBOUR) is None
        shown.page.get_by_role("button", name="Try on all stored pages").click()
        told = own_dashboard.json(
            "store", "config", "set", HARBOUR, SELECTORS, "main > h1", ".never-there", "--dry-run"
        )
        trial = told["changes"][0]["trial"]
        said = shown.page.locator(".looked-at .notice").inner_text()
        assert f"Of {trial['pages']} stored pages, {trial['changed']} would change" in said
        assert f"{trial['chars_less']:,} characters less" in said
        shown.page.get_by_role("button", name="Save").click()
        assert "Version 1 is saved" in shown.page.locator(".told").inner_text()
        assert shown.page.locator(f"#{SELECTORS}").input_value() == "main > h1\n.never-there"
        assert "Version 1" in shown.page.locator(".head .lead").inner_text()

    assert own_dashboard.json("store", "config", "get", HARBOUR)["config"][SELECTORS] == ["main > h1", ".never-there"]


def test_errors_stand_at_their_fields_and_nothing_is_lost(browser, own_dashboard):
    page = a_changed_page(own_dashboard)

    with seen(browser, own_dashboard, config_path(own_dashboard, page), with_script=False) as shown:
        shown.page.locator(f"#{SELECTORS}").fill("p.good\np[<bad")
        shown.page.locator(f"#{EXPRESSIONS}").fill("fine")
        shown.page.locator("summary", has_text="PDF files").click()
        shown.page.locator("#keep_blocks").fill("xyz")
        shown.page.get_by_role("button", name="Save").click()

        wrong = shown.page.locator(f"#{SELECTORS}-wrong").inner_text()
        assert wrong.startswith("line 2:")
        assert "hexadecimal" in shown.page.locator("#keep_blocks-wrong").inner_text()
        assert shown.page.locator(f"#{EXPRESSIONS}-wrong").count() == 0
        assert shown.page.locator(f"#{EXPRESSIONS}").input_value() == "fine"
        assert shown.page.locator(f"#{SELECTORS}").get_attribute("aria-invalid") == "true"
    assert stored_config(own_dashboard.project, HARBOUR) is None


def test_change_that_somebody_else_made_meanwhile_is_not_overwritten(browser, own_dashboard):
    project, settings = own_dashboard.project, own_dashboard.server.settings

    with seen(browser, own_dashboard, own_dashboard.path("domains", HARBOUR, "config")) as shown:
        put_config(project, HARBOUR, SiteConfig(keep_rules=("theirs",)), settings, NOON)
        shown.page.locator("#keep_rules").fill("mine")
        shown.page.get_by_role("button", name="Save").click()

        expect(shown.page.get_by_role("alert")).to_contain_text("has version 1 by now, not 0")
        assert shown.page.locator("#keep_rules").input_value() == "mine"
    assert stored_config(project, HARBOUR) == SiteConfig(keep_rules=("theirs",))


def test_hostile_entries_come_back_as_they_are_and_run_nothing(browser, own_dashboard):
    entry = f"  </textarea>{HOSTILE}\u202e\u2066 "
    several = SiteConfig(keep_rules=(entry,), boilerplate_text_patterns=("two\nlines",))
    project, settings = own_dashboard.project, own_dashboard.server.settings
    put_config(project, HARBOUR, several, settings, NOON)

    with seen(browser, own_dashboard, own_dashboard.path("domains", HARBOUR, "config")) as shown:
        assert shown.page.locator("#keep_rules").input_value() == entry
        # What a form cannot hold is not in it, and stays.
        assert shown.page.locator(f"#{EXPRESSIONS}").count() == 0
        shown.page.locator(f"#{SELECTORS}").fill("h6")
        shown.page.get_by_role("button", name="Save").click()
        expect(shown.page.locator(".told")).to_contain_text("Version 2")
        shown.assert_clean()
    config = stored_config(project, HARBOUR)
    assert config == several.changed(SELECTORS, ["h6"])


def test_page_of_another_domain_is_not_looked_at(dashboard):
    path = f"{dashboard.path('domains', HARBOUR, 'config')}?page=http://other.example/"

    with dashboard.client() as client:
        assert "is a page of other.example" in LexborHTMLParser(client.get(path).text).css("#preview")[0].text()


def test_what_is_no_domain_has_no_configuration(own_dashboard):
    domains = own_dashboard.path("domains")

    with own_dashboard.client() as client:
        token = LexborHTMLParser(client.get(domains).text).css("[name=csrf_token]")[0].attributes["value"]
        form = {"csrf_token": token, "boilerplate_css_selectors": "nav"}
        for name in ("a%0d%0aX-Y:z", "%20", "a" * 400, "x%e2%80%aey"):
            assert client.post(f"{domains}/{name}/config", data=form).status_code == 422, name

    assert own_dashboard.json("store", "config", "export")["domains"] == {}

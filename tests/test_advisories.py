"""Faults that others were advised of, and the tests that hold them off here: new ones, and where the others are."""

import ast
from pathlib import Path

import pytest

from scrapy_dedup.core.pages.marking import SelectorError, check_any_selector, marked_blocks
from tests.core.builders import parsed

ROOT = Path(__file__).parents[1]
FETCHERS = {"aiohttp", "httpx", "requests", "trafilatura", "urllib3", "urlopen", "urlretrieve"}
ELSEWHERE = {
    "service/test_packed_files.py": {
        "test_body_is_unpacked_within_its_bound_and_whole_or_not_at_all": "GHSA-7j7m-v7m3-jqm7, CVE-2025-6176"
    },
    "plugin/crawl/test_ways.py": {
        "test_headers_go_to_their_own_origin_alone_and_proxies_with_who_asks": "GHSA-cw9j-q3vf-hrrv"
    },
    "plugin/crawl/test_outcomes.py": {"test_no_module_is_imported_because_a_store_names_it": "GHSA-cwxj-rr6w-m6w7"},
    "core/resilience/test_sitemaps.py": {
        "test_hostile_sitemaps_take_time_in_proportion_to_their_length": "GHSA-cc65-xxvf-f7r9",
        "test_declarations_end_the_reading": "billion laughs",
    },
    "law/test_seen.py": {"test_default_settings_make_no_request_that_the_spider_did_not_make": "CVE-2026-46497"},
    "core/pages/test_guard.py": {"test_page_is_refused_before_it_costs": "deep nesting"},
    "teacher/test_isolation.py": {
        "test_only_pages_of_the_web_are_shown": "GHSA-23j4-mw76-5v7h, langchainjs #5541",
        "test_no_spelling_of_a_private_address_is_reached": "Crawl4AI: IPv6-mapped, NAT64, 6to4",
        "test_what_is_fetched_for_a_page_leads_it_nowhere": "google-researcher-mcp #100",
        "test_a_page_reaches_nothing": "firecrawl #3143",
    },
    "test_architecture.py": {"test_keeps_away_from_pickle_and_eval": "CVE-2025-69872, Crawl4AI: eval"},
    "core/templates/test_url_patterns.py": {"test_no_expression_takes_for_ever": "expressions without end"},
    "service/cache/test_tree.py": {"test_entries_that_lead_elsewhere_are_left_out": "changedetection.io: zip slip"},
    "report/test_page.py": {"test_hostile_strings_stay_text_and_endless_ones_are_cut": "Crawl4AI: stored XSS"},
    "web/test_security.py": {"test_no_route_answers_without_the_token": "changedetection.io: decorators"},
    "mcp_server/test_guard.py": {
        "test_the_host_is_one_of_ours": "CVE-2025-66416",
        "test_a_request_from_a_web_page_is_from_one_of_ours": "CVE-2026-11624",
    },
    "mcp_server/test_tools.py": {"test_any_answer_stands_inside_its_fence": "instructions in page texts"},
}


@pytest.mark.parametrize("path", ELSEWHERE)
def test_advisories_have_their_tests(path: str) -> None:
    module = ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8"))

    assert set(ELSEWHERE[path]) <= {node.name for node in ast.walk(module) if isinstance(node, ast.FunctionDef)}


def test_trafilatura_910_nothing_here_fetches_but_scrapy() -> None:
    """An extractor's own fetch knows neither redirects to private addresses nor robots.txt."""
    found = set()
    for path in (ROOT / "scrapy_dedup").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name.partition(".")[0] for alias in node.names}
                module = (getattr(node, "module", None) or "").partition(".")[0]
                found |= {f"{path.name}: {name}" for name in {*names, module} & FETCHERS}

    assert found == set()


@pytest.mark.parametrize("selector", ["//p[unparsed-text('/etc/hostname')]", "//p[doc('/etc/hostname')]"])
def test_changedetection_unparsed_text_reads_no_file(selector: str) -> None:
    with pytest.raises(SelectorError, match=r"XPath 1\.0"):
        check_any_selector(selector)


def test_cve_2026_41066_page_reads_no_file_and_names_no_address(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("read from the disk", encoding="utf-8")
    html = f'<!DOCTYPE html [<!ENTITY x SYSTEM "{secret.as_uri()}">]><html><body><p>one &x; two</p></body></html>'
    page = parsed(html)

    marks = marked_blocks(html, page, ["//p"])

    assert any(marks)
    assert not any("read from" in block.text for block in page.blocks)


def test_firecrawl_mcp_194_text_that_nobody_sees_is_shown() -> None:
    pytest.importorskip("mcp", reason="pip install '.[mcp]'")
    from scrapy_dedup.mcp_server.server import fenced

    unseen = "\u200b\u2060\ufeff\u202e\U000e0041"

    shown = str(fenced({"title": unseen}).structured_content)

    assert shown.count("⟨U+") == len(unseen)

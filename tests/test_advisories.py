"""Faults that others were advised of, and the tests that hold them off here: new ones, and where the others are."""

import ast
import json
from pathlib import Path

import pytest

from scrapy_dedup.core.pages.marking import SelectorError, check_any_selector, marked_blocks
from tests.core.builders import parsed

ROOT = Path(__file__).parents[1]
FETCHERS = {"aiohttp", "httpx", "requests", "trafilatura", "urllib3", "urlopen", "urlretrieve"}
ELSEWHERE = json.loads((ROOT / "tests" / "data" / "advisories.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", ELSEWHERE)
def test_advisories_have_their_tests(path):
    module = ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8"))

    assert set(ELSEWHERE[path]) <= {node.name for node in ast.walk(module) if isinstance(node, ast.FunctionDef)}


def test_trafilatura_910_nothing_here_fetches_but_scrapy():
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
def test_changedetection_unparsed_text_reads_no_file(selector):
    with pytest.raises(SelectorError, match=r"XPath 1\.0"):
        check_any_selector(selector)


def test_cve_2026_41066_page_reads_no_file_and_names_no_address(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("read from the disk", encoding="utf-8")
    html = f'<!DOCTYPE html [<!ENTITY x SYSTEM "{secret.as_uri()}">]><html><body><p>one &x; two</p></body></html>'
    page = parsed(html)

    marks = marked_blocks(html, page, ["//p"])

    assert any(marks)
    assert not any("read from" in block.text for block in page.blocks)


def test_firecrawl_mcp_194_text_that_nobody_sees_is_shown():
    pytest.importorskip("mcp", reason="pip install '.[mcp]'")
    from scrapy_dedup.mcp_server import fenced

    unseen = "\u200b\u2060\ufeff\u202e\U000e0041"

    shown = str(fenced({"title": unseen}).structured_content)

    assert shown.count("⟨U+") == len(unseen)

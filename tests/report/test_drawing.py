"""Templates: what they may do, and that no text of a page gets past what makes it harmless."""

import ast
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError
from markupsafe import Markup
from selectolax.lexbor import LexborHTMLParser

from scrapy_dedup.report.drawing import _environment, foreign, one_line, page_link, typed
from tests.report.dashboard import drawn
from tests.report.hostile import ALL, HOSTILE

PACKAGE = Path(__file__).parents[2] / "scrapy_dedup"
REPORT, WEB = PACKAGE / "report", PACKAGE / "web"
TEMPLATES = sorted((REPORT / "templates").iterdir())
MODULES = sorted({*REPORT.rglob("*.py"), *WEB.rglob("*.py")})
TAG = re.compile(r"</?[a-z][a-z0-9]*[\s/>]")


def strings(path: Path) -> Iterator[str]:
    """Yield what stands in a module's strings, but for docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value


def test_html_is_written_in_templates_and_said_to_be_harmless_in_one_module():
    written = {path.name for path in MODULES if any(map(TAG.search, strings(path)))}
    trusted = {path.name for path in PACKAGE.rglob("*.py") if "markupsafe" in path.read_text(encoding="utf-8")}

    assert written == trusted == {"drawing.py"}


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_template_escapes_everything_and_holds_neither_script_nor_style(path):
    text = path.read_text(encoding="utf-8")

    assert not re.search(r"\|\s*(safe|tojson|urlize|xmlattr)\b|autoescape|Markup|__html__", text)
    assert not re.search(r"<[^>{]*\s(on[a-z]+|style)\s*=|<script>|javascript:", text)
    assert not re.search(
        r"\s[a-z-]+=\{\{|=\"\{\{[^}]*\|\s*(foreign|page_link)", text
    )  # without quotes, or an element in it
    assert _environment().get_template(path.name)


def test_what_a_template_misses_is_an_error():
    with pytest.raises(UndefinedError, match="why"):
        drawn("unknown_page.html", url="")


@pytest.mark.parametrize("make", [str, Markup], ids=["text", "said-to-be-html"])
@given(text=st.text() | st.just(ALL), limit=st.integers(1, 5_000))
def test_no_text_gets_out_of_its_element(make, text, limit):
    """Not even one that some view says to be HTML already."""
    for html in (foreign(make(text), limit), page_link(make(text), limit)):
        tree = LexborHTMLParser(f"<p>{html}</p>")
        assert {node.tag for node in tree.css("p *")} in ({"bdi"}, {"a", "bdi"})
        assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b\x00]", html)
    for value in (typed(make(text)), Markup.escape(one_line(make(text), limit))):
        assert not set("<>\"'") & set(value)


@pytest.mark.parametrize(
    ("url", "is_link"),
    [
        ("http://shop.example/tea", True),
        ("https://shop.example/?a=1&b='\"<", True),
        ("javascript:window.hacked=1", False),
        ("data:text/html,<script>", False),
        ("//shop.example/", False),
        ("http://[broken/", False),
        ("https://shop.example/\u202egnp.exe", False),
        ("https://shop.example/" + "x" * 10_000, False),
    ],
)
def test_only_pages_of_the_web_are_linked_and_do_not_learn_from_where(url, is_link):
    links = LexborHTMLParser(page_link(url)).css("a")

    assert [(link.attributes["href"], link.attributes["rel"]) for link in links] == (
        [(url, "noopener noreferrer")] if is_link else []
    )


def test_text_that_nobody_marked_as_foreign_is_escaped_and_seen_whole():
    template = _environment().from_string('<p title="{{ text }}">{{ text }}</p>')

    html = template.render(text=HOSTILE + "\u202e\x00")

    assert LexborHTMLParser(html).css("p")[0].text() == HOSTILE + "⟨U+202E⟩⟨U+0000⟩"
    assert html.count("⟨U+202E⟩") == 2


def test_templates_and_style_are_found_in_a_package_that_is_one_zip_file(tmp_path):
    archive = tmp_path / "package.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for path in (PACKAGE / "__init__.py", *(PACKAGE / "core").rglob("*.py"), *REPORT.rglob("*.*")):
            packed.write(path, path.relative_to(PACKAGE.parent))
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from datetime import UTC, datetime\n"
        "from scrapy_dedup.report import drawing, values\n"
        "assert '.zip' in drawing.__file__\n"
        "page = values.ExplainedPage('p', 'http://a.example/', 'Tea', datetime(2026, 3, 1, tzinfo=UTC))\n"
        "print(drawing.render_explanation(page))"
    )

    done = subprocess.run([sys.executable, "-c", program, archive], capture_output=True, text=True, check=True)

    assert "<title>Tea: why</title>" in done.stdout
    assert "color-scheme: light dark" in done.stdout


def test_a_crawl_that_starts_does_not_load_what_draws():
    program = (
        "import importlib, pkgutil, sys, scrapy_dedup.plugin, scrapy_dedup.commands.dedup\n"
        "for one in pkgutil.iter_modules(scrapy_dedup.plugin.__path__, 'scrapy_dedup.plugin.'):\n"
        "    importlib.import_module(one.name)\n"
        "print('jinja2' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"

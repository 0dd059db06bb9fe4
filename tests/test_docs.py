"""The README and docs: plain words, links that lead somewhere, and no more than somebody reads."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.item_schema import SCHEMA, faults_of
from tests.tables import table

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
GENERATED = DOCS / "settings.md"
PAGES = sorted({ROOT / "README.md", *DOCS.rglob("*.md")} - {GENERATED})
DIALECT = json.loads((ROOT / "tests" / "data" / "dialect.json").read_text(encoding="utf-8"))
"""What the field says otherwise, as a whole word, and what it says."""


def prose(page: Path) -> str:
    """Return what a person wrote to be read: no code, no generated part, no target of a link."""
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"<!-- (figures|operations):.*?<!-- end of \w+ -->", "", text, flags=re.DOTALL)
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`]*`|\]\([^)]*\)", "", text)


def links(page: Path) -> Iterator[str]:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return (found[1] for found in re.finditer(r"\]\(((?!http)[^)\s]+)\)", text))


def anchors(page: Path) -> set[str]:
    """Return the names of headings, as GitHub and myst-parser make them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_words_are_those_of_the_field(page):
    text = prose(page)

    found = [
        f"{' '.join(text[max(0, hit.start() - 40) : hit.end() + 30].split())!r}: write {instead}"
        for pattern, instead in DIALECT.items()
        for hit in re.finditer(rf"\b({pattern})\b", text, re.IGNORECASE)
    ]
    assert found == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_pages_and_headings(page):
    for link in links(page):
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_is_in_the_reading_order():
    listed = set(links(DOCS / "index.md"))

    assert {page.name for page in DOCS.glob("*.md")} - {"index.md"} == listed


def test_docs_are_at_most_20_000_words():
    """Rules of tables are no words."""
    words = [word for page in DOCS.rglob("*.md") for word in page.read_text(encoding="utf-8").split()]

    assert sum(any(map(str.isalnum, word)) for word in words) <= 20_000


def test_site_is_built_without_a_warning(tmp_path):
    for name in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(name, reason="pip install '.[docs]'")

    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "-d", str(tmp_path / "trees")]
    done = subprocess.run([*command, DOCS, tmp_path / "html"], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    loads = re.compile(r"<(?:script|link|img)[^>]*(?:src|href)=\"(http[^\"]+)")
    pages = [page.read_text(encoding="utf-8") for page in tmp_path.rglob("*.html")]
    assert {url for page in pages for url in loads.findall(page)} == set()


def test_modules_that_docs_name_are_there():
    folders = "adapters|answers|batch|commands|core|mcp_server|plugin|report|service|settings|store|teacher|web"
    pages = [page.read_text(encoding="utf-8") for page in PAGES if page.parent == DOCS]

    named = {name for page in pages for name in re.findall(rf"`((?:{folders})/[\w/]+\.py)", page)}
    assert len(named) > 40
    assert {name for name in named if not (ROOT / "scrapy_dedup" / name).exists()} == set()


PAGE = Path(__file__).parents[1] / "docs" / "item.md"


def test_docs_name_what_the_schema_names_in_its_order():
    rows = [line.split("`")[1] for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]

    assert rows == list(SCHEMA["properties"])


@table("docs/what_is_not_in_it_is_a_fault")
def test_what_is_not_in_it_is_a_fault(report, fault):
    assert [one.startswith(fault) for one in faults_of(report)] == [True]

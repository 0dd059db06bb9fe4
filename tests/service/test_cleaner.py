import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import scrapy_dedup
from scrapy_dedup.service.cleaner import NoPageError
from scrapy_dedup.service.files.inputs import Inputs
from scrapy_dedup.service.files.run import CleaningRun
from scrapy_dedup.settings import SettingError, Settings
from tests.pdf_files import a_pdf, column
from tests.service.files.test_run import Watching
from tests.service.site_pages import article, listing

PROJECT = Path(__file__).parents[2]
SITE = "https://site.example/"
PAGES = [(f"{SITE}{number}", article(number)) for number in range(12)]
PAGES += [(f"{SITE}list/{number}", listing(number)) for number in range(6)]


def rows_of_clean(folder: Path, pages: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return what `scrapy dedup clean` writes of pages."""
    file = folder / "pages.jsonl"
    file.write_text("".join(json.dumps({"url": url, "html": html}) + "\n" for url, html in pages), encoding="utf-8")
    with Inputs([str(file)], io.BytesIO()) as inputs, CleaningRun(inputs, Settings(), Watching()) as run:
        run.survey(lambda _domain: None)
        list(run.learn())
        rows = [json.loads(line) for line in run.lines()]
    for row in rows:
        # What came of it beside the other pages of the run.
        del row["dedup"]["chunks"]
    return rows


def test_a_page_comes_out_as_from_clean_whether_its_site_is_known_or_not(tmp_path):
    cleaner = scrapy_dedup.Cleaner(iter(PAGES))

    together = [cleaner.clean(html, url) for url, html in PAGES]
    alone = [scrapy_dedup.clean(html, url) for url, html in PAGES[:2]]

    assert together == rows_of_clean(tmp_path, PAGES)
    assert alone == rows_of_clean(tmp_path, PAGES[:2])
    assert {row["dedup"]["how"] for row in together} == {"template"}
    assert all("All rights reserved" not in row["cleaned_content"] for row in together)
    assert all(row["title"] for row in together)


def test_bytes_are_decoded_as_the_page_says_and_may_be_a_pdf_file():
    url, text = f"{SITE}a", "Les élèves étudient l'œuvre à l'école, où le maître lit ce qu'ils ont écrit. " * 5
    body = f'<meta charset="windows-1252"><title>École</title><main><p>{text}</p></main>'.encode("cp1252")

    assert "œuvre à l'école" in scrapy_dedup.clean(body, url)["cleaned_content"]
    assert "Tea grows" in scrapy_dedup.clean(a_pdf([column(["Tea grows on hills."])]), url)["cleaned_content"]


def test_settings_are_named_as_in_a_spider_without_their_prefix():
    url, html = PAGES[0]

    assert scrapy_dedup.clean(html, url, output="html")["cleaned_content"].startswith("<")
    with pytest.raises(SettingError, match=r"did you mean output\?"):
        scrapy_dedup.Cleaner(outputs="html")


@pytest.mark.parametrize("url", ["", "page.html", "ftp://a.example/", "https://"])
def test_what_has_no_site_is_refused(url):
    with pytest.raises(NoPageError, match="is no URL of a page"):
        scrapy_dedup.clean("<p>Tea", url)
    with pytest.raises(NoPageError, match="is no URL of a page"):
        scrapy_dedup.Cleaner([(url, "<p>Tea")])
    with pytest.raises(NoPageError, match="HTML as str or bytes, and its URL as str; not None and"):
        scrapy_dedup.clean(None, url)
    with pytest.raises(NoPageError, match="pages are pairs of URL and HTML; not '<p>Tea'"):
        scrapy_dedup.Cleaner(["<p>Tea"])  # type: ignore[list-item]


def test_neither_scrapy_nor_a_database_is_loaded_for_it():
    program = (
        "import sys, scrapy_dedup; scrapy_dedup.clean('<p>Tea grows', 'https://a.example/')\n"
        "names = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted(names & {'scrapy', 'twisted', 'alembic', 'itemadapter', 'rich', 'numpy'}))"
    )

    done = subprocess.run([sys.executable, "-c", program], cwd=PROJECT, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"

"""Brochures as PDF among a site's pages: without cover and running headers, and each once."""

import json
import os
from typing import Any

import pytest
from msgspec.structs import replace

from tests.end_to_end.crawling import ADDON, PATIENCE_SECONDS, ROOT, Crawled, Project
from tests.hospital.brochures import COVER, COVER_PATTERN, HEADER
from tests.hospital.outcomes import given, known, reports_of
from tests.hospital.site import FEW, addresses, rows, served, site
from tests.server import Answer
from tests.service.files.test_run import Done
from tests.warm import start_scrapy

SIZES = replace(FEW, brochures=6, brochures_with_twins=2)
# Blocks of PDFs are others than those of pages.
LEDGER = {name: number for name, number in SIZES.ledger.items() if not name.startswith("boilerplate/")}


SERVED = 1, lambda origins: served(site(SIZES, origins[0]))


@pytest.fixture(scope="module")
def answers(server) -> dict[str, Answer]:
    return {url: answer for url, answer in server.site.items() if isinstance(answer, Answer)}


@pytest.fixture(scope="module")
def crawled(answers, tmp_path_factory) -> Crawled:
    patterns = {"DEDUP_PDF_BOILERPLATE_PATTERNS": [COVER_PATTERN]}
    settings = {**ADDON, **patterns, "DEDUP_LANGUAGES": ["nl"], "DEDUP_ITEM_DETAILS": ["chunks"]}
    project = Project(tmp_path_factory.mktemp("brochures") / "project", settings)
    return project.crawl("hospital", "-a", f"start={' '.join(addresses(answers, SIZES, 1))}")


@pytest.fixture(scope="module")
def done(answers) -> Done:
    settings: dict[str, Any] = {"languages": frozenset(["nl"]), "pdf_boilerplate_patterns": (COVER_PATTERN,)}
    settings["item_details"] = frozenset(["chunks"])
    return Done(*rows(answers, addresses(answers, SIZES)), **settings)


def brochures(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [item for item in items if item["url"].endswith(".pdf")]


class TestCrawl:
    def test_counts_brochures_among_the_pages(self, crawled):
        assert {name: crawled.count(name) for name in LEDGER} == LEDGER

    def test_gives_each_brochure_once_with_its_title(self, crawled):
        titles = sorted(item["title"] for item in brochures(crawled.fed))

        assert titles == [f"Folder {number}" for number in range(SIZES.brochures)]

    def test_leaves_out_cover_and_running_headers(self, crawled):
        texts = [item["cleaned_content"] for item in brochures(crawled.fed)]

        assert len(texts) == SIZES.brochures
        assert not [text for text in texts if HEADER in text or any(line in text for line in COVER) or "/ 5" in text]
        assert all(len(text) > 5_000 for text in texts)

    def test_gives_every_text_once(self, crawled):
        reports = reports_of(crawled.fed)

        assert set(given(reports).values()) == {1}
        assert set(given(reports)) == known(reports)


SPIDER = """
import sys

import scrapy

sys.modules["pypdfium2"] = None  # as if it were not installed


class Files(scrapy.Spider):
    name = "files"

    def parse(self, response):
        yield {"url": response.url}

"""


def test_without_the_extra_items_of_files_go_out_as_they_came_and_one_warning_says_what_to_install(answers, tmp_path):
    start = [url for url in answers if url.endswith(".pdf")]
    (tmp_path / "files.py").write_text(f"{SPIDER}    start_urls = {start}\n", encoding="utf-8")
    addon = 'ADDONS={"scrapy_dedup.Addon": 700}'
    log = tmp_path / "log.txt"
    words = ["runspider", "files.py", "-o", "out.jsonl", "-s", addon]
    ran = start_scrapy(words, tmp_path, {**os.environ, "PYTHONPATH": str(ROOT)}, stdout=os.devnull, stderr=log)
    assert ran.wait(PATIENCE_SECONDS) == 0

    items = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [item["dedup"]["left"] for item in items] == ["pdf_library_missing"] * len(start)
    assert log.read_text(encoding="utf-8").count("pip install 'scrapy_dedup[pdf]'") == 1


class TestFiles:
    def test_count_the_same(self, done):
        ledger = {name: number for name, number in SIZES.ledger_of_files.items() if name in LEDGER}

        assert {name: done.tally.counts[name] for name in ledger} == ledger

    def test_have_the_same_texts_as_a_crawl(self, done, crawled):
        ours, theirs = reports_of(done.rows), reports_of(crawled.fed)

        assert set(given(ours)) == set(given(theirs))

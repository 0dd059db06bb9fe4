"""A mistake in the settings, or a store that must not be used, stops the crawl before its first request."""

import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.databases import change, locked
from tests.end_to_end.crawling import Crawled, Project
from tests.end_to_end.test_nothing_lost import BY_SELECT
from tests.end_to_end.test_ways_in import BY_HAND, PIPELINE
from tests.server import Answer, WebServer
from tests.sites import html_page
from tests.store.test_opening import a_store_file, untouched
from tests.tables import table

SERVED = 1, lambda origins: {f"{origins[0]}/page": Answer(html_page("page"))}


def refused(project: Project, server: WebServer, told: str, *arguments: str, **settings: Any) -> Crawled:
    """Crawl in vain, and be told why: in one line that stands out, and in the last one."""
    crawled = project.crawl("pages", "-a", f"start={server.origins[0]}/page", *arguments, clean=False, **settings)
    assert server.requests == []
    assert crawled.stored == []
    assert crawled.exit_code == 1
    critical = re.findall("CRITICAL: The crawl does not start: (.*)", crawled.log)
    assert len(critical) == 1
    assert re.search(told, critical[0]), critical[0]
    assert re.search(told, crawled.log.rstrip().rpartition("\n")[2])
    assert "never retrieved" not in crawled.log
    return crawled


@table("end_to_end/wrong_settings")
def test_wrong_setting_is_told_with_value_and_range(project, server, setting, told):
    refused(project, server, told, **setting)


@pytest.mark.parametrize(("way", "reactor"), [(BY_HAND, {}), (PIPELINE, BY_SELECT)], ids=["by-hand", "pipeline-alone"])
def test_wrong_setting_is_told_without_the_add_on_too(make_project, server, way, reactor):
    refused(make_project("project", **way, **reactor), server, "DEDUP_MIN_PAGES=1: needs 2 to 100", DEDUP_MIN_PAGES=1)


@table("end_to_end/wrong_spider_attribute_is_told")
def test_wrong_spider_attribute_is_told(project, server, attribute, told):
    refused(project, server, told, "-a", attribute)


def is_older(path: Path) -> None:
    change(path, "UPDATE alembic_version SET version_num = '0011'")


def is_foreign(path: Path) -> None:
    path.unlink()
    change(path, "CREATE TABLE invoices (id INTEGER)")


def is_corrupt(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5_000] + b"junk" * 3_000)


@pytest.mark.parametrize(
    ("prepare", "meanwhile", "told"),
    [
        pytest.param(None, locked, "lock", id="locked"),
        pytest.param(is_corrupt, nullcontext, "damaged", id="corrupt"),
        pytest.param(lambda path: path.write_bytes(b"%PDF-1.7" * 500), nullcontext, "not a", id="no-database"),
        pytest.param(is_foreign, nullcontext, "no scrapy_dedup store", id="foreign"),
        pytest.param(is_older, nullcontext, "Begin a new one with: scrapy crawl", id="older"),
    ],
)
def test_store_that_must_not_be_used_stays_as_it_is(project, server, tmp_path, prepare, meanwhile, told):
    folder = tmp_path / "store"
    folder.mkdir()
    path = a_store_file(folder / "dedup.db", pages=20)
    if prepare is not None:
        prepare(path)

    with untouched(path), meanwhile(path):
        refused(project, server, told, DEDUP_DATABASE_URL=f"sqlite:///{path}", DEDUP_DATABASE_TIMEOUT=0.3)

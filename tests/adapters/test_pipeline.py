"""The pipeline in real crawls, over LangChain's vector store."""
# ruff: noqa: E402 - the library may not be there

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from scrapy.utils.test import get_crawler

from tests.adapters.extras import needs

needs("langchain_core", "langchain")

from scrapy_dedup.adapters.documents import AdapterError
from scrapy_dedup.adapters.langchain import LangChainPipeline
from scrapy_dedup.adapters.pipeline import IndexPipeline
from tests.adapters.builders import a_tombstone, a_url, an_item

ROOT = Path(__file__).parents[2]
ASYNCIO = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
SELECT = "twisted.internet.selectreactor.SelectReactor"


def run(*crawls: dict[str, Any], reactor: str = ASYNCIO) -> tuple[list[dict[str, Any]], str]:
    """Run crawls one after the other; return what became of each, and the log."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.adapters.crawling"],
        cwd=ROOT,
        input=json.dumps({"reactor": reactor, "crawls": crawls}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def pages(*numbers: int, run: str = "run-1") -> list[Any]:
    return [an_item(number, f"Page {number}.", run=run) for number in numbers]


def urls(*numbers: int) -> list[str]:
    return sorted(map(a_url, numbers))


def texts(*numbers: int) -> list[str]:
    return sorted(f"Page {number}." for number in numbers)


@pytest.mark.crawl
@pytest.mark.parametrize("reactor", [pytest.param(ASYNCIO, id="asyncio"), pytest.param(SELECT, id="select")])
def test_two_crawls_leave_the_index_right_and_cost_what_changed(reactor: str):
    second = [*pages(1, 2, run="run-2"), an_item(3, "Page 3, revised.", run="run-2"), a_tombstone(4)]

    (first, then), _ = run({"items": pages(*range(1, 11))}, {"items": second}, reactor=reactor)

    assert first["acknowledged"] == urls(*range(1, 11))
    assert first["passed"] == 10
    assert first["stats"] == {"dedup/index/added": 10}
    assert then["acknowledged"] == urls(1, 2, 3, 4)
    assert then["asked"] == ["Page 3, revised."]
    assert then["texts"] == sorted([*texts(1, 2, 5, 6, 7, 8, 9, 10), "Page 3, revised."])
    assert then["stats"] == {"dedup/index/added": 1, "dedup/index/skipped": 2, "dedup/index/deleted": 2}


@pytest.mark.crawl
def test_pages_whose_upsert_fails_are_not_acknowledged_and_come_again():
    """One that the model refuses does not hold back those that are written with it."""
    items = pages(1, 2, 3, 4, 5)

    (first, then), log = run({"items": items, "poison": "Page 2"}, {"items": pages(2, run="run-2")})

    assert first["acknowledged"] == urls(1, 3, 4, 5)
    assert first["texts"] == texts(1, 3, 4, 5)
    assert first["passed"] == 5
    assert first["stats"] == {"dedup/index/added": 4, "dedup/index/failed": 1}
    assert "1 items could not be indexed" in log
    assert "the model does not answer" in log
    assert then["acknowledged"] == urls(2)
    assert then["texts"] == texts(1, 2, 3, 4, 5)


@pytest.mark.crawl
def test_an_index_that_is_down_is_not_asked_for_each_page():
    """Each question may cost a timeout."""
    (only,), _ = run({"items": pages(*range(40)), "poison": "Page", "settings": {}})

    assert only["acknowledged"] == []
    assert only["stats"] == {"dedup/index/failed": 40}
    # Ten batches of four, each at once and then page by page, until three have failed.
    assert only["calls"] == 10 * (1 + 3)


@pytest.mark.crawl
def test_a_batch_that_could_not_be_saved_is_not_acknowledged():
    (only,), log = run({"items": pages(1, 2), "settings": {"DISK_FULL": True}})

    assert only["acknowledged"] == []
    assert only["stats"] == {"dedup/index/failed": 2}
    assert "no space left" in log


@pytest.mark.crawl
def test_items_that_are_no_pages_are_acknowledged_and_counted():
    items = [an_item(1, None), *pages(2)]

    (only,), _ = run({"items": items})

    assert only["acknowledged"] == urls(1, 2)
    assert only["stats"] == {"dedup/index/added": 1, "dedup/index/left/no_text": 1}


@pytest.mark.crawl
def test_a_slow_index_holds_the_crawl_back():
    """Else what waits would have no bound."""
    (only,), _ = run({"items": pages(*range(40)), "settings": {"SLOW": True}})

    assert only["passed"] == 40
    assert only["during_writes"] == [0] * 10


@pytest.mark.crawl
def test_the_whole_plugin_and_langchain_agree_over_five_crawls(tmp_path: Path):
    """A failed upsert; the same again; nothing new; a page changed; a page removed, and with it its link."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.adapters.recrawling", tmp_path / "dedup.db"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    failed, again, nothing, changed, removed = json.loads(done.stdout)

    assert failed["failed"] == 1
    assert failed["stored"] == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    assert (again["asked"], again["stored"]) == ([3], list(range(10)))
    assert (nothing["asked"], nothing["stored"]) == ([], list(range(10)))
    assert (changed["asked"], changed["stored"]) == ([5], list(range(10)))
    assert (removed["asked"], removed["stored"]) == ([0], [0, 1, 2, 3, 4, 5, 7, 8, 9])


class Complete(LangChainPipeline):
    acknowledge = print


@pytest.mark.parametrize(
    ("pipeline", "settings", "message"),
    [
        pytest.param(Complete, {}, "DEDUP_ACK='auto': Complete needs 'manual'", id="acknowledged-too-early"),
        pytest.param(
            LangChainPipeline,
            {"DEDUP_ACK": "manual"},
            r"LangChainPipeline: add to the class: acknowledge = scrapy_dedup\.acknowledge",
            id="never-acknowledged",
        ),
    ],
)
def test_a_pipeline_that_could_not_acknowledge_stops_the_crawl(
    pipeline: type[IndexPipeline], settings: dict[str, Any], message: str
):
    with pytest.raises(AdapterError, match=message):
        pipeline.from_crawler(get_crawler(settings_dict=settings))


def test_a_pipeline_without_stores_says_what_to_add():
    pipeline = Complete.from_crawler(get_crawler(settings_dict={"DEDUP_ACK": "manual"}))

    with pytest.raises(NotImplementedError, match=r"Complete\.stores: return \(record_manager, vector_store\)"):
        pipeline.open_spider()

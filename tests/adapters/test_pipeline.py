"""The Scrapy pipeline: what it makes of a batch, and real crawls with the whole plugin into a vector store."""
# ruff: noqa: E402 - the library may not be there

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from scrapy.utils.test import get_crawler

from tests.adapters.extras import needs

needs("langchain_core", "langchain")

from scrapy_dedup.adapters.indexing import AdapterError, Counts, IndexedPage, IndexPipeline, read
from tests.adapters.builders import an_item

ROOT = Path(__file__).parents[2]
MANUAL = {"DEDUP_ACK": "manual"}


class Refusing:
    """An index that cannot take some texts."""

    def __init__(self, *refused: str) -> None:
        self.refused = refused
        self.calls = 0

    def begin(self) -> None:
        pass

    def write(self, pages: Sequence[IndexedPage]) -> Counts:
        self.calls += 1
        if any(page.text in self.refused for page in pages):
            raise ConnectionError("the model does not answer")
        return Counter(added=len(pages))


class Complete(IndexPipeline):
    acknowledge = print
    there = Refusing()
    disk_full = False

    def connect(self) -> Refusing:
        return self.there

    def save(self) -> None:
        if self.disk_full:
            raise OSError("no space left")


def written(there: Refusing, *items: Any, disk_full: bool = False) -> tuple[list[Any], Counts]:
    """Return which items are safe after a batch, and what was counted."""
    pipeline = Complete.from_crawler(get_crawler(settings_dict=MANUAL))
    pipeline.there, pipeline.disk_full = there, disk_full
    pipeline.open_spider()
    return pipeline._write([(item, read(item, pipeline._settings)) for item in items])


def items(count: int) -> list[Any]:
    return [an_item(number, f"Page {number}.") for number in range(count)]


def test_a_page_that_the_index_refuses_does_not_hold_back_those_of_its_batch(caplog: pytest.LogCaptureFixture) -> None:
    batch = [*items(5), an_item(9, None)]

    safe, counts = written(Refusing("Page 2."), *batch)

    assert sorted(item["url"] for item in safe) == sorted(item["url"] for item in batch if item is not batch[2])
    assert counts == {"added": 4, "failed": 1, "left/no_text": 1}
    assert "1 items could not be indexed" in caplog.text
    assert "the model does not answer" in caplog.text


def test_an_index_that_is_down_is_not_asked_for_each_page() -> None:
    """Each question may cost a timeout."""
    there = Refusing(*(f"Page {number}." for number in range(40)))

    assert written(there, *items(40)) == ([], {"failed": 40})
    assert there.calls == 1 + 3


def test_a_batch_that_could_not_be_saved_is_not_safe() -> None:
    assert written(Refusing(), *items(2), disk_full=True) == ([], {"failed": 2})


ALL = list(range(10))
CRAWLS: list[tuple[list[int], list[int]]] = [
    ([0, 1, 2, 4, 5, 6, 7, 8, 9], [0, 1, 2, 4, 5, 6, 7, 8, 9]),
    ([3], ALL),
    ([], ALL),
    ([5], ALL),
    ([0], [0, 1, 2, 3, 4, 5, 7, 8, 9]),
]
"""Pages that were embedded, and that are there then: a failed upsert; the same again; nothing new; a page changed; one
removed, and with it its link."""


@pytest.mark.crawl
def test_the_whole_plugin_and_langchain_agree_over_some_crawls(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.adapters.recrawling", str(tmp_path / "dedup.db")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)

    assert [(crawl["asked"], crawl["stored"]) for crawl in told] == CRAWLS
    assert told[0]["stats"] == {"dedup/index/added": 9, "dedup/index/failed": 1}
    assert told[0]["passed"] == 10
    # A slow index holds the crawl back, else what waits would have no bound: nothing passes it while it writes but
    # what was taken for the same batch of four, and is on its way.
    assert max(crawl["during_writes"] for crawl in told) < 4


@pytest.mark.parametrize(
    ("pipeline", "settings"),
    [
        pytest.param(Complete, {}, id="acknowledged-too-early"),
        pytest.param(IndexPipeline, MANUAL, id="never-acknowledged"),
    ],
)
def test_a_pipeline_that_could_not_acknowledge_stops_the_crawl(
    pipeline: type[IndexPipeline], settings: dict[str, Any]
) -> None:
    needed = r"needs DEDUP_ACK='manual', not '.*', and in its class acknowledge = scrapy_dedup\.acknowledge"

    with pytest.raises(AdapterError, match=needed):
        pipeline.from_crawler(get_crawler(settings_dict=settings))


def test_a_pipeline_that_does_not_connect_says_what_to_add() -> None:
    class Bare(IndexPipeline):
        acknowledge = print

    with pytest.raises(NotImplementedError, match=r"Bare\.connect: return a VectorIndex or an IngestionIndex"):
        Bare.from_crawler(get_crawler(settings_dict=MANUAL)).open_spider()

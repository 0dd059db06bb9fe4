"""More kinds of spiders that people write: each crawl of one store is what the bare spider gives."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.law import compare
from tests.law.crawls import ADDON, Crawl, Crawls, Job
from tests.law.written_spiders import written_world

_COUNTED = (
    "depth/",
    "downloader/response_count",
    "dupefilter/",
    "finish_reason",
    "httperror/",
    "item_",
    "request_depth_",
    "response_received_count",
    "retry/",
    "spider_exceptions/",
)
IN_TURN = {"CONCURRENT_REQUESTS": 1}
"""One page after the other, so that the whole feed has an order."""


SPIDERS = (
    "Table Enough Errback Allowing Wrong Returning Query Inline Deep Deepest Verbose Schemes Idle Dropping".split()
)


@pytest.mark.parametrize("spider", [*SPIDERS, ""])
def test_feed_order_errors_and_end_are_those_of_the_bare_spider(spider, crawls, tmp_path):
    """In the third crawl what the first kept may stand in for callbacks."""
    for reuse in ("body", "never", "body"):
        bare, crawl = _both(spider, crawls, tmp_path, {"DEDUP_REUSE": reuse})

        assert compare.emitted(bare, crawl) == []
        assert _in_order(bare, bare) == _in_order(bare, crawl)
        assert _told(bare) == _told(crawl)


@pytest.mark.parametrize("order", [400, 1], ids=["behind-ours", "before-it"])
def test_files_of_pipelines_are_fetched_and_the_same_file_is_no_other_item(crawls, tmp_path, order):
    """Scrapy says of a file that it was downloaded, and in the next crawl that it is up to date."""
    pipelines = {"ITEM_PIPELINES": {"scrapy.pipelines.files.FilesPipeline": order}, "MEDIA_ALLOW_REDIRECTS": True}
    stores = {name: {**pipelines, "FILES_STORE": str(tmp_path / name)} for name in ("bare", "on")}
    for unchanged in ("emit", "skip"):
        bare = crawls.run(_job("Pictures", stores["bare"]))
        crawl = crawls.run(_with(_job("Pictures", stores["on"]), tmp_path, {"DEDUP_UNCHANGED": unchanged}))

        assert any(item["files"] for item in bare.items)
        assert _names(tmp_path / "bare") == _names(tmp_path / "on")
        assert (crawl.items if unchanged == "skip" else compare.emitted(bare, crawl)) == []


def test_feeds_with_filters_batches_and_exporters_are_byte_for_byte_the_same(crawls, tmp_path):
    fields = ["number", "url", "heading"]
    for number in range(2):
        found = []
        for name in ("bare", "on"):
            folder = tmp_path / f"{name} {number}"
            feeds: dict[str, Any] = {
                str(folder / "batch-%(batch_id)d.csv"): {"format": "csv", "batch_item_count": 5, "fields": fields},
                str(folder / "even.xml"): {
                    "format": "xml",
                    "item_filter": "tests.law.written_spiders.Even",
                    "fields": fields,
                },
                str(folder / "own.jl"): {"format": "own", "fields": fields, "postprocessing": []},
                str(folder / "never.json"): {"format": "json", "item_classes": ["scrapy.Item"], "store_empty": True},
            }
            chosen = {"FEEDS": feeds, "FEED_EXPORTERS": {"own": "tests.law.written_spiders.OwnExporter"}}
            job = _job("", chosen)
            crawls.run(job if name == "bare" else _with(job, tmp_path, {}))
            found.append({file.name: file.read_bytes() for file in sorted(folder.iterdir())})

        assert found[0] == found[1]
        assert len(found[0]) == 6


def _both(spider: str, crawls: Crawls, folder: Path, chosen: dict[str, Any]) -> tuple[Crawl, Crawl]:
    job = _job(spider, {})
    return crawls.run(job), crawls.run(_with(job, folder, chosen))


def _job(spider: str, chosen: dict[str, Any]) -> Job:
    name = f"{spider}Spider" if spider else "Written"
    return Job(f"tests.law.written_spiders.{name}", written_world(), settings={**IN_TURN, **chosen})


def _with(job: Job, folder: Path, chosen: dict[str, Any]) -> Job:
    store = {"DEDUP_DATABASE_URL": f"sqlite:///{folder / 'dedup.db'}"}
    return replace(job, addon=ADDON, settings={**job.settings, **store, **chosen})


def _in_order(bare: Crawl, crawl: Crawl) -> list[str]:
    return list(map(compare.Stripped.of(bare, ()).item, crawl.items))


def _told(crawl: Crawl) -> dict[str, Any]:
    return {name: value for name, value in crawl.stats.items() if name.startswith(_COUNTED)}


def _names(folder: Path) -> list[str]:
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())

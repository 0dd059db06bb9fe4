"""Ways in beside the add-on: components set by hand, the pipeline alone. And several crawls at once."""

from collections import Counter

import pytest

from tests.end_to_end.crawling import ADDON, all_accounted_for
from tests.sites import SMALL, interleaved, pages_of

STORAGE = {"tests.end_to_end.recorders.Storage": 800}
PIPELINE = {"ITEM_PIPELINES": {"scrapy_dedup.DedupPipeline": 350, **STORAGE}}
BY_HAND = {
    **PIPELINE,
    "DOWNLOADER_MIDDLEWARES": {"scrapy_dedup.DedupDownloaderMiddleware": 545},
    "SPIDER_MIDDLEWARES": {"scrapy_dedup.DedupSpiderMiddleware": 950},
}
FINGERPRINTER = {"REQUEST_FINGERPRINTER_CLASS": "scrapy_dedup.Fingerprinter"}
WAYS = [
    pytest.param(BY_HAND, FINGERPRINTER, id="by-hand-and-with-fingerprinter"),
    pytest.param(
        {**PIPELINE, "SPIDER_MIDDLEWARES": BY_HAND["SPIDER_MIDDLEWARES"]}, {}, id="without-downloader-middleware"
    ),
    pytest.param(PIPELINE, {}, id="pipeline-alone"),
]


SERVED = len(SMALL), lambda origins: interleaved(origins, SMALL)


@pytest.mark.parametrize(("way", "then"), WAYS)
def test_every_page_goes_out_once_without_what_repeats(make_project, server, way, then):
    project = make_project("project", **way)
    hub = f"start={server.origins[0]}/hub"

    first = project.crawl("pages", "-a", hub)
    second = project.crawl("pages", "-a", hub, **then)

    for crawled in (first, second):
        assert Counter(crawled.stored_ids) == Counter(pages_of(server.site))
        is_whole = "DOWNLOADER_MIDDLEWARES" in way
        assert ("These layers act, on items alone: url, canonical, boilerplate" in crawled.log) is not is_whole
    assert first.count("items/parked") > 0
    assert second.count("items/parked") == 0
    large = [line["cleaned"] for line in second.stored if line["id"].startswith(server.origins[-1])]
    assert not [text for text in large if "all rights reserved" in text]


def test_four_crawls_at_once_share_one_file(make_project, server):
    """Two projects, each crawled twice: each crawl emits every page."""
    first = make_project("crawl-0")
    url = f"sqlite:///{first.folder / 'shared.db'}"
    projects = [
        make_project(f"crawl-{n}", **ADDON, DEDUP_DATABASE_URL=url, DEDUP_PROJECT=f"p{n % 2}") for n in range(4)
    ]

    running = [project.start("pages", "-a", f"start={server.origins[0]}/hub") for project in projects]
    crawls = [one.finish() for one in running]

    for crawled in crawls:
        assert crawled.exit_code == 0
        assert crawled.errors == []
        all_accounted_for(crawled)
        assert Counter(crawled.stored_ids) == Counter(pages_of(server.site))
        assert crawled.count("store/rows_given_up") == 0

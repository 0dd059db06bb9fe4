"""Feeds that a delta must not take the place of; by command: tests/end_to_end/test_revalidation.py."""

from contextlib import nullcontext

import pytest
from scrapy.settings import BaseSettings

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.plugin.run_state import check_feeds
from scrapy_dedup.settings import Settings
from tests.tables import table


@table("plugin/delta_is_refused_in_the_place_of_a_feed_that_holds_something")
def test_delta_is_refused_in_the_place_of_a_feed_that_holds_something(uri, options, is_refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    for name in ("all.jsonl", "[shop].jsonl", "shop.jsonl", "of-news.jsonl", "shop-00001.csv"):
        (tmp_path / "out" / name).write_text("{}\n")
    (tmp_path / "out" / "empty.jsonl").touch()
    feeds = BaseSettings({"FEEDS": {uri: {"format": "jsonlines", **options}}})

    with pytest.raises(DedupError) if is_refused else nullcontext():
        check_feeds(Settings(unchanged="skip"), feeds, "shop", has_history=True)

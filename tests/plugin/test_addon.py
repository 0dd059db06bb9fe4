from typing import Any

import pytest
from scrapy.settings import Settings

from scrapy_dedup.plugin.addon import SLOT_BYTES, Addon
from scrapy_dedup.plugin.downloader_middleware import DedupDownloaderMiddleware
from scrapy_dedup.plugin.extension import DedupExtension
from scrapy_dedup.plugin.item_pipeline import DedupPipeline
from scrapy_dedup.plugin.resilience.extension import ResilienceExtension
from scrapy_dedup.plugin.resilience.heartbeat import Heartbeat
from scrapy_dedup.plugin.resilience.stall_monitor import StallMonitor
from scrapy_dedup.plugin.spider_middleware import DedupSpiderMiddleware

PLACES: list[tuple[str, type, int]] = [
    ("DOWNLOADER_MIDDLEWARES", DedupDownloaderMiddleware, 545),
    ("SPIDER_MIDDLEWARES", DedupSpiderMiddleware, 950),
    ("ITEM_PIPELINES", DedupPipeline, 350),
    ("EXTENSIONS", DedupExtension, 100),
    ("EXTENSIONS", ResilienceExtension, 110),
    ("EXTENSIONS", StallMonitor, 120),
    ("EXTENSIONS", Heartbeat, 1),
]


def settings_with_addon(**given: Any) -> Settings:
    settings = Settings(given)
    Addon().update_settings(settings)
    return settings


@pytest.mark.parametrize(("setting", "component", "order"), PLACES)
def test_place_that_the_project_gave_stays(setting: str, component: type, order: int) -> None:
    path = f"scrapy_dedup.{component.__name__}"
    settings = settings_with_addon(**{setting: {path: 7}})

    assert settings[setting][path] == 7 != order
    assert component not in settings[setting]


def test_add_on_that_runs_twice_does_not_stand_behind_itself() -> None:
    settings = settings_with_addon()
    Addon().update_settings(settings)

    assert "scrapy_dedup" not in str(settings["DEDUP_FALLBACK_REQUEST_FINGERPRINTER_CLASS"])


@pytest.mark.parametrize(("given", "slot"), [({}, SLOT_BYTES), ({"SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1}, 1)])
def test_scraper_has_room_for_parked_responses(given: dict[str, Any], slot: int) -> None:
    assert settings_with_addon(**given)["SCRAPER_SLOT_MAX_ACTIVE_SIZE"] == slot

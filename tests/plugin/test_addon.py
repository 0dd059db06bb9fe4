import gc
import subprocess
import sys
from typing import Any
from weakref import ref

import pytest
from scrapy import Request
from scrapy.settings import Settings

import scrapy_dedup
from scrapy_dedup.plugin.addon import Addon, DedupExtension, Heartbeat
from scrapy_dedup.plugin.downloader_middleware import DedupDownloaderMiddleware
from scrapy_dedup.plugin.dupefilter import Fingerprinter
from scrapy_dedup.plugin.item_pipeline import DedupPipeline
from scrapy_dedup.plugin.resilience.extension import ResilienceExtension
from scrapy_dedup.plugin.resilience.stall_monitor import StallMonitor
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.plugin.spider_middleware import DedupSpiderMiddleware
from tests.plugin.builders import PAGE, a_crawler, a_request

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
def test_place_that_the_project_gave_stays(setting, component, order):
    path = f"scrapy_dedup.{component.__name__}"
    settings = settings_with_addon(DEDUP_RESILIENCE={"enabled": True}, **{setting: {path: 7}})

    assert settings[setting][path] == 7 != order
    assert component not in settings[setting]


def test_add_on_that_runs_twice_does_not_stand_behind_itself():
    settings = settings_with_addon()
    Addon().update_settings(settings)

    assert "scrapy_dedup" not in str(settings["DEDUP_FALLBACK_REQUEST_FINGERPRINTER_CLASS"])


def test_what_is_switched_off_is_not_imported():
    code = (
        "import sys, scrapy_dedup\nfrom scrapy.settings import Settings\n"
        "scrapy_dedup.Addon().update_settings(Settings())\nprint(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)

    loaded = done.stdout.split()
    assert "scrapy_dedup.plugin.item_pipeline" in loaded
    ours = ["plugin.resilience.extension", "plugin.resilience.stall_monitor", "plugin.teacher", "plugin.workers"]
    ours += ["core.pdf", "core.chunks.language"]
    others = [
        "alembic",
        "html_to_markdown",
        "jinja2",
        "lingua",
        "numpy",
        "playwright",
        "pypdfium2",
        "redis",
        "regex",
        "rich",
    ]
    assert [name for name in (*(f"scrapy_dedup.{one}" for one in ours), *others) if name in loaded] == []


def test_every_name_of_the_package_is_there():
    assert [name for name in scrapy_dedup.__all__ if getattr(scrapy_dedup, name).__name__ != name] == []


def test_a_crawler_that_is_gone_takes_along_what_was_kept_for_it(tmp_path):
    """A process may crawl many times."""
    crawler = a_crawler(DEDUP_DATABASE_URL=f"sqlite:///{tmp_path / 'dedup.db'}")
    runtime = Runtime.of(crawler)
    assert Runtime.of_open(crawler) is runtime
    runtime.store.close()
    gone = ref(runtime)

    del crawler, runtime
    gc.collect()

    assert gone() is None


class ByMethod:
    """A fingerprinter of a user's own."""

    def fingerprint(self, request: Request) -> bytes:
        return f"{request.method} {request.url}".encode()


def fingerprint(request: Request, **settings: Any) -> bytes:
    return Fingerprinter.from_crawler(a_crawler(**settings)).fingerprint(request)


def test_former_fingerprinter_decides_about_the_normal_url():
    request = a_request(f"{PAGE}?utm_source=mail")

    assert fingerprint(request, DEDUP_FALLBACK_REQUEST_FINGERPRINTER_CLASS=ByMethod) == f"GET {PAGE}".encode()


def test_former_fingerprinter_may_tell_apart_what_a_page_key_does_not():
    """It sees fragments and dot segments as the spider spelled them."""
    former = {"DEDUP_FALLBACK_REQUEST_FINGERPRINTER_CLASS": ByMethod}
    spelled = [PAGE, f"{PAGE}#part", f"{PAGE}/../page", f"{PAGE}?b=1&a=2", f"{PAGE}?a=2&b=1"]

    assert len({fingerprint(a_request(url, method="HEAD"), **former) for url in spelled}) == len(spelled)


def test_redirect_is_no_matter_when_nobody_else_of_us_is_there():
    """The fingerprinter alone opens no store."""
    request = a_request(meta={"redirect_urls": [f"{PAGE}/old"]})

    assert fingerprint(request) == fingerprint(a_request())

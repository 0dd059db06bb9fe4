"""Settings of crawls that share their work, and of crawls that are large."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from scrapy_dedup.settings.parsers import choice, integer, seconds, setting, text
from scrapy_dedup.settings.serving import ServingSettings


@dataclass(frozen=True, slots=True)
class SharingSettings(ServingSettings):
    """Of several workers on one crawl, of known URLs beyond memory, and of a full disk."""

    shared_job: str = setting(
        "",
        text,
        "Crawlers that name the same job are workers of one run, and take their requests from one queue in Redis"
        " (`scrapy_dedup.LeasedQueue`). Empty: each crawl is a run of its own.",
    )
    shared_lease: timedelta = setting(
        timedelta(seconds=60),
        seconds(2, 86_400),
        "Seconds after which a worker that was not heard of counts as dead, and others do its work.",
        allowed="2 to 86400 seconds",
    )
    seen_capacity: int = setting(
        1_000_000,
        integer(1_000, 10**10),
        "URLs for which `scrapy_dedup.StoreDupeFilter` begins; it grows by a quarter when they are reached.",
        allowed="1000 to 10**10 URLs",
    )
    store_full: Literal["continue", "stop"] = setting(
        "continue",
        choice("continue", "stop"),
        "What a crawl does when the store's disk is full: go on, and fetch again next time what could not be noted;"
        " or end, so that it can be resumed.",
        allowed="continue or stop",
    )

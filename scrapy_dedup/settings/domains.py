"""Settings of the registry of domains: which are asked for pages, and what makes one good."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from scrapy_dedup.settings.parsers import SWITCH, boolean, choice, integer, number, seconds, setting, text
from scrapy_dedup.settings.resilience import ResilienceSettings


@dataclass(frozen=True, slots=True)
class DomainSettings(ResilienceSettings):
    """Of the layer `domain`."""

    domain_enabled: bool = setting(
        True,
        boolean,
        "The layer `domain`: nothing is requested from blacklisted domains, and domains are registered.",
        allowed=SWITCH,
    )
    domain_policy: Literal["crawl", "skip", "sample"] = setting(
        "crawl",
        choice("crawl", "skip", "sample"),
        "What becomes of domains of low quality: all of their pages are requested, none, or some of them.",
        allowed="crawl, skip or sample",
    )
    domain_sample_pages: int = setting(
        10, integer(1, 1_000_000), "Pages of a domain that a run requests of a sample.", allowed="1 to 1000000 pages"
    )
    domain_refresh: timedelta = setting(
        timedelta(seconds=10),
        seconds(0, 86_400),
        "Seconds after which a crawl looks again which domains are blacklisted; 0: at its start alone.",
        allowed="0 to 86400 seconds",
    )
    domain_join_pages: int = setting(
        3,
        integer(1, 10_000),
        "Pages that a domain and its twin with or without `www.` must have in common before they count as one.",
        allowed="1 to 10000 pages",
    )
    high_quality: float = setting(
        0.6,
        number(0.0, 1.0),
        "Confidence from which on an item is a good one, and its domain of high quality.",
        allowed="0.0 to 1.0",
    )
    confidence_field: str = setting(
        "confidence", text, "Item field with a number from 0.0 to 1.0 that says how good the item is."
    )
    confidence_function: str = setting(
        "", text, "Import path of a function that is called with each item, and returns that number or None."
    )

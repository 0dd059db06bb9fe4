"""Settings of a crawl that gets on with it: what it finds by itself, what it does not walk into, when it stalls."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from scrapy_dedup.settings.parsers import SWITCH, boolean, choice, expressions, integer, seconds, setting, some_of, text
from scrapy_dedup.settings.teaching import TeachingSettings

DISCOVERY = ("sitemaps", "archives", "feeds")


@dataclass(frozen=True, slots=True)
class ResilienceSettings(TeachingSettings):
    """Of discovery, pagination, traps and the stall monitor."""

    resilience_enabled: bool = setting(
        False,
        boolean,
        "Switches on what makes a crawl find its pages by itself and notice when it gets nowhere: the settings below.",
        allowed=SWITCH,
    )
    discovery: frozenset[str] = setting(
        frozenset(DISCOVERY),
        some_of(*DISCOVERY),
        "Where more pages are looked for when the queue runs empty: sitemaps, links to archives in footer and"
        " navigation, feeds.",
        allowed=f"a list of {', '.join(DISCOVERY)}",
    )
    discovery_max_urls: int = setting(
        50_000,
        integer(0, 10_000_000),
        "Pages of one domain that are asked for because a sitemap, an archive or a feed names them.",
        allowed="0 to 10000000 pages",
    )
    pagination_enabled: bool = setting(
        True,
        boolean,
        "The next part of a listing (`?page=2`, `/page/3/`, offsets, `rel=next`) is tried once, until one brings"
        " nothing new.",
        allowed=SWITCH,
    )
    pagination_max_pages: int = setting(
        1_000, integer(1, 1_000_000), "Parts of one listing that are tried.", allowed="1 to 1000000 pages"
    )
    traps: Literal["off", "slow", "stop"] = setting(
        "stop",
        choice("off", "slow", "stop"),
        "What becomes of requests for URLs of a pattern that has brought only known content: calendars, facets,"
        " session ids, endless depth.",
        allowed="off, slow or stop",
    )
    trap_pages: int = setting(
        8,
        integer(3, 10_000),
        "Pages of one pattern of URLs, one after the other, that bring only known content: then it is a trap.",
        allowed="3 to 10000 pages",
    )
    learn_parameters: bool = setting(
        True,
        boolean,
        "Parameters that never change the content are learned for each domain, and left out of its page keys.",
        allowed=SWITCH,
    )
    stall_after: timedelta = setting(
        timedelta(minutes=5),
        seconds(0, 86_400),
        "Seconds without a new page after which the crawl has stalled, and says why; 0: never.",
        allowed="0 to 86400 seconds",
    )
    stall_action: Literal["wait", "rotate", "stop", "exit"] = setting(
        "wait",
        choice("wait", "rotate", "stop", "exit"),
        "What a crawl does then: wait longer and longer between requests; go on with the next User-Agent and proxy;"
        " end in good order; end with exit code 75, so that `scrapy dedup supervise` starts it again.",
        allowed="wait, rotate, stop or exit",
    )
    stall_probe_url: str = setting(
        "", text, "A URL of your own that answers where there is a network; nobody else is asked."
    )
    stall_user_agents: tuple[str, ...] = setting(
        (), expressions, "User-Agents to go on with, in order.", allowed="a list; as text: JSON, or one a line"
    )
    stall_proxies: tuple[str, ...] = setting(
        (), expressions, "Proxy URLs to go on with, in order.", allowed="a list; as text: JSON, or one a line"
    )
    stall_longest_delay: timedelta = setting(
        timedelta(minutes=1),
        seconds(0, 86_400),
        "Seconds between two requests to a site to which `wait` raises its delay at most, in steps.",
        allowed="0 to 86400 seconds",
    )

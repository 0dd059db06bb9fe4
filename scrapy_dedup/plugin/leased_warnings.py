"""Settings with which several workers lose requests, and the line to write instead."""

import logging
from typing import Any

from redis.exceptions import RedisError
from scrapy.settings import BaseSettings

from scrapy_dedup.settings import Settings

logger = logging.getLogger(__name__)

_FILTERS = ("scrapy_dedup.LeasedDupeFilter", "scrapy_dedup.plugin.leased_filter.LeasedDupeFilter")


def warn_of_losses(scrapy_settings: BaseSettings, settings: Settings, client: Any) -> None:
    """Warn of each of them, once."""
    if not scrapy_settings.getbool("SCHEDULER_PERSIST"):
        logger.warning("A crawl that is stopped empties its queue. Write SCHEDULER_PERSIST = True")
    given = scrapy_settings.get("DUPEFILTER_CLASS")
    path = given if isinstance(given, str) else f"{given.__module__}.{given.__qualname__}"
    if path not in _FILTERS:
        logger.warning(
            "With DUPEFILTER_CLASS = %r a URL is noted before its request is queued: a worker that is killed in between"
            " loses it. Write DUPEFILTER_CLASS = %r",
            path,
            _FILTERS[0],
        )
    if not settings.shared_job:
        logger.warning(
            "The queue is shared, and the store does not know of it: each worker is a run of its own."
            " Write DEDUP_SHARED_JOB = 'a name for this crawl'"
        )
    _warn_of_eviction(client)


def _warn_of_eviction(client: Any) -> None:
    """Warn of a server that throws keys away when its memory is full."""
    try:
        memory = client.info("memory")
    except RedisError:
        return
    policy = str(memory.get("maxmemory_policy", "noeviction"))
    if memory.get("maxmemory") and policy != "noeviction":
        logger.warning(
            "Redis throws keys away when its memory is full (maxmemory-policy %s), queues among them."
            " Write maxmemory-policy noeviction",
            policy,
        )

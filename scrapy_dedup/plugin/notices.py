"""What a user should know before the first request."""

import logging
from typing import Any

from scrapy.settings import BaseSettings

from scrapy_dedup.settings import Settings

logger = logging.getLogger(__name__)


def tell_of_partial_feeds(settings: Settings, scrapy_settings: BaseSettings, *, has_history: bool) -> None:
    """Warn where a feed takes the place of an earlier, complete one, and will hold what is new or changed alone."""
    if not has_history or not settings.unchanged_enabled or settings.unchanged != "skip":
        return
    feeds: dict[Any, Any] = scrapy_settings.getdict("FEEDS")
    replaced = [str(uri) for uri, options in feeds.items() if isinstance(options, dict) and options.get("overwrite")]
    if replaced:
        logger.warning(
            "%s will hold new and changed pages only, in place of what is there now."
            " DEDUP_UNCHANGED=replay makes it complete",
            ", ".join(replaced)[:500],
        )


def tell_of_lossy_queue(settings: Settings, scrapy_settings: BaseSettings) -> None:
    """Warn where several workers share a queue that loses what one of them has in its hands when it is killed."""
    if not settings.shared_job or not str(scrapy_settings.get("SCHEDULER", "")).startswith("scrapy_redis."):
        return
    given = scrapy_settings.get("SCHEDULER_QUEUE_CLASS")
    name = given if isinstance(given, str) else getattr(given, "__name__", "")
    if name.rpartition(".")[2] != "LeasedQueue":
        logger.warning(
            "The queue loses what a worker has in its hands when it is killed."
            " Write SCHEDULER_QUEUE_CLASS = 'scrapy_dedup.LeasedQueue'"
        )

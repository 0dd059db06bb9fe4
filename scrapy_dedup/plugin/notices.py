"""What a user should know before the first request."""

import logging
from typing import Any, Final

from scrapy.settings import BaseSettings
from scrapy.utils.misc import load_object

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.settings import Settings

_SCHEDULER: Final = "scrapy_redis.scheduler.Scheduler"
_QUEUE: Final = "scrapy_dedup.plugin.leased_queue.LeasedQueue"
_LINES: Final = f"""    SCHEDULER = "{_SCHEDULER}"
    SCHEDULER_QUEUE_CLASS = "scrapy_dedup.LeasedQueue"
    DUPEFILTER_CLASS = "scrapy_dedup.LeasedDupeFilter"
    SCHEDULER_PERSIST = True
    REDIS_URL = "redis://HOST:6379/0\""""

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


def check_queue(settings: Settings, scrapy_settings: BaseSettings) -> None:
    """Refuse workers of one crawl that have no queue in common: each would fetch the whole site.

    Raises:
        DedupError: the queue is another one; the message has the lines that add it.
    """
    if not settings.shared_job:
        return
    for name, needed in (("SCHEDULER", _SCHEDULER), ("SCHEDULER_QUEUE_CLASS", _QUEUE)):
        if needed not in _classes(scrapy_settings.get(name)):
            raise DedupError(
                f"DEDUP_SHARED_JOB={settings.shared_job!r}: its workers need one queue, and"
                f" {name}={scrapy_settings.get(name)!r} gives them none. Install scrapy_dedup[redis], and write"
                f" with the address of your Redis server:\n{_LINES}"
            )


def _classes(component: Any) -> set[str]:
    """Return the names of a class and of those that it is made from; none where it cannot be imported."""
    try:
        found = load_object(component) if component is not None else object
    except ModuleNotFoundError:
        return set()
    return {f"{one.__module__}.{one.__qualname__}" for one in getattr(found, "__mro__", ())}

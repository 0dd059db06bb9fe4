"""Whose word counts: request.meta["dedup"] over spider attributes over Scrapy's settings."""

import asyncio
import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Final
from weakref import WeakKeyDictionary

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.settings import Settings as ScrapySettings

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.settings import SettingError, Settings
from scrapy_dedup.settings.parsers import quoted

ATTRIBUTE_PREFIX = "dedup_"
META_KEY = "dedup"
_SHOWING = frozenset({"check", "fetch", "parse", "shell", "view"})

logger = logging.getLogger(__name__)

_settings: WeakKeyDictionary[Crawler, Settings] = WeakKeyDictionary()


def settings_of(crawler: Crawler) -> Settings:
    """Return what holds for a crawl: Scrapy's settings under the spider's attributes.

    Raises:
        SettingError: a name or a value is wrong.
    """
    known = _settings.get(crawler)
    if known is None:
        with told():
            known = Settings.read(crawler.settings)
            if crawler.spider is not None:
                spider = crawler.spider
                values = {name: getattr(spider, name) for name in dir(spider) if name.startswith(ATTRIBUTE_PREFIX)}
                own = {name.removeprefix(ATTRIBUTE_PREFIX): one for name, one in values.items() if not callable(one)}
                known = known.override(own, ATTRIBUTE_PREFIX)
        _settings[crawler] = known
    return known


def only_shows() -> bool:
    """Say whether this process is one of Scrapy's commands that show what a spider or a page gives, and keep nothing.

    Nothing of a crawler tells: the command's name is in the words by which the process was started alone.
    """
    words = sys.orig_argv
    at = next((number for number, word in enumerate(words) if Path(word).stem == "scrapy"), len(words))
    return next((word for word in words[at + 1 :] if not word.startswith("-")), "") in _SHOWING


# A command's run is no crawl of ours to be recorded, nor one to be resumed. What others put around requests may make
# some of its own when a spider starts: a shared queue, a login.
_OF_A_COMMAND: Final[dict[str, Any]] = {
    "DEDUP_ENABLED": False,
    "JOBDIR": None,
    "SCHEDULER": "scrapy.core.scheduler.Scheduler",
    "DUPEFILTER_CLASS": "scrapy.dupefilters.RFPDupeFilter",
    "SPIDER_MIDDLEWARES": {},
    "TELNETCONSOLE_ENABLED": False,
}


def settings_of_command(project: ScrapySettings, own: Mapping[str, Any], *, log_level: str) -> ScrapySettings:
    """Return a project's settings for a Scrapy run that a command makes, with what else holds for it."""
    chosen = project.copy()
    for name, value in (_OF_A_COMMAND | dict(own)).items():
        chosen.set(name, value, priority="cmdline")
    # A command is silent, but what goes wrong has to be seen.
    if (chosen.getpriority("LOG_ENABLED") or 0) <= SETTINGS_PRIORITIES["command"]:
        chosen.set("LOG_ENABLED", True, priority="cmdline")
        chosen.set("LOG_LEVEL", log_level, priority="cmdline")
    return chosen


@contextmanager
def told() -> Iterator[None]:
    """Log in one line why a crawl cannot start."""
    try:
        yield
    except DedupError as error:
        logger.critical("The crawl does not start: %s", error)
        # Scrapy's commands do not ask how the task of a crawl ended, and asyncio would tell it again, with a traceback.
        with suppress(RuntimeError):  # there is no loop
            if (task := asyncio.current_task()) is not None:
                task.add_done_callback(lambda done: done.cancelled() or done.exception())
        raise


def with_request(settings: Settings, request: Request) -> Settings | None:
    """Return what holds for one request; None where it is to be left alone.

    A wrong override is reported once and passed over: a request must not be lost by it.
    """
    given = request.meta.get(META_KEY, True)
    if given is True:
        return settings if settings.enabled else None
    if given is False:
        return None
    try:
        changed = settings.override(dict(given), f"meta[{META_KEY!r}] ")
    except SettingError as error:
        _report(str(error), quoted(given)[:500])
        return settings
    except (TypeError, ValueError):
        _report("An override cannot be read", quoted(given)[:500])
        return settings
    return changed if changed.enabled else None


def is_left_alone(settings: Settings, request: Request) -> bool:
    """Say whether a request asks that its items are left as they are."""
    return META_KEY in request.meta and with_request(settings, request) is None


@lru_cache(maxsize=64)
def _report(error: str, given: str) -> None:
    """Log an error the first time it comes up."""
    logger.error('%s (request.meta["dedup"] is %s; it needs True, False or a dict of settings)', error, given)

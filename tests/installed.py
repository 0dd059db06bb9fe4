"""Scrapy asks at each call of a command what is installed; a process of tests asks once."""

from functools import cache
from importlib import import_module

from scrapy.settings import Settings


def ask_once() -> None:
    """Keep what Scrapy finds out of installed packages: half of a command that does little, an eighth of a crawl."""
    for module, name in (("scrapy.cmdline", "entry_points"), ("scrapy.utils.versions", "version")):
        asking = import_module(module)
        setattr(asking, name, cache(getattr(asking, name)))
    import_module("scrapy.cmdline").entry_points(group="scrapy.commands")
    import_module("scrapy.utils.versions").get_versions(Settings().getlist("LOG_VERSIONS"))

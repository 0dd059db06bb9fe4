"""From what the user chose to what `core` takes; `store_policies` has what `store` takes."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from scrapy_dedup.core.boilerplate.repeats import RepeatPolicy
from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.pages.guard import ParseLimits
from scrapy_dedup.core.recrawl.plan import AdaptivePolicy, RecrawlPolicy
from scrapy_dedup.core.recrawl.verdicts import Change, ChangePolicy
from scrapy_dedup.core.urls.canonical import CanonicalPolicy
from scrapy_dedup.core.urls.normal_form import IgnoredParameters, UrlRules
from scrapy_dedup.settings import Settings


def url_rules(settings: Settings, ignored: IgnoredParameters | None = None) -> UrlRules:
    """Return which spellings of a URL are one page; with what was learned of its host's parameters, if anything."""
    return UrlRules(
        fragment=settings.url_fragment,
        query_order=settings.url_query_order,
        tracking_parameters=settings.url_tracking_parameters,
        trailing_slash=settings.url_trailing_slash,
        index_page=settings.url_index_page,
        ignored=ignored,
    )


def crawl_rules(settings: Settings) -> UrlRules:
    """Return the same for one crawl, with room for the parameters that it learns."""
    return url_rules(settings, IgnoredParameters() if learns_parameters(settings) else None)


def learns_parameters(settings: Settings) -> bool:
    """Say whether parameters that change nothing are learned and left out of page keys."""
    return settings.resilience_enabled and settings.learn_parameters and "url" in settings.acting


def repeat_policy(settings: Settings) -> RepeatPolicy:
    """Return when a block is boilerplate."""
    return RepeatPolicy(settings.threshold_pct, settings.min_pages, settings.min_block_chars)


def canonical_policy(settings: Settings) -> CanonicalPolicy:
    """Return which canonical links are believed."""
    return CanonicalPolicy(allowed_domains=settings.canonical_domains)


def parse_limits(settings: Settings) -> ParseLimits:
    """Return what HTML is parsed."""
    return ParseLimits(characters=settings.max_page_bytes)


def change_policy(settings: Settings) -> ChangePolicy:
    """Return which differences make a page changed."""
    return ChangePolicy(frozenset(map(Change, settings.change_classes)))


def adaptive_policy(settings: Settings) -> AdaptivePolicy | None:
    """Return how a page's interval follows its changes; None where pages have none."""
    if not settings.adaptive:
        return None
    return AdaptivePolicy(settings.adaptive_first, settings.adaptive_shortest, settings.adaptive_longest)


def recrawl_policy(settings: Settings) -> RecrawlPolicy:
    """Return when pages are due again."""
    return RecrawlPolicy(
        fresh_for=settings.fresh_for.default,
        rules=settings.fresh_for.rules,
        gone_for=settings.gone_for,
        cache_max_age=settings.cache_max_age,
        max_304_age=settings.max_304_age,
        adaptive=adaptive_policy(settings),
    )


def imported(path: str, setting: str, example: str, problem: type[DedupError]) -> Callable[..., Any]:
    """Return the function that a setting names by its import path.

    Raises:
        DedupError: there is none; as *problem*, whose message names the setting and gives an example.
    """
    module, _, name = path.rpartition(".")
    try:
        found: Callable[..., Any] = getattr(import_module(module), name)
    except Exception as error:
        hint = f"it needs the import path of a function, such as {example!r}"
        raise problem(f"{setting}={path!r}: cannot be imported ({error}); {hint}") from error
    if not callable(found):
        raise problem(f"{setting}={path!r}: is no function")
    return found

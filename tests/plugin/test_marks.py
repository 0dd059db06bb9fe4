from functools import partial
from typing import Any

import pytest

from scrapy_dedup.plugin.marks import (
    callback_name,
    is_unfiltered,
    mark_new,
    mark_start,
    redirected_from,
)
from tests.plugin.builders import a_request
from tests.tables import table

OLD = "https://example.com/old"
OLDER = "https://example.com/older"


@table("plugin/dont_filter_of_scrapy")
def test_scrapys_own_dont_filter_is_not_the_spiders(
    *, dont_filter: bool, meta: dict[str, Any], unfiltered: bool
) -> None:
    assert is_unfiltered(a_request(dont_filter=dont_filter, meta=meta)) is unfiltered


@pytest.mark.parametrize("key", ["is_start_request", "retry_times"])
def test_what_a_callback_asks_for_is_unfiltered_whatever_meta_it_copied(key: str) -> None:
    request = a_request(dont_filter=True, meta={key: 1})

    mark_new(request)

    assert is_unfiltered(request)


@table("plugin/unfiltered_first_requests")
def test_first_request_with_something_of_its_own_is_unfiltered(*, own: dict[str, Any], unfiltered: bool) -> None:
    request = a_request(dont_filter=True, **own)

    mark_start(request)
    request.meta["is_start_request"] = True  # as Scrapy does after us

    assert is_unfiltered(request) is unfiltered


@pytest.mark.parametrize(
    ("callback", "name"),
    [(None, "parse"), (len, "len"), (partial(print, end=""), "partial"), (lambda response: response, "<lambda>")],
)
def test_callback_has_a_name(callback: Any, name: str) -> None:
    assert callback_name(a_request(callback=callback)) == name


def test_redirects_of_a_request_count_from_when_it_was_new() -> None:
    request = a_request(meta={"redirect_urls": [OLDER]})
    assert redirected_from(request) == (OLDER,)

    mark_new(request)
    assert redirected_from(request) == ()

    redirected = request.replace(meta={**request.meta, "redirect_urls": [OLDER, OLD]})
    assert redirected_from(redirected) == (OLD,)


def test_request_without_redirects_has_none() -> None:
    request = a_request()

    mark_new(request)

    assert redirected_from(request) == ()
    assert request.meta == {}

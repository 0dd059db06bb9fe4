from typing import Any

import pytest

from scrapy_dedup.plugin.crawl.overrides import is_left_alone
from scrapy_dedup.plugin.crawl.request_meta import READMITTED, is_unfiltered, mark_new, redirected_from
from scrapy_dedup.settings import Settings
from tests.plugin.builders import a_request
from tests.tables import table

OLD = "https://example.com/old"
OLDER = "https://example.com/older"


@pytest.mark.parametrize("notes", [{}, {"is_start_request": True}, {"retry_times": 1}])
def test_dont_filter_is_somebodys_word_whatever_else_stands_in_meta(notes: dict[str, Any]) -> None:
    assert is_unfiltered(a_request(dont_filter=True, meta=notes))
    assert not is_unfiltered(a_request(meta=notes))


def test_what_we_let_past_the_filter_is_filtered_but_not_what_a_callback_makes_of_it() -> None:
    request = a_request(dont_filter=True, meta={READMITTED: True})
    assert not is_unfiltered(request)

    mark_new(request)

    assert is_unfiltered(request)


def test_redirects_of_a_request_count_from_when_it_was_new() -> None:
    request = a_request(meta={"redirect_urls": [OLDER]})
    assert redirected_from(request) == (OLDER,)

    mark_new(request)
    assert redirected_from(request) == ()

    redirected = request.replace(meta={**request.meta, "redirect_urls": [OLDER, OLD]})
    assert redirected_from(redirected) == (OLD,)


@table("plugin/left_alone")
def test_request_may_ask_to_be_left_alone(*, given: dict[str, Any], left_alone: bool) -> None:
    assert is_left_alone(Settings(), a_request(meta=given)) is left_alone

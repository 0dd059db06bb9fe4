from typing import Any

from scrapy_dedup.plugin.crawl.overrides import is_left_alone
from scrapy_dedup.settings import Settings
from tests.plugin.builders import a_request
from tests.tables import table


@table("plugin/left_alone")
def test_request_may_ask_to_be_left_alone(*, given: dict[str, Any], left_alone: bool) -> None:
    assert is_left_alone(Settings(), a_request(meta=given)) is left_alone

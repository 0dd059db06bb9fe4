from typing import Any

import pytest
from scrapy import Spider

from scrapy_dedup.plugin.overrides import is_left_alone, settings_of, with_request
from scrapy_dedup.settings import SettingError, Settings
from tests.plugin.builders import a_crawler, a_request
from tests.tables import table


class TextSpider(Spider):
    name = "text"
    dedup_output = "text"

    def dedup_helper(self) -> None:
        """A method is no setting."""


@pytest.mark.parametrize(
    ("spider", "arguments", "settings", "output"),
    [
        pytest.param(Spider, {}, {}, "markdown", id="default"),
        pytest.param(Spider, {}, {"DEDUP_OUTPUT": "html"}, "html", id="setting"),
        pytest.param(TextSpider, {}, {"DEDUP_OUTPUT": "html"}, "text", id="attribute-over-setting"),
        pytest.param(TextSpider, {"dedup_output": "markdown"}, {}, "markdown", id="argument-over-attribute"),
    ],
)
def test_the_nearest_word_counts(
    spider: type[Spider], arguments: dict[str, Any], settings: dict[str, Any], output: str
) -> None:
    assert settings_of(a_crawler(spider, arguments, **settings)).output == output


@pytest.mark.parametrize("attribute", [{"dedup_outptu": "text"}, {"dedup_output": "pdf"}])
def test_wrong_attribute_stops(attribute: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(SettingError):
        settings_of(a_crawler(Spider, attribute))

    assert [record.levelname for record in caplog.records] == ["CRITICAL"]


@table("plugin/left_alone")
def test_request_may_ask_to_be_left_alone(*, given: dict[str, Any], left_alone: bool) -> None:
    assert is_left_alone(Settings(), a_request(meta=given)) is left_alone


def test_request_overrides_what_holds_for_the_crawl() -> None:
    settings = with_request(Settings(output="html"), a_request(meta={"dedup": {"output": "text"}}))

    assert settings == Settings(output="text")

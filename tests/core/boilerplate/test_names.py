import pytest

from scrapy_dedup.core.boilerplate.names import around_words, content_words
from tests.tables import table


@table("core/a_name_of_what_surrounds_content_is_a_word_of_it_not_its_beginning")
def test_a_name_of_what_surrounds_content_is_a_word_of_it_not_its_beginning(name, around):
    assert bool(around_words(name)) is around


@pytest.mark.parametrize(
    ("name", "content"),
    [(".postbody", True), (".entry-content", True), (".articleText", True), (".leaderboard", False), (".box", False)],
)
def test_a_name_of_content_is_known_by_its_words(name, content):
    assert bool(content_words(name)) is content

import pytest

from scrapy_dedup.core.boilerplate.names import around_words, content_words


@pytest.mark.parametrize(
    ("name", "around"),
    [
        ("#ad", True), (".ads", True), (".address", False), (".add-form", False), (".admin", False),
        (".entry-meta", True), (".metal", False), (".metadata", False), (".edit", True), (".editorial", False),
        (".tag-list", True), (".stats", True), (".status", False), (".userBox", True), (".nextPage", True),
        (".navbar", True), (".site-footer", True), (".mainMenu", True), (".postbody", False),
    ],
)  # fmt: skip
def test_a_name_of_what_surrounds_content_is_a_word_of_it_not_its_beginning(name, around):
    assert bool(around_words(name)) is around


@pytest.mark.parametrize(
    ("name", "content"),
    [(".postbody", True), (".entry-content", True), (".articleText", True), (".leaderboard", False), (".box", False)],
)
def test_a_name_of_content_is_known_by_its_words(name, content):
    assert bool(content_words(name)) is content

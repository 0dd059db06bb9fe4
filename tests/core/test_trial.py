import pytest

from scrapy_dedup.core.blocks import Block
from scrapy_dedup.core.trial import Trial, try_out
from tests.tables import table


def a_block(number: int, chars: int = 100, link_chars: int = 0) -> Block:
    return Block("body>p", "x" * chars, number, link_chars, ())


BLOCKS = [a_block(1), a_block(2), a_block(3)]
FOOTER, OWN = 3, 1
OFTEN = {FOOTER: 10}


def of(ours: str, theirs: str) -> Trial:
    """Compare two cuts, a character a block: `+` is kept."""
    return try_out(BLOCKS, [one == "+" for one in ours], [one == "+" for one in theirs], OFTEN, 10)


class TestOutcome:
    @table("core/template_passes_where_it_is_at_least_as_good")
    def test_template_passes_where_it_is_at_least_as_good(self, ours: str, theirs: str, *, passed: bool) -> None:
        assert of(ours, theirs).passed is passed

    def test_a_difference_of_two_in_a_hundred_is_none(self) -> None:
        assert try_out([a_block(1, 10_000), a_block(2, 190)], [True, False], [True, True], {}, 10).passed

    def test_without_pages_nothing_is_passed(self) -> None:
        assert not Trial().passed
        assert Trial().evidence == "not tried: no page was held back"

    def test_pages_add_up(self) -> None:
        both = of("+--", "++-") + of("++-", "+++")

        assert (both.pages, both.lost, both.cleared, both.common) == (2, 100, 100, 300)

    def test_the_outcome_is_told_in_words(self) -> None:
        assert of("+--", "++-").evidence == (
            "failed on 1 held-back page: 100 characters worse, 0 better than the fallback"
        )


class TestAgreement:
    def test_is_the_share_of_the_text_that_both_keep(self) -> None:
        assert of("++-", "+-+").agreement == pytest.approx(1 / 3)

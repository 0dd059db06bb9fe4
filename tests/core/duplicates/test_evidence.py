"""Which items are ones that went out already."""

from array import array

import pytest

from scrapy_dedup.core.duplicates import (
    MOST_ITEMS,
    NO_FIELDS,
    PageEvidence,
    SiteSeen,
    blocks_of_text,
    own_words,
    proves,
)

SITE = SiteSeen(frozenset([1, 2]), 5)
UNKNOWN = SiteSeen()
PRICE = b"price 10"


def shown(
    *blocks: int, body: bytes = b"body", fields: bytes = NO_FIELDS, cut: bytes = b"", files: bytes = bytes(8)
) -> PageEvidence:
    return PageEvidence(body, array("Q", blocks), [fields], cut=cut, files=files)


@pytest.mark.parametrize(
    ("other", "fields", "words", "site", "proven"),
    [
        pytest.param(shown(1, 7), NO_FIELDS, 20, SITE, True, id="same-text-of-twenty-words"),
        pytest.param(shown(2, 7), NO_FIELDS, 20, SITE, True, id="another-menu"),
        pytest.param(shown(1, 8), NO_FIELDS, 20, SITE, False, id="another-text"),
        pytest.param(shown(1, 7, 7), NO_FIELDS, 20, SITE, False, id="a-block-twice"),
        pytest.param(shown(1, 7), NO_FIELDS, 19, SITE, False, id="too-few-words"),
        pytest.param(shown(1, 7), NO_FIELDS, 20, UNKNOWN, False, id="site-not-known"),
        pytest.param(shown(1, 7, body=b"own"), NO_FIELDS, 0, UNKNOWN, True, id="same-bytes"),
        pytest.param(shown(1, 7, body=b"own", fields=PRICE), NO_FIELDS, 0, SITE, False, id="same-bytes-other-fields"),
        pytest.param(shown(1, 7, fields=PRICE), PRICE, 1, SITE, True, id="fields-and-a-word"),
        pytest.param(shown(1, 7, fields=PRICE), PRICE, 0, SITE, False, id="fields-and-no-word"),
        pytest.param(shown(1, 7, fields=PRICE), PRICE, 19, UNKNOWN, False, id="fields-on-an-unknown-site"),
        pytest.param(shown(1, 7, fields=PRICE), PRICE, 20, UNKNOWN, True, id="fields-and-words-on-an-unknown-site"),
        pytest.param(shown(1, 8, fields=PRICE), PRICE, 20, SITE, False, id="fields-and-another-text"),
        pytest.param(shown(1, 7, fields=b"price 12"), PRICE, 20, SITE, False, id="another-price"),
        pytest.param(shown(1, 7), None, 20, SITE, False, id="fields-that-cannot-be-compared"),
        pytest.param(shown(1, 7, files=b"pdf"), NO_FIELDS, 20, SITE, False, id="another-file"),
        pytest.param(shown(2, 7, cut=b"\0\0"), NO_FIELDS, 20, SITE, False, id="another-common-block-that-is-kept"),
        pytest.param(shown(2, 1, 7, cut=b"\1\1\0"), NO_FIELDS, 20, SITE, True, id="one-more-that-is-cut"),
        pytest.param(shown(1, 7, cut=b"\1\0"), NO_FIELDS, 20, SITE, True, id="cut-in-one-of-them"),
    ],
)
def test_item_is_one_that_went_out(
    other: PageEvidence, fields: bytes | None, words: int, site: SiteSeen, *, proven: bool
) -> None:
    # Of an unknown site all blocks count, so that both pages show the same ones.
    own = shown(1, 7, body=b"own")

    assert proves(own, other, fields, words, site) is proven


def test_of_a_text_the_parts_between_blank_lines_count_that_its_site_does_not_repeat() -> None:
    menu, _ = parts = blocks_of_text("Home, shop\n\nTwo kinds of tea")

    assert [text for _, text in parts] == ["Home, shop", "Two kinds of tea"]
    assert own_words(parts, SiteSeen(frozenset([menu[0]]), 5)) == 4


def test_only_so_many_items_of_a_page_are_held() -> None:
    evidence = PageEvidence(b"", array("Q"))
    for number in range(MOST_ITEMS + 5):
        evidence.add(number.to_bytes(8, "big"))
    evidence.add(None)
    evidence.add(bytes(8))

    assert evidence.fields == [number.to_bytes(8, "big") for number in range(MOST_ITEMS)]

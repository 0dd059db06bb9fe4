import pickle  # noqa: TID251, what multiprocessing does
from array import array

import pytest
from hypothesis import given
from msgspec.structs import astuple

from scrapy_dedup.core.boilerplate.observations import Observation, PageKind, observe
from scrapy_dedup.core.pages.blocks import Page
from tests.core.builders import parsed
from tests.core.html_soup import anything
from tests.growth import assert_in_proportion


def seen(html: str) -> Observation:
    page = parsed(html)
    return observe(page)


def test_usual_page_takes_less_than_four_kilobytes():
    page = "".join(f"<div class=c{i}><p>Paragraph number {i} of a page</p></div>" for i in range(90))
    found = seen(f"<main>{page}</main>")
    held = astuple(found)
    arrays = [each for each in held if isinstance(each, array)]

    assert len(arrays) == len(held) - 3
    assert sum(len(each) * each.itemsize for each in arrays) + 8 * (len(found.paths) + len(found.hints)) < 4_000


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        ("", None),
        ('<meta property="og:type" content="article">', PageKind.ARTICLE),
        ('<meta property="og:type" content=" Product.item ">', PageKind.PRODUCT),
        ('<meta property="og:type" content="website">', PageKind.OTHER),
        ('<script type="application/ld+json">{"@type": "NewsArticle"}</script>', PageKind.ARTICLE),
        ('<script type="application/ld+json">{"@graph": [{"@type": ["Product"]}]}</script>', PageKind.PRODUCT),
        ('<script type="application/ld+json">[{"@type": "ItemList"}, {"@type": "Product"}]</script>', PageKind.OTHER),
        ('<script type="application/ld+json">{"@type": "Organi', None),
    ],
)
def test_what_a_page_declares_itself_to_be_is_read(head, kind):
    assert seen(f"<head>{head}</head><p>text</p>").kind is kind


def test_what_a_page_declares_takes_time_in_proportion_to_its_length():
    def page(blanks: int) -> Page:
        return parsed(f'<script type="application/ld+json">{{"@type":{" " * blanks}x}}</script>')

    assert_in_proportion(observe, page, 5_000)


def test_texts_that_differ_in_numbers_alone_have_one_mask():
    found = seen("<p>12 of 40 in stock</p><p>7 of 9 In Stock</p><p>sold out</p><p>on 2024-05-01</p><p>on 3.2.1999</p>")

    assert len(set(found.texts)) == 5
    assert found.masks[0] == found.masks[1]
    assert found.masks[3] == found.masks[4]
    assert found.masks[2] == found.texts[2]


def test_long_text_counts_as_what_two_bytes_hold_and_keeps_its_share_of_links():
    found = seen(f"<p>{'x' * 99_999} <a href=y>{'y' * 100_000}</a></p>")

    assert list(found.chars) == [65_535]
    assert list(found.link_chars) == [32_767]


@pytest.mark.parametrize(("href", "within", "away"), [("#b", 4, 0), ("//b.example/", 0, 4), ("/b", 0, 0), ("", 0, 0)])
def test_links_within_a_page_and_to_other_hosts_are_told_apart(href, within, away):
    found = seen(f"<p>Some <a href='{href}'>text</a>")

    assert (found.within[0], found.away[0]) == (within, away)


@given(anything)
def test_anything_can_be_seen_and_sent_to_another_process(html):
    page = parsed(html)

    found = observe(page)

    assert len(found.at) == len(found.texts) == len(found.chars) == len(found.link_chars) == len(page.blocks)
    assert pickle.loads(pickle.dumps(found)) == found
